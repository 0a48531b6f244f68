"""Loads the pages of a long session that the user looks at, and unloads those not looked at for longest."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.transcript import JournalPage, Transcript
from desktop_agent.ui.window.bridge import SessionBridge

MAX_LOADED_BYTES: Final = 8 * 2**20
"""Of the journal: how much of it may be loaded besides what is in view or came since the session was opened."""

_log = logging.getLogger(__name__)


class PageLoader:
    """Serves one bridge. One page is read at a time, always the one that is most wanted by then."""

    def __init__(
        self,
        bridge: SessionBridge,
        read: Callable[[JournalPage], Awaitable[Transcript]],
        find: Callable[[Sequence[JournalPage], str], Awaitable[list[int]]],
    ) -> None:
        """`read` folds a page; `find` returns which pages may have a text."""
        self._bridge = bridge
        self._read = read
        self._find = find
        self._search: asyncio.Task[None] | None = None
        self._wanted: tuple[int, ...] = ()
        self._used: OrderedDict[int, None] = OrderedDict()
        """The pages that are loaded, the one not looked at for longest first."""
        self._failed: set[int] = set()
        self._task: asyncio.Task[None] | None = None
        bridge.pages_wanted.connect(self.want)
        bridge.pages_sought.connect(self.search)

    def want(self, numbers: Sequence[int]) -> None:
        """Load these pages, the first of them first; what was wanted before and is not there yet is wanted no more."""
        self._wanted = tuple(numbers)
        for number in self._bridge.transcript.paged.loaded_pages:
            self._used.setdefault(number)
        for number in reversed(self._wanted):
            if number in self._used:
                self._used.move_to_end(number)
        if self._next() is not None and self._task is None:
            self._task = asyncio.create_task(self._serve(), name="load pages")

    def search(self, text: str) -> None:
        """Find out which pages may have this text; an earlier search is cancelled."""
        if self._search is not None:
            self._search.cancel()
        pages = self._bridge.transcript.pages
        self._search = asyncio.create_task(self._answer(tuple(pages), text)) if text and pages else None

    async def aclose(self) -> None:
        """Load nothing any more."""
        tasks = [task for task in (self._task, self._search) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _answer(self, pages: Sequence[JournalPage], text: str) -> None:
        try:
            self._bridge.pages_found.emit(text, await self._find(pages, text))
        except AgentError as error:
            _log.warning("The pages of a session could not be searched: %s", error.detail)

    async def _serve(self) -> None:
        try:
            while (number := self._next()) is not None:
                await self._load(number)
                await asyncio.sleep(0)  # the page is shown in one turn of the loop, and room made in another
                self._let_go()
        finally:
            self._task = None

    def _next(self) -> int | None:
        transcript = self._bridge.transcript
        count = len(transcript.pages)
        missing = (n for n in self._wanted if n < count and n not in self._failed and not transcript.paged.is_loaded(n))
        return next(missing, None)

    async def _load(self, number: int) -> None:
        try:
            page = await self._read(self._bridge.transcript.pages[number])
        except AgentError as error:
            _log.warning("A page of a session could not be read: %s", error.detail)
            self._failed.add(number)
            return
        self._used[number] = None
        self._bridge.deliver_page(number, page)

    def _let_go(self) -> None:
        pages = self._bridge.transcript.pages
        size = sum(pages[number].end - pages[number].start for number in self._used)
        for number in list(self._used):
            if size <= MAX_LOADED_BYTES:
                return
            if number not in self._wanted:
                size -= pages[number].end - pages[number].start
                del self._used[number]
                self._bridge.drop_page(number)
