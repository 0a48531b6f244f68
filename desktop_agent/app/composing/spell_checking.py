"""Looks up the words of the message in the system's dictionaries."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import QLocale, QObject

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.spelling import Speller, open_speller
from desktop_agent.ui.chat.composer.spelling_marks import SpellingMarks, SpellingMenu
from desktop_agent.ui.theme import Theme

T = TypeVar("T")


class SpellChecking(QObject):
    """Answers the composer while the setting says so. Dictionaries are opened with the first word, in a thread."""

    def __init__(self, panels: WindowPanels, theme: Theme, live: LiveSettings, try_: Try) -> None:
        super().__init__(panels.window)
        self._live = live
        self._try = try_
        self._languages = QLocale.system().uiLanguages()
        self._speller: Speller | None = None
        self._is_opened = False
        self._turn = asyncio.Lock()
        """A speller is not for two threads at once."""
        self._marks = SpellingMarks(panels.composer.edit, theme)
        self._menu = SpellingMenu(panels.composer.edit, self._marks)
        self._marks.unknown_met.connect(self._on_unknown_met)
        self._menu.suggestions_wanted.connect(self._on_suggestions_wanted)
        self._menu.learned.connect(self._on_learned)
        self._unsubscribe = live.subscribe(self._follow_setting)
        panels.window.destroyed.connect(self._unsubscribe)
        self._follow_setting()

    def _follow_setting(self) -> None:
        self._marks.set_on(is_on=self._live.current.ui.spelling)

    def _on_unknown_met(self, words: frozenset[str]) -> None:
        self._try(self._look_up(words))

    def _on_suggestions_wanted(self, word: str) -> None:
        self._try(self._suggest(word))

    def _on_learned(self, word: str) -> None:
        self._try(self._learn(word))

    async def _look_up(self, words: frozenset[str]) -> None:
        misspelled = await self._ask(lambda speller: speller.misspelled(words), frozenset[str]())
        self._marks.take(words, misspelled)

    async def _suggest(self, word: str) -> None:
        self._menu.offer(word, await self._ask(lambda speller: speller.suggestions(word), ()))

    async def _learn(self, word: str) -> None:
        await self._ask(lambda speller: speller.learn(word), None)
        self._marks.take(frozenset({word}), frozenset())

    async def _ask(self, ask: Callable[[Speller], T], otherwise: T) -> T:
        """Return what the speller answers; `otherwise` where there is none."""
        async with self._turn:
            if not self._is_opened:
                self._speller = await asyncio.to_thread(open_speller, self._languages)
                self._is_opened = True
            return otherwise if self._speller is None else await asyncio.to_thread(ask, self._speller)
