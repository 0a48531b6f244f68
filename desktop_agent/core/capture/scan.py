"""Finds differences in a folder in one walk, which lists only folders whose time is new or very recent."""

import heapq
import os
import stat
import sys
import time
from collections.abc import Generator, Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from threading import Event
from typing import Final, NamedTuple

from msgspec import Struct, field

from desktop_agent.core.base.file_names import folders_above
from desktop_agent.core.base.mount_stand_ins import bears_stamp
from desktop_agent.core.protocol.model import Uncaptured
from desktop_agent.core.settings.sections import CaptureSettings

Signature = tuple[int, int, int, int, int]
"""Change time, modification time (both in ns), size, inode, mode. No program can set the change time."""

UNKNOWN: Signature = (0, 0, 0, 0, 0)
"""A signature that no file has, so that the file is read again at the next look."""

_RACY_FILE_NS = 50_000_000
"""A file written this shortly before the look may change again within one tick of the file system's clock."""
_RACY_FOLDER_NS = 3_000_000_000
"""The same for folders. It is longer, because some file systems count in steps of two seconds, and costs little."""

_HAS_DIR_FD = os.stat in os.supports_dir_fd and os.scandir in os.supports_fd
"""Where this is false (Windows), every folder is listed; there, a listing includes what `stat` would return."""
_OPEN_FOLDER: int = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class CaptureStoppedError(Exception): ...


class KnownFolder(Struct):
    mode: int
    signature: Signature = UNKNOWN
    """`UNKNOWN` until the folder has been listed."""
    seen: Signature = UNKNOWN
    """The signature at the last look, even if it was too recent to prove that the names are the same."""
    files: dict[str, Signature] = field(default_factory=dict[str, Signature])
    folders: tuple[str, ...] = ()
    repository: str = ""
    """`.git`, or `.` if the folder itself looks like the inside of a repository."""


Known = dict[str, KnownFolder]
"""All folders by path relative to the workspace; the workspace is the empty path. Bytes are as in PEP 383."""


class FolderPart(NamedTuple):
    starts: tuple[str, ...] = ("",)
    """None contains another."""
    excluded: frozenset[str] = frozenset()


_WHOLE = FolderPart()


class Unusual(NamedTuple):
    """Properties that only few files have, so signatures do not include them."""

    owner: tuple[int, int]
    links: int


USUAL = Unusual((os.geteuid(), os.getegid()) if sys.platform != "win32" else (0, 0), 1)


class Scan(Struct):
    started_ns: int
    changed: dict[str, Signature] = field(default_factory=dict[str, Signature])
    unusual: dict[str, Unusual] = field(default_factory=dict[str, Unusual])
    gone: list[str] = field(default_factory=list[str])
    listed: Known = field(default_factory=Known)
    unread: set[str] = field(default_factory=set[str])
    out_of_reach: list[Uncaptured] = field(default_factory=list[Uncaptured])
    file_count: int = 0
    folders_left: int = 0

    def not_watched(self, limits: CaptureSettings) -> tuple[Uncaptured, ...]:
        if not self.folders_left:
            return tuple(self.out_of_reach)
        reason = (
            f"Scanning the folder took longer than {limits.max_seconds:g} s; "
            f"{self.folders_left:,} folders and their contents are not watched."
        )
        return (*self.out_of_reach, Uncaptured(path=".", reason=reason))

    def add(self, other: "Scan") -> None:
        self.started_ns = min(self.started_ns, other.started_ns)
        self.changed |= other.changed
        self.unusual |= other.unusual
        self.gone += other.gone
        self.listed |= other.listed
        self.unread |= other.unread
        self.out_of_reach += other.out_of_reach
        self.file_count += other.file_count
        self.folders_left += other.folders_left


def scan_folder(
    root: Path, known: Known, limits: CaptureSettings, stop: Event | None = None, part: FolderPart = _WHOLE
) -> Scan:
    """Walk `root`, or a part of it. Blocks. Raises `CaptureStoppedError` when `stop` is set.

    What a limit or an unreadable folder leaves out counts as unchanged, and `not_watched` reports it.
    """
    return _Walk(root, known, limits, stop, part).run()


def learn(known: Known, scan: Scan) -> None:
    """Add the findings of a walk to the known ones. Call this after the findings were stored."""
    for path in scan.gone:
        parent, name = split(path)
        known.pop(path, None)
        if parent in known:
            known[parent].files.pop(name, None)
    for path, folder in scan.listed.items():
        known[path] = folder
    for path, signature in scan.changed.items():
        if not stat.S_ISDIR(signature[4]):
            parent, name = split(path)
            is_open = path in scan.unread or is_racy(signature, scan.started_ns)
            known[parent].files[name] = UNKNOWN if is_open else signature
            known.pop(path, None)  # a file took the place of a folder
        elif path in known:
            known[path].mode, known[path].seen = signature[4], signature


def leave_out_stand_ins(scan: Scan) -> None:
    for path, signature in list(scan.changed.items()):
        folder = scan.listed.get(path)
        if folder is None or folder.files or folder.folders or not bears_stamp(signature[4], signature[1]):
            continue
        del scan.changed[path], scan.listed[path]
        parent, name = split(path)
        if (above := scan.listed.get(parent)) is not None:
            above.folders = tuple(other for other in above.folders if other != name)
            above.signature = UNKNOWN


def as_known(entries: Iterable[tuple[str, Signature, int]]) -> Known:
    """Return the table of known files. `entries` are path, signature (`UNKNOWN` if it was too recent) and mode."""
    known: Known = {"": KnownFolder(mode=0)}
    for path, signature, mode in entries:
        if stat.S_ISDIR(mode):
            folder = known.setdefault(path, KnownFolder(mode=mode))
            folder.mode, folder.seen = mode, signature
        else:
            parent, name = split(path)
            folder = known.get(parent) or known.setdefault(parent, KnownFolder(mode=0))
            folder.files[name] = signature
    for path in known:
        if path:
            parent, name = split(path)
            known[parent].folders += (name,)
    return known


def repositories_in(known: Known) -> frozenset[str]:
    places = ((path, folder.repository) for path, folder in known.items() if folder.repository)
    return frozenset(path or "." if name == "." else f"{path}/{name}" if path else name for path, name in places)


def is_racy(signature: Signature, now_ns: int, margin_ns: int = _RACY_FILE_NS) -> bool:
    """Whether a write after the walk may leave the file's signature unchanged."""
    newest = max(signature[0], signature[1])
    # A time in whole seconds comes from a file system that counts in seconds.
    return now_ns - newest < (margin_ns if newest % 1_000_000_000 else _RACY_FOLDER_NS)


def split(path: str) -> tuple[str, str]:
    parent, _, name = path.rpartition("/")
    return parent, name


class _Walk:
    def __init__(self, root: Path, known: Known, limits: CaptureSettings, stop: Event | None, part: FolderPart) -> None:
        self._root = str(root)
        self._known = known
        self._limits = limits
        self._ignored = frozenset(limits.ignored_folders)
        self._stop = stop
        self._deadline = time.monotonic() + limits.max_seconds
        self._scan = Scan(time.time_ns())
        self._pending = list(part.starts)
        self._excluded = part.excluded
        self._is_full = False

    def run(self) -> Scan:
        while self._pending:
            if self._stop is not None and self._stop.is_set():
                raise CaptureStoppedError
            if self._scan.file_count >= self._limits.max_files:
                self._is_full = True
                break
            if time.monotonic() > self._deadline:
                self._scan.folders_left = len(self._pending)
                break
            self._visit(self._pending.pop())
        if self._is_full:
            reason = f"The folder has more than {self._limits.max_files:,} files; the rest is not watched."
            self._scan.out_of_reach.append(Uncaptured(path=".", reason=reason))
        return self._scan

    def _go_on_in(self, folders: list[str]) -> None:
        if self._excluded:
            folders = [path for path in folders if path not in self._excluded]
        self._pending += folders

    def _visit(self, path: str) -> None:
        place = f"{self._root}/{path}" if path else self._root
        try:
            if sys.platform == "win32" or not _HAS_DIR_FD:
                status = os.lstat(place)
                if path:
                    self._note_folder(path, status)
                self._list(path, place, _signature(status))
                return
            handle = os.open(place, os.O_RDONLY | (_OPEN_FOLDER if path else _OPEN_FOLDER & ~os.O_NOFOLLOW))
            try:
                status = os.fstat(handle)
                now = _signature(status)
                folder = self._known.get(path)
                if path:
                    self._note_folder(path, status)
                if folder is None or folder.signature != now or not self._is_all_there(path, folder, handle):
                    self._list(path, handle, now)
            finally:
                os.close(handle)
        except (FileNotFoundError, NotADirectoryError):
            if not path:  # the workspace itself was removed
                self._gone_below("")
            # Any other folder was removed a moment ago. The next walk will see that in its parent.
        except OSError as error:
            if path:  # the mode can still be read
                with suppress(OSError):
                    self._note_folder(path, os.lstat(place))
            reason = f"The folder cannot be read: {error.strerror}."
            self._scan.out_of_reach.append(Uncaptured(path=path or ".", reason=reason))

    def _is_all_there(self, path: str, folder: KnownFolder, handle: int) -> bool:
        look = os.stat
        different: dict[str, os.stat_result] = {}
        try:
            for name, known in folder.files.items():
                # These lines run once for every file in the workspace, so they compare no more than necessary. If the
                # names are the same, so are the inodes, and any change by a program alters the change time.
                status = look(name, dir_fd=handle, follow_symlinks=False)
                if status.st_ctime_ns != known[0] or status.st_size != known[2]:
                    different[name] = status
        except FileNotFoundError:
            return False
        self._scan.file_count += len(folder.files)
        prefix = f"{path}/" if path else ""
        if folder.folders:
            self._go_on_in([prefix + name for name in folder.folders])
        for name, status in different.items():
            self._note(prefix + name, status)
        return True

    def _list(self, path: str, place: str | int, now: Signature) -> None:
        old = self._known.get(path) or KnownFolder(mode=0)
        signature = UNKNOWN if is_racy(now, self._scan.started_ns, _RACY_FOLDER_NS) else now
        new = KnownFolder(mode=now[4], signature=signature, seen=now)
        folders: list[str] = []
        has_git = False
        prefix = f"{path}/" if path else ""
        with os.scandir(place) as entries:
            for entry in entries:
                name = entry.name
                has_git = has_git or name == ".git"
                if entry.is_dir(follow_symlinks=False):
                    if name not in self._ignored:
                        folders.append(name)
                else:
                    if self._scan.file_count >= self._limits.max_files and name not in old.files:
                        self._is_full = True
                        new.signature = UNKNOWN
                        continue
                    self._note_file(prefix + name, entry, old.files.get(name), new)
        new.folders = tuple(folders)
        new.repository = ".git" if has_git else "." if _is_bare(new) else ""
        self._scan.listed[path] = new
        self._go_on_in([prefix + name for name in folders])
        self._note_gone(prefix, old, new)

    def _note(self, path: str, status: os.stat_result) -> Signature:
        now = self._scan.changed[path] = _signature(status)
        links = 1 if stat.S_ISDIR(status.st_mode) else status.st_nlink
        if (found := Unusual((status.st_uid, status.st_gid), links)) != USUAL:
            self._scan.unusual[path] = found
        return now

    def _note_folder(self, path: str, status: os.stat_result) -> None:
        known = self._known.get(path)
        if known is None or known.seen != _signature(status):
            self._note(path, status)

    def _note_file(self, path: str, entry: "os.DirEntry[str]", known: Signature | None, folder: KnownFolder) -> None:
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:  # deleted since the folder was listed
            return
        self._scan.file_count += 1
        now = folder.files[entry.name] = _signature(status)
        if known != now:
            self._note(path, status)

    def _note_gone(self, prefix: str, old: KnownFolder, new: KnownFolder) -> None:
        here = new.files.keys() | set(new.folders)
        self._scan.gone.extend(prefix + name for name in old.files if name not in here)
        for name in old.folders:
            if name not in new.folders:
                self._gone_below(prefix + name)
                if name not in here:
                    self._scan.gone.append(prefix + name)

    def _gone_below(self, path: str) -> None:
        folder = self._known.get(path)
        if folder is None:
            return
        prefix = f"{path}/" if path else ""
        self._scan.gone.extend(prefix + name for name in folder.files)
        for name in folder.folders:
            self._gone_below(prefix + name)
            self._scan.gone.append(prefix + name)


def _is_bare(folder: KnownFolder) -> bool:
    return "HEAD" in folder.files and "objects" in folder.folders and "refs" in folder.folders


def _signature(status: os.stat_result) -> Signature:
    return status.st_ctime_ns, status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode


_FOLDER_COST: Final = 5
"""Opening and closing a folder takes as long as looking at this many files."""
_CLOSE_ENOUGH: Final = 0.02
_PIECE: Final = 2000
"""How many files are pickled at once. This many hold the interpreter lock for about 3 ms."""


def half_of(known: Known) -> tuple[str, ...]:
    """Return folders that make up about half of the work of a walk, none inside another; empty if none do."""
    costs = {path: len(folder.files) + _FOLDER_COST for path, folder in known.items()}
    for path in sorted(known, reverse=True):  # the contents of a folder come before the folder
        parent, _ = split(path)
        if path and parent in costs:
            costs[parent] += costs[path]
    missing, tolerance = costs[""] / 2, costs[""] * _CLOSE_ENOUGH
    biggest_first = [(-costs[""], "")]
    half: list[str] = []
    while biggest_first and missing > tolerance:
        cost, path = heapq.heappop(biggest_first)
        if -cost <= missing:
            half.append(path)
            missing += cost
        else:
            for name in known[path].folders:
                child = f"{path}/{name}" if path else name
                if child in known:
                    heapq.heappush(biggest_first, (-costs[child], child))
    return tuple(half)


def below(known: Known, starts: Iterable[str]) -> Generator[tuple[str, KnownFolder]]:
    pending = list(starts)
    while pending:
        path = pending.pop()
        folder = known.get(path)
        if folder is not None:
            yield path, folder
            pending += [f"{path}/{name}" if path else name for name in folder.folders]


def pieces_of_table(folders: Iterable[tuple[str, KnownFolder]]) -> Generator[Known]:
    """Yield the table in pieces. A folder is never split, however many files it has."""
    piece, size = Known(), 0
    for path, folder in folders:
        piece[path] = folder
        size += len(folder.files) + 1
        if size >= _PIECE:
            yield piece
            piece, size = Known(), 0
    if piece:
        yield piece


def pieces_of_scan(scan: Scan) -> Generator[Scan]:
    yield Scan(
        scan.started_ns,
        gone=scan.gone,
        out_of_reach=scan.out_of_reach,
        unread=scan.unread,
        file_count=scan.file_count,
        folders_left=scan.folders_left,
    )
    changed = iter(scan.changed.items())
    while piece := dict(islice(changed, _PIECE)):
        unusual = {path: scan.unusual[path] for path in piece if path in scan.unusual}
        yield Scan(scan.started_ns, changed=piece, unusual=unusual)
    for listed in pieces_of_table(scan.listed.items()):
        yield Scan(scan.started_ns, listed=listed)


def are_all_there(scan: Scan, folders: Iterable[str]) -> bool:
    gone = set(scan.gone)
    unreadable = {item.path for item in scan.out_of_reach}
    return not any(
        path in gone or _is_something_else(scan, path) or not unreadable.isdisjoint((".", *folders_above(path)))
        for path in folders
    )


def _is_something_else(scan: Scan, path: str) -> bool:
    parent, name = split(path)
    return parent in scan.listed and name not in scan.listed[parent].folders
