"""Where diffs come from: the window's side of a comparison that runs somewhere else."""

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from desktop_agent.core.model import ApprovalRequest, FileDiff, FileImage
    from desktop_agent.core.transcript import ChangeRecord

Spawn = Callable[[Coroutine[object, object, None]], None]
"""Starts a task, keeps it alive until it is done, and takes care of what it raises."""


class DiffSource(Protocol):
    """Compares files off the window's thread. Raises `AgentError` when a content cannot be read."""

    async def diff(self, records: "Sequence[ChangeRecord]") -> "FileDiff":
        """Return what these changes of one path, in the order they were made, come to."""
        ...

    async def preview(self, request: "ApprovalRequest") -> "list[FileDiff]":
        """Return what the call would change, file by file, if it were allowed."""
        ...

    async def contents(self, images: "Sequence[FileImage | None]") -> "tuple[bytes | None, ...]":
        """Return the bytes of these versions of a file; `None` for one that is absent."""
        ...
