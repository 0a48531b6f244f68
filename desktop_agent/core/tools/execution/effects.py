"""Effects: records and carries out a call's changes, for plans and commands, and what is changed between calls."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import StorageError, ToolError, WorkspaceError
from desktop_agent.core.base.ids import CallId, ChangeId, change_id
from desktop_agent.core.capture.capture import CACHE_FAILS, CACHE_HINT, Snapshot, StatCapture
from desktop_agent.core.capture.safety import SafetyReport
from desktop_agent.core.capture.scan import CaptureStoppedError
from desktop_agent.core.changes.ledger import ChangeRecorder, Ledger
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import Author, FileChange, FileImage, OutsideFile, Uncaptured
from desktop_agent.core.system.files import FileState, FileTransition, digest_of
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.system.processes.process_tree import Activity
from desktop_agent.core.tools.execution.safeguard import PlannedCommand, Safeguard
from desktop_agent.core.tools.execution.writers import Maker, RunningServer, WatchedJob, Writers
from desktop_agent.core.tools.files.open_texts import FORMATTED, NO_TEXTS, UNSAVED, OpenTexts

T = TypeVar("T")

LastNumber = Callable[[int], int]
"""Returns the largest change number of a turn in the current journal; 0 without changes."""
LastImages = Callable[[], Mapping[str, FileImage | None]]


class Recording(Struct, frozen=True, eq=False):
    _ledger: Ledger
    _log: EventLog
    _last_number: LastNumber
    _reserved: dict[int, int] = field(default_factory=dict[int, int])
    """A reserved number need not be recorded yet."""
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def reserve_ids(self, turn: int, count: int) -> tuple[ChangeId, ...]:
        """The last number is read from the journal each time, because recovery adds to it."""
        with self._guard:
            last = max(self._last_number(turn), self._reserved.get(turn, 0))
            self._reserved[turn] = last + count
        return tuple(change_id(turn, last + number) for number in range(1, count + 1))

    def store(
        self, turn: int, transitions: Sequence[FileTransition], author: Author = "agent"
    ) -> tuple[FileChange, ...]:
        real = [item for item in transitions if item.before != item.after]
        with self._ledger.recorder() as recorder:
            for item, change_id in zip(real, self.reserve_ids(turn, len(real)), strict=True):
                recorder.add(item, author=author, change_id=change_id)
        return recorder.changes

    async def record_applied(self, turn: int, call_id: CallId, changes: tuple[FileChange, ...]) -> None:
        if changes:
            await self._log.record(ev.ChangesRecorded(turn=turn, call_id=call_id, changes=changes))


_MOST_LATE_BYTES = 64 * 2**20
_PLANTED = (
    "The command made a git repository here, which is not captured. Using git in it runs the programs that it "
    "names: look at it first."
)


class FoundChanges(Struct, frozen=True):
    by_maker: dict[Maker, tuple[FileChange, ...]]
    outside: tuple[OutsideFile, ...]
    lost: tuple[Uncaptured, ...]
    repositories: tuple[str, ...]
    is_released: bool = False


class ChangeFinder(Struct):
    ledger: Ledger
    capture: StatCapture
    recording: Recording
    writers: Writers
    last_images: LastImages
    _reported: set[Uncaptured] = field(default_factory=set[Uncaptured])

    def collect(
        self,
        turn: int,
        call_id: CallId,
        snapshot: Snapshot,
        copied: SafetyReport,
        author: Author = "shell",
        *,
        may_release: bool = False,
    ) -> FoundChanges:
        """Group the changes since the snapshot by maker. Without `call_id`, they belong to no running call.

        If `may_release`, the snapshot is released when nothing changed. The user's changes count only in this session's
        files.
        """
        copied_paths = {transition.path for transition in copied.inside}
        try:
            self.ledger.require_root()
        except WorkspaceError as error:  # every file would count as deleted, or as made by the command
            lost = Uncaptured(path=".", reason=f"{error.title} Its changes were not captured.")
            return FoundChanges({}, self._outside(copied), (lost,), ())
        last: Mapping[str, FileImage | None] = self.last_images() if self.writers else {}
        self.writers.begin_look(is_bracketed=bool(call_id))
        with self.ledger.recorder() as recorder:
            records = _Records(self, recorder, last, Maker(turn, call_id, author))

            def record_unless_copied(transition: FileTransition) -> None:
                if transition.path not in copied_paths:
                    records.add(transition)

            report = self.capture.collect(snapshot, record_unless_copied, may_release=may_release)
            for transition in copied.inside:
                records.add(transition)
            records.judge()
        lost = tuple(item for item in report.lost if item.path not in copied_paths)
        left = (change.path for change in recorder.changes if change.after is not None)
        submodules = (path for path in left if path.rpartition("/")[2] == ".gitmodules")
        made = (*report.repositories, *submodules)
        planted = tuple(Uncaptured(path=path, reason=_PLANTED) for path in report.repositories)
        news = tuple(item for item in report.out_of_reach if item not in self._reported)
        self._reported.update(news)
        unsaid = lost + news + planted
        by_maker = _by_maker(records.makers, recorder.changes)
        return FoundChanges(by_maker, self._outside(copied), unsaid, made, report.is_released)

    def since_record(self, transition: FileTransition, last: Mapping[str, FileImage | None]) -> FileTransition:
        """Return the transition from the last recorded state, in case an undo wrote that state since the snapshot."""
        before = transition.before.image() if transition.before is not None else None
        image = last.get(transition.path, before)
        if image == before or transition.moved_from or transition.moved_to:
            return transition
        with suppress(StorageError):  # if that content is missing, the transition stays as it was found
            return replace(transition, before=self.ledger.images.state(image), is_shared=False)
        return transition

    async def record_edits(self, turn: int, transitions: Sequence[FileTransition]) -> None:
        """Record the user's edits of the files of a plan. Call this before the plan is applied."""
        last = self.last_images()
        known = [(item.path, item.before) for item in transitions if item.path in last]
        await self._record_edits(turn, await asyncio.to_thread(self._since, last, known))

    async def record_all_edits(self, turn: int) -> None:
        """Record the user's edits of all recorded files. Call this before a command can change them."""
        if last := self.last_images():
            await self._record_edits(turn, await asyncio.to_thread(self._changed_since, last))

    async def _record_edits(self, turn: int, transitions: Sequence[FileTransition]) -> None:
        if not transitions:
            return
        # A program of ours may have written since the last look.
        makers = await asyncio.to_thread(self.writers.makers_of, transitions)
        theirs = _by_maker((maker or Maker(turn, "", "person") for maker in makers), transitions)
        for maker, made in theirs.items():
            changes = await asyncio.to_thread(self.recording.store, maker.turn, made, maker.author)
            await self.recording.record_applied(maker.turn, maker.call_id, changes)

    def _changed_since(self, last: Mapping[str, FileImage | None]) -> list[FileTransition]:
        seen = self.capture.images(last)
        different = [path for path, image in last.items() if seen.get(path) != image]
        now: list[tuple[str, FileState | None]] = []
        for path in different:
            with suppress(OSError):  # an unreadable file is left out
                now.append((path, self.ledger.files.current(path)))
        return self._since(last, now)

    def _since(
        self, last: Mapping[str, FileImage | None], now: Iterable[tuple[str, FileState | None]]
    ) -> list[FileTransition]:
        found: list[FileTransition] = []
        for path, state in now:
            image = last[path]
            if (state.image() if state else None) != image:
                with suppress(StorageError):
                    found.append(FileTransition(path, self.ledger.images.state(image), state))
        return found

    def _outside(self, copied: SafetyReport) -> tuple[OutsideFile, ...]:
        return tuple(self.ledger.record_outside(transition) for transition in copied.outside)


class _Records(Struct):
    finder: ChangeFinder
    recorder: ChangeRecorder
    last: Mapping[str, FileImage | None]
    own: Maker
    makers: list[Maker] = field(default_factory=list[Maker])
    _late: list[FileTransition] = field(default_factory=list[FileTransition])
    _late_bytes: int = 0

    def add(self, transition: FileTransition) -> None:
        if self.own.call_id:
            job = self.finder.writers.job_of(transition)
            self._record(transition, self.own if job is None else job.maker)
            return
        transition = self.finder.since_record(transition, self.last)
        self._late.append(transition)
        self._late_bytes += sum(len(it.content) for it in (transition.before, transition.after) if it is not None)
        if self._late_bytes > _MOST_LATE_BYTES:
            self.judge()

    def judge(self) -> None:
        if not self._late:
            return
        makers = self.finder.writers.makers_of(self._late)
        for transition, maker in zip(self._late, makers, strict=True):
            self._record(transition, maker)
        self._late.clear()
        self._late_bytes = 0

    def _record(self, transition: FileTransition, maker: Maker | None) -> None:
        if maker != self.own and _is_on_record(transition, self.last):
            return  # recorded before the process was killed, or written by an undo
        if maker is None:
            if transition.path not in self.last:
                return
            maker = Maker(self.finder.writers.turn, "", "person")
        (change_id,) = self.finder.recording.reserve_ids(maker.turn, 1)
        self.makers.append(maker)
        self.recorder.add(transition, author=maker.author, change_id=change_id)


def _by_maker(makers: Iterable[Maker], made: Iterable[T]) -> dict[Maker, tuple[T, ...]]:
    found: dict[Maker, list[T]] = {}
    for maker, item in zip(makers, made, strict=True):
        found.setdefault(maker, []).append(item)
    return {maker: tuple(items) for maker, items in found.items()}


def _is_on_record(transition: FileTransition, last: Mapping[str, FileImage | None]) -> bool:
    if transition.path not in last:
        return False
    return last[transition.path] == (transition.after.image() if transition.after is not None else None)


SEE_EVERY_S = 0.25
"""In seconds. Attribution of changes by file times is no more precise."""
_LEAST_PAUSE_S = 1.0
_SHARE = 20
"""Scans that are needed only because a server may write get one part in this many of the time."""

_MOST_PAUSES = 10
"""How often programs with an open file are resumed and paused again. Some always keep a file open."""
_RUNS_ON_S = 0.003


class JobWatch:
    def __init__(self, writers: Writers, finder: ChangeFinder, capture: StatCapture, log: EventLog) -> None:
        self._writers = writers
        self._finder = finder
        self._capture = capture
        self._log = log
        self._clock = SystemClock()
        self._watching: asyncio.Task[None] | None = None
        self.looking = asyncio.Lock()
        """Held while the folder is captured or written to, so that no change is attributed to the wrong writer."""
        self.is_command_running = False
        """Whether a command runs that is followed by its own scan."""
        self.activity_of: Callable[[str], Activity | None] = lambda _: None
        self.servers: Callable[[], Iterable[RunningServer]] = tuple
        self.ended_ns: int | None = None
        """When the last process of a killed application ended, by the clock of files; None if unknown."""
        self.forget_end: Callable[[], object] = lambda: None
        """Called when `ended_ns` is not needed any more. Blocks."""
        self.see_to_end: Callable[[], Awaitable[object]] | None = None
        """Awaited when something may write late, so that its end is recorded even if this process is killed."""

    async def begin(self, job_id: str, job: WatchedJob) -> bool:
        """Return False if the job is unknown or has ended. The caller holds the lock."""
        if not job_id or self._writers.has_ended(job_id):
            return False
        await self._log.record(_begun(Maker(job.turn, job.call_id, job.author), job.snapshot))
        job.activity = self.activity_of(job_id)
        self._writers.jobs[job_id] = job
        self._ensure_watching()
        return True

    def note_turn(self, turn: int) -> None:
        self._writers.turn = turn
        self._writers.note_servers(self.servers())
        if self._writers.has_servers:
            self._ensure_watching()

    def note_call(self, server: str, call_id: CallId, begun_ns: int | None = None) -> None:
        """Attribute the server's later changes to this call of the newest turn.

        Until `note_no_call`, all changes since `begun_ns` are its work.
        """
        if server:
            self._writers.note_call(server, self._writers.turn, call_id, begun_ns)

    def note_no_call(self) -> None:
        self._writers.note_no_call()

    async def look(self, *, is_forced: bool = False) -> None:
        """Record what the programs changed. Does nothing while a command runs, which records the changes itself."""
        if self._writers:
            async with self.looking:
                await to_its_end(self.look_now(is_forced=is_forced), "look at what writes late")

    async def end(self, job_id: str) -> None:
        async with self.looking:
            self._writers.end(job_id)
            with suppress(StorageError):
                await self.look_now()

    async def aclose(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait({self._watching})
        async with self.looking:
            if (snapshot := self._writers.snapshot) is not None:
                with suppress(StorageError):
                    await self.look_now()
                    turn = self._writers.turn
                    await self._log.record(ev.ChangesRecorded(turn=turn, call_id="", changes=(), is_last_look=True))
                self._writers.snapshot = None
                await asyncio.to_thread(self._capture.release, snapshot)

    def is_watching(self, call_id: CallId) -> bool:
        if not call_id:
            return self._writers.snapshot is not None
        return any(job.call_id == call_id for job in self._writers.jobs.values())

    @property
    def is_watching_any(self) -> bool:
        return bool(self._writers) or self._writers.has_servers

    async def conclude(self, left: Iterable[ev.ChangesPrepared], paths: Mapping[CallId, Collection[str]]) -> None:
        """Record what the background commands and servers of a killed process changed after the last look.

        They ended with that process, so later changes are the user's. For files in `paths`, the author is unknown.
        """
        async with self.looking:
            for one in left:
                job = WatchedJob(
                    turn=one.turn,
                    call_id=one.call_id,
                    snapshot=Snapshot(one.snapshot or 0),
                    author=one.author,
                    paths=set(paths.get(one.call_id, ())),
                    ended_ns=self.ended_ns,
                    has_ended=True,
                )
                self._writers.jobs[one.call_id] = job
            await to_its_end(self.look_now(), "conclude what a killed process left")
            await asyncio.to_thread(self.forget_end)

    async def look_now(self, *, is_forced: bool = False, taken: Snapshot | None = None) -> None:
        """Do nothing while a command runs. `is_forced` includes idle servers. The caller holds the lock.

        A snapshot that was just `taken` is moved to this look, so that nothing is lost between the two.
        """
        if not self._writers or self.is_command_running:
            return
        self._writers.note_servers(self.servers())
        if not (is_forced or self._writers.jobs or self._writers.have_servers_run()):
            return
        snapshot = next((job.snapshot for job in self._writers.jobs.values()), self._writers.snapshot)
        assert snapshot is not None
        found = await asyncio.to_thread(self._finder.collect, self._writers.turn, "", snapshot, SafetyReport())
        await self.record(found.by_maker, found.lost)  # a repository that a program made is in `lost`
        await self.advance(snapshot)
        if taken is not None:
            await asyncio.to_thread(self._capture.advance, [taken], snapshot)

    @asynccontextmanager
    async def undisturbed(self) -> AsyncGenerator[None]:
        """Pause the watched programs, and record what they wrote until then.

        Otherwise, their writes between the reading and the writing of a file would count as the user's, or be lost.
        """
        async with self.looking:
            paused = self._writers.activities
            try:
                await asyncio.to_thread(_pause, paused, str(self._writers.root))
                await self.look_now()
                yield
                await self.look_now(is_forced=True)
            finally:
                await unhurried(asyncio.to_thread(_resume, paused))

    async def record(self, found: Mapping[Maker, tuple[FileChange, ...]], lost: tuple[Uncaptured, ...]) -> None:
        """Record each maker's changes. `lost`, what could not be captured, is recorded with the newest job."""
        left = dict(found)
        for job in reversed(tuple(self._writers.jobs.values())):
            changes = left.pop(job.maker, ())
            job.paths.update(change.path for change in changes)
            if changes or lost or job.has_ended:
                event = ev.ChangesRecorded(
                    turn=job.turn, call_id=job.call_id, changes=changes, uncaptured=lost, is_last_look=job.has_ended
                )
                await self._log.record(event)
            lost = ()
        if lost and not left:
            await self._log.record(ev.ChangesRecorded(turn=self._writers.turn, call_id="", changes=(), uncaptured=lost))
        for maker, changes in left.items():
            event = ev.ChangesRecorded(turn=maker.turn, call_id=maker.call_id, changes=changes, uncaptured=lost)
            await self._log.record(event)
            lost = ()

    async def advance(self, to: Snapshot, *, is_bracketed: bool = False) -> None:
        """From now on, compare with the snapshot `to`, and drop ended jobs. `is_bracketed`: a call made the changes."""
        jobs = tuple(self._writers.jobs.values())
        snapshots = [job.snapshot for job in jobs]
        if self._writers.snapshot is not None:
            snapshots.append(self._writers.snapshot)
        if snapshots:
            await asyncio.to_thread(self._capture.advance, snapshots, to)
        for job in jobs:
            if job.has_ended:
                await asyncio.to_thread(self._capture.release, job.snapshot)
        await asyncio.to_thread(self._writers.skip if is_bracketed else self._writers.end_look)

    @property
    def is_watching_late(self) -> bool:
        """Whether the folder's state is kept, to find what servers write late."""
        return self._writers.snapshot is not None

    async def keep(self, snapshot: Snapshot) -> bool:
        """Keep and record a call's snapshot, to find what servers change later. False if that is not needed."""
        if not self._writers.has_servers or self._writers.snapshot is not None:
            return False
        if self.see_to_end is not None:
            await self.see_to_end()
        await self._log.record(_begun(Maker(self._writers.turn, "", "unknown"), snapshot))
        self._writers.snapshot = snapshot
        return True

    def _ensure_watching(self) -> None:
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch_programs(), name="who writes late")

    async def _watch_programs(self) -> None:
        pause_s, is_due = _LEAST_PAUSE_S, False
        looked_s = self._clock.monotonic()
        while self._writers.jobs or self._writers.has_servers:
            await self._clock.sleep(SEE_EVERY_S)
            self._writers.note_servers(self.servers())
            ran = [activity for activity in self._writers.activities if not activity.is_idle()]
            if ran:
                await asyncio.to_thread(_look_at, ran)
            if self.is_command_running or self._writers.snapshot is None:
                continue
            is_due = is_due or self._writers.is_server_among(ran)
            begun_s = self._clock.monotonic()
            if not is_due or (ran and begun_s - looked_s < _LEAST_PAUSE_S) or begun_s - looked_s < pause_s:
                continue
            is_due = False
            with suppress(StorageError):
                await self.look()
            looked_s = self._clock.monotonic()
            pause_s = max(_LEAST_PAUSE_S, _SHARE * (looked_s - begun_s))


def _begun(maker: Maker, snapshot: Snapshot) -> ev.ChangesPrepared:
    return ev.ChangesPrepared(
        turn=maker.turn,
        call_id=maker.call_id,
        purpose="apply",
        changes=(),
        snapshot=snapshot.number,
        is_background=True,
        author=maker.author,
    )


def _pause(activities: Collection[Activity], root: str) -> None:
    for is_last in (*(False for _ in range(_MOST_PAUSES)), True):
        for activity in activities:
            activity.pause()
        if is_last or not any(activity.is_writing_in(root) for activity in activities):
            return
        _resume(activities)
        time.sleep(_RUNS_ON_S)  # noqa: TID251 - for programs, which know no clock of ours


def _resume(activities: Iterable[Activity]) -> None:
    for activity in activities:
        activity.resume()


def _look_at(activities: Iterable[Activity]) -> None:
    for activity in activities:
        activity.look()


async def to_its_end(work: Coroutine[object, object, T], name: str) -> T:
    """Await `work` like `unhurried`. Errors such as a full disk are reported even when cancelled."""
    task = asyncio.create_task(work, name=name)
    try:
        return await unhurried(task)
    except asyncio.CancelledError:
        with suppress(ToolError):  # the call is answered as stopped
            task.result()
        raise


_A_FOLDER = FileImage(digest=digest_of(b""), size=0, mode=0o777, kind="folder")


class Effects:
    def __init__(
        self,
        ledger: Ledger,
        capture: StatCapture,
        safeguard: Safeguard,
        log: EventLog,
        last_number: LastNumber,
        last_images: LastImages = dict[str, FileImage | None],
        texts: OpenTexts = NO_TEXTS,
    ) -> None:
        self._safeguard = safeguard
        self.texts = texts
        self._ledger = ledger
        self._capture = capture
        self._log = log
        self.writing = asyncio.Lock()
        """Held while a call changes files, or a command runs that may: sub-agents work in one folder side by side."""
        self.recording = Recording(ledger, log, last_number)
        writers = Writers(ledger.files.root)
        self._finder = ChangeFinder(ledger, capture, self.recording, writers, last_images)
        self.jobs = JobWatch(writers, self._finder, capture, log)

    async def prepare(self, turn: int, transitions: Sequence[FileTransition]) -> tuple[FileChange, ...]:
        """Store a plan's file images. The user's saved edits of these files are recorded first."""
        self.jobs.note_turn(turn)
        await self.jobs.look()
        saved = transitions
        if self.texts.editor is not None:
            saved = await asyncio.to_thread(self._on_disk, [item.path for item in transitions])
        await self._finder.record_edits(turn, saved)
        await self.tell_of_cache()
        planned = await asyncio.to_thread(self._at_all_names, transitions)
        return await asyncio.to_thread(self.recording.store, turn, planned)

    def _at_all_names(self, transitions: Sequence[FileTransition]) -> list[FileTransition]:
        """Add all other names (hard links) of the plan's files, because a write changes them, too."""
        named = {item.path for item in transitions}
        found: list[FileTransition] = []
        for item in transitions:
            found.append(item)
            if item.before is not None and item.after is not None and item.before != item.after:
                others = [name for name in self._ledger.files.other_names(item.path) if name not in named]
                found += [FileTransition(name, item.before, item.after) for name in others]
        return found

    def _on_disk(self, paths: Iterable[str]) -> list[FileTransition]:
        return [FileTransition(path, now := self._ledger.files.current(path), now) for path in paths]

    def warnings(self, changes: Sequence[FileChange]) -> tuple[str, ...]:
        """Return what the user should know of a plan besides its changes. Blocks."""
        unsaved = self.texts.unsaved(self._ledger.files, changes)
        return (*(UNSAVED.format(item.path) for item in unsaved), *self._broken_links(changes))

    def _broken_links(self, changes: Sequence[FileChange]) -> tuple[str, ...]:
        written = [change.path for change in changes if change.after is not None and change.before is not None]
        return tuple(
            f"[`{path}` has another name (a hard link) that is not an ordinary file of this folder. Only `{path}` gets "
            "the new content; the other name keeps the old one.]"
            for path in written
            if self._ledger.files.has_names_elsewhere(path)
        )

    async def apply(self, turn: int, call_id: CallId, changes: tuple[FileChange, ...]) -> tuple[str, ...]:
        """Write all of `changes` or none. They are recorded before and after. Once begun, this finishes.

        An editor first saves its unsaved text of these files, and then writes the changes. Returns the paths for which
        it wrote something else. Raises `ToolError` when a file is not in the state for which the plan was made.
        """
        return await to_its_end(self._apply(turn, call_id, changes), f"apply {call_id}")

    async def watch(self, turn: int) -> None:
        """From now on, also find what the running servers and agents change without a call. Can be cancelled."""
        async with self.jobs.looking:
            self.jobs.note_turn(turn)
            await self.jobs.look_now()
            if self.jobs.is_watching_late:
                return
            snapshot = await self._take_snapshot()
            is_kept = False
            try:
                await self._finder.record_all_edits(turn)
                is_kept = await self.jobs.keep(snapshot)
            finally:
                if not is_kept:
                    await asyncio.to_thread(self._capture.release, snapshot)

    async def begin_command(self, turn: int, call_id: CallId, run: PlannedCommand) -> Snapshot:
        """Record the user's edits, take a snapshot, and copy what the command may destroy. Can be cancelled."""
        await self._safeguard.prepare(call_id, run)  # copying can take long, so it is done before the lock is taken
        async with self.jobs.looking:
            self.jobs.note_turn(turn)
            if run.begun_ns is not None:
                self.jobs.note_call(run.server, call_id, run.begun_ns)
            snapshot = await self._take_snapshot()
            event = ev.ChangesPrepared(
                turn=turn, call_id=call_id, purpose="apply", changes=(), snapshot=snapshot.number, author=run.author
            )
            try:
                await self.jobs.look_now(is_forced=run.begun_ns is not None, taken=snapshot)
                self.jobs.note_no_call()
                self.jobs.note_call(run.server, call_id)
                await self._finder.record_all_edits(turn)
                await self._log.record(event)
                await self.tell_of_cache()
            except asyncio.CancelledError:
                await asyncio.to_thread(self._capture.release, snapshot)
                raise
            self.jobs.is_command_running = True
            return snapshot

    async def collect(
        self, turn: int, call_id: CallId, snapshot: Snapshot, job_id: str = "", *, author: Author = "shell"
    ) -> tuple[str, ...]:
        """Record the changes since the snapshot as the work of `call_id`. Return the repositories it created.

        Changes of an earlier job stay attributed to that job. Once begun, this finishes, like `apply`.
        """
        return await to_its_end(self._collect(turn, call_id, snapshot, job_id, author), f"collect {call_id}")

    async def record_edits(self, turn: int, now: Sequence[FileTransition]) -> None:
        await self._finder.record_edits(turn, now)

    def repositories(self, root: Path) -> tuple[Path, ...]:
        return tuple(root / path for path in sorted(self._capture.repositories()) if path.rpartition("/")[2] == ".git")

    def note_written(self, images: Mapping[str, FileImage | None]) -> None:
        self._capture.note_written(images)

    async def tell_of_cache(self) -> None:
        if trouble := self._capture.take_failure():
            notice = ev.Notice(level="warning", code="cache", title=CACHE_FAILS, hint=CACHE_HINT, detail=trouble)
            await self._log.record(notice)

    async def _take_snapshot(self) -> Snapshot:
        stop = threading.Event()
        task = asyncio.create_task(asyncio.to_thread(self._capture.begin, stop), name="snapshot")
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            stop.set()
            while not task.done():
                with suppress(asyncio.CancelledError, CaptureStoppedError):
                    await asyncio.wait([task])
            if task.exception() is None:
                await asyncio.to_thread(self._capture.release, task.result())
            raise

    async def _collect(
        self, turn: int, call_id: CallId, snapshot: Snapshot, job_id: str, author: Author
    ) -> tuple[str, ...]:
        async with self.jobs.looking:
            self.jobs.is_command_running = False
            self.jobs.note_turn(turn)
            may_release = not job_id and not self.jobs.is_watching_any

            findings = await self._safeguard.finish(call_id)
            found = await asyncio.to_thread(
                self._finder.collect, turn, call_id, snapshot, findings.report, author, may_release=may_release
            )
            changes = found.by_maker.pop(Maker(turn, call_id, author), ())
            uncaptured = tuple(dict.fromkeys((*found.lost, *findings.gaps)))
            if changes or uncaptured or findings.refs or found.outside:
                is_lossy = bool(changes or found.outside) or any(change.is_loss for change in findings.refs)
                event = ev.ChangesRecorded(
                    turn=turn,
                    call_id=call_id,
                    changes=changes,
                    uncaptured=uncaptured,
                    refs=findings.refs,
                    outside=found.outside,
                    is_recoverable=bool(found.outside) or (findings.is_destructive and is_lossy),
                )
                await self._log.record(event)
            await self.jobs.record(found.by_maker, ())
            paths = {change.path for change in changes}
            job = WatchedJob(turn=turn, call_id=call_id, snapshot=snapshot, paths=paths)
            is_watched = await self.jobs.begin(job_id, job)
            is_kept = is_watched or found.is_released or await self.jobs.keep(snapshot)
            await self.jobs.advance(snapshot, is_bracketed=True)
            if not is_kept:
                await asyncio.to_thread(self._capture.release, snapshot)
            await self._safeguard.forget()
            await self.tell_of_cache()
            return found.repositories

    async def _apply(self, turn: int, call_id: CallId, changes: tuple[FileChange, ...]) -> tuple[str, ...]:
        async with self.jobs.looking:
            if unsaved := await asyncio.to_thread(self.texts.unsaved, self._ledger.files, changes):
                await self.save(turn, unsaved)
            notes: list[str] = []
            hand = partial(self._hand, notes) if self.texts.can_write else None
            others = await self._write_down(turn, call_id, changes, partial(self._ledger.apply, hand=hand))
            if others:
                notes += map(FORMATTED.format, others)
                await self._finder.record_edits(turn, await asyncio.to_thread(self._on_disk, others))
            await self.jobs.look_now()  # so later changes by a job to the same files are found
            await self.tell_of_cache()
            return tuple(notes)

    async def save(self, turn: int, unsaved: Sequence[FileTransition]) -> None:
        """Write what an editor has not saved to disk, as the user's. Raises `ToolError` if a file changed meanwhile."""
        saved = await asyncio.to_thread(self._at_all_names, unsaved)
        edits = await asyncio.to_thread(self.recording.store, turn, saved, "person")
        await self._write_down(turn, "", edits, self._ledger.apply)

    async def _write_down(
        self, turn: int, call_id: CallId, changes: tuple[FileChange, ...], write: Callable[[tuple[FileChange, ...]], T]
    ) -> T:
        """Write the changes, which are recorded before and after."""
        await self._log.record(ev.ChangesPrepared(turn=turn, call_id=call_id, purpose="apply", changes=changes))
        written = await asyncio.to_thread(self._write, changes, write)
        await self.recording.record_applied(turn, call_id, changes)
        return written

    def _write(self, changes: tuple[FileChange, ...], write: Callable[[tuple[FileChange, ...]], T]) -> T:
        """Write the changes. The capture is notified first, because it may scan the folder meanwhile."""
        folders: dict[str, FileImage | None] = {folder: _A_FOLDER for item in changes for folder in item.new_folders}
        self._capture.note_written(folders | {change.path: change.after for change in changes})
        return write(changes)

    def _hand(self, notes: list[str], change: FileChange, after: FileState) -> bool:
        note = self.texts.hand(self._ledger.files.root, change, after.content)
        notes += [note] if note else []
        return note is not None
