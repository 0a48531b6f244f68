"""Paints the rows of a diff. Knows how they look, and nothing of scrolling, focus or the mouse."""

import time
from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QFontMetricsF, QPainter, QPixmap, QPolygonF

from desktop_agent.core.changes.intraline import NOTHING, ChangedWords, Spans, changed_words
from desktop_agent.core.changes.rows import LineSide, Row, Rows
from desktop_agent.core.changes.text import without_ending
from desktop_agent.ui.review.diff_geometry import Geometry, Pane
from desktop_agent.ui.review.diff_selection import Selection, line_of
from desktop_agent.ui.review.diff_words import ending_label, gap_label, hunk_label, notes_label, show_label
from desktop_agent.ui.review.highlighter import Highlighter
from desktop_agent.ui.review.line_layouts import Columns, LaidLine, LineLayouts
from desktop_agent.ui.review.syntax import Span
from desktop_agent.ui.theme import Theme, TypeSize
from desktop_agent.ui.visible_text import MAX_DRAWN_CHARS

PAD = 12
_STRIPE = 8
_NUMBER_SIZE = 10.5 / TypeSize.DIFF
"""Of line numbers, as a share of the text's size."""
_TAG_GAP = 10
_MARKER_WIDTH = 2
_MAX_WORDS_KEPT = 5_000
_WORDS_BUDGET_S = 0.004
"""How long one painting may look for changed words. Long lines take longer: theirs come with the next painting."""
_TONES: dict[str, tuple[str, str, str]] = {
    "removed": ("removed_line", "removed_word", "removed_text"),
    "added": ("added_line", "added_word", "added_text"),
}
_SIGNS = {"removed": "−", "added": "+"}


class Scene(NamedTuple):
    """What to paint: the rows, where they are, and what the person did with them."""

    rows: Rows
    geometry: Geometry
    panes: tuple[Pane, ...]
    width: int
    scroll: QPoint
    selection: Selection | None
    current_row: int | None
    """Marked as where the keyboard is; `None` without focus."""
    hovered_row: int | None


class _Line(NamedTuple):
    """A line on screen."""

    number: int
    row: Row
    top: int
    height: int


class DiffPainter:
    """Paints rows with the theme's colours and fonts; made anew when those change."""

    def __init__(self, theme: Theme, highlighter: Highlighter) -> None:
        self._theme = theme
        self._highlighter = highlighter
        code_font = theme.code_font(theme.sizes.diff)
        metrics = QFontMetricsF(code_font)
        self.char_width = metrics.horizontalAdvance("0")
        self.line_height = metrics.height()
        self._number_font = theme.code_font(theme.sizes.diff * _NUMBER_SIZE)
        self.digit_width = QFontMetricsF(self._number_font).horizontalAdvance("0")
        self._sign_font = code_font
        self._bar_font = theme.text_font(TypeSize.HEAD)
        self._layouts = LineLayouts(theme, code_font)
        self._words: dict[tuple[int, int], ChangedWords] = {}
        self._stripes = _stripes(theme.colour("surface"), theme.colour("border"))
        self.is_complete = True
        """Whether nothing was put off to the next painting."""
        self._words_until = 0.0
        self.widest = 0.0
        """The widest text painted so far: tabs and foreign letters make lines wider than their number of characters."""

    def clear_lines(self) -> None:
        """Forget the laid-out lines: they have other colours now."""
        self._layouts.clear()

    def clear(self) -> None:
        """Forget everything about the file: there is another one."""
        self._layouts.clear()
        self._words.clear()
        self.widest = 0.0

    def laid_line(self, scene: Scene, pane: Pane, side: LineSide, number: int) -> LaidLine:
        """Return a line as it is painted."""
        diff = scene.rows.diff
        text = diff.old_lines[number] if side == "old" else diff.new_lines[number]
        columns = Columns(int(scene.scroll.x() / self.char_width), int(pane.text_width / self.char_width) + 1)
        return self._layouts.line(side, number, text, self._highlighter.spans(side, number), columns)

    def paint(self, painter: QPainter, scene: Scene, clip: QRect) -> None:
        """Paint everything inside `clip`, in the viewport's coordinates."""
        painter.fillRect(clip, self._theme.colour("surface"))
        self.is_complete = True
        self._words_until = time.monotonic() + _WORDS_BUDGET_S
        scroll_y = scene.scroll.y()
        if not len(scene.rows):
            return
        first = scene.geometry.row_at(clip.top() + scroll_y)
        last = scene.geometry.row_at(clip.bottom() + scroll_y)
        lines: list[_Line] = []
        for index in range(first, last + 1):
            top = scene.geometry.top(index) - scroll_y
            height = scene.geometry.row_height_at(index)
            row = scene.rows[index]
            if row.kind in ("hunk", "gap"):
                self._paint_bar(painter, scene, index, QRect(0, top, scene.width, height))
            else:
                lines.append(_Line(index, row, top, height))
        for pane in scene.panes:
            self._paint_pane(painter, scene, pane, lines)
        if len(scene.panes) > 1:
            middle = scene.panes[0].right
            for line in lines:
                painter.fillRect(middle, line.top, 1, line.height, self._theme.colour("border"))
        self._paint_notes(painter, scene)
        self._paint_marker(painter, scene)

    # -- bars --

    def _paint_notes(self, painter: QPainter, scene: Scene) -> None:
        """What the lines do not show stands above them."""
        rect = QRect(0, -scene.scroll.y(), scene.width, scene.geometry.notes_height)
        if rect.bottom() < 0:
            return
        painter.fillRect(rect, self._theme.colour("bg"))
        painter.fillRect(rect.left(), rect.bottom(), rect.width(), 1, self._theme.colour("border"))
        painter.setFont(self._bar_font)
        painter.setPen(self._theme.colour("text"))
        inner = rect.adjusted(PAD, 0, -PAD, 0)
        text = notes_label(scene.rows.diff.notes)
        text = QFontMetrics(self._bar_font).elidedText(text, Qt.TextElideMode.ElideRight, inner.width())
        painter.drawText(inner, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)

    def _paint_bar(self, painter: QPainter, scene: Scene, index: int, rect: QRect) -> None:
        border = self._theme.colour("border")
        painter.fillRect(rect, self._theme.colour("sunken"))
        painter.fillRect(rect.left(), rect.bottom(), rect.width(), 1, border)
        if index and scene.rows[index - 1].kind not in ("hunk", "gap"):
            painter.fillRect(rect.left(), rect.top(), rect.width(), 1, border)
        painter.setFont(self._bar_font)
        painter.setPen(self._theme.colour("muted"))
        inner = rect.adjusted(PAD, 0, -PAD, 0)
        if hunk := scene.rows.hunk(index):
            painter.drawText(inner, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, hunk_label(hunk))
        elif gap := scene.rows.gap(index):
            if scene.hovered_row == index:
                painter.setPen(self._theme.colour("accent_text"))
            painter.drawText(inner, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, show_label())
            label = f"⋯ {gap_label(gap)}"
            painter.drawText(inner, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, label)

    def _paint_marker(self, painter: QPainter, scene: Scene) -> None:
        """Show where the keyboard is: a bar at the row's edge."""
        if scene.current_row is None:
            return
        top = scene.geometry.top(scene.current_row) - scene.scroll.y()
        height = scene.geometry.row_height_at(scene.current_row)
        painter.fillRect(0, top, _MARKER_WIDTH, height, self._theme.colour("accent"))

    # -- lines --

    def _paint_pane(self, painter: QPainter, scene: Scene, pane: Pane, lines: Sequence[_Line]) -> None:
        """Grounds and gutters first, then all texts with one clip: they scroll sideways under the gutter."""
        shown: list[tuple[_Line, LineSide, int, str]] = []
        painter.setFont(self._number_font)
        for line in lines:
            found = line_of(line.row, pane.side)
            if found is None:
                rect = QRect(pane.left, line.top, pane.right - pane.left, line.height)
                painter.drawTiledPixmap(rect, self._stripes, QPoint(0, (line.top + scene.scroll.y()) % _STRIPE))
                continue
            side, number = found
            tone = "" if line.row.kind == "context" else "removed" if side == "old" else "added"
            self._paint_gutter(painter, pane, line, tone)
            shown.append((line, side, number, tone))
        painter.setFont(self._sign_font)
        for line, _, _, tone in shown:
            if tone:
                rect = QRectF(pane.sign_left, line.top, self.char_width, line.height)
                painter.setPen(self._theme.colour(_TONES[tone][2]))
                painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, _SIGNS[tone])
        painter.save()
        painter.setClipRect(QRect(pane.text_left, 0, pane.text_width, 1 << 20), Qt.ClipOperation.IntersectClip)
        for line, side, number, tone in shown:
            self._paint_text(painter, scene, pane, line, (side, number), tone)
        painter.restore()

    def _paint_gutter(self, painter: QPainter, pane: Pane, line: _Line, tone: str) -> None:
        ground = _TONES[tone][0] if tone else "surface"
        painter.fillRect(pane.left, line.top, pane.right - pane.left, line.height, self._theme.colour(ground))
        painter.setPen(self._theme.colour("faint"))
        for side, right in pane.numbers:
            number = line.row.old if side == "old" else line.row.new
            if number is not None:
                rect = QRectF(pane.left, line.top, right - pane.left, line.height)
                painter.drawText(rect, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, str(number + 1))

    def _paint_text(
        self, painter: QPainter, scene: Scene, pane: Pane, line: _Line, place: tuple[LineSide, int], tone: str
    ) -> None:
        side, number = place
        laid = self.laid_line(scene, pane, side, number)
        left = pane.text_left - scene.scroll.x()
        changed = self._changed_words(scene.rows, line.row, side) if tone else ()
        for start, end in changed:
            x, right = left + laid.x(start), left + laid.x(end)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.colour(_TONES[tone][1]))
            painter.drawRoundedRect(QRectF(x, line.top + 1.5, right - x, line.height - 3), 2, 2)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        self._paint_selection(painter, scene, pane, line, laid, left)
        painter.setPen(self._theme.colour("text"))
        # The colours of the syntax are too faint on the ground of a changed word.
        laid.draw(painter, left, line.top, line.height, tuple(Span(start, end, "text") for start, end in changed))
        tag = self._tag(scene.rows, line.row, side, laid)
        if tag:
            painter.setFont(self._bar_font)
            painter.setPen(self._theme.colour("muted"))
            rect = QRectF(left + laid.width + _TAG_GAP, line.top, 1_000, line.height)
            painter.drawText(rect, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, tag)
        tag_width = QFontMetricsF(self._bar_font).horizontalAdvance(tag) + _TAG_GAP if tag else 0
        self.widest = max(self.widest, laid.width + tag_width)

    def _paint_selection(
        self, painter: QPainter, scene: Scene, pane: Pane, line: _Line, laid: LaidLine, left: float
    ) -> None:
        selection = scene.selection
        if selection is None or selection.side != pane.side:
            return
        span = selection.span(line.number, MAX_DRAWN_CHARS)
        if span is None:
            return
        x, right = left + laid.x(span[0]), left + laid.x(span[1])
        if line.number < selection.end.row:
            right = left + laid.width + self.char_width / 2  # the line's end is selected, too
        colour = QColor(self._theme.colour("accent"))
        colour.setAlphaF(0.3)
        painter.fillRect(QRectF(x, line.top, right - x, line.height), colour)

    def _tag(self, rows: Rows, row: Row, side: LineSide, laid: LaidLine) -> str:
        """What stands behind the text of a line: that it goes on, or how it ends."""
        if laid.visible.cut_chars:
            return f"… +{laid.visible.cut_chars:,}"
        return ending_label(rows.diff, row, side)

    def _changed_words(self, rows: Rows, row: Row, side: LineSide) -> Spans:
        old = row.old if row.old is not None else row.peer
        new = row.new if row.new is not None else row.peer
        if old is None or new is None:
            return ()
        if (old, new) not in self._words:
            if time.monotonic() > self._words_until:
                self.is_complete = False
                return ()
            if len(self._words) > _MAX_WORDS_KEPT:
                self._words.clear()
            texts = without_ending(rows.diff.old_lines[old]), without_ending(rows.diff.new_lines[new])
            self._words[old, new] = changed_words(texts[0][:MAX_DRAWN_CHARS], texts[1][:MAX_DRAWN_CHARS])
        words = self._words.get((old, new), NOTHING)
        return words.old if side == "old" else words.new


def _stripes(ground: QColor, stripe: QColor) -> QPixmap:
    """Return a tile of diagonal stripes, for where a side has no line."""
    scale = 4
    tile = QPixmap(_STRIPE * scale, _STRIPE * scale)
    tile.setDevicePixelRatio(scale)
    tile.fill(ground)
    painter = QPainter(tile)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(stripe)
    half = _STRIPE / 2
    for x in (-_STRIPE, 0.0, float(_STRIPE)):
        corners = (
            QPointF(x + _STRIPE, 0),
            QPointF(x + _STRIPE + half, 0),
            QPointF(x + half, _STRIPE),
            QPointF(x, _STRIPE),
        )
        painter.drawPolygon(QPolygonF(corners))
    painter.end()
    return tile
