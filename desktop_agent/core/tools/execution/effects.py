"""Effects: records and carries out a call's changes, for plans and for commands."""

import asyncio
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.capture.capture import CACHE_FAILS, CACHE_HINT, Snapshot, StatCapture
from desktop_agent.core.capture.scan import CaptureStoppedError
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import Author, FileChange, FileImage
from desktop_agent.core.system.files import FileTransition, digest_of
from desktop_agent.core.tools.execution.job_watch import JobWatch, to_its_end
from desktop_agent.core.tools.execution.recording import ChangeFinder, LastImages, LastNumber, Recording
from desktop_agent.core.tools.execution.safeguard import PlannedCommand, Safeguard
from desktop_agent.core.tools.execution.writers import Maker, WatchedJob, Writers

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
    ) -> None:
        self._safeguard = safeguard
        self._ledger = ledger
        self._capture = capture
        self._log = log
        self.recording = Recording(ledger, log, last_number)
        writers = Writers(ledger.files.root)
        self._finder = ChangeFinder(ledger, capture, self.recording, writers, last_images)
        self.jobs = JobWatch(writers, self._finder, capture, log)

    async def prepare(self, turn: int, transitions: Sequence[FileTransition]) -> tuple[FileChange, ...]:
        """Store a plan's file images. The user's edits of these files are recorded first."""
        self.jobs.note_turn(turn)
        await self.jobs.look()
        await self._finder.record_edits(turn, transitions)
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

    def broken_links(self, changes: Sequence[FileChange]) -> tuple[str, ...]:
        written = [change.path for change in changes if change.after is not None and change.before is not None]
        return tuple(
            f"[`{path}` has another name (a hard link) that is not an ordinary file of this folder. Only `{path}` gets "
            "the new content; the other name keeps the old one.]"
            for path in written
            if self._ledger.files.has_names_elsewhere(path)
        )

    async def apply(self, turn: int, call_id: CallId, changes: tuple[FileChange, ...]) -> None:
        """Write all of `changes` or none. They are recorded before and after. Once begun, this finishes.

        Raises `ToolError` when a file is not in the state for which the plan was made.
        """
        await to_its_end(self._apply(turn, call_id, changes), f"apply {call_id}")

    async def begin_command(self, turn: int, call_id: CallId, run: PlannedCommand) -> Snapshot:
        """Record the user's edits, take a snapshot, and copy what the command may destroy. Can be cancelled."""
        await self._safeguard.prepare(call_id, run)  # copying can take long, so it is done before the lock is taken
        async with self.jobs.looking:
            self.jobs.note_turn(turn)
            await self.jobs.look_now()
            self.jobs.note_call(run.server, call_id)
            snapshot = await self._take_snapshot()
            event = ev.ChangesPrepared(
                turn=turn, call_id=call_id, purpose="apply", changes=(), snapshot=snapshot.number, author=run.author
            )
            try:
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

    async def _apply(self, turn: int, call_id: CallId, changes: tuple[FileChange, ...]) -> None:
        async with self.jobs.looking:
            await self._log.record(ev.ChangesPrepared(turn=turn, call_id=call_id, purpose="apply", changes=changes))
            await asyncio.to_thread(self._write, changes)
            await self.recording.record_applied(turn, call_id, changes)
            await self.jobs.look_now()  # so later changes by a job to the same files are found
            await self.tell_of_cache()

    def _write(self, changes: tuple[FileChange, ...]) -> None:
        """Write the changes. The capture is told first, because it may look at the folder meanwhile."""
        folders: dict[str, FileImage | None] = {folder: _A_FOLDER for item in changes for folder in item.new_folders}
        self._capture.note_written(folders | {change.path: change.after for change in changes})
        self._ledger.apply(changes)
