"""Caches of a diff's laid-out lines and their changed words, filled when lines are first painted.

Only the columns around the visible part of a long line are laid out, because shaping 5,000 letters takes a millisecond.
The rest of the line is assumed to have average letters. Changed words are searched within a time budget.
"""

import time
from typing import Final, NamedTuple, cast

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QTextCharFormat, QTextLayout, QTextLine, QTextOption

from desktop_agent.core.diff.intraline import ChangedWords, Spans, changed_words
from desktop_agent.core.diff.rows import DiffRow, LineSide
from desktop_agent.core.diff.text import without_ending
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.diff.highlighter import LineSpans
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.text_colours import foreground, format_ranges
from desktop_agent.ui.wording.visible_text import MAX_DRAWN_CHARS, VisibleLine, utf16_length, visible_line

WINDOW_CHARS = 128
"""Layout windows start and end at multiples of this, so that small scrolls need no new layout."""
MAX_WHOLE_CHARS = 512
_UNBOUNDED = 1e7


class Columns(NamedTuple):
    """The visible characters of a line: at most `shown`, beginning at `first`."""

    first: int
    shown: int

    def window(self, length: int) -> tuple[int, int]:
        start = min(self.first, length) // WINDOW_CHARS * WINDOW_CHARS
        end = (self.first + self.shown) // WINDOW_CHARS * WINDOW_CHARS + WINDOW_CHARS
        return (0, length) if length <= MAX_WHOLE_CHARS else (start, min(end, length))


class LaidLine:
    """One laid-out line that can be painted anywhere. Offsets are character offsets in the line of the file."""

    def __init__(self, visible: VisibleLine, window: tuple[int, int], spans: LineSpans, style: "LineStyle") -> None:
        self.visible = visible
        self.window = window
        self.spans = spans
        start, end = window
        text = visible.text[start:end]
        self._style = style
        self._first = utf16_length(visible.text[:start])
        self._left = start * style.char_width
        self._rest = (len(visible.text) - end) * style.char_width
        self._length = utf16_length(text)
        self._layout = QTextLayout(text, style.font)
        self._layout.setCacheEnabled(True)
        self._layout.setTextOption(style.option)
        self._layout.setFormats(self._ranges(spans))
        self._layout.beginLayout()
        self._line: QTextLine = self._layout.createLine()
        self._line.setLineWidth(_UNBOUNDED)
        self._line.setPosition(QPointF(0, 0))
        self._layout.endLayout()

    @property
    def width(self) -> float:
        return self._left + self._line.naturalTextWidth() + self._rest

    def x(self, offset: int) -> float:
        position = self.visible.position(offset) - self._first
        inside = max(0, min(position, self._length))
        x, _ = cast("tuple[float, int]", self._line.cursorToX(inside))
        return self._left + x + (position - inside) * self._style.char_width

    def offset(self, x: float) -> int:
        return self.visible.offset(self._first + self._line.xToCursor(x - self._left))

    def is_coloured(self, start: int, end: int) -> bool:
        return any(first < end and start < last for first, last, _ in self.spans)

    def draw(self, painter: QPainter, x: float, top: float, height: float, over: LineSpans = ()) -> None:
        """Paint the text vertically centred in a row of this height. Colours in `over` replace syntax colours."""
        place = QPointF(x + self._left, top + (height - self._line.height()) / 2)
        self._layout.draw(painter, place, self._ranges(over))

    def _ranges(self, spans: LineSpans) -> list[QTextLayout.FormatRange]:
        ranges: list[tuple[int, int, QTextCharFormat]] = []
        for first, last, role in spans:
            start = max(0, self.visible.position(first) - self._first)
            end = min(self._length, self.visible.position(last) - self._first)
            if start < end:
                ranges.append((start, end - start, self._style.format(role)))
        return format_ranges(ranges)


class LineStyle:
    def __init__(self, theme: Theme, font: QFont) -> None:
        self.font = font
        self.char_width = QFontMetricsF(font).horizontalAdvance("0")
        self.option = QTextOption()
        # Code runs from left to right even if its strings do not, and a wrapped line would be two rows.
        self.option.setWrapMode(QTextOption.WrapMode.NoWrap)
        self.option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        self._theme = theme
        self._formats: dict[str, QTextCharFormat] = {}

    def format(self, role: str) -> QTextCharFormat:
        if role not in self._formats:
            self._formats[role] = foreground(self._theme.colour(role))
        return self._formats[role]


class LineLayouts:
    MAX_KEPT = 500

    def __init__(self, theme: Theme, font: QFont) -> None:
        self._style = LineStyle(theme, font)  # not this object: a cycle would keep the layouts alive
        self._kept: dict[tuple[str, int], LaidLine] = {}

    def clear(self) -> None:
        self._kept.clear()

    def line(self, side: str, number: int, text: str, spans: LineSpans, columns: Columns) -> LaidLine:
        key = (side, number)
        laid = self._kept.pop(key, None)
        visible = laid.visible if laid else visible_line(without_ending(text), is_first=number == 0)
        window = columns.window(len(visible.text))
        if laid is None or laid.window != window or laid.spans != spans:
            laid = LaidLine(visible, window, spans, self._style)
        while len(self._kept) >= self.MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = laid
        return laid


_MAX_KEPT: Final = 5_000
BUDGET_S: Final = 0.004
"""How many seconds one paint may search for changed words. Those of long lines may have to wait for the next paint."""


class LineWords:
    def __init__(self, budget_s: float = BUDGET_S) -> None:
        self._budget_s = budget_s
        self._known: dict[tuple[int, int], ChangedWords] = {}
        self._left_s = budget_s

    def clear(self) -> None:
        self._known.clear()

    def begin(self) -> None:
        """Start the time budget of one paint. Only the word search uses the budget."""
        self._left_s = self._budget_s

    def of(self, diff: FileDiff, row: DiffRow, side: LineSide) -> Spans | None:
        """Return the changed words in a row's line on a side; `None` once the time budget is used up."""
        old = row.old if row.old is not None else row.peer
        new = row.new if row.new is not None else row.peer
        if old is None or new is None:
            return ()
        words = self._known.get((old, new))
        if words is None:
            if self._left_s <= 0:
                return None
            start = time.monotonic()
            texts = (diff.old_lines[old], diff.new_lines[new])
            words = changed_words(*(without_ending(text)[:MAX_DRAWN_CHARS] for text in texts))
            if len(self._known) >= _MAX_KEPT:
                del self._known[next(iter(self._known))]
            self._known[old, new] = words
            self._left_s -= time.monotonic() - start
        return words.old if side == "old" else words.new
