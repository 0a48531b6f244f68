"""Measures the blob folder, and removes blobs that no session refers to.

Any file in a session's folder can contain a digest, so nothing is removed if one is unreadable. Sessions can run
meanwhile: only blobs that nobody has put for a day are removed.
"""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import storage_error
from desktop_agent.core.base.ids import Digest
from desktop_agent.core.base.regex import regex
from desktop_agent.core.store.blobs import Blobs, DamagedError
from desktop_agent.core.system.staged_file import is_left_over

GRACE = timedelta(hours=24)
"""How long an unreferenced blob is kept: its digest may not be recorded yet."""

Pause = Callable[[], None]

_STEP_BYTES = 256 * 1024
_FILES_A_STEP = 100
_DIGEST_LENGTH = 64
_HEX_RUN = regex(rb"[0-9a-f]{64,}")
_STRIDE = 8
_IS_HEX = bytes(byte in b"0123456789abcdef" for byte in range(256))
_ALL_HEX = b"\x01" * (_DIGEST_LENGTH // _STRIDE)
_LOCK_NAME = "lock"
_ASIDE_SUFFIX = ".collected"


def _no_pause() -> None:
    pass


class SessionUse(Struct, frozen=True):
    name: str
    journal_bytes: int
    own_bytes: int
    """Blobs that no other session refers to."""
    shared_bytes: int


class StorageReport(Struct, frozen=True):
    """The disk space of blobs and sessions. Unless noted otherwise, bytes are lengths of mostly compressed files."""

    blobs: int
    blob_bytes: int
    content_bytes: int
    unreferenced: int
    unreferenced_bytes: int
    left_overs: int
    """Temporary files of processes that were killed, or that are writing now."""
    left_over_bytes: int
    sessions: tuple[SessionUse, ...]


class Collected(Struct, frozen=True):
    removed: int
    removed_bytes: int
    kept_young: int


class _Found(Struct, frozen=True):
    path: Path
    digest: Digest
    is_draft: bool
    size: int
    changed_at: float


class _Holding(Struct, frozen=True):
    name: str
    size: int
    digests: frozenset[Digest]


def digests_in(blocks: Iterable[bytes], known: Collection[Digest]) -> set[Digest]:
    """Return the known digests in the text, also across blocks or within a longer run of digits."""
    found: set[Digest] = set()
    tail = b""
    for block in blocks:
        text = tail + block
        for digits in _hex_runs(text):
            starts = range(len(digits) - _DIGEST_LENGTH + 1)
            found.update(d for d in (digits[start : start + _DIGEST_LENGTH] for start in starts) if d in known)
        tail = text[1 - _DIGEST_LENGTH :]
    return found


def _hex_runs(text: bytes) -> Iterator[str]:
    """Yield the runs of hexadecimal digits that are at least as long as a digest.

    The expression alone takes 7 s for 500 MB, so one byte in eight is checked first, which takes a thirtieth of that.
    """
    samples = text[::_STRIDE].translate(_IS_HEX)
    first = samples.find(_ALL_HEX)
    while first >= 0:
        end = samples.find(b"\x00", first)
        end = len(samples) if end < 0 else end
        for run in _HEX_RUN.finditer(text, max(0, (first - 1) * _STRIDE), end * _STRIDE):
            yield run.group().decode("ascii")
        first = samples.find(_ALL_HEX, end)


def report_storage(blobs: Blobs, sessions: Path) -> StorageReport:
    """Return the disk space of blobs and sessions. Raises `StorageError`."""
    files = _files_in(blobs)
    holdings = _holdings(sessions, {file.digest for file in files if file.digest})
    users = Counter(digest for holding in holdings for digest in holding.digests)
    kept = [file for file in files if file.digest in users or (file.digest and not file.is_draft)]
    temporary = [file for file in files if not file.digest or (file.is_draft and file.digest not in users)]
    sizes: Counter[Digest] = Counter()
    for file in kept:
        sizes[file.digest] += file.size
    lost = [digest for digest in sizes if digest not in users]
    return StorageReport(
        blobs=len(sizes),
        blob_bytes=sizes.total(),
        content_bytes=sum(_content_length(blobs, file) for file in kept),
        unreferenced=len(lost),
        unreferenced_bytes=sum(sizes[digest] for digest in lost),
        left_overs=len(temporary),
        left_over_bytes=sum(file.size for file in temporary),
        sessions=tuple(
            SessionUse(
                name=holding.name,
                journal_bytes=holding.size,
                own_bytes=sum(sizes[digest] for digest in holding.digests if users[digest] == 1),
                shared_bytes=sum(sizes[digest] for digest in holding.digests if users[digest] > 1),
            )
            for holding in holdings
        ),
    )


def collect(
    blobs: Blobs, sessions: Path, *, now: datetime, is_dry_run: bool = False, pause: Pause = _no_pause
) -> Collected:
    """Remove unreferenced blobs and abandoned temporary files, if they are at least a day old.

    `pause` is called every few milliseconds; its exception ends the collection safely. Raises `StorageError`. If a
    session or the blob folder cannot be read, nothing is removed.
    """
    files = _files_in(blobs)
    known = {file.digest for file in files if file.digest}
    holdings = _holdings(sessions, known, pause)
    holdings += [_holding(record, known, pause) for record in sessions.parent.glob("worktrees/*.json")]
    needed = set[Digest]().union(*(holding.digests for holding in holdings))
    oldest = (now - GRACE).timestamp()
    removed = removed_bytes = kept_young = 0
    with storage_error("Not everything could be removed.", hint=_PERMISSIONS):
        for number, file in enumerate(files):
            if number % _FILES_A_STEP == 0:
                pause()
            if file.digest in needed:
                if not is_dry_run:
                    _put_back(file.path)
                    if file.is_draft and file.changed_at <= oldest:
                        blobs.place_draft(file.path)
            elif file.changed_at > oldest or not (is_dry_run or _is_removed(file.path, oldest)):
                kept_young += 1
            else:
                removed += 1
                removed_bytes += file.size
    return Collected(removed, removed_bytes, kept_young)


def _is_removed(path: Path, oldest: float) -> bool:
    aside = _without_suffix(path).with_name(_without_suffix(path).name + _ASIDE_SUFFIX)
    try:
        path.replace(aside)
        if aside.stat().st_mtime > oldest:
            _put_back(aside)
            return False
        aside.unlink()
    except FileNotFoundError:
        return False  # another process collects, too
    return True


def _put_back(path: Path) -> None:
    if path.suffix == _ASIDE_SUFFIX:
        path.replace(_without_suffix(path))


def _without_suffix(path: Path) -> Path:
    return path.with_suffix("") if path.suffix == _ASIDE_SUFFIX else path


def _files_in(blobs: Blobs) -> list[_Found]:
    found: list[_Found] = []
    with storage_error("The stored contents could not be listed.", hint=_PERMISSIONS):
        if not blobs.folder.exists():
            return found
        for path in _walk(blobs.folder, depth=1):
            blob = blobs.file_at(_without_suffix(path))
            draft = blobs.draft_at(_without_suffix(path))
            if blob is None and not is_left_over(_without_suffix(path)):
                continue
            try:
                status = path.lstat()
            except FileNotFoundError:
                continue  # a temporary file that got its final name meanwhile
            digest = next((file.digest for file in (blob, draft) if file), "")
            found.append(_Found(path, digest, draft is not None, status.st_size, status.st_mtime))
    placed = {file.digest for file in found if not file.is_draft}
    return [replace(file, digest="") if file.is_draft and file.digest in placed else file for file in found]


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                yield Path(entry.path)
            elif depth and entry.is_dir(follow_symlinks=False):
                yield from _walk(Path(entry.path), depth - 1)


def _holdings(sessions: Path, known: Collection[Digest], pause: Pause = _no_pause) -> list[_Holding]:
    """Return what sessions refer to. Raises `StorageError` if one is unreadable, or if there are only blobs."""
    title = "A session could not be read, so it is unknown which contents are needed. Nothing was removed."
    with storage_error(title, hint=_PERMISSIONS):
        if not known and not sessions.exists():
            return []
        return [_holding(entry, known, pause) for entry in sorted(sessions.iterdir())]


def _holding(entry: Path, known: Collection[Digest], pause: Pause) -> _Holding:
    size = 0
    digests: set[Digest] = set()
    for path in _session_files(entry):
        with path.open("rb") as file:
            digests |= digests_in(_blocks(file, pause), known)
            size += file.tell()
    return _Holding(entry.name, size, frozenset(digests))


def _blocks(file: BinaryIO, pause: Pause) -> Iterator[bytes]:
    while block := file.read(_STEP_BYTES):
        yield block
        pause()


def _session_files(entry: Path, above: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """Yield the files of a session, following symlinks. Raises `OSError` if a folder cannot be listed."""
    if entry.name == _LOCK_NAME or is_left_over(entry):
        return
    real = Path(os.path.realpath(entry, strict=True))
    if real.is_dir():
        if real not in above:
            for inner in sorted(entry.iterdir()):
                yield from _session_files(inner, above | {real})
    elif real.is_file():
        yield entry


def _content_length(blobs: Blobs, file: _Found) -> int:
    blob = blobs.file_at(file.path)  # none, if it was moved aside
    try:
        return file.size if blob is None else blob.length()
    except (OSError, DamagedError):
        return file.size


_PERMISSIONS = "Check the permissions of the data folder."
