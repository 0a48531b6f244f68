"""Finds a text in what a terminal has printed, and goes from place to place."""

from collections.abc import Iterator

from PySide6.QtCore import QObject, Signal

from desktop_agent.ui.runtime.gradual import GradualWork
from desktop_agent.ui.terminal.live.lines import find_in
from desktop_agent.ui.terminal.live.pointer import PointerSelection
from desktop_agent.ui.terminal.live.selection import Selection
from desktop_agent.ui.terminal.live.sight import Sight

_LINES_AT_ONCE = 50
_MOST_PLACES = 1_000


class TerminalFinder(QObject):
    """A `FindTarget`: selects where the text stands, the last place first. Looks on in pauses of the window.

    Signals:
        found: the number of the place that is selected, from 1, and how many there are.
    """

    found = Signal(int, int)

    def __init__(self, sight: Sight, pointer: PointerSelection) -> None:
        super().__init__(pointer)
        self._sight = sight
        self._pointer = pointer
        self._work = GradualWork(self)
        self._places: list[Selection] = []
        """From the last one on: those before it are found later."""
        self._at = 0
        self.has_unread = False

    def find(self, text: str) -> None:
        """Select where `text` stands last; nothing of an empty one."""
        self._work.stop()
        self._places, self._at = [], 0
        self.has_unread = bool(text) and self._sight.emulator is not None
        self.found.emit(0, 0)
        if self.has_unread:
            self._work.begin(self._search(text))

    def step(self, by: int) -> None:
        """Go on by so many places, round the end."""
        if self._places:
            self._at = (self._at - by) % len(self._places)
            self._go()

    def _search(self, text: str) -> Iterator[None]:
        assert self._sight.emulator is not None
        for number, places in enumerate(find_in(self._sight.emulator.screen, text)):
            is_first = not self._places and bool(places)
            self._places += reversed(places)
            if is_first:
                self._go()
            if len(self._places) >= _MOST_PLACES:
                break
            if number % _LINES_AT_ONCE == 0:
                self._tell()
                yield
        else:
            self.has_unread = False
        self._tell()

    def _go(self) -> None:
        place = self._places[self._at]
        self._pointer.select(place)
        self._sight.show_row(min(place).row)
        self._tell()

    def _tell(self) -> None:
        count = len(self._places)
        self.found.emit(count - self._at if count else 0, count)
