"""The list of what a search found."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from PySide6.QtCore import QModelIndex, Signal
from PySide6.QtWidgets import QAbstractItemView, QListView, QWidget

from desktop_agent.core.protocol.model import SearchHit, SessionSummary
from desktop_agent.ui.sessions.search.found_delegate import FoundDelegate
from desktop_agent.ui.sessions.search.found_model import FoundModel
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.rows import set_up_list


class FoundList(QListView):
    """Places below the titles of their sessions. One of the places is the current one, never a title.

    Signals:
        chosen: the user wants to see this `SearchHit`.
    """

    chosen = Signal(object)

    def __init__(self, theme: Theme, now: Callable[[], datetime], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._found = FoundModel(now, self)
        self.setObjectName("searchResults")
        self.setAccessibleName(self.tr("Places found"))
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setModel(self._found)
        self.setItemDelegate(FoundDelegate(self._found, theme, set_up_list(self), self))
        self.clicked.connect(self._on_clicked)
        theme.changed.connect(self.viewport().update)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is listed."""
        return not self._found.rowCount()

    def show_hits(self, hits: Sequence[SearchHit], sessions: Mapping[str, SessionSummary]) -> None:
        """List these places in these sessions. The current one stays current if it is among them."""
        current = self._current_hit()
        self._found.show(hits, sessions)
        at = next((row for row in range(self._found.rowCount()) if self._found.row_at(row).hit == current), 0)
        self._go_to(at if current is not None and at else self._found.step(-1, 1))

    def step(self, by: int) -> None:
        """Go to the next place (1), or to the one before (-1)."""
        self._go_to(self._found.step(self.currentIndex().row(), by))

    def choose(self) -> None:
        """Choose the current place, if there is one."""
        if (hit := self._current_hit()) is not None:
            self.chosen.emit(hit)

    def _current_hit(self) -> SearchHit | None:
        index = self.currentIndex()
        return self._found.row_at(index.row()).hit if index.isValid() else None

    def _go_to(self, row: int) -> None:
        if 0 <= row < self._found.rowCount():
            self.setCurrentIndex(self._found.index(row))

    def _on_clicked(self, index: QModelIndex) -> None:
        if self._found.row_at(index.row()).hit is not None:  # a heading leaves the current row as it was
            self.choose()
