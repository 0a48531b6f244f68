"""Effects: how a call's changes are written down and carried out, for plans and for commands alike."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from desktop_agent.core.base.errors import StorageError, ToolError, WorkspaceError
from desktop_agent.core.base.ids import CallId, ChangeId, change_id
from desktop_agent.core.capture.capture import Capture, CaptureStoppedError, Snapshot
from desktop_agent.core.capture.safety import SafetyReport
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.event_log import EventLog
from desktop_agent.core.protocol.model import Author, FileChange, FileImage, OutsideFile, Uncaptured
from desktop_agent.core.system.files import FileState, FileTransition, digest_of
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.tools.execution.safeguard import PlannedCommand, Safeguard
from desktop_agent.core.tools.execution.watched_jobs import WatchedJob, WatchedJobs

T = TypeVar("T")
LastImages = Callable[[], Mapping[str, FileImage | None]]
"""How the session's records left each file that they name."""

_PLANTED = (
    "The command made a git repository here, which is not captured. Using git in it runs the programs that it "
    "names: look at it first."
)
_A_FOLDER = FileImage(digest=digest_of(b""), size=0, mode=0o777, kind="folder")


class Effects:
    """The writing side of one session's tool calls. Calls that change something come one at a time."""

    def __init__(
        self,
        ledger: Ledger,
        capture: Capture,
        safeguard: Safeguard,
        log: EventLog,
        recorded: Iterable[ChangeId],
        last_images: LastImages = dict[str, FileImage | None],
    ) -> None:
        """`recorded` are the changes that the session already has, so that new ids continue theirs."""
        self._safeguard = safeguard
        self._ledger = ledger
        self._capture = capture
        self._log = log
        self._counts = Counter(int(identifier.partition(".")[0]) for identifier in recorded)
        self._last_images = last_images
        self._told: set[Uncaptured] = set()
        self._jobs = WatchedJobs()
        self._looking = asyncio.Lock()
        """Held by who looks at the folder or writes in it, so that no job is given what a call is writing."""
        self._is_command_running = False

    async def prepare(self, turn: int, transitions: Sequence[FileTransition]) -> tuple[FileChange, ...]:
        """Store the images of a plan and return its changes. The workspace stays as it is.

        What the user did since to one of its files goes on record first, as theirs.
        """
        await self.look()
        last = self._last_images()
        known = [item for item in transitions if item.path in last]
        theirs = await asyncio.to_thread(self._since, last, [(item.path, item.before) for item in known])
        await self._record_person(turn, theirs)
        return await asyncio.to_thread(self._record_all, turn, await asyncio.to_thread(self._at_all_names, transitions))

    def _at_all_names(self, transitions: Sequence[FileTransition]) -> list[FileTransition]:
        """Return the plan with the other names (hard links) of its files: a write changes all of them."""
        named = {item.path for item in transitions}
        found: list[FileTransition] = []
        for item in transitions:
            found.append(item)
            if item.before is not None and item.after is not None and item.before != item.after:
                others = [name for name in self._ledger.files.other_names(item.path) if name not in named]
                found += [FileTransition(name, item.before, item.after) for name in others]
        return found

    def broken_links(self, changes: Sequence[FileChange]) -> tuple[str, ...]:
        """Say, in a line each, which files lose a hard link by being written: its other end keeps its content. Blocks.

        A removed file takes only its own name away, so there is nothing to say of it.
        """
        written = [change.path for change in changes if change.after is not None and change.before is not None]
        return tuple(
            f"[`{path}` has another name (a hard link) that is not an ordinary file of this folder. Only `{path}` gets "
            "the new content; the other name keeps the old one.]"
            for path in written
            if self._ledger.files.has_names_elsewhere(path)
        )

    async def apply(self, turn: int, call_id: CallId, changes: tuple[FileChange, ...]) -> None:
        """Write `changes` to the workspace, all or none, with the intention on record before and the fact after.

        Raises `ToolError` when a file is not what the plan was made for. Once begun it is finished, also when the
        calling task is cancelled.
        """
        await _to_its_end(self._apply(turn, call_id, changes), f"apply {call_id}")

    def reserve_ids(self, turn: int, count: int) -> tuple[ChangeId, ...]:
        """Return ids for `count` more changes of `turn`, which nothing else will get."""
        ids = tuple(change_id(turn, self._counts[turn] + number) for number in range(1, count + 1))
        self._counts[turn] += count
        return ids

    async def begin_command(self, turn: int, call_id: CallId, run: PlannedCommand) -> Snapshot:
        """Take a snapshot before a command runs, copy what it may destroy, and put on record that it is about to.

        What the user did since to files of this session goes on record first, as theirs. Cancelling stops the look.
        """
        await self._safeguard.prepare(call_id, run)
        async with self._looking:
            return await self._begin_command(turn, call_id)

    async def _begin_command(self, turn: int, call_id: CallId) -> Snapshot:
        await self._look()
        snapshot = await self._begin()
        try:
            await self._record_person(turn, await asyncio.to_thread(self._changed_since, self._last_images()))
            await self._log.record(
                ev.ChangesPrepared(turn=turn, call_id=call_id, purpose="apply", changes=(), snapshot=snapshot.number)
            )
        except asyncio.CancelledError:
            await asyncio.to_thread(self._capture.release, snapshot)
            raise
        self._is_command_running = True
        return snapshot

    async def collect(self, turn: int, call_id: CallId, snapshot: Snapshot, job_id: str = "") -> tuple[str, ...]:
        """Record what changed since the snapshot as the work of `call_id`, and let go of it.

        While a job runs that the call has started, what it changes from now on is captured at every `look`. What an
        earlier job is known to write is recorded as that one's. Once begun it is finished, like `apply`. Returns the
        paths of the repositories that the command made, which are recorded, too.
        """
        return await _to_its_end(self._collect_and_record(turn, call_id, snapshot, job_id), f"collect {call_id}")

    async def look(self) -> None:
        """Record what background commands have changed so far, each as the work of the call that started it.

        Does nothing while another command runs: its own look, when it ends, separates them.
        """
        if self._jobs:
            async with self._looking:
                await _to_its_end(self._look(), "look at jobs")

    async def end_job(self, job_id: str) -> None:
        """Record what a background command has changed to its end. A full disk is reported with the next record."""
        async with self._looking:
            self._jobs.end(job_id)
            with suppress(StorageError):
                await self._look()

    def is_watching(self, call_id: CallId) -> bool:
        """Whether the background command of this call is looked after, so that its end will be recorded."""
        return self._jobs.is_watched(call_id)

    async def conclude_job(self, turn: int, call_id: CallId, snapshot: Snapshot) -> None:
        """Record what the background command of a killed process changed after the last look at it."""
        async with self._looking:
            self._jobs.add(call_id, WatchedJob(turn, call_id, snapshot, has_ended=True))
            await _to_its_end(self._look(), f"conclude {call_id}")

    def repositories(self, root: Path) -> tuple[Path, ...]:
        """Return every `.git` in the workspace, as it was when the last command began."""
        return tuple(root / path for path in sorted(self._capture.repositories()) if path.rpartition("/")[2] == ".git")

    def note_written(self, images: Mapping[str, FileImage | None]) -> None:
        """Announce what is written without a call (an undo, the user's save), so that no command gets it. Blocks."""
        self._capture.note_written(images)

    async def _begin(self) -> Snapshot:
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

    async def _collect_and_record(self, turn: int, call_id: CallId, snapshot: Snapshot, job_id: str) -> tuple[str, ...]:
        async with self._looking:
            self._is_command_running = False
            return await self._collect_command(turn, call_id, snapshot, job_id)

    async def _collect_command(self, turn: int, call_id: CallId, snapshot: Snapshot, job_id: str) -> tuple[str, ...]:
        findings = await self._safeguard.finish(call_id)
        found, outside, lost, made = await asyncio.to_thread(self._collect, turn, call_id, snapshot, findings.report)
        changes = found.pop(call_id, ())
        uncaptured = tuple(dict.fromkeys((*lost, *findings.gaps)))
        if changes or uncaptured or findings.refs or outside:
            is_lossy = bool(changes or outside) or any(change.is_loss for change in findings.refs)
            event = ev.ChangesRecorded(
                turn=turn,
                call_id=call_id,
                changes=changes,
                uncaptured=uncaptured,
                refs=findings.refs,
                outside=outside,
                is_recoverable=bool(outside) or (findings.is_destructive and is_lossy),
            )
            await self._log.record(event)
        await self._record_jobs(found, ())
        if job_id and not self._jobs.has_ended(job_id):
            event = ev.ChangesPrepared(
                turn=turn, call_id=call_id, purpose="apply", changes=(), snapshot=snapshot.number, is_background=True
            )
            await self._log.record(event)
            self._jobs.add(job_id, WatchedJob(turn, call_id, snapshot, {change.path for change in changes}))
            await self._advance(snapshot)
        else:
            await self._advance(snapshot)
            await asyncio.to_thread(self._capture.release, snapshot)
        await self._safeguard.forget()
        return made

    async def _look(self) -> None:
        """Look at the jobs, if no other command runs. Under the lock."""
        if not self._jobs or self._is_command_running:
            return
        snapshot = self._jobs.all[0].snapshot
        found, _, lost, made = await asyncio.to_thread(self._collect, 0, "", snapshot, SafetyReport())
        del made  # it is among what was lost, which the review shows
        await self._record_jobs(found, lost)
        await self._advance(snapshot)

    async def _record_jobs(self, found: Mapping[CallId, tuple[FileChange, ...]], lost: tuple[Uncaptured, ...]) -> None:
        """Put on record what the jobs changed; `lost` is said of the youngest."""
        for job in reversed(self._jobs.all):
            changes = found.get(job.call_id, ())
            job.paths.update(change.path for change in changes)
            if changes or lost or job.has_ended:
                event = ev.ChangesRecorded(
                    turn=job.turn,
                    call_id=job.call_id,
                    changes=changes,
                    uncaptured=lost,
                    is_last_look=job.has_ended,
                )
                await self._log.record(event)
            lost = ()

    async def _advance(self, to: Snapshot) -> None:
        """Go on from what was just recorded, and let go of the jobs that have ended."""
        if self._jobs:
            snapshots = [job.snapshot for job in self._jobs.all]
            await asyncio.to_thread(self._capture.advance, snapshots, to)
        for job in self._jobs.all:
            if job.has_ended:
                await asyncio.to_thread(self._capture.release, job.snapshot)
        self._jobs.forget_ended()

    async def record_applied(self, turn: int, call_id: CallId, changes: tuple[FileChange, ...]) -> None:
        """Put on record that `changes` are on disk now."""
        if changes:
            await self._log.record(ev.ChangesRecorded(turn=turn, call_id=call_id, changes=changes))
            highest = max(int(change.id.partition(".")[2]) for change in changes)
            self._counts[turn] = max(self._counts[turn], highest)

    async def _apply(self, turn: int, call_id: CallId, changes: tuple[FileChange, ...]) -> None:
        async with self._looking:
            await self._log.record(ev.ChangesPrepared(turn=turn, call_id=call_id, purpose="apply", changes=changes))
            await asyncio.to_thread(self._write, changes)
            await self.record_applied(turn, call_id, changes)
            await self._look()  # so that what a job does to the same files comes on top

    def _write(self, changes: tuple[FileChange, ...]) -> None:
        """Write the files, and announce before it what will be there: a command may be looked after meanwhile."""
        folders: dict[str, FileImage | None] = {folder: _A_FOLDER for item in changes for folder in item.new_folders}
        self._capture.note_written(folders | {change.path: change.after for change in changes})
        self._ledger.apply(changes)

    async def _record_person(self, turn: int, transitions: Sequence[FileTransition]) -> None:
        """Put on record what the user did, before something of the agent's comes on top of it."""
        changes = await asyncio.to_thread(self._record_all, turn, transitions, "person")
        await self.record_applied(turn, "", changes)

    def _changed_since(self, last: Mapping[str, FileImage | None]) -> list[FileTransition]:
        """What became of the files of this session since it last had to do with them."""
        seen = self._capture.images(last)
        different = [path for path, image in last.items() if seen.get(path) != image]
        now: list[tuple[str, FileState | None]] = []
        for path in different:
            with suppress(OSError):  # it cannot be read; then nothing can be said of it
                now.append((path, self._ledger.files.current(path)))
        return self._since(last, now)

    def _since(
        self, last: Mapping[str, FileImage | None], now: Iterable[tuple[str, FileState | None]]
    ) -> list[FileTransition]:
        """How these files differ from what the records left. One whose old content is gone is left out."""
        found: list[FileTransition] = []
        for path, state in now:
            image = last[path]
            if (state.image() if state else None) != image:
                with suppress(StorageError):
                    found.append(FileTransition(path, self._ledger.images.state(image), state))
        return found

    def _record_all(
        self, turn: int, transitions: Sequence[FileTransition], author: Author = "agent"
    ) -> tuple[FileChange, ...]:
        real = [item for item in transitions if item.before != item.after]
        with self._ledger.recorder() as recorder:
            for item, change_id in zip(real, self.reserve_ids(turn, len(real)), strict=True):
                recorder.add(item, author=author, change_id=change_id)
        return recorder.changes

    def _collect(
        self, turn: int, call_id: CallId, snapshot: Snapshot, copied: SafetyReport
    ) -> tuple[dict[CallId, tuple[FileChange, ...]], tuple[OutsideFile, ...], tuple[Uncaptured, ...], tuple[str, ...]]:
        """Return what changed since the snapshot by the call that did it; without `call_id`, jobs did all of it."""
        told = {transition.path for transition in copied.inside}
        try:
            self._ledger.require_root()
        except WorkspaceError as error:  # every file would count as deleted, or as made by the command
            outside = tuple(self._ledger.record_outside(transition) for transition in copied.outside)
            lost = Uncaptured(path=".", reason=f"{error.title} Its changes were not captured.")
            return {}, outside, (lost,), ()
        makers: list[CallId] = []
        last: Mapping[str, FileImage | None] = self._last_images() if self._jobs else {}
        with self._ledger.recorder() as recorder:

            def record(transition: FileTransition) -> None:
                job = self._jobs.maker_of(transition) if call_id else self._jobs.likeliest(transition)
                if job is not None and _is_on_record(transition, last):
                    return  # before the process was killed, or because it was written for an undo
                (change_id,) = self.reserve_ids(turn if job is None else job.turn, 1)
                makers.append(call_id if job is None else job.call_id)
                recorder.add(transition, author="shell", change_id=change_id)

            def record_unless_copied(transition: FileTransition) -> None:
                if transition.path not in told:
                    record(transition)

            report = self._capture.collect(snapshot, record_unless_copied)
            for transition in copied.inside:
                record(transition)
        outside = tuple(self._ledger.record_outside(transition) for transition in copied.outside)
        news = tuple(item for item in report.out_of_reach if item not in self._told)
        self._told.update(news)
        lost = tuple(item for item in report.lost if item.path not in told)
        submodules = (change.path for change in recorder.changes if _is_submodule_list(change))
        made = (*report.repositories, *submodules)
        planted = tuple(Uncaptured(path=path, reason=_PLANTED) for path in report.repositories)
        changes: dict[CallId, list[FileChange]] = {}
        for maker, change in zip(makers, recorder.changes, strict=True):
            changes.setdefault(maker, []).append(change)
        by_maker = {maker: tuple(theirs) for maker, theirs in changes.items()}
        return by_maker, outside, lost + news + planted, made


def _is_on_record(transition: FileTransition, last: Mapping[str, FileImage | None]) -> bool:
    if transition.path not in last:
        return False
    return last[transition.path] == (transition.after.image() if transition.after is not None else None)


def _is_submodule_list(change: FileChange) -> bool:
    return change.path.rpartition("/")[2] == ".gitmodules" and change.after is not None


async def _to_its_end(work: Coroutine[object, object, T], name: str) -> T:
    """Await `work` like `unhurried`, but let a full disk be heard of also when we are cancelled.

    Otherwise the call would be answered, and its turn ended, while files are still being written.
    """
    task = asyncio.create_task(work, name=name)
    try:
        return await unhurried(task)
    except asyncio.CancelledError:
        with suppress(ToolError):  # the call is answered as stopped
            task.result()
        raise
