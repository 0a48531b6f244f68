"""Guesses from the output of a failed command whether the sandbox stopped it, so that the user is asked."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from glob import glob
from itertools import chain, islice
from pathlib import Path

from desktop_agent.core.sandbox.confinement import ConfinementSpec, is_within
from desktop_agent.core.sandbox.guarded import TEMP, Homes, named_in

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
"""Messages about a missing program. Compiled only after a failure, which saves every start 20 ms."""
_MOST_NAMES = 5
_PROGRAM_PATH = r"(?P<path>(?:[^\s:'\"‘’`]+(?: [^\s:'\"‘’`]+)*)?/[^:'\"‘’`\n]+)"
_PATH_NOT_FOUND = (
    rf"(?m)(?:^|: |['\"‘`]){_PROGRAM_PATH}['\"’`]?: "
    r"(?:No such file|not found$|cannot execute: required file|bad interpreter|Permission denied)",
    rf"[Nn]o such file or directory: ['\"]{_PROGRAM_PATH}['\"]",  # Python, zsh
    rf"\bspawn {_PROGRAM_PATH} ENOENT\b",  # Node
)

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


def names_in(text: str) -> tuple[str, ...]:
    found = dict.fromkeys(match["name"] for pattern in _NOT_FOUND for match in re.finditer(pattern, text))
    return tuple(found)[-_MOST_NAMES:]


def missing_program(name: str, homes: Homes, is_hidden: Callable[[Path], str]) -> tuple[Path, str] | None:
    """Find an installed program that the command did not find. Blocks.

    Return its path and the hidden part of the home that contains it, such as `~/apps`. The part is empty if it is only
    not on `PATH`. Return None if the program is not the reason.
    """
    installed = list(_programs(name, homes.search))
    if any(not is_hidden(path) for path in installed):
        return None  # the program could be found, so the reason is another one
    usual = [Path(folder) for folder in _OF_THE_SYSTEM] + [home / folder for home in homes.own for folder in _IN_HOME]
    path = next(chain(installed, _programs(name, usual)), None)
    return (path, is_hidden(path)) if path is not None else None


def program_behind_path(text: str, folder: Path, is_hidden: Callable[[Path], str]) -> tuple[Path, str] | None:
    """Return the hidden target or interpreter of a program in `text`, and the place that hides it. Blocks."""
    found = dict.fromkeys(match["path"] for pattern in _PATH_NOT_FOUND for match in re.finditer(pattern, text))
    for named in tuple(found)[-_MOST_NAMES:]:
        path = folder / named
        for needed in (Path(os.path.realpath(path)), *islice(named_in(str(path)), 1)):
            if hidden := is_hidden(needed):
                return needed, hidden
    return None


def _programs(name: str, folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        for place in _matching(folder):
            path = place / name
            if os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113 - `Path` does not forgive a closed folder
                yield path


def _matching(folder: Path) -> Iterable[Path]:
    if "*" not in folder.parts:
        return (folder,)
    base = Path(*folder.parts[: folder.parts.index("*")])
    found = glob(str(folder.relative_to(base)), root_dir=base)  # noqa: PTH207 - `Path` raises for a closed folder, such as root's home
    return sorted((base / name for name in found), reverse=True)  # the newest version first


_LOOKED_AT = 16_000
"""How many characters of the output's end are searched, because the reason for a failure is printed last."""
_LONGEST_LINE = 400
_LONGEST_NAMED = 120

_NOT_EXECUTABLE = 126

_PATH = r"""(?P<path>(?:[~./\w@%+=-]|[^\x00-\x7f])(?:[^\n'"‘’`:,;()<>|]*[^\n'"‘’`:,;()<>| ])?)"""
_REFUSED = r"(?P<why>Read-only file system|Permission denied|Operation not permitted)"
_REFUSALS = (
    rf"\[Errno \d+\] {_REFUSED}: ['\"](?P<path>[^'\"\n]+)['\"]",  # Python
    r"\b(?:EROFS|EACCES|EPERM): (?P<why>[\w -]+), \w+ '(?P<path>[^'\n]+)'",  # Node
    rf"['\"‘`](?P<path>[^'\"‘’`\n]+)['\"’`]: {_REFUSED}",  # coreutils, git
    rf"(?m)(?:^|[ :(]){_PATH}: {_REFUSED}",
    r"(?i)(?P<why>permission denied|read-only file system)(?:\s*\(os error \d+\))?: (?P<path>/[^\s:]+)",
)
_NETWORK = (
    r"(?i)could not resolve (?:host|proxy|hostname)|temporary failure in name resolution|network is unreachable"
    r"|name or service not known|nodename nor servname provided|getaddrinfo (?:ENOTFOUND|EAI_AGAIN)|\bENETUNREACH\b"
    r"|failed to establish a new connection|temporary failure resolving|unable to resolve host address"
    r"|dial (?:tcp|udp)\b.*(?:unreachable|no such host|misbehaving|operation not permitted)"
    r"|connection refused|\bECONNREFUSED\b"  # a server on this machine, which the sandbox's own loopback cannot reach
    r"|failed to lookup address information|dns error: failed|no route to host"
    r"|\bsocket(?:\(\))?: (?:operation not permitted|permission denied)|unable to create.{0,20}socket"
)
_MISSING = (
    r"(?i)no such file|not found|cannot find|can't find|could not find|could ?n[o']t (?:open|read|load)"
    r"|does ?n[o']t exist|does not exist|enoent|no module named|not a directory|unable to (?:open|read|load|find)"
    r"|permission denied|eacces"
)
_ABSOLUTE = r"""(?<![\w.~/-])/(?:[^\s'"‘’`:,;()<>|]|(?<=\S) (?=\S+/))+"""
_MOST_PATHS = 20
_PYTHON_SAYS_NO = "PermissionError: [Errno 1] Operation not permitted"
_CLOSED_TO_EVERYBODY = tuple(
    map(Path, ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/root", "/proc", "/sys", "/lost+found", "/dev"))
)
_MODE_REFUSED = (
    r"(?mi)\b(?:(?:changing|preserving|setting|set) permissions|change mode|f?chmod\w*)\b"
    r".*operation not permitted|operation not permitted.*\bchmod\b"
)
_PROTECTED = r"(?:^|/)(?:\.git|\.desktop-agent)(?:/|$)"


def denial_in(
    exit_code: int,
    output: str,
    confinement: ConfinementSpec,
    *,
    has_closed_top: bool = False,
    is_hidden: Callable[[Path], str] = lambda _: "",
    homes: Homes | None = None,
    folder: Path | None = None,
) -> str:
    """Return a sentence that says what the sandbox seems to have refused; empty if nothing.

    `has_closed_top`: nothing can be created directly in the workspace. `is_hidden` returns the hidden place around
    a path, or an empty text.
    """
    if exit_code == 0:
        return ""
    text = _end_of(output)
    for path in _named_paths(text):
        if hidden := is_hidden(path):
            return f"The sandbox hides {_named(hidden)} from commands; the setting home_visible makes it visible."
    for path, hidden in _missing_programs(text, homes, is_hidden, folder):
        if hidden:
            where = f"{_named(str(path))} is in {_named(hidden)}, which the sandbox hides from commands"
            return f"The program {where}; the setting home_visible makes it visible."
    is_pythons_socket = text.rstrip().endswith(_PYTHON_SAYS_NO) and ("socket.py" in text or "socket.socket(" in text)
    if is_pythons_socket or re.search(_NETWORK, text):
        return "The command seems to need the network, which the sandbox does not give it."
    for refused, why in _refusals(text):
        if _is_ours(refused, why, exit_code, confinement):
            return _sentence(refused, confinement)
        if has_closed_top and _is_in_top(refused, confinement):
            return f"The sandbox of this system lets nothing be made or removed in the top folder itself ({refused})."
    if re.search(_MODE_REFUSED, text):
        return "The sandbox lets no command make a file set-user-ID or set-group-ID, sticky, or writable for everybody."
    if "Read-only file system" in text:
        return "The command tried to write where the sandbox only lets it read."
    return ""


def misplaced_program_in(output: str, homes: Homes, find_hidden: Callable[[], Callable[[Path], str]]) -> str:
    """Return a sentence about a visible program that a failed command did not find; empty for none. Blocks."""
    text = _end_of(output)
    for path, hidden in _missing_programs(text, homes, find_hidden(), None) if names_in(text) else ():
        if not hidden:
            name, place = _named(path.name), _named(str(path))
            return f"The program {name} is not in the folders of PATH that commands have. It is at {place}."
    return ""


def _end_of(output: str) -> str:
    return "\n".join(line[-_LONGEST_LINE:] for line in output[-_LOOKED_AT:].splitlines())


def _missing_programs(
    text: str, homes: Homes | None, is_hidden: Callable[[Path], str], folder: Path | None
) -> Iterator[tuple[Path, str]]:
    found = [missing_program(name, homes, is_hidden) for name in names_in(text)] if homes is not None else []
    behind = program_behind_path(text, folder, is_hidden) if folder is not None else None
    yield from (program for program in (*found, behind) if program is not None)


def _named_paths(text: str) -> Iterator[Path]:
    lines = [line for line in text.splitlines() if re.search(_MISSING, line)]
    found = dict.fromkeys(match[0].rstrip(".,:;)") for line in lines for match in re.finditer(_ABSOLUTE, line))
    yield from map(Path, list(found)[-_MOST_PATHS:])


def _refusals(text: str) -> Iterator[tuple[str, str]]:
    for pattern in _REFUSALS:
        for found in re.finditer(pattern, text):
            words = found["path"].strip()
            yield (words if words.startswith("/") else words.rsplit(" ", 1)[-1]), found["why"].lower()


def _is_ours(path: str, why: str, exit_code: int, confinement: ConfinementSpec) -> bool:
    if "read-only" in why:
        return "/" in path or "." in path  # otherwise it is the last word of a sentence
    if exit_code == _NOT_EXECUTABLE or not path:
        return False
    if path.startswith("~") or re.search(_PROTECTED, path):
        return True
    if not path.startswith("/"):
        # Relative paths start in the workspace. There only protected places and, for Landlock, new entries are closed.
        return not confinement.is_workspace_writable
    if is_within(Path(path), _CLOSED_TO_EVERYBODY):
        return False
    workspace = (confinement.workspace,) if confinement.is_workspace_writable else ()
    return not is_within(Path(path), (*workspace, confinement.temp, TEMP, *confinement.writable))


def _is_in_top(path: str, confinement: ConfinementSpec) -> bool:
    relative = path.removeprefix(f"{confinement.workspace}/").removeprefix("./")
    return bool(relative) and "/" not in relative.rstrip("/")


def _sentence(path: str, confinement: ConfinementSpec) -> str:
    path = _named(path)
    if re.search(_PROTECTED, path):
        return f"The sandbox protects {path}; the command was not allowed to change it."
    if confinement.is_workspace_writable:
        return f"The sandbox refused access to {path}, which is outside the folders the command may use."
    return f"The sandbox lets the command read only; it was refused access to {path}."


def _named(path: str) -> str:
    """Return `path` in quotes. A command can print any words, and users must not take them for ours."""
    text = "".join(sign if sign.isprintable() and sign != "`" else "?" for sign in path)
    return f"`{text[:_LONGEST_NAMED]}…`" if len(text) > _LONGEST_NAMED else f"`{text}`"
