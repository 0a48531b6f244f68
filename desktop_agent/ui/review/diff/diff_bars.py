"""Paints what stands between the lines of a diff: notes, the bars of hunks and of folded lines."""

from typing import NamedTuple

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPen, QPixmap

from desktop_agent.core.diff.rows import DiffRows
from desktop_agent.ui.review.diff.diff_words import bar_label, gap_label, notes_label, show_label, undone_label
from desktop_agent.ui.review.diff.hunk_states import HunkDecisions, HunkState
from desktop_agent.ui.theme import Theme, TypeSize

PAD = 12
_MARK_RADIUS = 3.5
_MARK_ROOM = 16
_LABEL_GAP = 8


class Bars(NamedTuple):
    """What to know of the bars besides the rows: the state of their hunks, and pictures of their buttons by state."""

    decisions: HunkDecisions
    buttons: dict[HunkState, QPixmap]
    live: frozenset[int] = frozenset()
    """The bars that have real buttons now."""


class BarPainter:
    """Paints bars with the theme's colours and fonts; made anew when those change."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self.font = theme.text_font(TypeSize.HEAD)
        self._metrics = QFontMetrics(self.font)
        self._struck = QFont(self.font)
        self._struck.setStrikeOut(True)

    def paint_notes(self, painter: QPainter, rows: DiffRows, rect: QRect) -> None:
        """Paint what the lines do not show, above them."""
        painter.fillRect(rect, self._theme.colour("bg"))
        painter.fillRect(rect.left(), rect.bottom(), rect.width(), 1, self._theme.colour("border"))
        inner = rect.adjusted(PAD, 0, -PAD, 0)
        self._paint_label(painter, inner, notes_label(rows.notes), "text")

    def paint(
        self, painter: QPainter, rows: DiffRows, index: int, rect: QRect, bars: Bars | None, *, is_hovered: bool
    ) -> None:
        """Paint the bar of a hunk or of folded lines."""
        border = self._theme.colour("border")
        painter.fillRect(rect, self._theme.colour("sunken"))
        painter.fillRect(rect.left(), rect.bottom(), rect.width(), 1, border)
        if index and rows[index - 1].kind not in ("hunk", "gap"):
            painter.fillRect(rect.left(), rect.top(), rect.width(), 1, border)
        inner = rect.adjusted(PAD, 0, -PAD, 0)
        gap, key = rows.gap(index), rows.key(index)
        if gap:
            painter.setFont(self.font)
            painter.setPen(self._theme.colour("accent_text" if is_hovered else "muted"))
            painter.drawText(inner, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, show_label())
            self._paint_label(painter, inner, f"⋯ {gap_label(gap)}", "accent_text" if is_hovered else "muted")
        elif key is not None and bars is not None:
            self._paint_decided(painter, rows, index, inner, bars)
        else:
            self._paint_label(painter, inner, bar_label(rows, index), "muted")

    def _paint_decided(self, painter: QPainter, rows: DiffRows, index: int, inner: QRect, bars: Bars) -> None:
        state = bars.decisions.state(rows.key(index) or "")
        buttons = bars.buttons[state]
        size = buttons.deviceIndependentSize().toSize()
        if index not in bars.live:
            painter.drawPixmap(button_rect(inner, size.width(), size.height()).topLeft(), buttons)
        self._paint_mark(painter, QPointF(inner.left() + _MARK_RADIUS + 0.5, inner.center().y() + 0.5), state)
        label = inner.adjusted(_MARK_ROOM, 0, -size.width() - _LABEL_GAP, 0)
        text = bar_label(rows, index)
        if state != "undone":
            self._paint_label(painter, label, text, "muted")
            return
        self._paint_label(painter, label, text, "muted", is_struck=True)
        behind = label.adjusted(self._metrics.horizontalAdvance(text) + _LABEL_GAP, 0, 0, 0)
        if behind.width() > 0:
            self._paint_label(painter, behind, undone_label(), "text")

    def _paint_label(self, painter: QPainter, rect: QRect, text: str, role: str, *, is_struck: bool = False) -> None:
        painter.setFont(self._struck if is_struck else self.font)
        painter.setPen(self._theme.colour(role))
        shown = self._metrics.elidedText(text, Qt.TextElideMode.ElideRight, rect.width())
        painter.drawText(rect, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)

    def _paint_mark(self, painter: QPainter, centre: QPointF, state: HunkState) -> None:
        """A ring for what is undecided, a disc for what is kept, a struck ring for what is undone."""
        ring = QRectF(centre.x() - _MARK_RADIUS, centre.y() - _MARK_RADIUS, 2 * _MARK_RADIUS, 2 * _MARK_RADIUS)
        colour = self._theme.colour("accent" if state == "kept" else "faint")
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colour, 1.2))
        painter.setBrush(colour if state == "kept" else Qt.BrushStyle.NoBrush)
        painter.drawEllipse(ring)
        if state == "undone":
            painter.drawLine(ring.bottomLeft(), ring.topRight())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)


def button_rect(inner: QRect, width: int, height: int) -> QRect:
    """Return where buttons of this size stand in a bar: at its right, in the middle of what is above the hairline."""
    return QRect(inner.right() + 1 - width, inner.top() + (inner.height() - 1 - height) // 2 + 1, width, height)
