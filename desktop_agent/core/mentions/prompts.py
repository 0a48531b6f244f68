"""Fetches everything that a prompt mentions before it enters the conversation: all of it, or none."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from desktop_agent.core.base.errors import AgentError, ServerError, StorageError, UsageError
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.mentions.files import FileMentions, SymbolMentions
from desktop_agent.core.mentions.mention_grammar import Mention, PathMention, mentions_in, paths_in
from desktop_agent.core.mentions.offers import SESSION_SOURCE, SYMBOL_SOURCE
from desktop_agent.core.mentions.pasted import PASTED_SOURCE, PastedMentions
from desktop_agent.core.mentions.resources import ResourceMentions, SessionMentions
from desktop_agent.core.protocol.model import Attachment

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
