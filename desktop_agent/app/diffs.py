"""Diffs and payloads for the window, read and computed off its thread, big ones in a process of their own."""

import asyncio
from collections.abc import Sequence

from desktop_agent.core.changes.comparing import Comparer
from desktop_agent.core.changes.net import net_change
from desktop_agent.core.ids import Digest
from desktop_agent.core.model import ApprovalRequest, FileChange, FileDiff, FileImage
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.transcript import ChangeRecord


class BlobDiffs:
    """Compares the images of changes; see `ui.review.source.DiffSource`. Hands out payloads, too."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._comparer = Comparer()

    async def diff(self, records: Sequence[ChangeRecord]) -> FileDiff:
        """Return what these changes of one path come to."""
        return await self.change_diff(net_change([record.change for record in records]))

    async def preview(self, request: ApprovalRequest) -> list[FileDiff]:
        """Return what the call would change, file by file."""
        return [await self.change_diff(change) for change in request.changes]

    async def contents(self, images: Sequence[FileImage | None]) -> tuple[bytes | None, ...]:
        """Return the bytes of these versions of a file."""
        return await asyncio.to_thread(self._contents, images)

    async def change_diff(self, change: FileChange) -> FileDiff:
        """Return what one change did to its file; see `ui.chat.cards.source.CardSource`."""
        before, after = await self.contents((change.before, change.after))
        return await self._comparer.diff(change, before, after)

    async def blob(self, digest: Digest) -> bytes:
        """Return a payload."""
        return await asyncio.to_thread(self._blobs.get, digest)

    async def aclose(self) -> None:
        """End the process that compares."""
        await self._comparer.aclose()

    def _contents(self, images: Sequence[FileImage | None]) -> tuple[bytes | None, ...]:
        return tuple(self._blobs.get(image.digest) if image else None for image in images)
