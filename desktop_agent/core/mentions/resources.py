"""Mentions of other sessions, by id or title, and of a server's resources: the content that they add."""

import asyncio
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import SessionNotFoundError, UsageError
from desktop_agent.core.export import export_text
from desktop_agent.core.mcp.connection import Connection
from desktop_agent.core.mcp.server_status import LinkPart, MediaPart, OfferedResource, Part, ResourcePart, TextPart
from desktop_agent.core.mentions.mention_grammar import Mention
from desktop_agent.core.mentions.offers import find_resource
from desktop_agent.core.protocol.model import Attachment, SessionSummary
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.tools.mcp_tool import Keep, read_parts
from desktop_agent.core.tools.output import RESULT_LIMIT, fit

LARGEST_SESSION_BYTES = 64 * 2**20

_EITHER_END = RESULT_LIMIT.max_bytes


class SessionMentions(Struct, eq=False):
    _catalog: SessionCatalog
    _blobs: Blobs

    async def attach(self, mention: Mention) -> Attachment:
        """Return the transcript as it is now. Raises `UsageError`, `SessionNotFoundError` and `StorageError`."""
        return await asyncio.to_thread(self._attachment, mention)

    def _attachment(self, mention: Mention) -> Attachment:
        found = self._meant(mention.target)
        if found.size_bytes > LARGEST_SESSION_BYTES:
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
        """Return the part of the export that the model reads, and the size of all of it."""
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


LARGEST_RESOURCE_BYTES = 10 * 1024 * 1024
"""How many bytes a resource may have. Of a long text, the model reads only the beginning and the end."""

READ_TIMEOUT_S = 60.0

_LONGEST_FIELD = 1_000


class ResourceMentions(Struct, eq=False):
    _servers: Callable[[], Sequence[Connection]]
    _keep: Keep

    def names(self) -> frozenset[str]:
        return frozenset(each.definition.name for each in self._servers())

    async def attach(self, mention: Mention) -> Attachment:
        """Return the mentioned resource, starting its server if needed. Raises `AgentError` and `StorageError`."""
        server = next((each for each in self._servers() if each.definition.name == mention.source), None)
        if server is None:
            raise UsageError(f"There is no server {mention.source} any more.")
        found = await _meant(mention, server)
        if found.size is not None and found.size > LARGEST_RESOURCE_BYTES:
            raise _too_large(found.size)
        parts = await server.read(found.uri, READ_TIMEOUT_S)
        return await asyncio.to_thread(self._attachment, mention, found, parts)

    def _attachment(self, mention: Mention, found: OfferedResource, parts: Sequence[Part]) -> Attachment:
        size = sum(map(_size, parts))
        if size > LARGEST_RESOURCE_BYTES:
            raise _too_large(size)
        read = read_parts(_plain(parts, found.uri), self._keep)
        first = parts[0] if parts else None
        read_as = first.media_type if isinstance(first, MediaPart | ResourcePart) else ""
        text = "\n".join(read.texts)
        fitted = fit(text, limits=RESULT_LIMIT)
        whole = self._keep(text.encode("utf-8", "surrogatepass"), "text/plain") if fitted.is_truncated else None
        return Attachment(
            mention=mention.written,
            server=mention.source,
            uri=found.uri,
            name=(found.title or found.name)[:_LONGEST_FIELD],
            media_type=(found.media_type or read_as)[:_LONGEST_FIELD],
            size=size,
            text=fitted.text,
            content=whole,
            images=tuple(read.pictures),
            files=tuple(kept for kept, _ in read.files),
        )


async def _meant(mention: Mention, server: Connection) -> OfferedResource:
    await server.tools()  # and its resources
    found = find_resource(mention.target, server.status.resources)
    if found is None:
        found = find_resource(mention.target, (await server.list_resources()).resources)
    if found is None:
        raise UsageError(f"The server {mention.source} has no resource of that name.")
    return found


def _plain(parts: Sequence[Part], uri: str) -> Sequence[Part]:
    """Drop the address of a resource that is one text, because the frame around the text has it."""
    match parts:
        case [ResourcePart(uri=address, text=text)] if address == uri:
            return [TextPart(text)]
        case _:
            return [
                replace(part, uri="") if isinstance(part, MediaPart) and part.uri == uri else part for part in parts
            ]


def _size(part: Part) -> int:
    match part:
        case MediaPart(content=content):
            return len(content)
        case TextPart(text=text) | ResourcePart(text=text):
            return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        case LinkPart():
            return 0


def _too_large(size: int) -> UsageError:
    most = LARGEST_RESOURCE_BYTES // 2**20
    return UsageError(f"It has {size / 2**20:,.1f} MiB, and no more than {most} MiB can come with a message.")
