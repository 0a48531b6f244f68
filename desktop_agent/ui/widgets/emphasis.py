"""Draws one line of text in which parts stand out: what was found in it."""

from collections.abc import Iterator, Sequence

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

from desktop_agent.core.base.matching import Span
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.rows import draw_line


def draw_emphasised(
    painter: QPainter, theme: Theme, rect: QRectF, text: str, spans: Sequence[Span], colour: QColor, font: QFont
) -> float:
    """Draw `text` with `spans` emphasised, clipped to `rect`; return how wide it is."""
    strong = QFont(font)
    strong.setWeight(QFont.Weight.DemiBold)
    emphasis = theme.colour("accent_text")
    left = rect.left()
    for start, end, is_strong in _parts(len(text), spans):
        part_font, part_colour = (strong, emphasis) if is_strong else (font, colour)
        part = text[start:end]
        room = QRectF(left, rect.top(), rect.right() - left, rect.height())
        if room.width() <= 0:
            break
        draw_line(painter, room, part, part_font, part_colour)
        left += QFontMetricsF(part_font).horizontalAdvance(part)
    return min(left, rect.right()) - rect.left()


def _parts(length: int, spans: Sequence[Span]) -> Iterator[tuple[int, int, bool]]:
    """Cut `length` characters at the spans: `(start, end, is_inside)`."""
    at = 0
    for start, end in spans:
        if start > at:
            yield at, start, False
        yield start, end, True
        at = end
    if at < length:
        yield at, length, False
