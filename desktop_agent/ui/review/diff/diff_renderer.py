"""Paints the diff of a view; what takes longer than a frame comes with a later one."""

from PySide6.QtCore import QObject, QPoint, QRect, Qt, QTimer
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QAbstractScrollArea

from desktop_agent.core.diff.rows import LineSide
from desktop_agent.core.protocol.model import MovedBlock
from desktop_agent.ui.review.diff.diff_bars import PAD
from desktop_agent.ui.review.diff.diff_document import DiffDocument
from desktop_agent.ui.review.diff.diff_geometry import Pane
from desktop_agent.ui.review.diff.diff_navigation import DiffNavigation
from desktop_agent.ui.review.diff.diff_painter import DiffPainter, Scene
from desktop_agent.ui.review.diff.diff_scroller import DiffScroller, LineMetrics
from desktop_agent.ui.review.diff.highlighter import Coloured, Highlighter
from desktop_agent.ui.review.diff.line_layouts import LaidLine
from desktop_agent.ui.theme import Theme, TypeSize
from desktop_agent.ui.wording.visible_text import MAX_DRAWN_CHARS

_MEASURED_LINES = 2_000
"""How many lines say how wide a diff is before they are painted. Wider ones are noticed when they come into view."""


class DiffRenderer(QObject):
    """Paints what is in view and asks for the colours of it. Only rows in view cost anything."""

    def __init__(self, theme: Theme, area: QAbstractScrollArea, document: DiffDocument, scroller: DiffScroller) -> None:
        super().__init__(area)
        self._theme = theme
        self._viewport = area.viewport()
        self._document = document
        self._scroller = scroller
        self._highlighter = Highlighter(self)
        self._highlighter.changed.connect(self._on_colours_found)
        self.follow_theme()

    def follow_theme(self) -> None:
        """Paint with the theme's fonts and colours as they are now."""
        self._painter = painter = DiffPainter(self._theme, self._highlighter)
        self._scroller.metrics = LineMetrics(painter.line_height, painter.char_width, painter.digit_width)

    def start(self) -> None:
        """Forget everything about the file before: the document has another diff."""
        diff = self._document.rows.diff
        self._painter.clear()
        self._highlighter.set_text(diff.path, diff.old_lines, diff.new_lines)
        measured = (lines[:_MEASURED_LINES] for lines in (diff.old_lines, diff.new_lines))
        longest = max(max(map(len, lines), default=0) for lines in measured)
        self._scroller.text_width = min(longest, MAX_DRAWN_CHARS) * self._painter.char_width

    def stop(self) -> None:
        """Stop looking for colours; the next frame asks for them again."""
        self._highlighter.stop()

    def scene(self, navigation: DiffNavigation, *, has_focus: bool) -> Scene:
        """Return what is in view, without overlays."""
        return Scene(
            rows=self._document.rows,
            geometry=self._scroller.geometry,
            panes=self._scroller.panes,
            width=self._viewport.width(),
            scroll=self._scroller.position,
            selection=navigation.selection,
            current_row=navigation.row if has_focus else None,
            hovered_row=navigation.hovered_row,
        )

    def paint(self, scene: Scene, clip: QRect) -> None:
        """Paint everything inside `clip`."""
        painter = QPainter(self._viewport)
        if len(scene.rows):
            self._painter.paint(painter, scene, clip)
            self._request_colours()
            if self._painter.put_off:
                QTimer.singleShot(0, self, self._on_put_off)
            if self._painter.widest > self._scroller.text_width:
                self._scroller.text_width = self._painter.widest
                QTimer.singleShot(0, self, self._scroller.update_bars)  # not from inside a paint event
        if not self._document.has_lines:
            self._paint_message(painter)
        painter.end()

    def lay_line(self, pane: Pane, side: LineSide, number: int) -> LaidLine:
        """Return a line as it is painted."""
        return self._painter.laid_line(self._document.rows.diff, self._scroller.position.x(), pane, side, number)

    def moved_at(self, scene: Scene, point: QPoint) -> tuple[MovedBlock, LineSide] | None:
        """Return the moved block whose label is at `point`, and the side it is on."""
        return self._painter.moved_at(scene, point) if len(scene.rows) else None

    def _paint_message(self, painter: QPainter) -> None:
        rect = self._viewport.rect()
        rect.setTop(self._scroller.geometry.height if len(self._document.rows) else 0)
        painter.fillRect(rect, self._theme.colour("surface"))
        notes = self._document.diff.notes if self._document.diff and not len(self._document.rows) else ()
        detail = " · ".join(filter(None, (self._document.detail, *notes)))
        middle = rect.center().y()
        wrap = int(Qt.AlignmentFlag.AlignHCenter) | int(Qt.TextFlag.TextWordWrap)
        painter.setFont(self._theme.text_font(TypeSize.BODY))
        painter.setPen(self._theme.colour("text"))
        height = QFontMetrics(painter.font()).height()
        painter.drawText(QRect(PAD, middle - height - 4, rect.width() - 2 * PAD, height), wrap, self._document.heading)
        painter.setFont(self._theme.text_font(TypeSize.SECONDARY))
        painter.setPen(self._theme.colour("muted"))
        painter.drawText(QRect(PAD, middle + 4, rect.width() - 2 * PAD, rect.height() // 2), wrap, detail)

    def _request_colours(self) -> None:
        """Ask for the colours of what is in view, and of nothing that has been scrolled by."""
        self._highlighter.forget_requests()
        rows = self._document.rows.between(*self._scroller.visible_rows())
        self._highlighter.request("old", [row.old for row in rows if row.old is not None])
        self._highlighter.request("new", [row.new for row in rows if row.new is not None])

    def _on_put_off(self) -> None:
        rows = sorted(self._painter.put_off)
        self._painter.put_off.clear()
        for row in rows:
            self._scroller.repaint(row)

    def _on_colours_found(self, coloured: Coloured) -> None:
        """Paint the lines that have colours now, as far as they are in view: on their side only."""
        side, lines = coloured
        count = len(self._document.rows.diff.old_lines if side == "old" else self._document.rows.diff.new_lines)
        if not count:
            return
        rows = [self._document.rows.find(side, min(line, count - 1)) for line in (lines.start, lines.stop - 1)]
        first, last = self._scroller.visible_rows()
        if rows[0] > last or rows[1] < first:
            return
        area = self._scroller.row_rect(max(first, rows[0])).united(self._scroller.row_rect(min(last, rows[1])))
        for pane in self._scroller.panes:
            if pane.side in (None, side):
                self._viewport.update(pane.left, area.top(), pane.right - pane.left, area.height())
