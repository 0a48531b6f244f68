"""What of a terminal is in sight: which rows, where they stand, and which of them look different from before."""

from PySide6.QtCore import QPointF, QRect, QRectF
from PySide6.QtGui import QPainter, QRegion
from PySide6.QtWidgets import QScrollBar, QWidget

from desktop_agent.core.terminal.emulator import Emulator
from desktop_agent.core.terminal.rows import KeptRow
from desktop_agent.ui.terminal.live.painting import RowPainter
from desktop_agent.ui.terminal.live.selection import CellPosition, Selection

MARGIN, TOP = 12, 4
LEAST_ROWS, LEAST_COLUMNS = 3, 20
_MOST_ROWS, _MOST_COLUMNS = 400, 1_000


class Sight:
    """One terminal in one viewport. The history is scrolled by `bar`; at its end the sight follows the output."""

    def __init__(self, viewport: QWidget, bar: QScrollBar, painter: RowPainter) -> None:
        self.painter = painter
        self.emulator: Emulator | None = None
        self.follows = True
        self.shows_cursor = True
        self._viewport = viewport
        self._bar = bar
        self._rows: list[KeptRow] = []
        self._first = 0
        """The number of the row at the top."""
        self._cursor = QRect()
        bar.valueChanged.connect(self._on_scrolled)

    def show(self, emulator: Emulator | None) -> None:
        """Show this terminal at its end."""
        self.emulator = emulator
        self.follows = True
        self._rows = []
        self.refresh()
        self._viewport.update()

    def fitting(self) -> tuple[int, int]:
        """Return how many rows and columns there is room for."""
        rows = int((self._viewport.height() - 2 * TOP) / self.painter.row_height)
        columns = int((self._viewport.width() - 2 * MARGIN) / self.painter.cell_width)
        return max(LEAST_ROWS, min(rows, _MOST_ROWS)), max(LEAST_COLUMNS, min(columns, _MOST_COLUMNS))

    def place_at(self, point: QPointF) -> CellPosition:
        """Return the place between two cells that is nearest."""
        column = round((point.x() - MARGIN) / self.painter.cell_width)
        return CellPosition(self._first + int((point.y() - TOP) // self.painter.row_height), max(0, column))

    def cell_at(self, point: QPointF) -> CellPosition:
        """Return the cell at a point, by the place before it."""
        column = int((point.x() - MARGIN) // self.painter.cell_width)
        return CellPosition(self._first + int((point.y() - TOP) // self.painter.row_height), column)

    def show_row(self, row: int) -> None:
        """Scroll so that a row is in sight, with some before and behind it, unless it is."""
        if self.emulator is None or self._first <= row < self._first + self._rows_in_sight() - 1:
            return
        screen = self.emulator.screen
        oldest = screen.first_row - (0 if screen.modes.is_alternate else len(screen.history))
        self._bar.setValue(row - oldest - screen.height // 2)

    def refresh(self) -> None:
        """Have everything painted that looks different by now."""
        if self.emulator is None:
            return
        screen = self.emulator.screen
        above = 0 if screen.modes.is_alternate else len(screen.history)
        oldest = screen.first_row - above
        self._bar.blockSignals(True)
        self._bar.setRange(0, above)
        self._bar.setPageStep(screen.height)
        self._bar.setValue(above if self.follows else self._first - oldest)
        self._bar.blockSignals(False)
        self._first = oldest + self._bar.value()
        rows = [screen.row(self._first + at) for at in range(self._rows_in_sight())]
        for at, row in enumerate(rows):
            if at >= len(self._rows) or self._rows[at] != row:
                self._viewport.update(self._area_of(at))
        self._rows = rows
        cursor = self.cursor_area()
        if cursor != self._cursor:
            self._viewport.update(self._cursor)
            self._viewport.update(cursor)
            self._cursor = cursor

    def cursor_area(self) -> QRect:
        """Return where the cursor is; empty while it is hidden, or out of sight."""
        if self.emulator is None or not (self.shows_cursor and self.emulator.screen.modes.shows_cursor):
            return QRect()
        left, top = self._cursor_corner()
        if not 0 <= top < self._viewport.height():
            return QRect()
        return QRectF(left, top, 2 * self.painter.cell_width, self.painter.row_height).toAlignedRect()

    def paint(self, painter: QPainter, region: QRegion, selection: Selection | None) -> None:
        """Paint the rows that are in `region`."""
        for at, row in enumerate(self._rows):
            if region.intersects(self._area_of(at)):
                selected = selection.columns_in(self._first + at) if selection is not None else None
                self.painter.paint_row(painter, MARGIN, TOP + at * self.painter.row_height, row, selected)

    def paint_cursor(self, painter: QPainter, composed: str, *, is_active: bool) -> None:
        """Paint the cursor, or what an input method is composing there."""
        if self.emulator is None or self.cursor_area().isEmpty():
            return
        screen, (left, top) = self.emulator.screen, self._cursor_corner()
        if composed:
            self.painter.paint_composed(painter, left, top, composed)
            return
        cell = screen.grid.rows[screen.cursor.row].cells[screen.cursor.column]
        self.painter.paint_cursor(painter, left, top, cell, is_active=is_active)

    def _cursor_corner(self) -> tuple[float, float]:
        assert self.emulator is not None
        screen = self.emulator.screen
        row = screen.first_row + screen.cursor.row - self._first
        return MARGIN + screen.cursor.column * self.painter.cell_width, TOP + row * self.painter.row_height

    def _rows_in_sight(self) -> int:
        return int(self._viewport.height() / self.painter.row_height) + 1

    def _area_of(self, at: int) -> QRect:
        height = self.painter.row_height
        return QRectF(0, TOP + at * height, self._viewport.width(), height).toAlignedRect()

    def _on_scrolled(self) -> None:
        if self.emulator is not None:
            self.follows = self._bar.value() == self._bar.maximum()
            screen = self.emulator.screen
            above = 0 if screen.modes.is_alternate else len(screen.history)
            self._first = screen.first_row - above + self._bar.value()
            self.refresh()
            self._viewport.update()
