"""The mouse in the transcript: selecting by letters, words and lines, following links, scrolling while drawing."""

from PySide6.QtCore import QElapsedTimer, QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication

from desktop_agent.ui.chat.entries.entry import EntryWidget
from desktop_agent.ui.chat.text.column_text import END
from desktop_agent.ui.chat.transcript.row_layout import RowLayout
from desktop_agent.ui.chat.transcript.selected_text import SelectedText
from desktop_agent.ui.chat.transcript.selection import START, TranscriptPosition

_SCROLL_MS = 30
_SCROLL_SHARE = 4
"""A pointer this many times its distance outside scrolls one pixel a step."""


class Pointer(QObject):
    """Follows the mouse over `area`, which passes its events on."""

    def __init__(
        self,
        area: QAbstractScrollArea,
        layout: RowLayout,
        selected: SelectedText,
    ) -> None:
        super().__init__(area)
        self._area = area
        self._layout = layout
        self._selected = selected
        self._pressed_link = ""
        self._at = QPoint()
        self._since_double_click = QElapsedTimer()
        self._scroll_timer = QTimer(self, interval=_SCROLL_MS)
        self._scroll_timer.timeout.connect(self._scroll)

    def cancel(self) -> None:
        """Forget a press that will not be released here."""
        self._layout.widgets.held_row = None
        self._scroll_timer.stop()

    # -- events --

    def press(self, event: QMouseEvent) -> None:
        """Begin a selection, or extend the one there is with Shift; a third click takes the line."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        self._at = event.position().toPoint()
        spot = self.spot_at(self._at)
        if spot is None:
            return
        self._layout.widgets.held_row = spot.row
        self._pressed_link = self.link_at(self._at)
        is_triple = (
            self._since_double_click.isValid()
            and self._since_double_click.elapsed() < QApplication.doubleClickInterval()
        )
        selection = self._selected.selection
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            selection.extend(spot)
        else:
            selection.begin(spot, "line" if is_triple else "letter")
        self._selected.show()

    def double_click(self, event: QMouseEvent) -> None:
        """Select the word under the pointer."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        spot = self.spot_at(event.position().toPoint())
        if spot is None:
            return
        self._layout.widgets.held_row, self._pressed_link = spot.row, ""
        self._since_double_click.start()
        self._selected.selection.begin(spot, "word")
        self._selected.show()

    def move(self, event: QMouseEvent) -> None:
        """Draw the selection on, or show what is under the pointer."""
        self._at = event.position().toPoint()
        if self._layout.widgets.held_row is None or not event.buttons() & Qt.MouseButton.LeftButton:
            self._show_cursor()
            return
        self._extend()
        is_outside = not 0 <= self._at.y() < self._area.viewport().height()
        if is_outside and not self._scroll_timer.isActive():
            self._scroll_timer.start()
        elif not is_outside:
            self._scroll_timer.stop()

    def release(self, event: QMouseEvent) -> None:
        """Finish the selection, or follow the link that was pressed."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        link = self.link_at(event.position().toPoint())
        if link and link == self._pressed_link and self._selected.selection.is_empty:
            row = self._layout.widgets.held_row
            if row is not None and row.widget is not None:
                row.widget.follow(link)
        self.cancel()
        self._pressed_link = ""

    # -- what is where --

    def spot_at(self, at: QPoint) -> TranscriptPosition | None:
        """Return the place in the text nearest to a point of the viewport."""
        reading = self._layout.reading
        y = at.y() + self._layout.top_edge
        row = reading.row_at(y)
        if row is None:
            return None
        widget = row.widget
        if widget is None:
            return TranscriptPosition(row, START)
        x, inside = at.x() - widget.x(), y - reading.row_top(row)
        if not widget.is_column_shown or not widget.column.text.blocks:
            return TranscriptPosition(row, START if inside < widget.height() / 2 else END)
        origin = widget.column_origin
        return TranscriptPosition(row, widget.column.place_at(x - origin.x(), inside - origin.y()))

    def link_at(self, at: QPoint) -> str:
        """Return what the text under a point of the viewport leads to, or nothing."""
        widget = self._widget_at(at)
        if widget is None or not widget.is_column_shown:
            return ""
        point = at - widget.pos() - widget.column_origin
        found = widget.column.span_at(point.x(), point.y())
        return found[1].href if found is not None else ""

    def _widget_at(self, at: QPoint) -> EntryWidget | None:
        row = self._layout.reading.row_at(at.y() + self._layout.top_edge)
        return row.widget if row is not None else None

    # -- drawing on --

    def _extend(self) -> None:
        spot = self.spot_at(self._at)
        if spot is not None:
            self._selected.selection.extend(spot)
            self._selected.show()

    def _scroll(self) -> None:
        """Scroll while the pointer is held outside, the faster the farther."""
        height = self._area.viewport().height()
        beyond = self._at.y() if self._at.y() < 0 else self._at.y() - height
        bar = self._area.verticalScrollBar()
        bar.setValue(bar.value() + beyond // _SCROLL_SHARE + (1 if beyond > 0 else -1))
        self._extend()

    def _show_cursor(self) -> None:
        self._area.viewport().setCursor(
            Qt.CursorShape.PointingHandCursor if self.link_at(self._at) else self._shape_at(self._at)
        )

    def _shape_at(self, at: QPoint) -> Qt.CursorShape:
        widget = self._widget_at(at)
        is_text = widget is not None and widget.is_column_shown and bool(widget.column.text.blocks)
        is_inside = widget is not None and widget.geometry().contains(at)
        return Qt.CursorShape.IBeamCursor if is_text and is_inside else Qt.CursorShape.ArrowCursor
