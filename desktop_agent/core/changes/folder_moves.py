"""Moves a folder in one step on disk, and describes the move as changes that can be undone."""

import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.changes.workspace_files import WorkspaceFiles, anchored
from desktop_agent.core.system.file_writes import MEANWHILE, ChangedError, ExchangeUnsupportedError, rename_to_free
from desktop_agent.core.system.files import FileState, FileTransition
from desktop_agent.core.system.staged_file import sync_folder

MOST_ENTRIES = 2_000
MOST_BYTES = 256 * 2**20
"""How much one folder may hold: an undo takes half a minute for this much."""

UNTOUCHED = "Nothing was renamed."
_MOUNTS = Path("/proc/self/mountinfo")
_ELSEWHERE = "Nothing was renamed. Rename it in a file manager or the terminal; that cannot be undone here."


class FolderContents(Struct, frozen=True):
    """All that is in a folder. Paths are relative to the folder, which itself is the empty path."""

    path: str
    folders: tuple[str, ...]
    files: tuple[str, ...]
    marks: Mapping[str, tuple[int, ...]]
    """A mark stays the same as long as the file or folder is untouched."""

    @property
    def change_count(self) -> int:
        return 2 * (len(self.folders) + len(self.files))


def look_into(root: Path, path: str) -> FolderContents:
    """List all that is in a folder. Raises `AgentError` if an undo could not restore all entries. Blocks."""
    return _look(root / path, path)


def _look(place: Path, path: str) -> FolderContents:
    folders, files, marks = [""], list[str](), dict[str, tuple[int, ...]]()
    size = 0
    try:
        mounted = _mounted_in(place)
        for name, status in _walk(place):
            if name in mounted:
                raise AgentError(
                    f"{path} has another disk or folder mounted in it: {_join(path, name)}.", hint=_ELSEWHERE
                )
            if stat.S_ISDIR(status.st_mode):
                folders += [name] if name else []
                marks[name] = (status.st_ino, status.st_mode)
            else:
                files.append(name)
                marks[name] = (
                    *(status.st_ino, status.st_mode, status.st_size),
                    *(status.st_mtime_ns, status.st_ctime_ns),
                )
                size += status.st_size
            _require_undoable(path, name, status)
            if len(marks) > MOST_ENTRIES or size > MOST_BYTES:
                raise AgentError(
                    f"{path} exceeds what is kept for an undo: {MOST_ENTRIES:,} files and folders, or "
                    f"{MOST_BYTES >> 20} MiB.",
                    hint=_ELSEWHERE,
                )
    except OSError as error:
        raise AgentError(f"{path} cannot be read completely.", hint=UNTOUCHED, detail=str(error)) from error
    return FolderContents(path, tuple(folders), tuple(files), marks)


def require_reachable(root: Path, contents: FolderContents, to: str) -> None:
    """Raise `AgentError` if a path in the folder would become too long at `to`."""
    longest = max(contents.marks, key=lambda name: len(os.fsencode(name)))
    try:
        os.lstat(root / _join(to, longest))
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise AgentError(
                f"{to} is too long: files in {contents.path} could not be opened at that path.", hint=UNTOUCHED
            ) from error


def transitions_of(files: WorkspaceFiles, contents: FolderContents, to: str) -> Iterator[FileTransition]:
    """Yield transitions in an order in which they can be made, and undone in reverse. Raises `OSError`."""
    modes: list[tuple[str, FileState]] = []
    for name in contents.folders:
        modes.append((name, state := _state(files, _join(contents.path, name))))
        parents = () if name else files.missing_folders(to)
        yield FileTransition(_join(to, name), before=None, after=state, new_folders=parents)
    for name in contents.files:
        old, new = _join(contents.path, name), _join(to, name)
        state = _state(files, old)
        yield FileTransition(new, before=None, after=state, moved_from=old)
        yield FileTransition(old, before=state, after=None, moved_to=new)
    for name, state in reversed(modes):
        yield FileTransition(_join(contents.path, name), before=state, after=None)


def move(root: Path, contents: FolderContents, to: str, *, identity: tuple[int, int] | None) -> None:
    """Move the folder in one step, if it is unchanged and `to` is free. Otherwise raise `OSError` or `AgentError`."""
    with (
        anchored(root, contents.path, makes_folders=False, identity=identity) as source,
        anchored(root, to, makes_folders=True, identity=identity) as target,
    ):
        if _look(source, contents.path).marks != contents.marks:
            raise ChangedError(errno.EBUSY, MEANWHILE)
        try:
            rename_to_free(source, target)
        except ExchangeUnsupportedError:
            if os.path.lexists(target):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
            os.rename(source, target)  # noqa: PTH104 - as the system does it
        sync_folder(target.parent)
        sync_folder(source.parent)


def _walk(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    yield "", folder.lstat()
    waiting = [""]
    while waiting:
        outer = waiting.pop()
        with os.scandir(folder / outer) as listing:
            for entry in listing:
                name = _join(outer, entry.name)
                yield name, os.lstat(folder / name)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(name)


def _mounted_in(folder: Path) -> frozenset[str]:
    """A rename would move the mounts, and an undo would empty them."""
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return frozenset()
    above = f"{os.path.realpath(folder)}/"
    names = (re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8)]), line.split(b" ")[4]) for line in lines)
    points = map(os.fsdecode, names)
    return frozenset(point.removeprefix(above) for point in points if point.startswith(above))


def _require_undoable(path: str, name: str, status: os.stat_result) -> None:
    what = _join(path, name)
    if name.rpartition("/")[2].lower() == ".git":
        raise AgentError(f"{path} has a git repository in it: {what}.", hint=_ELSEWHERE)
    if os.name != "nt" and os.geteuid() not in (0, status.st_uid):
        raise AgentError(f"{what} belongs to another user, and an undo could not restore its owner.", hint=_ELSEWHERE)
    if stat.S_ISDIR(status.st_mode):
        if os.name != "nt" and not status.st_mode & stat.S_IWUSR:
            raise AgentError(f"{what} is not writable, so an undo could not restore its contents.", hint=_ELSEWHERE)
    elif status.st_nlink > 1:
        raise AgentError(f"{what} is hard-linked, and an undo would break the link.", hint=_ELSEWHERE)


def _state(files: WorkspaceFiles, path: str) -> FileState:
    state = files.current(path)
    if state is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return state


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and name else folder or name
