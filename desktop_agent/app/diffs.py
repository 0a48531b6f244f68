"""Diffs and payloads for the window, computed off its thread. Big diffs are computed in another process."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import Digest, HunkKey, SessionId
from desktop_agent.core.changes.attribution import change_since, hunk_authors, undone_hunks
from desktop_agent.core.changes.net import net_change
from desktop_agent.core.changes.workspace_files import StoredImages
from desktop_agent.core.protocol.model import (
    ApprovalRequest,
    BlobRef,
    CommittedFile,
    FileChange,
    FileDiff,
    FileImage,
    Share,
)
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.system.files import read_state
from desktop_agent.core.transcript import ChangeRecord
from desktop_agent.ui.review.diff_source import GitSource, shown_changes

if TYPE_CHECKING:
    from desktop_agent.core.diff.comparing import Comparer


class BlobDiffs:
    """Compares versions of changed files (see `ui.review.diff_source.DiffSource`), and returns stored payloads."""

    def __init__(self, blobs: Blobs, catalog: SessionCatalog | None = None) -> None:
        self._blobs = blobs
        self._catalog = catalog

    @cached_property
    def _comparer(self) -> "Comparer":
        from desktop_agent.core.diff.comparing import Comparer  # not needed for the window's first paint

        return Comparer()

    def git_source(self) -> GitSource:
        from desktop_agent.app.git_review import GitReview  # imported in a thread, after the first paint

        return GitReview(self._comparer)

    async def diff(self, records: Sequence[ChangeRecord], recorded: Sequence[FileChange] = ()) -> FileDiff:
        changes = [record.change for record in records]
        net = net_change(changes)
        diff = await self.change_diff(net)
        since = change_since(net, recorded)
        later = await self.change_diff(since) if since is not None else None
        return await asyncio.to_thread(self._judged, diff, changes, recorded, later)

    async def versions(self, records: Sequence[ChangeRecord]) -> tuple[bytes | None, bytes | None]:
        net = net_change([record.change for record in records])
        before, after = await self.contents((net.before, net.after))
        return before, after

    async def preview(self, request: ApprovalRequest) -> list[FileDiff]:
        if (tool := request.tool_change) is not None:
            (change,) = shown_changes(request)
            return [await self._comparer.diff(change, tool.before.encode() or None, tool.after.encode())]
        return [await self.change_diff(change) for change in request.changes]

    async def contents(self, images: Sequence[FileImage | None]) -> tuple[bytes | None, ...]:
        return await asyncio.to_thread(self._contents, images)

    async def left_by_others(self, folder: str, session_id: SessionId) -> Mapping[str, Collection[Digest]]:
        if self._catalog is None:
            return {}
        return await asyncio.to_thread(self._catalog.left_by_agents, folder, without=session_id)

    async def shares(
        self,
        folder: str,
        file: CommittedFile,
        records: Sequence[ChangeRecord],
        hunks: Sequence[HunkKey] = (),
        *,
        by_others: Collection[Digest] = (),
    ) -> tuple[Share, ...]:
        return await asyncio.to_thread(self._shares, Path(folder), file, records, hunks, by_others)

    def _shares(
        self,
        root: Path,
        file: CommittedFile,
        records: Sequence[ChangeRecord],
        hunks: Sequence[HunkKey],
        by_others: Collection[Digest],
    ) -> tuple[Share, ...]:
        from desktop_agent.core.undo.differences import shares_of

        try:
            disk = read_state(root / file.path, with_special=True) if file.seen is not None else None
        except OSError as error:
            raise AgentError(f"It cannot be read: {error.strerror or error}.") from error
        return shares_of(file, disk, records, StoredImages(self._blobs), hunks, by_others=by_others)

    async def change_diff(self, change: FileChange) -> FileDiff:
        before, after = await self.contents((change.before, change.after))
        return await self._comparer.diff(change, before, after)

    async def compare(self, path: str, before: bytes | None, after: bytes) -> FileDiff:
        """Return the change that a write by the user would make. The versions need not be stored."""
        kind = "created" if before is None else "modified"
        change = FileChange(id="written", path=path, kind=kind, author="person", before=None, after=None)
        return await self._comparer.diff(change, before, after)

    async def blob(self, ref: BlobRef) -> bytes:
        return await asyncio.to_thread(self._blobs.get, ref.blob, size=ref.size)

    async def named_picture(self, folder: str, address: str) -> bytes:
        from desktop_agent.app.named_pictures import named_picture  # the network, with the first picture

        return await named_picture(folder, address)

    async def aclose(self) -> None:
        if "_comparer" in vars(self):
            await self._comparer.aclose()

    def _judged(
        self, diff: FileDiff, changes: Sequence[FileChange], recorded: Sequence[FileChange], later: FileDiff | None
    ) -> FileDiff:
        undone = undone_hunks(diff, net_change(changes), recorded, later)
        authors = hunk_authors(diff, changes, recorded, self._blobs.of_file)
        return replace(diff, undone=undone, authors=authors)

    def _contents(self, images: Sequence[FileImage | None]) -> tuple[bytes | None, ...]:
        return tuple(map(self._blobs.of_file, images))
