"""Laid-out lines of a diff, made when they are first painted and kept while they may be painted again."""

from collections.abc import Sequence
from typing import cast

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFont, QPainter, QTextCharFormat, QTextLayout, QTextLine, QTextOption

from desktop_agent.core.changes.text import without_ending
from desktop_agent.ui.review.syntax import LineSpans
from desktop_agent.ui.review.visible_text import VisibleLine, visible_line
from desktop_agent.ui.theme import Theme

_UNBOUNDED = 1e7


class LaidLine:
    """One line, ready to be painted at any place. Offsets are characters of the line in the file."""

    def __init__(self, visible: VisibleLine, formats: Sequence[QTextLayout.FormatRange], font: QFont) -> None:
        self.visible = visible
        self._layout = QTextLayout(visible.text, font)
        self._layout.setCacheEnabled(True)
        self._layout.setTextOption(_left_to_right())
        self._layout.setFormats(formats)
        self._layout.beginLayout()
        self._line: QTextLine = self._layout.createLine()
        self._line.setLineWidth(_UNBOUNDED)
        self._line.setPosition(QPointF(0, 0))
        self._layout.endLayout()

    @property
    def width(self) -> float:
        """How wide the text is."""
        return self._line.naturalTextWidth()

    @property
    def height(self) -> float:
        """How high the text is; more than usual with letters of another font."""
        return self._line.height()

    def x(self, offset: int) -> float:
        """Return where the character at `offset` starts."""
        x, _ = cast("tuple[float, int]", self._line.cursorToX(self.visible.position(offset)))
        return x

    def offset(self, x: float) -> int:
        """Return the place between two characters that is nearest to `x`."""
        return self.visible.offset(self._line.xToCursor(x))

    def draw(self, painter: QPainter, x: float, top: float, height: float) -> None:
        """Paint the text in the middle of a row of this height."""
        self._layout.draw(painter, QPointF(x, top + (height - self._line.height()) / 2))


class LineLayouts:
    """Makes and keeps the laid-out lines. Forgets all of them when there are too many: a screen holds few."""

    MAX_KEPT = 1_000

    def __init__(self, theme: Theme, font: QFont) -> None:
        self._font = font
        self._theme = theme
        self._formats: dict[str, QTextCharFormat] = {}
        self._kept: dict[tuple[str, int], LaidLine] = {}

    def clear(self) -> None:
        """Forget the laid-out lines: there are other ones, or they have colours now."""
        self._kept.clear()

    def line(self, side: str, number: int, text: str, spans: LineSpans) -> LaidLine:
        """Return line `number` of a side, with its colours."""
        key = (side, number)
        laid = self._kept.get(key)
        if laid is None:
            if len(self._kept) >= self.MAX_KEPT:
                self._kept.clear()
            visible = visible_line(without_ending(text), is_first=number == 0)
            laid = self._kept[key] = LaidLine(visible, self._ranges(visible, spans), self._font)
        return laid

    def _ranges(self, visible: VisibleLine, spans: LineSpans) -> list[QTextLayout.FormatRange]:
        ranges: list[QTextLayout.FormatRange] = []
        for span in spans:
            found = QTextLayout.FormatRange()
            found.start = visible.position(span.start)
            found.length = visible.position(span.end) - visible.position(span.start)
            found.format = self._format(span.role)
            ranges.append(found)
        return ranges

    def _format(self, role: str) -> QTextCharFormat:
        if role not in self._formats:
            found = QTextCharFormat()
            found.setForeground(self._theme.colour(role))
            self._formats[role] = found
        return self._formats[role]


def _left_to_right() -> QTextOption:
    # Code runs from left to right whatever is in its strings, and a wrapped line would be two rows.
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.NoWrap)
    option.setTextDirection(Qt.LayoutDirection.LeftToRight)
    return option
