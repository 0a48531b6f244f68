"""Where the keyboard goes in a transcript: through the rows from top to bottom, and first to the oldest question."""

from typing import cast

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QColor, QFocusEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QWidget

from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat.entries.entry import EntryRow, EntryWidget
from desktop_agent.ui.chat.transcript.row_layout import RowLayout

_BAR_WIDTH = 2
_BAR_AWAY = 10
"""How wide the bar beside the entry with the focus is, and how far away: within the margin of the conversation."""

_BY_MOUSE = (Qt.FocusReason.MouseFocusReason, Qt.FocusReason.PopupFocusReason)


class _Bar(QWidget):
    """Filled with one colour."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.colour = QColor()
        self.hide()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(event.rect(), self.colour)
        painter.end()


class KeyboardOrder(QObject):
    """Keeps the order right, whenever the widgets of rows were made, and what has the focus in view."""

    def __init__(self, start: QAbstractScrollArea, layout: RowLayout) -> None:
        """`start` is where Tab comes from."""
        super().__init__(start)
        self._start = start
        self._layout = layout
        self._order: tuple[tuple[int, int, int], ...] = ()
        self._asking: ToolEntry | None = None
        """The question that the keys answer."""
        self._bar = _Bar(start.viewport())
        self._is_by_keyboard = False
        """Whether the keyboard brought the focus to the transcript itself: a click needs no mark."""
        start.installEventFilter(self)
        app = cast("QApplication", QApplication.instance())
        app.focusChanged.connect(self._on_focus_changed)

    def arrange(self) -> None:
        """Put the rows that have widgets in order."""
        rows = sorted(self._layout.widgets.live, key=lambda row: row.index)
        self._offer_keys(rows)
        order = tuple((row.index, id(row.widget), len(row.widget.children()) if row.widget else 0) for row in rows)
        if order != self._order:  # also when a row got a question, buttons or links after it was put in order
            self._order = order
            self._order_tabs(rows)

    def mark(self) -> None:
        """Let a bar in the margin of the viewport say which entry has the focus itself, or that no entry has it."""
        entry = QApplication.focusWidget()
        if entry is self._start and self._is_by_keyboard:
            self._bar.colour = self._layout.widgets.styles.colour("accent")
            self._bar.setGeometry(0, 0, _BAR_WIDTH, self._start.viewport().height())
            self._bar.show()
        elif isinstance(entry, EntryWidget) and entry.parentWidget() is self._start.viewport():
            self._bar.colour = entry.styles.colour("accent")
            self._bar.setGeometry(entry.x() - _BAR_AWAY, entry.y(), _BAR_WIDTH, entry.height())
            self._bar.show()
        else:
            self._bar.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Notice how the transcript got the focus."""
        if isinstance(event, QFocusEvent) and event.type() == QEvent.Type.FocusIn:
            self._is_by_keyboard = event.reason() not in _BY_MOUSE
            self.mark()
        return False

    def _order_tabs(self, rows: list[EntryRow]) -> None:
        before: QWidget = self._start
        for row in rows:
            for child in row.widget.tab_stops() if row.widget is not None else ():
                if child.focusPolicy() & Qt.FocusPolicy.TabFocus:
                    QWidget.setTabOrder(before, child)
                    before = child

    def _offer_keys(self, rows: list[EntryRow]) -> None:
        """Let only the oldest question listen to the keys that answer.

        When another question becomes the oldest, no question takes an answer for a moment: the keys, and what is under
        the mouse, have just changed their meaning.
        """
        before, self._asking = self._asking, None
        for row in rows:
            if isinstance(row.entry, ToolEntry) and row.entry.is_waiting and row.widget is not None:
                row.widget.set_shortcut(is_enabled=self._asking is None)
                self._asking = self._asking or row.entry
                if before is not None and self._asking is not before:
                    row.widget.hold_off()

    def _on_focus_changed(self, _old: object, new: object) -> None:
        self.mark()
        viewport = self._start.viewport()
        if not isinstance(new, QWidget) or not viewport.isAncestorOf(new):
            return
        area = new.rect().translated(new.mapTo(viewport, QPoint(0, 0)))
        if area.top() < 0 or area.bottom() > viewport.height():
            self._layout.reveal(self._layout.top_edge + area.top())
