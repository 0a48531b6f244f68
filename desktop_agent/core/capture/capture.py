"""Finds what a command changed: a snapshot before it, a report after it. Works without git."""

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.paths import real_path
from desktop_agent.core.capture.baseline import Baseline, BaselineSession
from desktop_agent.core.capture.entry_table import CommandSpan, EntryTable
from desktop_agent.core.capture.git_objects import GitObjects, GitState, HeldObjects, unchanged_objects
from desktop_agent.core.capture.scan import (
    USUAL,
    CaptureStoppedError,
    Known,
    Scan,
    Signature,
    Unusual,
    is_racy,
    leave_out_stand_ins,
    repositories_in,
)
from desktop_agent.core.capture.scan_process import SharedScanner
from desktop_agent.core.capture.transitions import (
    MOST_NEIGHBOURS,
    NO_CONTENT,
    Entry,
    Touched,
    as_note,
    in_order,
    with_renames,
)
from desktop_agent.core.changes.patch import blob_id
from desktop_agent.core.protocol.model import FileExtras, FileImage, Uncaptured
from desktop_agent.core.settings.sections import CaptureSettings
from desktop_agent.core.system.files import FileState, FileTransition, digest_of, read_extras, read_state

OnChange = Callable[[FileTransition], None]


class Snapshot(Struct, frozen=True):
    """A snapshot by its number, which is valid in every process, even after this one has died."""

    number: int


class CaptureReport(Struct, frozen=True):
    """What could not be captured: changed files without a copy (`lost`), and files that cannot be watched."""

    lost: tuple[Uncaptured, ...]
    out_of_reach: tuple[Uncaptured, ...]
    repositories: tuple[str, ...] = ()
    """New paths that git takes for a repository: `.git`, or folders that look like its inside."""
    is_released: bool = False


_MANY = 200
"""If at least this many files are new, git is asked first which of them it has."""
_CLOCK_SLACK_NS = 50_000_000
"""How much the times of files can differ from the clock of the process."""

CACHE_FAILS = "The cache cannot be used. Work continues, but finding changes takes more time and memory."
CACHE_HINT = "Free some disk space, or check the folder of the cache. `desktop-agent doctor` says where it is."
_FORGOTTEN = Uncaptured(
    path=".",
    reason="The folder's state before the command is no longer known, so the command's changes are not known either.",
)

T = TypeVar("T")


class _Looked(NamedTuple):
    span: CommandSpan
    scan: Scan
    is_touched: bool


class StatCapture:
    """Finds what the commands of one session changed. All methods block: use a thread, one call at a time."""

    def __init__(
        self,
        root: Path,
        baseline: Baseline,
        settings: Callable[[], CaptureSettings] = CaptureSettings,
        *,
        make_scanner: Callable[[Path], SharedScanner] = SharedScanner,
    ) -> None:
        """`settings` is called when a command begins. Its result is used until that command's changes are collected."""
        self._root = real_path(root)
        self._baseline = baseline
        self._settings = settings
        self._limits = settings()
        self._open: dict[int, frozenset[str]] = {}
        self._own: set[int] = set()
        self._repositories: frozenset[str] = frozenset()
        self._scanner = make_scanner(self._root)
        self._known: Known | None = None
        self._known_of = (b"", -1)
        self._index_stamp: int | None = None

    def begin(self, stop: Event | None = None) -> Snapshot:
        """Take a snapshot before a command runs. Raises `CaptureStoppedError` soon after `stop` is set."""
        if not self._open:  # both walks must skip the same folders, or these would count as changed
            self._limits = self._settings()
            self._baseline.try_file_again()

        def pin(session: BaselineSession, known: Known) -> Snapshot:
            self._look(session, known, stop)
            return Snapshot(session.snapshots.pin())

        snapshot = self._look_with(pin, is_spared=True)
        self._open[snapshot.number] = self._repositories
        self._own.add(snapshot.number)
        return snapshot

    def collect(self, snapshot: Snapshot, on_change: OnChange, *, may_release: bool = False) -> CaptureReport:
        """Report the differences since the snapshot, in an order in which they can be repeated.

        Writes that `note_written` announced are left out. `may_release`: a snapshot without differences is released.
        """
        before = self._open.pop(snapshot.number, None)

        def look(session: BaselineSession, known: Known) -> _Looked | None:
            span = session.snapshots.span(snapshot.number)
            if span is None:
                return None
            scan = self._look(session, known, None)
            session.snapshots.close_span(snapshot.number)
            is_touched = bool(session.entries.touched_since(span.generation))
            if may_release and not is_touched:
                session.snapshots.release(snapshot.number)
            return _Looked(span, scan, is_touched)

        looked = self._look_with(look)
        if looked is None:
            return CaptureReport((_FORGOTTEN,), ())
        # The results of a walk stay stored, even if the report fails.
        lost = self._report(snapshot, looked.span, on_change) if looked.is_touched else ()
        made = sorted(self._repositories - before) if before is not None else ()
        out_of_reach = looked.scan.not_watched(self._limits)
        return CaptureReport(tuple(lost), out_of_reach, tuple(made), may_release and not looked.is_touched)

    def _report(self, snapshot: Snapshot, span: CommandSpan, on_change: OnChange) -> list[Uncaptured]:
        sent: set[str] = set()

        def send_once(change: FileTransition) -> None:
            if change.path not in sent:
                on_change(change)
                sent.add(change.path)

        def report(session: BaselineSession) -> list[Uncaptured]:
            if session.snapshots.span(snapshot.number) is None:  # the file failed and can no longer be read
                return [_FORGOTTEN]
            paths = session.entries.touched_since(span.generation)
            now = session.snapshots.span(snapshot.number) or span
            objects = GitObjects.of(GitState.of(self._root), session.objects)
            return _Report(session, now, objects, self._limits, self._own).send(paths, send_once)

        return self._baseline.run(report)

    def advance(self, snapshots: Iterable[Snapshot], to: Snapshot) -> None:
        """Move `snapshots`, which keep their numbers, to the last report about `to`. Record that report first."""
        numbers = [snapshot.number for snapshot in snapshots]
        self._own.update(self._baseline.run(lambda session: session.snapshots.move(numbers, to.number)))
        self._open.update(dict.fromkeys(numbers, self._repositories))

    def release(self, snapshot: Snapshot) -> None:
        """Record the report first. Releasing a snapshot twice does no harm."""
        self._open.pop(snapshot.number, None)
        self._baseline.run(lambda session: session.snapshots.release(snapshot.number))

    def repositories(self) -> frozenset[str]:
        """Return the paths of `.git`, or of folders that look like a repository, at the last walk."""
        return self._repositories

    def images(self, paths: Iterable[str]) -> Mapping[str, FileImage]:
        """Return the images as of the last walk. Files that were absent, too large or not watched are left out."""
        wanted = list(paths)
        entries = self._baseline.run(lambda session: [session.entries.current(path) for path in wanted])
        return {entry.path: image for entry in entries if entry is not None and (image := entry.image)}

    def note_written(self, images: Mapping[str, FileImage | None]) -> None:
        """Announce the application's own writes (an edit, an undo, a save), so that no command is charged with them."""
        self._baseline.run(lambda session: session.snapshots.note_written(images))

    def take_failure(self) -> str:
        """Why walks take more time or memory than usual. Each failure is returned once."""
        return self._baseline.take_failure()

    def close(self) -> None:
        """Later calls still work."""
        self._scanner.close()
        self._baseline.close()

    def _look_with(self, work: Callable[[BaselineSession, Known], T], *, is_spared: bool = False) -> T:
        """Run `work` in a transaction. The table of known files is kept only if the transaction commits."""

        def look(session: BaselineSession) -> tuple[T, Known, tuple[bytes, int]]:
            known, self._known = self._known, None
            if known is None or self._known_of != (session.identity, session.generation):
                known = session.entries.known()
            return work(session, known), known, (session.identity, session.generation)

        result, self._known, self._known_of = self._baseline.run(look, is_spared=is_spared)
        return result

    def _look(self, session: BaselineSession, known: Known, stop: Event | None) -> Scan:
        deadline = time.monotonic() + self._limits.max_seconds
        scan = self._scanner.scan(known, self._limits, stop)
        leave_out_stand_ins(scan)
        git = GitState.of(self._root)
        is_held = _held_stamp(git, session.objects) == session.held
        if not is_held:
            session.objects.take_packs(git.folders if git is not None else ())
        if scan.changed or scan.gone or session.generation == 0:
            objects = GitObjects.of(git, session.objects)
            _Writer(self._root, session, self._limits, objects).write(scan, deadline, stop)
        self._leave_to_git(session, git)
        if not is_held:
            is_kept = _keep_what_git_has(self._root, session, self._limits, git, deadline)
            session.held = _held_stamp(git, session.objects) if is_kept else ""
        self._scanner.learn(known, scan)
        # An empty folder is a sandbox's placeholder, and no repository.
        found = repositories_in(known)
        self._repositories = frozenset(path for path in found if not _is_empty_folder(self._root / path))
        return scan

    def _leave_to_git(self, session: BaselineSession, git: GitState | None) -> None:
        if git is None or git.index_stamp is None or git.index_stamp == self._index_stamp:
            return
        self._index_stamp = git.index_stamp
        copied = [entry for entry in session.entries.copied() if entry.object]
        if copied and (objects := GitObjects.of(git, session.objects)):
            clean = [entry for entry in copied if objects.is_clean(entry.path, entry.object)]
            session.entries.leave_to_git(entry.path for entry in clean if objects.hold(entry.object, entry.size))


def _is_empty_folder(path: Path) -> bool:
    try:
        with os.scandir(path) as entries:
            return next(entries, None) is None
    except OSError:
        return False


class _Writer:
    def __init__(
        self, root: Path, session: BaselineSession, limits: CaptureSettings, objects: GitObjects | None
    ) -> None:
        self._root = root
        self._session = session
        self._limits = limits
        self._objects = objects
        self._copied_bytes = session.entries.copied_bytes()
        self._generation: int | None = None
        self._unchanged: dict[str, str] = {}

    def write(self, scan: Scan, deadline: float, stop: Event | None) -> None:
        """Store the next generation. Files that were not read by `deadline` are read at the next walk."""
        is_first = self._session.generation == 0
        if is_first:
            self._next()
        if self._objects and len(scan.changed) >= _MANY:
            self._unchanged = unchanged_objects(self._root, scan.changed)
        for path in scan.gone:
            self._session.entries.end(path, self._next())
        for path in sorted(scan.changed):  # in the order in which they are stored: half the pages
            signature = scan.changed[path]
            if stop is not None and stop.is_set():
                raise CaptureStoppedError
            if time.monotonic() > deadline:
                scan.unread.add(path)
            old = None if is_first else self._session.entries.current(path)
            if old is not None and old.kept == "copy":
                self._copied_bytes -= old.size
            entry, content = self._entry(path, signature, scan)
            if entry.kept == "copy":
                self._copied_bytes += entry.size
            if old is not None and old.is_still(entry):
                self._session.entries.touch(entry)
                if entry.digest and not old.digest:
                    self._session.entries.fill(entry, content)
            else:
                self._session.entries.put(entry, self._next(), content)

    def _next(self) -> int:
        if self._generation is None:
            self._generation = self._session.advance()
        return self._generation

    def _entry(self, path: str, signature: Signature, scan: Scan) -> tuple[Entry, bytes | None]:
        """Return the entry for `path`, and the content to copy. Large and unreadable files get no digest."""
        is_open = path in scan.unread or is_racy(signature, scan.started_ns)
        unusual = scan.unusual.get(path, USUAL)
        entry = Entry(
            path=path,
            signature=signature,
            is_racy=is_open,
            digest="",
            extras=None if path in scan.unread else self._extras(path, unusual),
            links=unusual.links,
        )
        if entry.kind in NO_CONTENT:
            return replace(entry, digest=digest_of(b""), is_racy=False), None
        known, is_held = self._from_git(entry)
        if known is not None and is_held:
            return known, None
        if entry.kind == "device" or path in scan.unread or entry.size > self._limits.max_file_bytes:
            return known or entry, None
        try:
            state = read_state(self._root / path, with_extras=False)
        except OSError:
            return entry, None
        if state is None:
            return entry, None
        digest = digest_of(state.content)
        identifier = blob_id(state.content) if self._objects and entry.kind == "file" else ""
        if self._objects and identifier and self._objects.is_clean(path, identifier):
            known = replace(entry, digest=digest, object=identifier, kept="git")
            if self._objects.hold(identifier, entry.size):
                return known, None
            known = known if self._objects.has(identifier, entry.size) else None
        if self._copied_bytes + entry.size > self._limits.max_total_bytes:
            return known or entry, None
        return replace(entry, digest=digest, object=identifier, kept="copy"), state.content

    def _extras(self, path: str, unusual: Unusual) -> FileExtras | None:
        try:
            return read_extras(self._root / path, unusual.owner)
        except OSError:
            return None

    def _from_git(self, entry: Entry) -> tuple[Entry | None, bool]:
        """Return the entry with git's object id, and whether the object is linked. None if the file must be read."""
        identifier = self._unchanged.get(entry.path)
        if identifier is None or entry.kind != "file" or self._objects is None or entry.is_racy:
            return None, False
        known = replace(entry, object=identifier, kept="git", is_racy=False)
        if self._objects.hold(identifier, entry.size):
            return known, True
        return known if self._objects.has(identifier, entry.size) else None, False


def _held_stamp(git: GitState | None, held: HeldObjects) -> str:
    """Return a stamp. While it is unchanged, git has lost no content."""
    return f"{git.packs if git is not None else ''} {held.stamp}"


def _keep_what_git_has(
    root: Path, session: BaselineSession, limits: CaptureSettings, git: GitState | None, deadline: float
) -> bool:
    """Link what git has, and copy what git lost, if it still exists. False if time ran out."""
    held, rows = session.objects, session.entries.left_with_git()
    if not rows:
        held.drop(set(), keeps_retired=False)
        return True
    objects = GitObjects.of(git, held)
    lost = [row for row in rows if not held.hold(row[0].object, git.folders if git is not None else ())]
    room = limits.max_total_bytes - session.entries.copied_bytes()
    is_done = is_all = True
    for entry, born in sorted(lost, key=lambda row: row[0].size):
        is_done = is_done and time.monotonic() <= deadline
        content = _lost_content(root, entry, held, objects) if is_done and entry.size <= room else None
        if content is not None:
            session.entries.take_over(entry, born, content)
            room -= entry.size
        is_all = is_all and content is not None
    held.drop({entry.object for entry, _ in rows}, keeps_retired=not is_all)
    return is_done


def _lost_content(root: Path, entry: Entry, held: HeldObjects, objects: GitObjects | None) -> bytes | None:
    for store in filter(None, (held, objects)):
        if _is_of(entry, content := store.read(entry.object)):
            return content
    with suppress(OSError):
        state = read_state(root / entry.path, with_extras=False)
        if state is not None and _is_of(entry, state.content):
            return state.content
    return None


def _is_of(entry: Entry, content: bytes | None) -> bool:
    return content is not None and len(content) == entry.size and blob_id(content) == entry.object


def _lost_link(item: Touched) -> str:
    before, after = item.before, item.after
    is_other = before is not None and (after is None or before.inode != after.inode)
    if before is not None and is_other and before.links > 1:
        return "It was a hard link to another file. An undo restores it as a separate file."
    if _is_new_name(item):
        return "It became a hard link to another file. A redo after an undo makes it a separate file."
    return ""


def _is_new_name(item: Touched) -> bool:
    before, after = item.before, item.after
    return after is not None and after.links > 1 and (before is None or before.inode != after.inode)


class _LeftAlone:
    def __init__(
        self, read: Callable[[str], Entry | None], touched: Collection[str], entries: EntryTable, span: CommandSpan
    ) -> None:
        self._read = read
        self._touched = touched
        self._entries = entries
        self._generation = span.last_generation

    def contents(self, sizes: Collection[int]) -> Mapping[str, Collection[str]]:
        found: dict[str, set[str]] = {}
        for entry in self._entries.of_sizes(sizes, self._generation):
            if entry.path not in self._touched:
                for key in (entry.digest, entry.object):
                    found.setdefault(key, set()).add(entry.path.rpartition("/")[2])
        return found

    def neighbours(self, folder: str, sizes: range) -> Sequence[Entry]:
        found = self._entries.in_folder(folder, sizes, self._generation)
        paths = [entry.path for entry in found if entry.kind == "file" and entry.path not in self._touched]
        return [entry for path in paths[: MOST_NEIGHBOURS + 1] if (entry := self._read(path)) is not None]


class _Report:
    def __init__(
        self,
        session: BaselineSession,
        span: CommandSpan,
        objects: GitObjects | None,
        limits: CaptureSettings,
        own: Collection[int] = (),
    ) -> None:
        self._entries = session.entries
        self._span = span
        self._objects = objects
        self._held = session.objects
        self._limits = limits
        self._others = [other for other in session.snapshots.overlapping(span) if other.number not in own]
        self._written = session.snapshots.written_since(span.begun_ns)

    def send(self, paths: Iterable[str], on_change: OnChange) -> list[Uncaptured]:
        lost: list[Uncaptured] = []
        touched = self._touched(paths)
        left_alone = _LeftAlone(self._at_end, {item.path for item in touched}, self._entries, self._span)
        for item in in_order(with_renames(touched, self._content, left_alone)):
            before, after = self._state(item.before), self._state(item.after)
            if (item.before and before is None) or (item.after and after is None):
                lost.append(Uncaptured(path=item.path, reason=self._reason(item)))
                continue
            if reason := _lost_link(item):
                lost.append(Uncaptured(path=item.path, reason=reason))
            on_change(
                FileTransition(
                    item.path,
                    before,
                    after,
                    moved_from=item.moved_from,
                    moved_to=item.moved_to,
                    is_shared=self._is_shared(item),
                    is_new_name=_is_new_name(item),
                )
            )
        return lost

    def _touched(self, paths: Iterable[str]) -> list[Touched]:
        first, last = self._span.generation, self._span.last_generation
        found: list[Touched] = []
        for path in paths:
            item = Touched(path, self._at(path, first), self._at(path, last))
            if item.before is None and item.after is None:
                continue
            if item.before is not None and item.after is not None and item.before.is_still(item.after):
                continue
            if not self._is_noted(item):
                found.append(item)
        return found

    def _at(self, path: str, generation: int) -> Entry | None:
        entry = self._entries.at(path, generation)
        if entry is None or entry.digest or entry.kept != "git":
            return entry
        content = self._from_git(entry)
        return entry if content is None or len(content) != entry.size else replace(entry, digest=digest_of(content))

    def _at_end(self, path: str) -> Entry | None:
        return self._at(path, self._span.last_generation)

    def _is_noted(self, item: Touched) -> bool:
        notes = self._written.get(item.path, set())
        if item.after is None:
            return as_note(None) in notes
        image = item.after.image
        return image is not None and as_note(image) in notes

    def _is_shared(self, item: Touched) -> bool:
        if item.path in self._written:  # and the command changed the file afterwards
            return True
        for other in self._others:
            if item.after is None or item.after.kind == "folder":
                return True
            changed_ns = item.after.signature[0]
            is_meanwhile = other.begun_ns - _CLOCK_SLACK_NS <= changed_ns <= other.ended_ns + _CLOCK_SLACK_NS
            if is_meanwhile or self._entries.is_touched_between(item.path, other.generation, other.last_generation):
                return True
        return False

    def _content(self, entry: Entry) -> bytes | None:
        if not entry.digest:
            return None
        content = self._entries.copy(entry.digest)
        if content is None and entry.kept == "git":
            content = self._from_git(entry)
        return content if content is not None and digest_of(content) == entry.digest else None

    def _from_git(self, entry: Entry) -> bytes | None:
        content = self._held.read(entry.object)
        return self._objects.read(entry.object) if content is None and self._objects is not None else content

    def _state(self, entry: Entry | None) -> FileState | None:
        if entry is None or entry.kind == "device":
            return None
        content = b"" if entry.kind in NO_CONTENT else self._content(entry)
        return (
            None
            if content is None
            else FileState(content=content, mode=entry.mode, kind=entry.kind, extras=entry.extras)
        )

    def _reason(self, item: Touched) -> str:
        entries = [entry for entry in (item.before, item.after) if entry is not None]
        if any(entry.kind == "device" for entry in entries):
            return "This is or was a device. An undo does not create or remove devices."
        if any(entry.size > self._limits.max_file_bytes for entry in entries):
            return f"It is larger than {self._limits.max_file_bytes // 2**20} MiB, so no copy was kept."
        if any(entry.kept == "git" for entry in entries):
            return "Git no longer has its earlier content."
        walks = ((item.before, self._span.generation), (item.after, self._span.last_generation))
        copied = (entry.size + self._entries.copied_bytes(walk) for entry, walk in walks if entry is not None)
        if any(total > self._limits.max_total_bytes for total in copied):
            mib = self._limits.max_total_bytes // 2**20
            return f"The files in this folder exceed the limit of {mib} MiB for copies."
        if item.before is not None and item.before.is_racy and not item.before.digest:
            return "It had not been read yet when the command began."
        return "It could not be read."
