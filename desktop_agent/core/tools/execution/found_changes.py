"""What became different under commands, stored and given to the calls that did it."""

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from desktop_agent.core.base.errors import WorkspaceError
from desktop_agent.core.base.ids import CallId
from desktop_agent.core.capture.capture import Snapshot
from desktop_agent.core.capture.safety import SafetyReport
from desktop_agent.core.capture.stat_capture import StatCapture
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.protocol.model import Author, FileChange, FileImage, OutsideFile, Uncaptured
from desktop_agent.core.system.files import FileTransition
from desktop_agent.core.tools.execution.recording import LastImages, Recording
from desktop_agent.core.tools.execution.watched_jobs import WatchedJobs

_PLANTED = (
    "The command made a git repository here, which is not captured. Using git in it runs the programs that it "
    "names: look at it first."
)


class FoundChanges(Struct, frozen=True):
    """What changed since a snapshot."""

    by_call: dict[CallId, tuple[FileChange, ...]]
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
    jobs: WatchedJobs
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
        """Return what changed since the snapshot by the call that did it; without `call_id`, jobs did all of it.

        The call's own changes are those of `author`. `may_release` lets go of the snapshot if nothing changed.
        """
        copied_paths = {transition.path for transition in copied.inside}
        try:
            self.ledger.require_root()
        except WorkspaceError as error:  # every file would count as deleted, or as made by the command
            lost = Uncaptured(path=".", reason=f"{error.title} Its changes were not captured.")
            return FoundChanges({}, self._outside(copied), (lost,), ())
        makers: list[CallId] = []
        last: Mapping[str, FileImage | None] = self.last_images() if self.jobs else {}
        with self.ledger.recorder() as recorder:

            def record(transition: FileTransition) -> None:
                job = self.jobs.maker_of(transition) if call_id else self.jobs.likeliest(transition)
                if job is not None and _is_on_record(transition, last):
                    return  # before the process was killed, or because it was written for an undo
                (change_id,) = self.recording.reserve_ids(turn if job is None else job.turn, 1)
                makers.append(call_id if job is None else job.call_id)
                recorder.add(transition, author=author if job is None else "shell", change_id=change_id)

            def record_unless_copied(transition: FileTransition) -> None:
                if transition.path not in copied_paths:
                    record(transition)

            report = self.capture.collect(snapshot, record_unless_copied, may_release=may_release)
            for transition in copied.inside:
                record(transition)
        lost = tuple(item for item in report.lost if item.path not in copied_paths)
        submodules = (change.path for change in recorder.changes if _is_submodule_list(change))
        made = (*report.repositories, *submodules)
        planted = tuple(Uncaptured(path=path, reason=_PLANTED) for path in report.repositories)
        unsaid = lost + self._news(report.out_of_reach) + planted
        by_maker = _by_maker(makers, recorder.changes)
        return FoundChanges(by_maker, self._outside(copied), unsaid, made, report.is_released)

    def _outside(self, copied: SafetyReport) -> tuple[OutsideFile, ...]:
        return tuple(self.ledger.record_outside(transition) for transition in copied.outside)

    def _news(self, out_of_reach: Iterable[Uncaptured]) -> tuple[Uncaptured, ...]:
        """Return what was not out of reach at an earlier look."""
        news = tuple(item for item in out_of_reach if item not in self._reported)
        self._reported.update(news)
        return news


def _by_maker(makers: Iterable[CallId], changes: Iterable[FileChange]) -> dict[CallId, tuple[FileChange, ...]]:
    found: dict[CallId, list[FileChange]] = {}
    for maker, change in zip(makers, changes, strict=True):
        found.setdefault(maker, []).append(change)
    return {maker: tuple(theirs) for maker, theirs in found.items()}


def _is_on_record(transition: FileTransition, last: Mapping[str, FileImage | None]) -> bool:
    if transition.path not in last:
        return False
    return last[transition.path] == (transition.after.image() if transition.after is not None else None)


def _is_submodule_list(change: FileChange) -> bool:
    return change.path.rpartition("/")[2] == ".gitmodules" and change.after is not None
