"""Finds the shell that commands run in (bash, else `sh`, without a profile), and the programs that we run.

Command lines that people type are split and joined as their system's shell does.
"""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.regex import regex


def find_program(name: str, environ: Mapping[str, str], workspace: Path | None = None) -> str | None:
    """Return the absolute path of a program on the `search_path`. Blocks."""
    found = shutil.which(name, path=search_path(environ, workspace))
    return found if found and _is_trusted(Path(found), workspace) else None


def program_meant(command: str, environ: Mapping[str, str], workspace: Path | None, cwd: str = "") -> str | None:
    """Return the program that a command names. A path is meant as it is, also in the workspace. Blocks."""
    if os.sep in command or "/" in command:
        return shutil.which(str((workspace or Path()) / cwd / command))
    return find_program(command, environ, workspace)


def split_words(line: str, *, is_windows: bool = os.name == "nt") -> list[str]:
    """Split a command line. Raises `ValueError` for a quotation without an end, except by the rules of Windows."""
    if not is_windows:
        return shlex.split(line)
    words: list[str] = []
    is_inside = is_quoted = False
    for piece in _WINDOWS_PIECE.finditer(line):
        slashes, quote, space, text = piece.groups(default="")
        if space and not is_quoted:
            is_inside = False
            continue
        if not is_inside:
            words.append("")
            is_inside = True
        if quote:  # of the backslashes before it, each pair is one
            words[-1] += "\\" * (len(slashes) // 2) + quote * (len(slashes) % 2)
            is_quoted ^= len(slashes) % 2 == 0
        else:
            words[-1] += slashes + space + text
    return words


_WINDOWS_PIECE = regex(r'(\\*)(")|([ \t]+)|(\\+|[^\\" \t]+)')
"""https://learn.microsoft.com/windows/win32/api/shellapi/nf-shellapi-commandlinetoargvw"""


def joined_words(words: Iterable[str]) -> str:
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def search_path(environ: Mapping[str, str], workspace: Path | None = None) -> str:
    """`PATH` without relative folders, and without folders in `workspace`, to which a model can write."""
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if _is_trusted(Path(folder), workspace))


def _is_trusted(path: Path, workspace: Path | None) -> bool:
    if not path.is_absolute():
        return False
    if workspace is None:
        return True
    named = Path(os.path.normpath(path)).is_relative_to(workspace)
    return not named and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(workspace))


ShellKind = Literal["bash", "sh", ""]
"""The kind of shell. Empty if there is neither, so that the meaning of a command line is unknown."""

PLACES: tuple[str, ...] = (
    "/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin",
    r"C:\Program Files\Git\bin", r"C:\Program Files\Git\usr\bin",
)  # fmt: skip
"""Where shells are looked for first: these folders belong to the system, whatever `PATH` says."""

_STEERS = regex(
    r"BASH_ENV|ENV|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|PS4|PROMPT_COMMAND|BASH_COMPAT|BASH_XTRACEFD|BASH_LOADABLES_PATH",
    re.DOTALL,
)


class Shell(Struct, frozen=True):
    path: str
    kind: Literal["bash", "sh"]

    def argv(self, line: str) -> tuple[str, ...]:
        if self.kind == "sh":
            return self.path, "-c", f" {line}" if line.startswith(("-", "+")) else line
        # `--norc`: with a socket as its input, bash believes it is a remote login and reads the user's file.
        return self.path, "--noprofile", "--norc", "-c", "--", line


def find_shell(environ: Mapping[str, str], workspace: Path | None = None) -> Shell | None:
    """bash, else `sh`. Never looks in the workspace. Cached. Blocks."""
    return _find(PLACES, environ.get("PATH", os.defpath), workspace)


@lru_cache(maxsize=32)
def _find(places: tuple[str, ...], path: str, workspace: Path | None) -> Shell | None:
    kinds: tuple[Literal["bash", "sh"], ...] = ("bash", "sh")
    for kind in kinds:
        fixed = (f"{place}/{kind}{'.exe' * (os.name == 'nt')}" for place in places)
        found = next((file for file in fixed if os.access(file, os.X_OK)), None)
        found = found or find_program(kind, {"PATH": path}, workspace)
        if found and "system32" not in found.casefold():  # Windows' own `bash` is another system (WSL) with other files
            return Shell(found, kind)
    return None


def steers_shell(name: str, value: str = "") -> bool:
    """Whether a variable makes a shell run something else, or read a command line differently."""
    return _STEERS.fullmatch(name) is not None or value.startswith("() {")


def without_steering(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if not steers_shell(name, value)}
