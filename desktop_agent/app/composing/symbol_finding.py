"""Finds the symbols of the folder while an `@` is typed: behind the files, a while after the last key, until the next.

The files are read by a program of its own, and what it finds is looked at in threads. Of what was found for the letters
before, the part that still fits is shown at once; where that was everything, nothing is searched again.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from msgspec import Struct
from PySide6.QtCore import QObject

from desktop_agent.app.background_tasks import Try
from desktop_agent.core.base.clock import Clock, SystemClock
from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.mentions.mention_grammar import TypedMention
from desktop_agent.core.mentions.offers import MentionOffer
from desktop_agent.core.mentions.symbol_search import name_typed, search_symbols, symbol_offers, with_name
from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.search.symbols import FoundSymbol
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.processes.runner import ProcessRunner
from desktop_agent.core.tools.files.listing import ListingGround
from desktop_agent.ui.chat.composer.mention_offers import MentionOffers

_PAUSE_S = 0.1
"""From a key to the search, so that none is begun between the letters of a word."""

_SHOWN_EVERY_S = 0.15
_FRESH_S = 5.0
"""How long it is taken for right what was found."""


class _Found(Struct, frozen=True):
    """What was found in a folder for the beginning of a name."""

    workspace: Path
    name: str
    symbols: "tuple[FoundSymbol, ...]"
    is_whole: bool
    at_s: float


class SymbolFinding(QObject):
    """Answers the composer. One search at a time; another question, or none any more, ends it."""

    def __init__(
        self,
        mentions: MentionOffers,
        folder: Callable[[], Path | None],
        environ: Mapping[str, str],
        clock: Clock,
        try_: Try,
    ) -> None:
        """`folder` is the open one, `environ` that of the application."""
        super().__init__(mentions)
        self._mentions = mentions
        self._folder = folder
        self._environ = environ
        self._clock = clock
        self._try = try_
        self._asked = 0
        self._task: asyncio.Task[object] | None = None
        self._known: _Found | None = None
        mentions.wanted.connect(self._on_wanted)
        mentions.left.connect(self._stop)

    def look_again(self) -> None:
        """Forget what was found: another folder is open."""
        self._stop()
        self._known = None
        if (typed := self._mentions.typed) is not None:
            self._on_wanted(typed)

    def _on_wanted(self, typed: TypedMention) -> None:
        self._stop()
        name, workspace = name_typed(typed), self._folder()
        if name and workspace is not None:
            self._try(self._answer(self._asked, typed, name, workspace))

    def _stop(self) -> None:
        self._asked += 1
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _answer(self, asked: int, typed: TypedMention, name: str, workspace: Path) -> None:
        if asked != self._asked:
            return
        self._task = asyncio.current_task()
        known, earlier = self._known, list[FoundSymbol]()
        if known is not None and self._is_about(known, name, workspace):
            earlier, offers = await asyncio.to_thread(_narrowed, known.symbols, name)
            self._mentions.show_symbols(typed, offers)
            if known.is_whole:
                return
        await self._clock.sleep(_PAUSE_S)
        with suppress(ToolError, OSError):  # without ripgrep, or in a folder that is gone, there are no symbols
            await self._search(typed, name, workspace, earlier)

    def _is_about(self, known: _Found, name: str, workspace: Path) -> bool:
        is_fresh = self._clock.monotonic() - known.at_s < _FRESH_S
        return is_fresh and known.workspace == workspace and name.casefold().startswith(known.name.casefold())

    async def _search(self, typed: TypedMention, name: str, workspace: Path, earlier: Sequence[FoundSymbol]) -> None:
        """Show what is found, with what was found `earlier` until all is."""
        found: list[FoundSymbol] = []
        begun = self._clock.monotonic()
        shown_at = begun - _SHOWN_EVERY_S

        async def show(symbols: Sequence[FoundSymbol]) -> None:
            _, offers = await asyncio.to_thread(_narrowed, symbols, name)
            self._mentions.show_symbols(typed, offers)

        async def add(symbols: Sequence[FoundSymbol]) -> None:
            nonlocal shown_at
            found.extend(symbols)
            known = (*found, *earlier)
            self._known = _Found(workspace, name, known, is_whole=False, at_s=begun)
            if symbols and self._clock.monotonic() - shown_at >= _SHOWN_EVERY_S:
                await show(known)
                shown_at = self._clock.monotonic()

        async with _ground(workspace, self._environ) as ground:
            is_whole = await search_symbols(name, ground, add)
            known = tuple(found) if is_whole else (*found, *earlier)
            await show(known)
        self._known = _Found(workspace, name, known, is_whole=is_whole, at_s=begun)


@asynccontextmanager
async def _ground(workspace: Path, environ: Mapping[str, str]) -> AsyncGenerator[ListingGround]:
    processes = ProcessRunner(SystemClock())
    try:
        yield ListingGround(await asyncio.to_thread(Boundary, workspace), processes, child_environment(environ))
    finally:
        await processes.aclose()


def _narrowed(symbols: Sequence[FoundSymbol], name: str) -> tuple[list[FoundSymbol], tuple[MentionOffer, ...]]:
    """Return those with `name` in theirs, each once, and the best of them. For a thread."""
    fitting = with_name(tuple(dict.fromkeys(symbols)), name)
    return fitting, symbol_offers(fitting, name)
