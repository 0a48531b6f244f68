"""Fetches everything that a prompt mentions before it enters the conversation: all of it, or none.

Pasted content that is not text, or is too long, is stored for a while, and mentioned as `@pasted:NAME`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import AgentError, ServerError, StorageError, UsageError
from desktop_agent.core.base.file_types import PictureError, inspect_picture
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.base.regex import regex
from desktop_agent.core.mcp.server_status import MediaPart
from desktop_agent.core.mentions.files import FileMentions, SymbolMentions
from desktop_agent.core.mentions.mention_grammar import Mention, PathMention, mentions_in, paths_in
from desktop_agent.core.mentions.offers import SESSION_SOURCE, SYMBOL_SOURCE
from desktop_agent.core.mentions.resources import ResourceMentions, SessionMentions
from desktop_agent.core.protocol.model import Attachment
from desktop_agent.core.store.journal.lines import open_regular
from desktop_agent.core.system.file_writes import write_atomically
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_folder
from desktop_agent.core.system.staged_file import free_path
from desktop_agent.core.tools.mcp_tool import Keep, read_parts
from desktop_agent.core.tools.output import OutputLimits, fit

PASTED_SOURCE = "pasted"
"""The source of mentions of pasted content, unless an MCP server has that name."""

LARGEST_BYTES = 10 * 2**20
KEPT = timedelta(days=30)
"""How long content that is in no sent message is kept."""

_NAME = regex(r"[a-z]{1,20}-[0-9]{1,10}(?:-[0-9]{1,4})?\.(?:png|jpg|txt)")
_TEXT_LIMIT = OutputLimits(max_bytes=400_000, max_lines=400_000)
"""How much of a text the model reads. Of a longer text, it reads the beginning and the end."""


class PastedContents(Struct, eq=False):
    _folder: Path

    @classmethod
    def of(cls, paths: AppPaths) -> "PastedContents":
        return cls(paths.data / "pasted")

    def keep(self, content: bytes, kind: str, suffix: str, now: datetime) -> str:
        """Store content, delete expired content, and return the new name. Raises `UsageError` and `StorageError`."""
        if len(content) > LARGEST_BYTES:
            size, most = len(content) / 2**20, LARGEST_BYTES // 2**20
            raise UsageError(
                f"What was pasted has {size:,.1f} MiB, and no more than {most} MiB can come with a message.",
                hint="Save it as a file in the folder, and mention that.",
            )
        try:
            make_private_folder(self._folder)
            self._remove_old(now)
            path = free_path(self._folder, f"{kind}-{now:%H%M%S}", f".{suffix}")
            write_atomically(path, content, mode=PRIVATE_FILE)
        except OSError as error:
            raise StorageError("What was pasted could not be kept.", hint="Check the free space.") from error
        return path.name

    def read(self, name: str) -> bytes:
        """Return pasted content. Blocks. Raises `UsageError` if there is none with this name."""
        if _NAME.fullmatch(name) is None:
            raise UsageError("Nothing of that name was pasted.")
        try:
            with open_regular(self._folder / name) as file:
                return file.read(LARGEST_BYTES)
        except OSError as error:
            raise UsageError("It is not kept any more.", hint="Paste it again.") from error

    def _remove_old(self, now: datetime) -> None:
        oldest = (now - KEPT).timestamp()
        for path in self._folder.iterdir():
            with suppress(OSError):
                if _NAME.fullmatch(path.name) and path.lstat().st_mtime < oldest:
                    path.unlink()


class PastedMentions(Struct, eq=False):
    _contents: PastedContents
    _keep: Keep

    async def attach(self, mention: Mention) -> Attachment:
        """Return the pasted content. Raises `UsageError` and `StorageError`."""
        return await asyncio.to_thread(self._attachment, mention)

    def _attachment(self, mention: Mention) -> Attachment:
        content = self._contents.read(mention.target)
        name, size = mention.target, len(content)
        read = Attachment(mention=mention.written, uri=name, name=name, size=size, kind="file", media_type="text/plain")
        if mention.target.endswith(".txt"):
            fitted = fit(content.decode("utf-8", "replace"), limits=_TEXT_LIMIT)
            whole = self._keep(content, "text/plain") if fitted.is_truncated else None
            return replace(read, text=fitted.text, content=whole)
        try:
            picture = inspect_picture(content)
        except PictureError as error:
            raise UsageError(f"It cannot be shown to a model: {error}.") from error
        shown = read_parts([MediaPart(content, picture.media_type)], self._keep)
        if not shown.pictures:
            raise UsageError("It is a picture that is too large for a model.")
        images = tuple(shown.pictures)
        return replace(read, kind="picture", media_type=picture.media_type, text=shown.texts[0], images=images)


MOST_MENTIONS = 20

MOST_LOOKED_AT = 500

AnyMention = Mention | PathMention


class PromptMentions(Struct, eq=False):
    _resources: ResourceMentions
    _files: FileMentions
    _symbols: SymbolMentions
    _sessions: SessionMentions
    _pasted: PastedMentions
    _takes_pictures: Callable[[], Awaitable[bool | None]]
    """Returns whether the model that answers takes pictures; `None` if unknown."""

    def found_in(self, text: str) -> tuple[AnyMention, ...]:
        """Return the possible mentions in order, without duplicates. Looks at no file, so some may be plain text."""
        found: dict[int, AnyMention] = {each.start: each for each in paths_in(text)}
        if sourced := mentions_in(text):
            sources = {*self._resources.names(), SYMBOL_SOURCE, SESSION_SOURCE, PASTED_SOURCE}
            found |= {each.start: each for each in sourced if each.source in sources}
        once = {_meaning(found[start]): found[start] for start in sorted(found, reverse=True)}
        return tuple(sorted(once.values(), key=lambda mention: mention.start))

    async def fetched(self, mentions: Sequence[AnyMention], include: Sequence[str] = ()) -> tuple[Attachment, ...]:
        """Return the attachments, starting servers if needed. Raises `AgentError` and `StorageError`."""
        certain = sum(not isinstance(each, PathMention) or each.is_certain for each in mentions)
        _require_few(certain + len(include))
        including = [asyncio.create_task(self._include(path)) for path in dict.fromkeys(include)]
        fetching = [*including, *(asyncio.create_task(self._fetch(mention)) for mention in mentions[:MOST_LOOKED_AT])]
        try:
            found = await asyncio.gather(*fetching)
        finally:
            for task in fetching:
                task.cancel()
            if fetching:
                await asyncio.wait(fetching)
        attached = tuple(each for each in found if each is not None)
        _require_few(len(attached))
        return attached

    async def _include(self, path: str) -> Attachment | None:
        try:
            return await self._shown(await self._files.include(path))
        except UsageError as error:
            title = f"`{named(path)}` could not be included, so the message was not sent. {error.title}"
            raise UsageError(title, hint=error.hint, detail=error.detail) from error

    async def _fetch(self, mention: AnyMention) -> Attachment | None:
        try:
            if isinstance(mention, PathMention):
                return await self._shown(await self._files.attach(mention))
            ours = {SYMBOL_SOURCE: self._symbols, SESSION_SOURCE: self._sessions, PASTED_SOURCE: self._pasted}
            is_of_a_server = mention.source in self._resources.names()
            kind = self._resources if is_of_a_server else ours.get(mention.source, self._resources)
            return await self._shown(await kind.attach(mention))
        except StorageError:
            raise
        except AgentError as error:
            title = f"`{named(mention.written)}` could not be fetched, so the message was not sent. {error.title}"
            hint = " ".join(filter(None, (error.hint, "To send it as text, put it in backquotes.")))
            raise ServerError(title, hint=hint, detail=error.detail) from error

    async def _shown(self, read: Attachment | None) -> Attachment | None:
        if read is not None and read.kind == "picture" and await self._takes_pictures() is False:
            raise UsageError(
                "It is a picture, and this session's model does not accept pictures.", hint="Choose another model."
            )
        return read


def _meaning(mention: AnyMention) -> tuple[str, ...]:
    if isinstance(mention, PathMention):
        return mention.path, mention.lines
    return "", mention.source, mention.target


def _require_few(count: int) -> None:
    if count > MOST_MENTIONS:
        raise UsageError(
            f"The message has {count} attachments, so it was not sent.",
            hint=f"Mention or include at most {MOST_MENTIONS} at a time.",
        )
