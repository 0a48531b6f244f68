"""Search through all sessions: a field, a few filters and the places that were found, over the conversation.

What is in it is made when the window knows what there is to search, or when it is opened: not for its first sight.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property

from PySide6.QtCore import QEvent, QObject, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.model import SearchHit, SearchQuery, SessionSummary
from desktop_agent.ui.sessions.search.parts import SearchParts
from desktop_agent.ui.theme import Height, Space, Theme
from desktop_agent.ui.translation.plurals import plural
from desktop_agent.ui.widgets.overlay.press_beside import PressBeside
from desktop_agent.ui.widgets.overlay.raised_frame import RaisedFrame

_PAUSE_MS = 120
"""How long the user rests before what was typed so far is searched for."""
_WIDTH = 760
_HEIGHT = 560
_MARGIN = 24


def _now() -> datetime:
    return datetime.now().astimezone()


class SearchPanel(RaisedFrame):
    """Asks for searches and shows what they find. It lies over `over` while it is open.

    Signals:
        query_changed: search for this `SearchQuery`.
        hit_chosen: show this `SearchHit` in its session.
    """

    query_changed = Signal(object)
    hit_chosen = Signal(object)

    def __init__(self, theme: Theme, over: QWidget, *, now: Callable[[], datetime] = _now) -> None:
        super().__init__(theme, over)
        self.setObjectName("searchPanel")
        self.setAccessibleName(self.tr("Search all sessions"))
        self._theme = theme
        self._over = over
        self._presses = PressBeside(self)
        self._presses.pressed.connect(self.close_panel)
        over.installEventFilter(self)
        self._now = now
        self._query: SearchQuery | None = None
        self._is_reading = False
        self._timer = QTimer(self, interval=_PAUSE_MS, singleShot=True)
        self._timer.timeout.connect(self._search)
        self.hide()

    # --- what the window asks -------------------------------------------------------------------------------------

    def set_workspace(self, workspace: str) -> None:
        """Offer to search the sessions of this folder (an absolute path) only."""
        self._parts.filters.set_workspace(workspace)

    def set_tools(self, names: Sequence[str]) -> None:
        """Offer to search the calls of one of these tools only."""
        self._parts.filters.set_tools(names)

    def open_panel(self) -> None:
        """Show the panel and let the user type; what was searched for the last time is there to be replaced."""
        field = self._parts.field
        self._place()
        self.show()
        self.raise_()
        self._presses.start()
        field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        field.selectAll()
        self._search()

    def close_panel(self) -> None:
        """Go back to what lies below; `FocusKeeper` gives the keyboard back."""
        if self.isVisible():
            self._presses.stop()
            self._timer.stop()
            self.hide()

    @property
    def query(self) -> SearchQuery | None:
        """What is searched for; None while there is nothing to search for."""
        return self._query

    def show_hits(self, query: SearchQuery, hits: Sequence[SearchHit], sessions: Mapping[str, SessionSummary]) -> None:
        """Show what was found, unless something else is searched for by now."""
        if query is not self._query:
            return
        self._parts.list.show_hits(hits, sessions)
        self._parts.pages.setCurrentIndex(0 if hits else 1)
        self._parts.hint.setText(self.tr("Nothing found."))
        count = len({hit.session_id for hit in hits})
        words = self.tr("{0} in {1}").format(self._places(len(hits)), self._sessions(count))
        self._parts.count.setText(words if hits else "")

    def set_reading(self, *, is_reading: bool) -> None:
        """Say whether there is something new that is not found yet. Searches again when there no longer is."""
        was_reading, self._is_reading = self._is_reading, is_reading
        self._parts.reading.setVisible(is_reading)
        if was_reading and not is_reading and self.isVisible():
            self._search()

    # --- building -------------------------------------------------------------------------------------------------

    @cached_property
    def _parts(self) -> SearchParts:
        parts = SearchParts(self._theme, self._now, self)
        parts.field.textChanged.connect(self._timer.start)
        parts.filters.changed.connect(self._search)
        parts.filters.file.textChanged.connect(self._timer.start)
        parts.list.chosen.connect(self._on_chosen)
        for taking_keys in (parts.field, parts.filters.file, parts.list):
            taking_keys.installEventFilter(self)
        return parts

    # --- words ----------------------------------------------------------------------------------------------------

    def _places(self, count: int) -> str:
        return plural("SearchPanel", count, "%n place", "%n places")

    def _sessions(self, count: int) -> str:
        return plural("SearchPanel", count, "%n session", "%n sessions")

    # --- searching ------------------------------------------------------------------------------------------------

    def _search(self) -> None:
        self._timer.stop()
        query = self._parts.filters.query(self._parts.field.text(), self._now())
        if query.text.strip() or query.file.strip():
            self._query = query
            if self._parts.list.is_empty:
                self._parts.pages.setCurrentIndex(1)
                self._parts.hint.setText(self.tr("Searching…"))
            self.query_changed.emit(query)
            return
        self._query = None
        self._parts.list.show_hits((), {})
        self._parts.pages.setCurrentIndex(1)
        self._parts.count.clear()
        self._parts.hint.setText(self.tr('Finds words in any order and "quoted phrases" as written, newest first.'))

    def _on_chosen(self, hit: SearchHit) -> None:
        self.close_panel()
        self.hit_chosen.emit(hit)

    # --- Qt -------------------------------------------------------------------------------------------------------

    def _place(self) -> None:
        area = self._over.rect().adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        width, height = min(_WIDTH, area.width()), min(_HEIGHT, area.height() - Height.TOP_BAR)
        left = area.center().x() - width // 2
        self.setGeometry(QRect(left, Height.TOP_BAR + Space.S, width, height))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._over:
            if event.type() == QEvent.Type.Resize and self.isVisible():
                self._place()
        elif event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and self._take_key(event):
            return True
        return super().eventFilter(watched, event)

    def _take_key(self, event: QKeyEvent) -> bool:
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self._parts.list.choose()
            case Qt.Key.Key_Down:
                self._parts.list.step(1)
            case Qt.Key.Key_Up:
                self._parts.list.step(-1)
            case _:
                return False
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_panel()
        else:
            super().keyPressEvent(event)
