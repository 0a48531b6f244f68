"""Records changes: the user's since the last record, then those of calls."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError, WorkspaceError
from desktop_agent.core.base.ids import CallId, ChangeId, change_id
from desktop_agent.core.capture.capture import Snapshot, StatCapture
from desktop_agent.core.capture.safety import SafetyReport
from desktop_agent.core.changes.ledger import ChangeRecorder, Ledger
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import Author, FileChange, FileImage, OutsideFile, Uncaptured
from desktop_agent.core.system.files import FileState, FileTransition
from desktop_agent.core.tools.execution.writers import Maker, Writers

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
