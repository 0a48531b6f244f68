"""What a mention of a symbol brings into the conversation: the lines of its definition, as they are when it is sent.

    @symbol:src/app.py:load         what this file defines by this name
    @symbol:src/app.py:12:load      the one in or next to this line, where the file has several
    @symbol:load                    what the workspace defines by this name, if it is one thing only

A file is read as if it was mentioned itself, with the same rules. Where a definition ends, its layout says.
"""

import asyncio
import re
from collections.abc import Sequence

from msgspec import Struct

from desktop_agent.core.base.errors import ToolError, UsageError
from desktop_agent.core.mentions.files import FileMentions
from desktop_agent.core.mentions.grammar import Mention
from desktop_agent.core.mentions.path_grammar import PathMention
from desktop_agent.core.mentions.symbol_search import search_symbols, written_symbol
from desktop_agent.core.protocol.model import Attachment
from desktop_agent.core.search.symbols import FoundSymbol, can_be_a_name, extent_of, symbol_in
from desktop_agent.core.tools.execution.executor import Toolbox
from desktop_agent.core.tools.files.listing import ListingGround

_TARGET = re.compile(r"(?:(?P<path>.+?):(?:(?P<line>[0-9]{1,7}):)?)?(?P<name>[^\s:/]+)")
_MOST_NAMED = 3
"""Of the definitions that a name may mean."""


class SymbolTarget(Struct, frozen=True):
    """What a mention of a symbol says."""

    name: str
    path: str = ""
    """Empty for the whole workspace."""
    line: int = 0
    """0 for any."""

    @classmethod
    def read(cls, target: str) -> "SymbolTarget | None":
        """Return what a mention says behind its source; None where it names nothing."""
        match = _TARGET.fullmatch(target)
        if match is None or not can_be_a_name(match["name"]):
            return None
        return cls(match["name"], match["path"] or "", int(match["line"] or 0))


class SymbolMentions:
    """The symbols of one session's workspace, as its tools may read them."""

    def __init__(self, files: FileMentions, box: Toolbox) -> None:
        self._files = files
        self._box = box

    async def attach(self, mention: Mention) -> Attachment:
        """Return the definition as it is now. Raises `UsageError` that says what is in the way, and `StorageError`."""
        target = SymbolTarget.read(mention.target)
        if target is None:
            raise UsageError("It names no function, class or constant.")
        if not target.path:
            only = await self._only(target.name)
            target = SymbolTarget(only.name, only.path, only.line)
        text = await self._files.text(PathMention(target.path, mention.written, mention.start))
        extent = await asyncio.to_thread(_extent, target, text)
        if extent is None:
            hint = await self._elsewhere(target)
            raise UsageError(f"{target.path} defines nothing of that name.", hint=hint)
        first, last = extent
        return await self._files.attach_certain(PathMention(target.path, mention.written, mention.start, first, last))

    async def _only(self, name: str) -> FoundSymbol:
        """Return the one definition of that name. Raises `UsageError` for none, and for several."""
        named = await self._named(name)
        if not named:
            raise UsageError("The folder has no function, class or constant of that name.")
        if len(named) > 1:
            raise UsageError(f"{len(named)} definitions have that name.", hint=f"Mention one: {_ways(named)}.")
        return named[0]

    async def _elsewhere(self, target: SymbolTarget) -> str:
        named = await self._named(target.name)
        return f"It is defined elsewhere: {_ways(named)}." if named else ""

    async def _named(self, name: str) -> list[FoundSymbol]:
        found: list[FoundSymbol] = []

        async def keep(symbols: Sequence[FoundSymbol]) -> None:
            found.extend(symbol for symbol in symbols if symbol.name == name)

        ground = ListingGround(self._box.boundary(), self._box.processes, self._box.environ)
        try:
            await search_symbols(name, ground, keep)
        except ToolError as error:
            raise UsageError(str(error)) from error
        return sorted(found, key=lambda symbol: (symbol.path, symbol.line))


def _extent(target: SymbolTarget, text: str) -> tuple[int, int] | None:
    """Return the lines of the definition, from 1: of several the one next to the line that is meant. For a thread."""
    lines = text.replace("\r\n", "\n").split("\n")
    places = [
        at
        for at, line in enumerate(lines)
        if target.name in line and (found := symbol_in(target.path, line)) is not None and found.name == target.name
    ]
    if not places:
        return None
    first, last = extent_of(lines, min(places, key=lambda at: abs(at + 1 - target.line) if target.line else 0))
    return first + 1, last + 1


def _ways(symbols: Sequence[FoundSymbol]) -> str:
    """Return how some of these are mentioned."""
    places = [(symbol.path, symbol.name) for symbol in symbols]
    ways = [
        written_symbol(each.name, each.path, each.line if places.count((each.path, each.name)) > 1 else 0)
        for each in symbols[:_MOST_NAMED]
    ]
    return " or ".join(f"`{way}`" for way in ways)
