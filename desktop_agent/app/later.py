"""What the window is given before the core is loaded: the first paint does not wait for the machinery behind it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from desktop_agent.core.model import ApprovalRequest, FileDiff
    from desktop_agent.core.transcript import ChangeRecord
    from desktop_agent.ui.review.source import DiffSource


class LaterDiffs:
    """A `DiffSource` whose real one comes later: in any case before a session is shown, and so before it is asked."""

    def __init__(self) -> None:
        self._source: DiffSource | None = None

    def provide(self, source: "DiffSource") -> None:
        """Answer with `source` from now on."""
        self._source = source

    async def diff(self, records: "Sequence[ChangeRecord]") -> "FileDiff":
        """See `DiffSource.diff`."""
        return await self._real().diff(records)

    async def preview(self, request: "ApprovalRequest") -> "list[FileDiff]":
        """See `DiffSource.preview`."""
        return await self._real().preview(request)

    def _real(self) -> "DiffSource":
        assert self._source is not None, "a session is shown only after the core was loaded"
        return self._source
