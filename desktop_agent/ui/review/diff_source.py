"""The window's interface to comparisons, which run outside the window, and to git."""

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.ids import Digest, HunkKey, SessionId
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.model import ApprovalRequest, CommittedFile, FileChange, FileDiff, FileImage, Share
from desktop_agent.core.protocol.ops import Op
from desktop_agent.core.transcript import ChangeRecord

Spawn = Callable[[Coroutine[object, object, None]], None]
"""Starts a task, keeps it alive until it is done, and handles its exceptions."""

Submit = Callable[[Op], object]


def shown_changes(request: ApprovalRequest) -> tuple[FileChange, ...]:
    """Return the changes that a request shows as diffs: to files, or to its tool's definition."""
    change = request.tool_change
    if change is None:
        return request.changes
    kind = "modified" if change.before else "created"
    path = f"{change.server}/{named(change.tool)}"
    return (FileChange(id=change.digest, path=path, kind=kind, author="mcp", before=None, after=None),)


class FileDiffs(Protocol):
    """Compares changed files off the window's thread. Raises `AgentError` if content cannot be read."""

    async def diff(self, records: Sequence[ChangeRecord], recorded: Sequence[FileChange] = ()) -> FileDiff:
        """Return the sum of `records`, oldest first. Its `undone` hunks are not in force after all of `recorded`."""
        ...

    async def versions(self, records: Sequence[ChangeRecord]) -> tuple[bytes | None, bytes | None]:
        """Return the file's content before and after these changes; `None` for an absent file."""
        ...


class DiffSource(FileDiffs, Protocol):
    """Like `FileDiffs`, but also compares proposed changes, and any two versions."""

    async def preview(self, request: ApprovalRequest) -> list[FileDiff]:
        """Return a diff for each of `shown_changes`: the effect of the tool call if it were allowed."""
        ...

    async def change_diff(self, change: FileChange) -> FileDiff: ...

    async def contents(self, images: Sequence[FileImage | None]) -> tuple[bytes | None, ...]:
        """Return the bytes of these versions of a file; `None` for an absent version."""
        ...

    async def left_by_others(self, folder: str, session_id: SessionId) -> Mapping[str, Collection[Digest]]:
        """Return, by path, the digests of contents written by agents in the folder's other sessions."""
        ...

    async def shares(
        self,
        folder: str,
        file: CommittedFile,
        records: Sequence[ChangeRecord],
        hunks: Sequence[HunkKey] = (),
        *,
        by_others: Collection[Digest] = (),
    ) -> tuple[Share, ...]:
        """Return each owner's share of the difference, or of `hunks`. `by_others` are contents of other sessions."""
        ...


GitObstacle = Literal["", "not_a_repository", "git_missing", "too_slow", "failed", "replaced"]


class GitState(NamedTuple):
    obstacle: GitObstacle = ""
    branch: str = ""
    branches: tuple[str, ...] = ()
    """The other local branches, those with the newest commits first."""


class GitSource(Protocol):
    """Compares the files in a folder with git's versions. Raises `AgentError` if git fails."""

    async def look(self, folder: str) -> GitState: ...

    async def is_unpushed_tip(self, folder: str, commit: str) -> bool:
        """Whether the commit is checked out, and no remote branch has it."""
        ...

    async def changes(self, folder: str, branch: str) -> tuple[FileChange, ...]:
        """Return the files that differ from the last commit, or the merge base with `branch`; untracked files, too."""
        ...

    async def diff(self, folder: str, change: FileChange) -> FileDiff: ...

    async def versions(self, folder: str, change: FileChange) -> tuple[bytes | None, bytes | None]:
        """Return git's version of the file and the version on disk; `None` for an absent file."""
        ...

    async def committed(self, folder: str, change: FileChange) -> CommittedFile:
        """Return git's version of the file together with the compared version on disk."""
        ...


def turn_obstacle(*, is_running: bool) -> str:
    words = QCoreApplication.translate("ReviewPanel", "Wait until the turn has ended, or stop it")
    return words if is_running else ""
