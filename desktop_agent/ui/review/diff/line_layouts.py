"""Wraps and lays out the lines of a diff, and caches layouts and changed words when lines are first painted.

Wrapping is counted in columns, so that all heights are known before any layout. Only the columns around the visible
part of a long line are laid out, because shaping 5,000 letters takes a millisecond. The rest of the line is assumed to
have average letters. Changed words are searched within a time budget.
"""

import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple, cast

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QTextCharFormat, QTextLayout, QTextLine, QTextOption

from desktop_agent.core.diff.intraline import ChangedWords, Spans, changed_words
from desktop_agent.core.diff.rows import DiffRow, DiffRows, LineSide
from desktop_agent.core.diff.text import without_ending
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.diff.diff_document import line_of
from desktop_agent.ui.review.diff.highlighter import LineSpans
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.text_colours import foreground, format_ranges
from desktop_agent.ui.wording import MAX_DRAWN_CHARS, TAB_WIDTH, VisibleLine, utf16_length, visible_line

MAX_ROWS = 10_000
MAX_LINES = 50_000
MAX_BYTES = 12_000_000
MAX_COLUMNS = 1_000_000
"""The largest diff that is wrapped, and how much its long lines may take. Counting more takes longer than a frame."""
LEAST_COLUMNS = 16
_SHORT = 200
"""How many columns a long line counts for at least, because looking at it takes a while."""
_TAG_COLUMNS = 10
"""The room for the number of characters that are not drawn of a very long line."""
_MOST_LOOKED_AT = MAX_DRAWN_CHARS + _TAG_COLUMNS
_LONGEST_NAME = 60
"""The most columns that stand for an invisible character."""
_WIDTHS = bytes(1 if block < 0x05 or 0x20 <= block < 0x26 else 2 for block in range(256))
"""The columns of the characters in each block. Those that the code font may lack are at most two wide in another."""
_SECOND_HALVES = bytes(range(0xDC, 0xE0))
"""The high bytes of the second surrogate of a character in UTF-16."""
_PLAIN = bytes((*range(0x20, 0x7F), *b"\t\r\n"))


def wrap(line: VisibleLine, columns: int) -> tuple[int, ...]:
    """Return where the parts of a line start, as indices of its text: at 0 and then, if possible, after blanks."""
    text = line.text + " " * _TAG_COLUMNS if line.cut_chars else line.text
    ends = [] if text.isascii() else list(accumulate(_widths_of(text)))
    starts = [0]
    while True:
        at = starts[-1]
        end = bisect_right(ends, (ends[at - 1] if at else 0) + columns) if ends else at + columns
        if end >= len(text):
            return tuple(starts)
        starts.append(text.rfind(" ", at + (end - at) // 2, end) + 1 or end)


def _widths_of(text: str) -> bytes:
    """Return the columns of each character. `text` has no lone surrogates."""
    return text.encode("utf-16-le", "surrogatepass")[1::2].translate(_WIDTHS, _SECOND_HALVES)


class LineWrapping:
    """Counts the parts of the lines of a diff, each line once for a width."""

    def __init__(self) -> None:
        self._diff: FileDiff | None = None
        self._widths: dict[LineSide, Sequence[int]] = {}
        self._rows: DiffRows | None = None
        self._shown: Sequence[DiffRow] = ()
        self._columns = 0
        self._parts: dict[tuple[LineSide, int], int] = {}

    def extra_parts(self, rows: DiffRows, sides: Sequence[LineSide | None], columns: int) -> dict[int, int] | None:
        """Return how many extra parts wrapped rows have, in panes of these sides. `None` if the diff is too large."""
        diff = rows.diff
        is_large = len(diff.old_lines) + len(diff.new_lines) > MAX_LINES or diff.old_size + diff.new_size > MAX_BYTES
        if is_large or len(rows) > MAX_ROWS:
            return None
        if not len(rows):
            return {}
        if diff is not self._diff or columns != self._columns:
            self._columns, self._parts = columns, {}
        if diff is not self._diff:
            self._diff, self._widths = diff, {"old": _widths(diff.old_lines), "new": _widths(diff.new_lines)}
        if rows is not self._rows:
            self._rows, self._shown = rows, rows.between(0, len(rows) - 1)
        if not any(width > columns for widths in self._widths.values() for width in widths):
            return {}
        found = [
            (index, shown)
            for index, row in enumerate(self._shown)
            for side in sides
            if (shown := line_of(row, side)) and self._widths[shown[0]][shown[1]] > columns
        ]
        if sum(max(_SHORT, self._widths[side][line]) for _, (side, line) in found) > MAX_COLUMNS:
            return None
        extra: dict[int, int] = {}
        for index, (side, line) in found:
            extra[index] = max(self._extra(side, line), extra.get(index, 0))
        return {index: parts for index, parts in extra.items() if parts}

    def _extra(self, side: LineSide, line: int) -> int:
        if (side, line) not in self._parts:
            assert self._diff is not None
            text = (self._diff.old_lines if side == "old" else self._diff.new_lines)[line]
            visible = visible_line(without_ending(text), is_first=line == 0)
            self._parts[side, line] = len(wrap(visible, self._columns)) - 1
        return self._parts[side, line]


def _widths(lines: Sequence[str]) -> Sequence[int]:
    drawn = [line if len(line) <= _MOST_LOOKED_AT else line[:_MOST_LOOKED_AT] for line in lines]
    text = "".join(drawn)
    if _is_plain(text):
        return (
            [len(line) + (TAB_WIDTH - 1) * line.count("\t") for line in drawn]
            if "\t" in text
            else list(map(len, drawn))
        )
    return list(map(_most_columns, drawn))


def _most_columns(line: str) -> int:
    if _is_plain(line):
        return len(line) + (TAB_WIDTH - 1) * line.count("\t")
    if not without_ending(line).isprintable():
        return _LONGEST_NAME * len(line)
    return sum(_widths_of(line))


def _is_plain(text: str) -> bool:
    return text.isascii() and not text.encode("ascii").translate(None, _PLAIN)


WINDOW_CHARS = 128
"""Layout windows start and end at multiples of this, so that small scrolls need no new layout."""
MAX_WHOLE_CHARS = 512
_UNBOUNDED = 1e7


class Columns(NamedTuple):
    """The visible characters of a line: at most `shown`, beginning at `first`. All of them if the line is wrapped."""

    first: int
    shown: int
    wrapped_at: int = 0
    """How many columns a part of a wrapped line has at most; 0 if lines are not wrapped."""

    def window(self, length: int) -> tuple[int, int]:
        if self.wrapped_at or length <= MAX_WHOLE_CHARS:
            return 0, length
        start = min(self.first, length) // WINDOW_CHARS * WINDOW_CHARS
        end = (self.first + self.shown) // WINDOW_CHARS * WINDOW_CHARS + WINDOW_CHARS
        return start, min(end, length)


class _Part:
    """A laid-out stretch of a line, with `left` pixels before its text."""

    def __init__(self, text: str, first: int, left: float, style: "LineStyle") -> None:
        self.first = first
        """The position of its text in the line."""
        self.left = left
        self.length = utf16_length(text)
        self.layout = QTextLayout(text, style.font)
        self.layout.setCacheEnabled(True)
        self.layout.setTextOption(style.option)
        self._char_width = style.char_width

    def lay_out(self, formats: list[QTextLayout.FormatRange]) -> "_Part":
        self.layout.setFormats(formats)
        self.layout.beginLayout()
        self.line: QTextLine = self.layout.createLine()
        self.line.setLineWidth(_UNBOUNDED)
        self.line.setPosition(QPointF(0, 0))
        self.layout.endLayout()
        return self

    def x(self, position: int) -> float:
        inside = max(0, min(position - self.first, self.length))
        x, _ = cast("tuple[float, int]", self.line.cursorToX(inside))
        return self.left + x + (position - self.first - inside) * self._char_width


class LaidLine:
    """One laid-out line that can be painted anywhere. Offsets are character offsets in the line of the file.

    A wrapped line has several parts, one below the other. Each is laid out when it is first needed.
    """

    def __init__(self, visible: VisibleLine, columns: Columns, spans: LineSpans, style: "LineStyle") -> None:
        self.visible = visible
        self.columns = columns
        self.window = columns.window(len(visible.text))
        self.spans = spans
        self._style = style
        self._starts = wrap(visible, columns.wrapped_at) if columns.wrapped_at else self.window[:1]
        ends = *self._starts[1:], self.window[1]
        self._texts = [visible.text[start:end] for start, end in zip(self._starts, ends, strict=True)]
        before = utf16_length(visible.text[: self._starts[0]])
        self._firsts = list(accumulate(map(utf16_length, self._texts[:-1]), initial=before))
        self._parts: dict[int, _Part] = {}

    @property
    def part_count(self) -> int:
        return len(self._texts)

    @property
    def width(self) -> float:
        """The width of the last part."""
        rest = len(self.visible.text) - self.window[1]
        return self.part_width(self.part_count - 1) + rest * self._style.char_width

    def part_of(self, offset: int) -> int:
        return max(0, bisect_right(self._firsts, self.visible.position(offset)) - 1)

    def x(self, offset: int) -> float:
        return self._part(self.part_of(offset)).x(self.visible.position(offset))

    def stretches(self, start: int, end: int, parts: range) -> Iterator[tuple[int, float, float]]:
        """Yield where the text from `start` to `end` is in these parts: the part, and the left and right edge."""
        first, last = self.part_of(start), self.part_of(end)
        for number in range(max(first, parts.start), min(last + 1, parts.stop)):
            left = self.x(start) if number == first else 0.0
            right = self.x(end) if number == last else self.part_width(number)
            right = min(right, self.width) if number == self.part_count - 1 else right
            if left < right:
                yield number, left, right

    def offset(self, x: float, part: int = 0) -> int:
        at = self._part(min(part, self.part_count - 1))
        return self.visible.offset(at.first + at.line.xToCursor(x - at.left))

    def is_coloured(self, start: int, end: int) -> bool:
        return any(first < end and start < last for first, last, _ in self.spans)

    def draw(
        self, painter: QPainter, x: float, top: float, height: float, over: LineSpans = (), parts: range | None = None
    ) -> None:
        """Paint the text, each part vertically centred in a row of this height. Colours in `over` replace syntax
        colours. Only `parts` are painted, if given.
        """
        for number in range(self.part_count) if parts is None else parts:
            part = self._part(number)
            place = QPointF(x + part.left, top + number * height + (height - part.line.height()) / 2)
            part.layout.draw(painter, place, self._ranges(part, over))

    def part_width(self, number: int) -> float:
        part = self._part(number)
        return part.left + part.line.naturalTextWidth()

    def _part(self, number: int) -> _Part:
        if number not in self._parts:
            left = 0.0 if self.columns.wrapped_at else self.window[0] * self._style.char_width
            part = _Part(self._texts[number], self._firsts[number], left, self._style)
            self._parts[number] = part.lay_out(self._ranges(part, self.spans))
        return self._parts[number]

    def _ranges(self, part: _Part, spans: LineSpans) -> list[QTextLayout.FormatRange]:
        ranges: list[tuple[int, int, QTextCharFormat]] = []
        for first, last, role in spans:
            start = max(0, self.visible.position(first) - part.first)
            end = min(part.length, self.visible.position(last) - part.first)
            if start < end:
                ranges.append((start, end - start, self._style.format(role)))
        return format_ranges(ranges)


class LineStyle:
    def __init__(self, theme: Theme, font: QFont) -> None:
        self.font = font
        self.char_width = QFontMetricsF(font).horizontalAdvance("0")
        self.option = QTextOption()
        # Code runs from left to right even if its strings do not. Where it is wrapped, each part has its own layout.
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
        wanted = columns.window(len(visible.text)), columns.wrapped_at
        if laid is None or (laid.window, laid.columns.wrapped_at) != wanted or laid.spans != spans:
            laid = LaidLine(visible, columns, spans, self._style)
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
