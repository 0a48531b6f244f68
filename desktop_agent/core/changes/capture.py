"""What a command changed: the workspace is scanned before and after it, and the difference is the change.

A scan reads the status of every file and the content only of files whose status changed since the last scan. It works
in any folder, without git. Limits are stated in `CaptureLimits`; what falls outside them is named, not silently missed.
"""

import os
import stat
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

from desktop_agent.core.changes.baseline import Baseline, BaselineEntry, BaselineSession
from desktop_agent.core.files import FileState, FileTransition, digest_of, read_state
from desktop_agent.core.model import Uncaptured

SKIPPED_FOLDERS = frozenset(
    {
        ".git", ".hg", ".svn", ".jj",
        "node_modules", ".venv", "venv", ".tox", ".nox",
        "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis",
        ".gradle", ".terraform", ".next", ".cache",
    }
)  # fmt: skip
"""Folders that tools make anew by themselves, and version control's own files. Changes in them are not captured."""

_RACY_NS = 50_000_000
"""A file written this shortly before it was scanned may change again within one tick of the file system's clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureLimits:
    """The budget of a scan: the largest file and the sum of which copies are kept, and how many files are watched."""

    max_file_bytes: int = 8 * 2**20
    max_total_bytes: int = 512 * 2**20
    max_files: int = 100_000
    skipped_folders: frozenset[str] = SKIPPED_FOLDERS


@dataclass(frozen=True, slots=True)
class Capture:
    """What could not be captured: files that changed without a copy, and what cannot be watched at all."""

    lost: tuple[Uncaptured, ...]
    out_of_reach: tuple[Uncaptured, ...]


@dataclass(slots=True)
class _Scan:
    """What is in the folder now."""

    files: dict[str, os.stat_result] = field(default_factory=dict[str, os.stat_result])
    folders: set[str] = field(default_factory=set[str])
    out_of_reach: list[Uncaptured] = field(default_factory=list[Uncaptured])


class WorkspaceCapture:
    """The before and after of one workspace. Methods block: use a thread, and one call at a time."""

    def __init__(self, root: Path, baseline: Baseline, limits: CaptureLimits | None = None) -> None:
        self._root = root.resolve()
        self._baseline = baseline
        self._limits = limits or CaptureLimits()

    def refresh(self) -> None:
        """Make the present the baseline, before a command runs."""
        with self._baseline.session() as session:
            _Refresh(self._root, self._limits, session).run()

    def collect(self, on_change: Callable[[FileTransition], None]) -> Capture:
        """Report every file that changed since the last `refresh`, in the order of paths.

        The baseline stays as it was: if the process dies before the report is on record, the next `collect` reports the
        same again.
        """
        with self._baseline.session() as session:
            return _Report(self._root, self._limits, session, on_change).run()


class _Comparison(ABC):
    """One pass over the baseline and the present."""

    def __init__(self, root: Path, limits: CaptureLimits, session: BaselineSession) -> None:
        self._root = root
        self._limits = limits
        self._session = session
        self._known = session.entries()
        self._kept_bytes = sum(entry.size for entry in self._known.values() if entry.digest is not None)

    def _compare(self) -> _Scan:
        """Visit every file that looks different, and every one that is gone, in the order of paths."""
        scan = _scan(self._root, self._limits)
        for path in sorted(scan.files.keys() | self._known.keys()):
            old = self._known.get(path)
            status = scan.files.get(path)
            if status is not None:
                if old is None or old.signature != _signature(status):
                    state = self._read(path, status)
                    self._changed(path, old, status, state)
                    self._kept_bytes += (status.st_size if state else 0) - (old.size if old and old.digest else 0)
            elif old is not None and old.kind != "folder":
                self._gone(old)
        return scan

    @abstractmethod
    def _changed(
        self, path: str, old: BaselineEntry | None, status: os.stat_result, state: FileState | None
    ) -> None: ...

    @abstractmethod
    def _gone(self, old: BaselineEntry) -> None: ...

    def _read(self, path: str, status: os.stat_result) -> FileState | None:
        """The file's state, or None when it does not fit the budget or cannot be read."""
        is_over = self._kept_bytes + status.st_size > self._limits.max_total_bytes
        if status.st_size > self._limits.max_file_bytes or is_over:
            return None
        try:
            return read_state(self._root / path)
        except OSError:
            return None


class _Refresh(_Comparison):
    """Brings the baseline up to date."""

    def run(self) -> None:
        scan = self._compare()
        known = {path for path, entry in self._known.items() if entry.kind == "folder"}
        for path in scan.folders - known:
            self._session.put(BaselineEntry(path, "folder", 0, 0, "", None), None)
        for path in known - scan.folders:
            self._session.remove(path)

    def _changed(self, path: str, old: BaselineEntry | None, status: os.stat_result, state: FileState | None) -> None:
        del old
        self._session.put(_entry(path, status, state), state.content if state else None)

    def _gone(self, old: BaselineEntry) -> None:
        self._session.remove(old.path)


class _Report(_Comparison):
    """Tells what is different, and changes nothing."""

    def __init__(
        self,
        root: Path,
        limits: CaptureLimits,
        session: BaselineSession,
        on_change: Callable[[FileTransition], None],
    ) -> None:
        super().__init__(root, limits, session)
        self._on_change = on_change
        self._lost: list[Uncaptured] = []

    def run(self) -> Capture:
        scan = self._compare()
        return Capture(tuple(self._lost), tuple(scan.out_of_reach))

    def _changed(self, path: str, old: BaselineEntry | None, status: os.stat_result, state: FileState | None) -> None:
        if old is not None and _is_same(old, _entry(path, status, state)):
            return
        if old is not None and old.kind == "folder":
            old = None  # a file took its place; what was in the folder is gone, file by file
        before = self._session.state(old) if old is not None else None
        if state is None or (old is not None and before is None):
            self._lost.append(Uncaptured(path=path, reason=self._reason(old, status.st_size)))
        else:
            self._on_change(FileTransition(path, before, state, self._new_folders(path) if old is None else ()))

    def _gone(self, old: BaselineEntry) -> None:
        before = self._session.state(old)
        if before is None:
            self._lost.append(Uncaptured(path=old.path, reason=self._reason(old, 0)))
        else:
            self._on_change(FileTransition(old.path, before, None))

    def _new_folders(self, path: str) -> tuple[str, ...]:
        parents = [parent.as_posix() for parent in PurePosixPath(path).parents][:-1]
        return tuple(folder for folder in reversed(parents) if not self._was_folder(folder))

    def _was_folder(self, path: str) -> bool:
        return path in self._known and self._known[path].kind == "folder"

    def _reason(self, old: BaselineEntry | None, size: int) -> str:
        size = max(old.size if old else 0, size)
        if size > self._limits.max_file_bytes:
            return f"It is larger than {self._limits.max_file_bytes // 2**20} MiB, so no copy was kept."
        is_without_copy = old is not None and old.digest is None
        if is_without_copy or self._kept_bytes + size > self._limits.max_total_bytes:
            return (
                f"The folder holds more than the {self._limits.max_total_bytes // 2**20} MiB of which copies are kept."
            )
        return "It could not be read."


def _scan(root: Path, limits: CaptureLimits) -> _Scan:
    scan = _Scan()
    for path, entry in _walk(root, limits, scan):
        if len(scan.files) >= limits.max_files:
            reason = f"The folder has more than {limits.max_files:,} files; the rest is not watched."
            scan.out_of_reach.append(Uncaptured(path=".", reason=reason))
            break
        with suppress(FileNotFoundError):  # deleted since the folder was listed
            scan.files[path] = entry.stat(follow_symlinks=False)
    return scan


def _walk(root: Path, limits: CaptureLimits, scan: _Scan) -> Generator[tuple[str, "os.DirEntry[str]"]]:
    """Yield the files and symlinks below `root` by relative path; note folders, and what cannot be watched."""
    pending = [(str(root), "")]
    while pending:
        folder, prefix = pending.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    path = prefix + entry.name
                    if not _is_encodable(path):
                        scan.out_of_reach.append(Uncaptured(path=ascii(path), reason="Its name is not valid Unicode."))
                    elif entry.is_dir(follow_symlinks=False):
                        if entry.name not in limits.skipped_folders:
                            scan.folders.add(path)
                            pending.append((entry.path, path + "/"))
                    elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
                        yield path, entry
        except OSError as error:
            reason = f"The folder cannot be read: {error.strerror}."
            scan.out_of_reach.append(Uncaptured(path=prefix or ".", reason=reason))


def _signature(status: os.stat_result) -> str:
    """What `stat` says about a file's content. The change time is in it: unlike the others nobody can set it."""
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}:{status.st_mode}"


def _entry(path: str, status: os.stat_result, state: FileState | None) -> BaselineEntry:
    is_racy = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < _RACY_NS
    kind: Literal["file", "symlink"] = "symlink" if stat.S_ISLNK(status.st_mode) else "file"
    return BaselineEntry(
        path=path,
        kind=kind,
        mode=state.mode if state else stat.S_IMODE(status.st_mode),
        size=status.st_size,
        signature="" if is_racy else _signature(status),
        digest=digest_of(state.content) if state else None,
    )


def _is_same(old: BaselineEntry, new: BaselineEntry) -> bool:
    """Whether only times differ: the file was touched, or written with what it held."""
    return new.digest is not None and (old.digest, old.mode, old.kind) == (new.digest, new.mode, new.kind)


def _is_encodable(path: str) -> bool:
    if path.isascii():
        return True
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
