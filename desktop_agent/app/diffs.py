"""Diffs and payloads for the window, read and computed off its thread."""

import asyncio
from collections.abc import Sequence

from desktop_agent.core.changes.diff import diff_change
from desktop_agent.core.changes.net import net_change
from desktop_agent.core.ids import Digest
from desktop_agent.core.model import ApprovalRequest, FileChange, FileDiff, FileImage
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.transcript import ChangeRecord


class BlobDiffs:
    """Compares the images of changes; see `ui.review.source.DiffSource`. Hands out payloads, too."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def diff(self, records: Sequence[ChangeRecord]) -> FileDiff:
        """Return what these changes of one path come to."""
        return await asyncio.to_thread(self._compare, net_change([record.change for record in records]))

    async def preview(self, request: ApprovalRequest) -> list[FileDiff]:
        """Return what the call would change, file by file."""
        return [await asyncio.to_thread(self._compare, change) for change in request.changes]

    async def contents(self, images: Sequence[FileImage | None]) -> tuple[bytes | None, ...]:
        """Return the bytes of these versions of a file."""
        return await asyncio.to_thread(self._contents, images)

    async def change_diff(self, change: FileChange) -> FileDiff:
        """Return what one change did to its file; see `ui.chat.cards.source.CardSource`."""
        return await asyncio.to_thread(self._compare, change)

    async def blob(self, digest: Digest) -> bytes:
        """Return a payload."""
        return await asyncio.to_thread(self._blobs.get, digest)

    def _contents(self, images: Sequence[FileImage | None]) -> tuple[bytes | None, ...]:
        return tuple(self._blobs.get(image.digest) if image else None for image in images)

    def _compare(self, change: FileChange) -> FileDiff:
        before = self._blobs.get(change.before.digest) if change.before else None
        after = self._blobs.get(change.after.digest) if change.after else None
        return diff_change(change, before, after)
