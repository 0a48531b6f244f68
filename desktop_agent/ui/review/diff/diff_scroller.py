"""Where the rows of a diff are in its viewport, and how it scrolls to them."""

from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QAbstractScrollArea

from desktop_agent.core.diff.rows import LineSide
from desktop_agent.ui.review.diff.diff_bars import PAD
from desktop_agent.ui.review.diff.diff_document import DiffDocument
from desktop_agent.ui.review.diff.diff_geometry import ROW_HEIGHT, Geometry, Pane, panes
from desktop_agent.ui.review.diff.diff_selection import line_of

_LINE_PADDING = 3


class LineMetrics(NamedTuple):
    """Sizes of the font of the lines, in pixels."""

    line_height: float
    char_width: float
    digit_width: float


class TopLine(NamedTuple):
    """The first line in view, and how far it is from the top edge in pixels."""

    side: LineSide
    line: int
    above: int


class DiffScroller:
    """Lays the rows of a document out in a scroll area, and scrolls it. Points are in the viewport, in pixels."""

    def __init__(self, area: QAbstractScrollArea, document: DiffDocument) -> None:
        self._area = area
        self._document = document
        self.metrics = LineMetrics(ROW_HEIGHT, 1, 1)
        self.text_width = 0.0
        """The width of the widest line that is known of."""
        self.geometry = Geometry(document.rows, row_height=ROW_HEIGHT)
        self.panes: tuple[Pane, ...] = ()

    @property
    def position(self) -> QPoint:
        """How far is scrolled."""
        return QPoint(self._area.horizontalScrollBar().value(), self._area.verticalScrollBar().value())

    @property
    def text_left(self) -> int:
        """Where the text of the first pane starts."""
        return self.panes[0].text_left if self.panes else 0

    def lay_out(self, blocks: Callable[[], dict[int, int]]) -> None:
        """Place the rows. `blocks` returns the heights of what stands below some rows, when the panes are known."""
        rows = self._document.rows
        height = max(ROW_HEIGHT, round(self.metrics.line_height) + _LINE_PADDING)
        self.panes = panes(rows, self._area.viewport().width(), self.metrics.digit_width)
        self.geometry = Geometry(rows, row_height=height, blocks=blocks())
        self.update_bars()

    def update_bars(self) -> None:
        """Fit the scroll bars to the rows and to the widest line."""
        view = self._area.viewport().size()
        vertical, horizontal = self._area.verticalScrollBar(), self._area.horizontalScrollBar()
        vertical.setRange(0, max(0, self.geometry.height - view.height()))
        vertical.setPageStep(max(1, view.height() - self.geometry.row_height))
        vertical.setSingleStep(self.geometry.row_height)
        room = min((pane.text_width for pane in self.panes), default=0)
        wide = round(self.text_width) + PAD if len(self._document.rows) else 0
        horizontal.setRange(0, max(0, wide - room))
        horizontal.setPageStep(max(1, room))
        horizontal.setSingleStep(round(4 * self.metrics.char_width))

    def repaint(self, row: int | None = None) -> None:
        """Have a row painted anew, if it is there, or everything."""
        if row is None:
            self._area.viewport().update()
        elif 0 <= row < len(self._document.rows):
            self._area.viewport().update(self.row_rect(row))

    # -- where things are --

    def row_rect(self, row: int) -> QRect:
        """Return where the row is, without what stands below it."""
        top = self.geometry.top(row) - self._area.verticalScrollBar().value()
        return QRect(0, top, self._area.viewport().width(), self.geometry.row_height_at(row))

    def row_at(self, point: QPoint) -> int:
        """Return the row at `point`, or the nearest one."""
        return self.geometry.row_at(point.y() + self._area.verticalScrollBar().value())

    def pane_at(self, point: QPoint) -> Pane | None:
        """Return the pane at `point`."""
        return next((pane for pane in self.panes if point.x() < pane.right), None)

    def is_in_block(self, point: QPoint) -> bool:
        """Whether `point` is in what stands below a row."""
        return self.geometry.is_in_block(point.y() + self._area.verticalScrollBar().value())

    def visible_rows(self) -> tuple[int, int]:
        """Return the first and the last row in view."""
        top = self._area.verticalScrollBar().value()
        return self.geometry.row_at(top), self.geometry.row_at(top + self._area.viewport().height())

    def rows_per_page(self) -> int:
        """Return how many rows a page key passes."""
        return max(1, self._area.viewport().height() // self.geometry.row_height - 1)

    # -- scrolling --

    def ensure_visible(self, row: int, *, margin_rows: int = 0) -> None:
        """Scroll just as far as needed to see the row and what stands below it, with some rows above and below."""
        margin = margin_rows * self.geometry.row_height
        top, bottom = self.geometry.top(row) - margin, self.geometry.top(row + 1) + margin
        bar = self._area.verticalScrollBar()
        bar.setValue(max(bottom - self._area.viewport().height(), min(top, bar.value())))

    def scroll_sideways(self, steps: int) -> None:
        """Scroll to the right, or to the left when `steps` is negative."""
        bar = self._area.horizontalScrollBar()
        bar.setValue(bar.value() + steps * bar.singleStep())

    def scroll_rows(self, count: int) -> None:
        """Scroll down by some rows, or up when `count` is negative."""
        bar = self._area.verticalScrollBar()
        bar.setValue(bar.value() + count * self.geometry.row_height)

    def top_line(self) -> TopLine | None:
        """Return the first line in view; `None` at the very top."""
        top, rows = self._area.verticalScrollBar().value(), self._document.rows
        if not top or not len(rows):
            return None
        first, last = self.visible_rows()
        for index in range(first, last + 1):
            if found := line_of(rows[index], None):
                return TopLine(*found, self.geometry.top(index) - top)
        return None

    def put_on_top(self, line: TopLine | None) -> None:
        """Scroll so that this line is where it was."""
        if line:
            row = self._document.rows.find(line.side, line.line)
            self._area.verticalScrollBar().setValue(self.geometry.top(row) - line.above)
