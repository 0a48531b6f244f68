"""Where cards get what the transcript only names: differences and pictures."""

from collections.abc import Callable, Coroutine
from typing import NamedTuple, Protocol

from desktop_agent.core.protocol.model import BlobRef, FileChange, FileDiff


class CardSource(Protocol):
    """Reads and compares off the window's thread. Raises `AgentError` when a content cannot be read."""

    async def change_diff(self, change: FileChange) -> FileDiff:
        """Return what one change did to its file."""
        ...

    async def blob(self, ref: BlobRef) -> bytes:
        """Return a payload."""
        ...


class CardLoader(NamedTuple):
    """A source, and what runs its coroutines: keeps them alive until they are done and reports what they raise."""

    source: CardSource
    spawn: Callable[[Coroutine[object, object, None]], None]
