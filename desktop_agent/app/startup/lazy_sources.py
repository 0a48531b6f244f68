"""What the window is given before the core is loaded: the first paint does not wait for the machinery behind it."""

from collections.abc import Callable, Sequence

from desktop_agent.app.review.diffs import BlobDiffs
from desktop_agent.app.review.git_review import GitReview
from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.comparing import Comparer
from desktop_agent.core.protocol.model import ApprovalRequest, BlobRef, FileChange, FileDiff, FileImage
from desktop_agent.core.settings import ExecutionSettings
from desktop_agent.core.transcript import ChangeRecord, Transcript
from desktop_agent.ui.approvals.rule_maths import RuleMaths
from desktop_agent.ui.review.source import GitRevert, GitState


class LazyDiffs:
    """A `DiffSource` and `CardSource` whose real one comes before a session is shown, and so before it is asked."""

    def __init__(self) -> None:
        self._source: BlobDiffs | None = None

    def provide(self, source: BlobDiffs) -> None:
        """Answer with `source` from now on."""
        self._source = source

    @property
    def comparer(self) -> Comparer:
        """What compares big files in a process of its own."""
        return self._real().comparer

    async def diff(self, records: Sequence[ChangeRecord], recorded: Sequence[FileChange] = ()) -> FileDiff:
        """See `DiffSource.diff`."""
        return await self._real().diff(records, recorded)

    async def versions(self, records: Sequence[ChangeRecord]) -> tuple[bytes | None, bytes | None]:
        """See `DiffSource.versions`."""
        return await self._real().versions(records)

    async def preview(self, request: ApprovalRequest) -> list[FileDiff]:
        """See `DiffSource.preview`."""
        return await self._real().preview(request)

    async def contents(self, images: Sequence[FileImage | None]) -> tuple[bytes | None, ...]:
        """See `DiffSource.contents`."""
        return await self._real().contents(images)

    async def change_diff(self, change: FileChange) -> FileDiff:
        """See `CardSource.change_diff`."""
        return await self._real().change_diff(change)

    async def blob(self, ref: BlobRef) -> bytes:
        """See `CardSource.blob`."""
        return await self._real().blob(ref)

    def _real(self) -> BlobDiffs:
        assert self._source is not None, "a session is shown only after the core was loaded"
        return self._source


class LazyJudge:
    """Makes the judges of rules: their maths is imported when the first question is shown, not before the window."""

    def __init__(self, execution_in: Callable[[str], ExecutionSettings]) -> None:
        self.is_sandbox_available = False
        """Whether commands can be confined on this machine; false until a search for a sandbox found one."""
        self.execution_in = execution_in
        """Gives the settings in force in a workspace."""

    def judge(self, transcript: Transcript) -> RuleMaths:
        """Return the judge for a session."""
        from desktop_agent.app.review.rule_judge import RuleJudge

        return RuleJudge(transcript, self.is_sandbox_available, self.execution_in)


class LazyGit:
    """A `GitSource` that is imported when git is first asked something, not before the window."""

    def __init__(self, diffs: LazyDiffs) -> None:
        self._diffs = diffs
        self._source: GitReview | None = None

    async def look(self, folder: str) -> GitState:
        """See `GitSource.look`."""
        return await self._real().look(folder)

    async def changes(self, folder: str, branch: str) -> tuple[FileChange, ...]:
        """See `GitSource.changes`."""
        return await self._real().changes(folder, branch)

    async def diff(self, folder: str, change: FileChange) -> FileDiff:
        """See `GitSource.diff`."""
        return await self._real().diff(folder, change)

    async def versions(self, folder: str, change: FileChange) -> tuple[bytes | None, bytes | None]:
        """See `GitSource.versions`."""
        return await self._real().versions(folder, change)

    async def revert(self, folder: str, change: FileChange, keys: Sequence[HunkKey]) -> GitRevert:
        """See `GitSource.revert`."""
        return await self._real().revert(folder, change, keys)

    def _real(self) -> GitReview:
        if self._source is None:
            self._source = GitReview(self._diffs.comparer)
        return self._source
