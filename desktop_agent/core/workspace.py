"""The folder a session works in: what is in it, read without ever raising for one bad entry.

Everything here is synchronous and meant for a thread. A thread shares the interpreter with the window, so nothing in
here is one long call into C: a window waits at most a few milliseconds for its turn.
"""

import heapq
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple

from desktop_agent.core.errors import WorkspaceError
from desktop_agent.core.gitrepo import FileState, FileStatus

FolderMark = Literal["conflicted", "modified", "added"]
"""What a folder is marked with because of what is below it, strongest first."""

MAX_LISTED_FILES: Final = 200_000

_NEVER_SHOWN: Final = frozenset({".git", ".hg", ".svn", ".DS_Store"})
"""Version control's own folders and a file manager's litter: nobody edits them by hand, and a click would not help."""

_SORTED_AT_ONCE: Final = 2_048


class DirEntry(NamedTuple):
    """One entry of a folder. A tuple, because a folder may have 100,000 of them."""

    name: str
    is_dir: bool
    """Whether it can be opened as a folder; true also for a link to one."""
    is_symlink: bool = False


class Listing(NamedTuple):
    """What a folder holds, folders first, each in natural order; and what went wrong while reading it, if anything."""

    entries: list[DirEntry]
    problem: str = ""


def check_workspace(path: Path) -> None:
    """Raise `WorkspaceError` unless `path` is a folder that can be read."""
    try:
        with os.scandir(path):
            return
    except FileNotFoundError as error:
        raise WorkspaceError(f"The folder {path} does not exist.", hint="Choose another folder.") from error
    except NotADirectoryError as error:
        raise WorkspaceError(f"{path} is a file, not a folder.", hint="Choose the folder it is in.") from error
    except PermissionError as error:
        raise WorkspaceError(
            f"The folder {path} cannot be read.", hint="Change its permissions, or choose another folder."
        ) from error
    except OSError as error:
        raise WorkspaceError(
            f"The folder {path} cannot be read.", hint="Choose another folder.", detail=str(error)
        ) from error


def scan_directory(path: Path) -> Listing:
    """Return what is directly in `path`. Never raises: a folder that cannot be read is a listing with a `problem`."""
    entries: list[DirEntry] = []
    try:
        with os.scandir(path) as found:
            entries.extend(_entry(item) for item in found if item.name not in _NEVER_SHOWN)
    except OSError as error:
        return Listing(_in_order(entries), error.strerror or str(error))
    return Listing(_in_order(entries))


def walk_files(path: Path, limit: int = MAX_LISTED_FILES) -> tuple[list[str], bool]:
    """Return the files below `path`, relative and with `/`, and whether these are all. For folders without git.

    Breadth first, so what a limit cuts off is what lies deepest. Links to folders are not followed.
    """
    found: list[str] = []
    waiting = [""]
    for folder in waiting:
        for entry in scan_directory(path / folder).entries:
            inside = f"{folder}{entry.name}"
            if not entry.is_dir:
                found.append(inside)
            elif not entry.is_symlink:
                waiting.append(f"{inside}/")
            if len(found) >= limit:
                return found, False
    return found, True


def roll_up(files: Mapping[str, FileStatus]) -> dict[str, FolderMark]:
    """Return the mark of every folder that has a changed file below it, the strongest winning."""
    marks: dict[str, FolderMark] = {}
    for path, status in files.items():
        mark = _MARK_OF.get(status.state)
        if mark is None:
            continue
        for folder in _parents(path):
            known = marks.get(folder)
            if known is not None and _STRENGTH[known] >= _STRENGTH[mark]:
                break  # whatever is above carries at least this mark already
            marks[folder] = mark
    return marks


_MARK_OF: Final[Mapping[FileState, FolderMark]] = {
    "conflicted": "conflicted",
    "modified": "modified",
    "deleted": "modified",
    "renamed": "modified",
    "added": "added",
    "untracked": "added",
}
_STRENGTH: Final[Mapping[FolderMark, int]] = {"added": 1, "modified": 2, "conflicted": 3}


def _parents(path: str) -> Iterator[str]:
    end = path.rfind("/")
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)


def _entry(item: os.DirEntry[str]) -> DirEntry:
    try:
        return DirEntry(item.name, item.is_dir(), item.is_symlink())
    except OSError:  # a link in a circle, or one that may not be followed
        return DirEntry(item.name, False, True)


_DIGITS: Final = re.compile(r"\d+")


def natural_key(name: str) -> str:
    """Return what to sort `name` by, so that `page2` comes before `page10` and case does not matter."""
    folded = _DIGITS.sub(_longer_is_larger, name.casefold())
    return f"{folded}\0{name}"  # names that differ only in case or leading zeros still have one order


def _longer_is_larger(digits: re.Match[str]) -> str:
    number = digits[0].lstrip("0")
    return f"{len(number):03d}{number}"


def _in_order(entries: Iterable[DirEntry]) -> list[DirEntry]:
    # Sorting 100,000 names is one call that holds the interpreter for 100 ms; sorted pieces, merged in Python, let go.
    keyed = [(f"{not entry.is_dir:d}{natural_key(entry.name)}", entry) for entry in entries]
    pieces = [keyed[start : start + _SORTED_AT_ONCE] for start in range(0, len(keyed), _SORTED_AT_ONCE)]
    for piece in pieces:
        piece.sort()
    return [entry for _, entry in heapq.merge(*pieces)]
