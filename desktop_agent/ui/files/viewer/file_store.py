"""What the viewer asks of the application: that a file is written as the user wants it, and how two versions differ."""

from pathlib import Path
from typing import Protocol

from desktop_agent.core.protocol.model import FileDiff


class FileStore(Protocol):
    """Works beside the window's thread."""

    async def save(self, root: Path, path: str, expected: str | None, content: bytes) -> str:
        """Write a file below `root`, unless it has not the digest `expected` (`None`: there is none).

        Return why it was not written; empty when it was.
        """
        ...

    async def compare(self, path: str, before: bytes | None, after: bytes) -> FileDiff:
        """Return how two versions of a file differ."""
        ...
