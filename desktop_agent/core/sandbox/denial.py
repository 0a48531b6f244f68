"""Whether a command failed because the sandbox stopped it, read from what it printed. A guess, made to be seldom wrong.

It decides only whether a way out of the sandbox is offered to a user: missing a denial costs a question less, seeing
one where there is none costs a needless question. So a successful command never counts, nor does a refusal that would
come without a sandbox too.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from desktop_agent.core.sandbox.confinement import ConfinementSpec, is_within
from desktop_agent.core.sandbox.home import TEMP, Homes
from desktop_agent.core.sandbox.missing_programs import (
    MissingProgram,
    missing_program,
    names_in,
    program_behind_path,
)

_LOOKED_AT = 16_000
"""Characters from the end: the reason for a failure is printed last."""
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
    r"|connection refused|\bECONNREFUSED\b"  # a server of the machine, which the sandbox's own loopback does not have
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
    """Return a sentence that says what the sandbox seems to have refused; empty when nothing points to it.

    `has_closed_top`: nothing may be made or removed directly in the workspace, though it may be written (Landlock).
    `is_hidden` says what a path lies in that the command does not see although it is there, empty for nothing. Programs
    that it did not find by their names are looked for in `homes`, and where programs usually are; those that it did not
    find by their paths, from the `folder` where it ran.
    """
    if exit_code == 0:
        return ""
    text = _end_of(output)
    for path in _named_paths(text):
        if hidden := is_hidden(path):
            return f"The sandbox hides {_named(hidden)} from commands; the setting home_visible makes it visible."
    for program in _missing_programs(text, homes, is_hidden, folder):
        if program.hidden:
            where = f"{_named(str(program.path))} is in {_named(program.hidden)}, which the sandbox hides from commands"
            return f"The program {where}; the setting home_visible makes it visible."
    if re.search(_NETWORK, text) or _is_pythons_socket(text):
        return "The command seems to need the network, which the sandbox does not give it."
    for path, why in _refusals(text):
        if _is_ours(path, why, exit_code, confinement):
            return _sentence(path, confinement)
        if has_closed_top and _is_in_top(path, confinement):
            return f"The sandbox of this system lets nothing be made or removed in the top folder itself ({path})."
    if re.search(_MODE_REFUSED, text):
        return "The sandbox lets no command make a file set-user-ID or set-group-ID, sticky, or writable for everybody."
    if "Read-only file system" in text:
        return "The command tried to write where the sandbox only lets it read."
    return ""


def misplaced_program_in(output: str, homes: Homes, find_hidden: Callable[[], Callable[[Path], str]]) -> str:
    """Return, in a sentence, where a program is that a failed command did not find though nothing hides it.

    Empty for none. `find_hidden` returns what `denial_in` calls `is_hidden`; both block.
    """
    text = _end_of(output)
    for program in _missing_programs(text, homes, find_hidden(), None) if names_in(text) else ():
        if not program.hidden:
            name, place = _named(program.path.name), _named(str(program.path))
            return f"The program {name} is not in the folders of PATH that commands have. It is at {place}."
    return ""


def _end_of(output: str) -> str:
    """Return the end of an output. Bounded lines keep the patterns fast on whatever a command prints."""
    return "\n".join(line[-_LONGEST_LINE:] for line in output[-_LOOKED_AT:].splitlines())


def _missing_programs(
    text: str, homes: Homes | None, is_hidden: Callable[[Path], str], folder: Path | None
) -> Iterator[MissingProgram]:
    if homes is not None:
        for name in names_in(text):
            if (program := missing_program(name, homes, is_hidden)) is not None:
                yield program
    if folder is not None and (program := program_behind_path(text, folder, is_hidden)) is not None:
        yield program


def _named_paths(text: str) -> Iterator[Path]:
    """Yield the absolute paths of lines that say that something is not there, or refused."""
    lines = [line for line in text.splitlines() if re.search(_MISSING, line)]
    found = dict.fromkeys(match[0].rstrip(".,:;)") for line in lines for match in re.finditer(_ABSOLUTE, line))
    yield from map(Path, list(found)[-_MOST_PATHS:])


def _is_pythons_socket(text: str) -> bool:
    return text.rstrip().endswith(_PYTHON_SAYS_NO) and ("socket.py" in text or "socket.socket(" in text)


def _refusals(text: str) -> Iterator[tuple[str, str]]:
    for pattern in _REFUSALS:
        for found in re.finditer(pattern, text):
            # "touch: cannot touch x" without quotes, "bash: line 1: x": the path is the last word.
            words = found["path"].strip()
            yield (words if words.startswith("/") else words.rsplit(" ", 1)[-1]), found["why"].lower()


def _is_ours(path: str, why: str, exit_code: int, confinement: ConfinementSpec) -> bool:
    if "read-only" in why:
        return "/" in path or "." in path  # else it is the last word of a sentence
    if exit_code == _NOT_EXECUTABLE or not path:
        return False
    if path.startswith("~") or re.search(_PROTECTED, path):
        return True
    if not path.startswith("/"):
        # Relative to a folder in the workspace: there only protected places and, for Landlock, new entries are closed.
        return not confinement.is_workspace_writable
    if is_within(Path(path), _CLOSED_TO_EVERYBODY):
        return False
    return not is_within(Path(path), _writable(confinement))


def _is_in_top(path: str, confinement: ConfinementSpec) -> bool:
    """Whether a path names something directly in the workspace, as far as its text shows."""
    relative = path.removeprefix(f"{confinement.workspace}/").removeprefix("./")
    return bool(relative) and "/" not in relative.rstrip("/")


def _writable(confinement: ConfinementSpec) -> tuple[Path, ...]:
    workspace = (confinement.workspace,) if confinement.is_workspace_writable else ()
    return (*workspace, confinement.temp, TEMP, *confinement.writable)


def _sentence(path: str, confinement: ConfinementSpec) -> str:
    path = _named(path)
    if re.search(_PROTECTED, path):
        return f"The sandbox protects {path}; the command was not allowed to change it."
    if confinement.is_workspace_writable:
        return f"The sandbox refused access to {path}, which is outside the folders the command may use."
    return f"The sandbox lets the command read only; it was refused access to {path}."


def _named(path: str) -> str:
    """Return `path` in quotes: a command can print any words, and they must not read as ours."""
    text = "".join(sign if sign.isprintable() and sign != "`" else "?" for sign in path)
    return f"`{text[:_LONGEST_NAMED]}…`" if len(text) > _LONGEST_NAMED else f"`{text}`"
