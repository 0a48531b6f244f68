"""Where diffs come from: the window's side of comparisons that run elsewhere; and why nothing can be undone now."""

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.ids import Digest, HunkKey, SessionId
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.model import ApprovalRequest, CommittedFile, FileChange, FileDiff, FileImage, Share
from desktop_agent.core.protocol.ops import Op
from desktop_agent.core.transcript import ChangeRecord

Spawn = Callable[[Coroutine[object, object, None]], None]
"""Starts a task, keeps it alive until it is done, and takes care of what it raises."""

Submit = Callable[[Op], object]


def shown_changes(request: ApprovalRequest) -> tuple[FileChange, ...]:
    """Return what a request shows as diffs: the files that would change, or how the definition of its tool did."""
    change = request.tool_change
    if change is None:
        return request.changes
    kind = "modified" if change.before else "created"
    path = f"{change.server}/{named(change.tool)}"
    return (FileChange(id=change.digest, path=path, kind=kind, author="mcp", before=None, after=None),)


class FileDiffs(Protocol):
    """Compares changed files off the window's thread. Raises `AgentError` when a content cannot be read."""

    async def diff(self, records: Sequence[ChangeRecord], recorded: Sequence[FileChange] = ()) -> FileDiff:
        """Return what these changes of one file, in the order they were made, come to.

        Also undone ones are among them: the diff says in `undone` what of it is not in force after everything that was
        `recorded` of its path. For a renamed file the changes at its old path come first.
        """
        ...

    async def versions(self, records: Sequence[ChangeRecord]) -> tuple[bytes | None, bytes | None]:
        """Return the file before these changes of it and after them; `None` where there is none."""
        ...


class DiffSource(FileDiffs, Protocol):
    """Compares also what was not changed yet, and any two versions."""

    async def preview(self, request: ApprovalRequest) -> list[FileDiff]:
        """Return how each of `shown_changes` differs: what the call would change, if it were allowed."""
        ...

    async def change_diff(self, change: FileChange) -> FileDiff: ...

    async def contents(self, images: Sequence[FileImage | None]) -> tuple[bytes | None, ...]:
        """Return the bytes of these versions of a file; `None` for one that is absent."""
        ...

    async def left_by_others(self, folder: str, session_id: SessionId) -> Mapping[str, Collection[Digest]]:
        """Return the contents, by path, that the agents of the folder's other sessions left."""
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
        """Return how much of the file's difference from the commit, or of these hunks of it, is whose.

        `records` are the session's changes of the file under any path; `by_others` are contents that another session's
        agent left there.
        """
        ...


GitObstacle = Literal["", "not_a_repository", "git_missing", "too_slow", "failed", "replaced"]


class GitState(NamedTuple):
    """What git can be asked to compare with, or why it cannot."""

    obstacle: GitObstacle = ""
    branch: str = ""
    """The one that is checked out; empty when none is."""
    branches: tuple[str, ...] = ()
    """The other local ones, those with the newest commits first."""


class GitSource(Protocol):
    """Compares the files of a folder with what git has of them. Raises `AgentError` with the reason when it cannot."""

    async def look(self, folder: str) -> GitState: ...

    async def changes(self, folder: str, branch: str) -> tuple[FileChange, ...]:
        """Return the files that differ from the last commit, or from where `branch` parted from what is checked out.

        Their ids begin with `git:`. New files that git does not ignore are among them.
        """
        ...

    async def diff(self, folder: str, change: FileChange) -> FileDiff: ...

    async def versions(self, folder: str, change: FileChange) -> tuple[bytes | None, bytes | None]:
        """Return the file as git has it and as it is on disk; `None` where there is none."""
        ...

    async def committed(self, folder: str, change: FileChange) -> CommittedFile:
        """Return the file as git has it, beside the version on disk that was compared."""
        ...


def turn_obstacle(*, is_running: bool) -> str:
    words = QCoreApplication.translate("ReviewPanel", "Wait until the turn has ended, or stop it")
    return words if is_running else ""
