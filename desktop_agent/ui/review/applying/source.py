"""What the dialog asks for: the file that is to be written, how it would differ, and names of others."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.protocol.model import FileDiff


class ApplyTarget(NamedTuple):
    """A file as it is on disk, or the place for a new one."""

    path: str
    text: str | None
    """`None`: there is no file yet."""
    digest: Digest | None


class ApplySource(Protocol):
    """Works beside the window's thread. Raises `AgentError` when something cannot be read or compared."""

    async def read(self, path: str) -> ApplyTarget:
        """Return the file at a path that the user chose."""
        ...

    async def compare(self, target: ApplyTarget, new: str) -> FileDiff:
        """Return how the file would differ."""
        ...

    async def offers(self, typed: str) -> Sequence[str]:
        """Return files that fit what is typed, the best first."""
        ...

    def obstacle(self) -> str:
        """Say why nothing can be written now; empty when it can."""
        ...
