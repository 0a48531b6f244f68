"""Asks for the pages of a conversation that are in view, near it, or wanted by a search."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.chat.search.finder import Finder
from desktop_agent.ui.chat.transcript.row_layout import RowLayout
from desktop_agent.ui.theme import Space

_NEAR = 2
"""How many screens beyond the view pages are loaded before the user scrolls there."""


class PageRequests(QObject):
    """Looks at what is in the viewport.

    Signals:
        pages_wanted: the pages (numbers, the most urgent first) that are in view or near it, loaded or not.
    """

    pages_wanted = Signal(object)

    def __init__(self, layout: RowLayout, finder: Finder, viewport: QWidget) -> None:
        super().__init__(layout)
        self._layout = layout
        self._finder = finder
        self._viewport = viewport
        self._wanted: tuple[int, ...] = ()
        finder.page_sought.connect(self.update)

    def clear(self) -> None:
        """Forget what was asked for: another conversation is shown."""
        self._wanted = ()

    def update(self) -> None:
        """Ask for what is in view by now, unless that was the last thing asked for."""
        height = self._viewport.height()
        in_view = self._pages_between(0, height)
        near = self._pages_between(-_NEAR * height, (1 + _NEAR) * height)
        wanted = tuple(dict.fromkeys((*in_view, *self._finder.wanted_pages, *near)))
        if wanted != self._wanted:
            self._wanted = wanted
            self.pages_wanted.emit(wanted)

    def _pages_between(self, top: int, bottom: int) -> list[int]:
        rows = self._layout.rows
        if not len(rows):
            return []
        start = self._layout.top_edge - Space.XL
        first, last = rows.heights.at(start + top), rows.heights.at(start + bottom)
        pages = (rows[index].page for index in range(max(0, first), last + 1))
        return list(dict.fromkeys(page for page in pages if page is not None))
