"""Finds the shell that commands run in (bash, else `sh`, without a profile), and the programs that we run."""

import os
import re
import shutil
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal

from msgspec import Struct


def find_program(name: str, environ: Mapping[str, str], workspace: Path | None = None) -> str | None:
    """Return the absolute path of a program on the `search_path`. Blocks."""
    found = shutil.which(name, path=search_path(environ, workspace))
    return found if found and _is_trusted(Path(found), workspace) else None


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

_STEERS = re.compile(
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
