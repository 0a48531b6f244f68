"""Programs that a command did not find although they are on this machine: where they are, and why it did not find them.

A shell names what it misses without a path: `foo: not found`. So the names are looked up where the application would
find them, and in the folders that people install programs in. A program that is named by its path may be a link to what
is hidden, or a script whose interpreter is.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from desktop_agent.core.sandbox.home import Homes

_NAME = r"(?P<name>[A-Za-z0-9_][\w.+-]{0,63})"
_QUOTED = rf"['\"‘`]?{_NAME}['\"’`]?"
_NOT_FOUND = (
    rf"(?m)(?:^|[:\s]){_NAME}: (?:command )?not found$",  # sh, bash, sudo
    rf"(?m)command not found: {_NAME}$",  # zsh
    rf"(?m): (?:line )?\d+: {_NAME}: Permission denied$",  # sh, bash behind Landlock
    rf"(?m)^(?:/\S+/)?(?:env|xargs|make(?:\[\d+\])?|g?nice|nohup|setsid|stdbuf|time): {_QUOTED}: No such file",
    rf"failed to run command {_QUOTED}: No such file",  # timeout, nohup
    rf"(?m)No such file or directory: '{_NAME}'$",  # Python
    rf"\bspawn {_NAME} ENOENT\b",  # Node
    rf"exec: {_QUOTED}: executable file not found",  # Go
)
"""Compiled when a command has failed: 20 ms that no other start has to wait for."""
_MOST_NAMES = 5
_PATH = r"(?P<path>(?:[^\s:'\"‘’`]+(?: [^\s:'\"‘’`]+)*)?/[^:'\"‘’`\n]+)"
_PATH_NOT_FOUND = (
    rf"(?m)(?:^|: |['\"‘`]){_PATH}['\"’`]?: "
    r"(?:No such file|not found$|cannot execute: required file|bad interpreter|Permission denied)",
    rf"[Nn]o such file or directory: ['\"]{_PATH}['\"]",  # Python, zsh
    rf"\bspawn {_PATH} ENOENT\b",  # Node
)
_LONGEST_FIRST_LINE = 1024

_IN_HOME = (
    ".local/bin", "bin", ".cargo/bin", "go/bin", ".npm-global/bin", ".deno/bin", ".bun/bin", ".volta/bin",
    ".pyenv/shims", ".rbenv/shims", ".asdf/shims", ".local/share/mise/shims", ".nvm/versions/node/*/bin",
    ".juliaup/bin", ".ghcup/bin",
    ".cabal/bin", ".dotnet/tools", ".sdkman/candidates/*/current/bin", ".pixi/bin", ".krew/bin", ".linuxbrew/bin",
    ".nix-profile/bin", "anaconda3/bin", "miniconda3/bin", "miniforge3/bin", ".poetry/bin", ".composer/vendor/bin",
)  # fmt: skip
_OF_THE_SYSTEM = (
    "/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin", "/bin", "/sbin", "/opt/bin", "/opt/*/bin", "/opt/*",
    "/snap/bin", "/usr/local/go/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/usr/lib/jvm/*/bin",
)  # fmt: skip
"""Where programs are that are not on everybody's `PATH`. A window's `PATH` is shorter than that of a terminal."""


class MissingProgram(Struct, frozen=True):
    """A program that a command did not find."""

    path: Path
    """Where it is."""
    hidden: str
    """What of a home the sandbox hides it in, such as `~/apps`; empty where it is visible, but not on `PATH`."""


def names_in(text: str) -> tuple[str, ...]:
    """Return the programs that the lines of `text` say were not found, the last ones."""
    found = dict.fromkeys(match["name"] for pattern in _NOT_FOUND for match in re.finditer(pattern, text))
    return tuple(found)[-_MOST_NAMES:]


def missing_program(name: str, homes: Homes, is_hidden: Callable[[Path], str]) -> MissingProgram | None:
    """Return where a program is that a command confined like this does not find; None where that explains nothing.

    Blocks. `is_hidden` says what of a home hides a path, empty for nothing.
    """
    installed = list(_programs(name, homes.search))
    if any(not is_hidden(path) for path in installed):
        return None  # it could be found, so something else is the matter
    usual = [Path(folder) for folder in _OF_THE_SYSTEM] + [home / folder for home in homes.own for folder in _IN_HOME]
    for path in (*installed, *_programs(name, usual)):
        return MissingProgram(path, is_hidden(path))
    return None


def program_behind_path(text: str, folder: Path, is_hidden: Callable[[Path], str]) -> MissingProgram | None:
    """Return what is hidden of a program that `text` says is not at its path; `folder` is where the command ran.

    Blocks. That is where a link leads, or the interpreter that the first line of a script names.
    """
    found = dict.fromkeys(match["path"] for pattern in _PATH_NOT_FOUND for match in re.finditer(pattern, text))
    for named in tuple(found)[-_MOST_NAMES:]:
        path = folder / named
        for needed in (Path(os.path.realpath(path)), *_interpreter_of(path)):
            if hidden := is_hidden(needed):
                return MissingProgram(needed, hidden)
    return None


def _interpreter_of(script: Path) -> Iterator[Path]:
    try:
        if not stat.S_ISREG(os.stat(script).st_mode):  # noqa: PTH116 - a pipe would keep us waiting
            return
        with script.open("rb") as file:
            line = file.readline(_LONGEST_FIRST_LINE)
    except (OSError, ValueError):
        return
    words = os.fsdecode(line.removeprefix(b"#!")).split() if line.startswith(b"#!") else []
    if words and words[0].startswith("/"):
        yield Path(words[0])


def _programs(name: str, folders: Iterable[Path]) -> Iterator[Path]:
    """Yield where a program of this name is in these folders, which may have `*` for any name."""
    for folder in folders:
        for place in _matching(folder):
            path = place / name
            if os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113 - `Path` does not forgive a closed folder
                yield path


def _matching(folder: Path) -> Iterable[Path]:
    if "*" not in folder.parts:
        return (folder,)
    base = Path(*folder.parts[: folder.parts.index("*")])
    return sorted(base.glob(str(folder.relative_to(base))), reverse=True)  # the newest version first
