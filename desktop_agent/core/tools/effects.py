"""Effects: how a call's changes are written down and carried out, for plans and for commands alike."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from desktop_agent.core import events as ev
from desktop_agent.core.changes.capture import Capture, CaptureStoppedError, Snapshot
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.changes.safety import SafetyReport
from desktop_agent.core.errors import StorageError, ToolError, WorkspaceError
from desktop_agent.core.event_log import EventLog
from desktop_agent.core.files import FileState, FileTransition, digest_of
from desktop_agent.core.ids import CallId, ChangeId, change_id
from desktop_agent.core.model import Author, FileChange, FileImage, OutsideFile, Uncaptured
from desktop_agent.core.processes.child import unhurried
from desktop_agent.core.tools.safeguard import CommandRun, Safeguard

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

    async def prepare(self, turn: int, transitions: Sequence[FileTransition]) -> tuple[FileChange, ...]:
        """Store the images of a plan and return its changes. The workspace stays as it is.

        What the person did since to one of its files goes on record first, as theirs.
        """
        last = self._last_images()
        known = [item for item in transitions if item.path in last]
        theirs = await asyncio.to_thread(self._since, last, [(item.path, item.before) for item in known])
        await self._record_person(turn, theirs)
        return await asyncio.to_thread(self._record_all, turn, transitions)

    def broken_links(self, changes: Sequence[FileChange]) -> tuple[str, ...]:
        """Say, in a line each, which files lose a hard link by being written: its other end keeps its content. Blocks.

        A removed file takes only its own name away, so there is nothing to say of it.
        """
        written = [change.path for change in changes if change.after is not None and change.before is not None]
        return tuple(
            f"[`{path}` has another name (a hard link) that is not an ordinary file of this folder. Only `{path}` gets "
            "the new content; the other name keeps the old one.]"
            for path in written
            if self._ledger.has_names_elsewhere(path)
        )

    async def apply(self, turn: int, call_id: CallId, changes: tuple[FileChange, ...]) -> None:
        """Write `changes` to the workspace, all or none, with the intention on record before and the fact after.

        Raises `ToolError` when a file is not what the plan was made for. Once begun it is finished, also when the
        calling task is cancelled.
        """
        await _to_its_end(self._apply(turn, call_id, changes), f"apply {call_id}")

    def reserve_ids(self, turn: int, count: int) -> tuple[ChangeId, ...]:
        """Return ids for `count` more changes of `turn`, which nothing else will get."""
        ids = tuple(self._id(turn, number) for number in range(1, count + 1))
        self._counts[turn] += count
        return ids

    async def begin_command(self, turn: int, call_id: CallId, run: CommandRun) -> Snapshot:
        """Take a snapshot before a command runs, copy what it may destroy, and put on record that it is about to.

        What the person did since to files of this session goes on record first, as theirs. Cancelling stops the look.
        """
        await self._safeguard.prepare(call_id, run)
        snapshot = await self._begin()
        try:
            await self._record_person(turn, await asyncio.to_thread(self._changed_since, self._last_images()))
            await self._log.record(
                ev.ChangesPrepared(turn=turn, call_id=call_id, purpose="apply", changes=(), snapshot=snapshot.number)
            )
        except asyncio.CancelledError:
            await asyncio.to_thread(self._capture.release, snapshot)
            raise
        return snapshot

    async def collect(
        self, turn: int, call_id: CallId, snapshot: Snapshot, known_gaps: Sequence[Uncaptured] = ()
    ) -> tuple[str, ...]:
        """Record what changed since the snapshot as the work of `call_id`, and let go of it.

        `known_gaps` are said together with what could not be captured. Once begun it is finished, like `apply`.
        Returns the paths of the repositories that the command made, which are recorded, too.
        """
        return await _to_its_end(self._collect_and_record(turn, call_id, snapshot, known_gaps), f"collect {call_id}")

    def repositories(self, root: Path) -> tuple[Path, ...]:
        """Return every `.git` in the workspace, as it was when the last command began."""
        return tuple(root / path for path in sorted(self._capture.repositories()) if path.rpartition("/")[2] == ".git")

    def note_written(self, images: Mapping[str, FileImage | None]) -> None:
        """Announce what is written without a call (an undo, the person's save), so that no command gets it. Blocks."""
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

    async def _collect_and_record(
        self, turn: int, call_id: CallId, snapshot: Snapshot, known_gaps: Sequence[Uncaptured]
    ) -> tuple[str, ...]:
        findings = await self._safeguard.finish(call_id)
        changes, outside, lost, made = await asyncio.to_thread(self._collect, turn, snapshot, findings.report)
        uncaptured = tuple(dict.fromkeys((*lost, *findings.gaps, *known_gaps)))
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
            self._counts[turn] += len(changes)
        await asyncio.to_thread(self._capture.release, snapshot)
        await self._safeguard.forget()
        return made

    async def record_applied(self, turn: int, call_id: CallId, changes: tuple[FileChange, ...]) -> None:
        """Put on record that `changes` are on disk now."""
        if changes:
            await self._log.record(ev.ChangesRecorded(turn=turn, call_id=call_id, changes=changes))
            self._counts[turn] += len(changes)

    async def _apply(self, turn: int, call_id: CallId, changes: tuple[FileChange, ...]) -> None:
        await self._log.record(ev.ChangesPrepared(turn=turn, call_id=call_id, purpose="apply", changes=changes))
        await asyncio.to_thread(self._write, changes)
        await self.record_applied(turn, call_id, changes)

    def _write(self, changes: tuple[FileChange, ...]) -> None:
        """Write the files, and announce before it what will be there: a command may be looked after meanwhile."""
        folders: dict[str, FileImage | None] = {folder: _A_FOLDER for item in changes for folder in item.new_folders}
        self._capture.note_written(folders | {change.path: change.after for change in changes})
        self._ledger.apply(changes)

    async def _record_person(self, turn: int, transitions: Sequence[FileTransition]) -> None:
        """Put on record what the person did, before something of the agent's comes on top of it."""
        changes = await asyncio.to_thread(self._record_all, turn, transitions, "person")
        await self.record_applied(turn, "", changes)

    def _changed_since(self, last: Mapping[str, FileImage | None]) -> list[FileTransition]:
        """What became of the files of this session since it last had to do with them."""
        seen = self._capture.images(last)
        different = [path for path, image in last.items() if seen.get(path) != image]
        now: list[tuple[str, FileState | None]] = []
        for path in different:
            with suppress(OSError):  # it cannot be read; then nothing can be said of it
                now.append((path, self._ledger.current(path)))
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
                    found.append(FileTransition(path, self._ledger.state(image), state))
        return found

    def _record_all(
        self, turn: int, transitions: Sequence[FileTransition], author: Author = "agent"
    ) -> tuple[FileChange, ...]:
        real = [item for item in transitions if item.before != item.after]
        with self._ledger.recorder() as recorder:
            for number, item in enumerate(real, start=1):
                recorder.add(item, author=author, change_id=self._id(turn, number))
        return recorder.changes

    def _collect(
        self, turn: int, snapshot: Snapshot, copied: SafetyReport
    ) -> tuple[tuple[FileChange, ...], tuple[OutsideFile, ...], tuple[Uncaptured, ...], tuple[str, ...]]:
        told = {transition.path for transition in copied.inside}
        try:
            self._ledger.require_root()
        except WorkspaceError as error:  # every file would count as deleted, or as made by the command
            outside = tuple(self._ledger.record_outside(transition) for transition in copied.outside)
            lost = Uncaptured(path=".", reason=f"{error.title} Its changes were not captured.")
            return (), outside, (lost,), ()
        with self._ledger.recorder() as recorder:

            def record(transition: FileTransition) -> None:
                recorder.add(transition, author="shell", change_id=self._id(turn, len(recorder) + 1))

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
        return recorder.changes, outside, lost + news + planted, made

    def _id(self, turn: int, number: int) -> ChangeId:
        return change_id(turn, self._counts[turn] + number)


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
