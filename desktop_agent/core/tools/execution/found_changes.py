"""What became different under commands, stored and given to the calls that did it."""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError, WorkspaceError
from desktop_agent.core.base.ids import CallId
from desktop_agent.core.capture.capture import Snapshot, StatCapture
from desktop_agent.core.capture.safety import SafetyReport
from desktop_agent.core.changes.ledger import ChangeRecorder, Ledger
from desktop_agent.core.protocol.model import Author, FileChange, FileImage, OutsideFile, Uncaptured
from desktop_agent.core.system.files import FileTransition
from desktop_agent.core.tools.execution.recording import LastImages, Recording
from desktop_agent.core.tools.execution.writers import Maker, Writers

_MOST_LATE_BYTES = 64 * 2**20
"""Of changes that no call brackets so much is judged together."""
_PLANTED = (
    "The command made a git repository here, which is not captured. Using git in it runs the programs that it "
    "names: look at it first."
)


class FoundChanges(Struct, frozen=True):
    """What changed since a snapshot."""

    by_maker: dict[Maker, tuple[FileChange, ...]]
    outside: tuple[OutsideFile, ...]
    lost: tuple[Uncaptured, ...]
    repositories: tuple[str, ...]
    """Those that the command made."""
    is_released: bool = False
    """Whether the snapshot was let go of already."""


class ChangeFinder(Struct):
    """Finds the changes of one session's commands."""

    ledger: Ledger
    capture: StatCapture
    recording: Recording
    writers: Writers
    last_images: LastImages
    _reported: set[Uncaptured] = field(default_factory=set[Uncaptured])
    """What was out of reach at an earlier look."""

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
        """Return what changed since the snapshot, by maker; without `call_id`, no call brackets it.

        The call's own changes are by `author`. With `may_release`, the snapshot is released if nothing changed. The
        user's changes are included only for files that this session has changed before.
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
        submodules = (change.path for change in recorder.changes if _is_submodule_list(change))
        made = (*report.repositories, *submodules)
        planted = tuple(Uncaptured(path=path, reason=_PLANTED) for path in report.repositories)
        unsaid = lost + self._news(report.out_of_reach) + planted
        by_maker = _by_maker(records.makers, recorder.changes)
        return FoundChanges(by_maker, self._outside(copied), unsaid, made, report.is_released)

    def since_record(self, transition: FileTransition, last: Mapping[str, FileImage | None]) -> FileTransition:
        """Return the transition; it begins with what the records left if an undo wrote that since the last look."""
        before = transition.before.image() if transition.before is not None else None
        image = last.get(transition.path, before)
        if image == before or transition.moved_from or transition.moved_to:
            return transition
        with suppress(StorageError):  # if that content is missing, the transition stays as it was found
            return replace(transition, before=self.ledger.images.state(image), is_shared=False)
        return transition

    def _outside(self, copied: SafetyReport) -> tuple[OutsideFile, ...]:
        return tuple(self.ledger.record_outside(transition) for transition in copied.outside)

    def _news(self, out_of_reach: Iterable[Uncaptured]) -> tuple[Uncaptured, ...]:
        """Return what was not out of reach at an earlier look."""
        news = tuple(item for item in out_of_reach if item not in self._reported)
        self._reported.update(news)
        return news


class _Records(Struct):
    """Gives changes to their makers, as one look finds them."""

    finder: ChangeFinder
    recorder: ChangeRecorder
    last: Mapping[str, FileImage | None]
    """What the records of this session left of each file."""
    own: Maker
    """Whose call brackets them; without a call, nobody's."""
    makers: list[Maker] = field(default_factory=list[Maker])
    """Of each that is recorded."""
    _late: list[FileTransition] = field(default_factory=list[FileTransition])
    """Those that no call brackets and that are judged together."""
    _late_bytes: int = 0

    def add(self, transition: FileTransition) -> None:
        """Take in one."""
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
        """Record those that wait for it, as the work of whoever made them."""
        if not self._late:
            return
        makers = self.finder.writers.makers_of(self._late)
        for transition, maker in zip(self._late, makers, strict=True):
            self._record(transition, maker)
        self._late.clear()
        self._late_bytes = 0

    def _record(self, transition: FileTransition, maker: Maker | None) -> None:
        if maker != self.own and _is_on_record(transition, self.last):
            return  # before the process was killed, or because it was written for an undo
        if maker is None:
            if transition.path not in self.last:
                return
            maker = Maker(self.finder.writers.turn, "", "person")
        (change_id,) = self.finder.recording.reserve_ids(maker.turn, 1)
        self.makers.append(maker)
        self.recorder.add(transition, author=maker.author, change_id=change_id)


def _by_maker(makers: Iterable[Maker], changes: Iterable[FileChange]) -> dict[Maker, tuple[FileChange, ...]]:
    found: dict[Maker, list[FileChange]] = {}
    for maker, change in zip(makers, changes, strict=True):
        found.setdefault(maker, []).append(change)
    return {maker: tuple(theirs) for maker, theirs in found.items()}


def _is_on_record(transition: FileTransition, last: Mapping[str, FileImage | None]) -> bool:
    if transition.path not in last:
        return False
    return last[transition.path] == (transition.after.image() if transition.after is not None else None)


def _is_submodule_list(change: FileChange) -> bool:
    return change.path.rpartition("/")[2] == ".gitmodules" and change.after is not None
