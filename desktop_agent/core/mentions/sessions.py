"""What a mention of another session brings into the conversation: `@session:ID`, or by its whole title.

The model reads it as it is exported: the beginning and the end of a long one.
"""

import asyncio

from desktop_agent.core.base.errors import SessionNotFoundError, UsageError
from desktop_agent.core.export import export_text
from desktop_agent.core.mentions.grammar import Mention
from desktop_agent.core.protocol.model import Attachment, SessionSummary
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.tools.output import RESULT_LIMIT, fit

LARGEST_BYTES = 64 * 2**20
"""Of a journal that is read for a mention."""

_EITHER_END = RESULT_LIMIT.max_bytes


class SessionMentions:
    """The sessions of one data folder."""

    def __init__(self, catalog: Catalog, blobs: Blobs) -> None:
        self._catalog = catalog
        self._blobs = blobs

    async def attach(self, mention: Mention) -> Attachment:
        """Return the transcript as it is now. Raises `UsageError`, `SessionNotFoundError` and `StorageError`."""
        return await asyncio.to_thread(self._attachment, mention)

    def _attachment(self, mention: Mention) -> Attachment:
        found = self._meant(mention.target)
        if found.size_bytes > LARGEST_BYTES:
            raise UsageError(
                f"It has {found.size_bytes / 2**20:,.0f} MiB, too much for a mention.",
                hint="Export it, and mention a part of that file.",
            )
        text, size = self._exported(found)
        return Attachment(
            mention=mention.written,
            uri=found.id,
            name=found.title or found.id,
            kind="session",
            media_type="text/markdown",
            size=size,
            text=text,
        )

    def _meant(self, target: str) -> SessionSummary:
        """Return the session of that title, else of that id."""
        summaries = self._catalog.summaries()
        titled = [each for each in summaries if each.title.casefold() == target.casefold()]
        if len(titled) > 1:
            raise UsageError(f"{len(titled)} sessions have that title.", hint="Mention one of them by its id.")
        if titled:
            return titled[0]
        try:
            named = self._catalog.summary(self._catalog.find(target))
        except SessionNotFoundError as error:
            raise UsageError("There is no session of that title or id.") from error
        if named is None:
            raise UsageError("It cannot be read.", hint="`desktop-agent sessions verify` says what is wrong with it.")
        return named

    def _exported(self, found: SessionSummary) -> tuple[str, int]:
        """Return what the model reads of it, and the size of all of it. Of a long one it holds both ends only."""
        head, tail = bytearray(), bytearray()
        size, lines = 0, 0
        for piece in export_text(self._catalog.journal_path(found.id), "md", self._blobs):
            size += len(piece)
            lines += piece.count(b"\n")
            room = _EITHER_END - len(head)
            head += piece[:room]
            tail += piece[room:]
            del tail[:-_EITHER_END]
        texts = (head.decode("utf-8", "ignore"), tail.decode("utf-8", "ignore"))
        return fit(*texts, total_lines=lines if tail else None, limits=RESULT_LIMIT).text, size
