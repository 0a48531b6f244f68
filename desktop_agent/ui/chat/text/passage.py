"""A block's text laid out at a width, to be painted, hit and highlighted; and a widget for one such text.

Positions are UTF-16 offsets.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from typing import cast

from msgspec import Struct
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent, QTextCharFormat, QTextLayout, QTextLine, QTextOption
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.chat.markdown.inline import CODE, LINE_BREAK, InlineSpan, RichText, utf16_slice
from desktop_agent.ui.chat.text.styles import PILL_PADDING, TextStyles
from desktop_agent.ui.widgets.text_colours import format_ranges
from desktop_agent.ui.wording.visible_text import utf16_length

_ISOLATE, _END_OF_ISOLATE = "\u2066", "\u2069"
_IN_ISOLATE = re.compile(f"{_ISOLATE}[^{_END_OF_ISOLATE}]*{_END_OF_ISOLATE}")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")


def isolates_code(rich: RichText) -> bool:
    """Whether inline code must be kept apart from text that is written from right to left."""
    has_code = any(span.style & CODE for span in rich.spans)
    return has_code and _RIGHT_TO_LEFT.search(rich.text) is not None


def _isolated(rich: RichText) -> tuple[str, list[int]]:
    """Isolate inline code, whose brackets would move in text from right to left. Return also the added places."""
    if not isolates_code(rich):
        return rich.text, []
    code = [span for span in rich.spans if span.style & CODE]
    parts: list[str] = []
    at = 0
    for span in code:
        end = span.start + span.length
        inside = utf16_slice(rich.text, span.start, end)
        parts += (utf16_slice(rich.text, at, span.start), _ISOLATE, inside, _END_OF_ISOLATE)
        at = end
    parts.append(utf16_slice(rich.text, at, utf16_length(rich.text)))
    return "".join(parts), [place for span in code for place in (span.start, span.start + span.length)]


def is_right_to_left(rich: RichText) -> bool:
    """Whether the first letter outside inline code belongs to a script that is written from right to left."""
    if rich.text.isascii():
        return False
    prose = _IN_ISOLATE.sub("", _isolated(rich)[0])
    kinds = (unicodedata.bidirectional(letter) for letter in prose)
    return next((kind != "L" for kind in kinds if kind in ("L", "R", "AL")), False)


_ORIGIN = QPoint(0, 0)


class Highlight(Struct, frozen=True):
    start: int
    end: int
    format: QTextCharFormat


class TextPassage:
    """Prose or code in one font, with inline formats. `length` is the length of its text in UTF-16 units."""

    def __init__(
        self,
        rich: RichText,
        font: QFont,
        formats: Sequence[QTextLayout.FormatRange],
        *,
        width: float,
        line_height: int,
        wraps: bool = True,
        tab_width: float = 0,
        room_before: float = 0,
        alignment: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
        is_code: bool = False,
    ) -> None:
        """The background of code may extend `room_before` out of the passage. Code always runs from left to right."""
        self.text = rich.text
        self.length = utf16_length(rich.text)
        self._spans = rich.spans
        text, self._isolates = _isolated(rich)
        self._layout = QTextLayout(text, font)
        self._layout.setCacheEnabled(True)
        self.is_right_to_left = not is_code and is_right_to_left(rich)
        option = QTextOption(alignment)
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        if self.is_right_to_left:
            option.setTextDirection(Qt.LayoutDirection.RightToLeft)
            if alignment == Qt.AlignmentFlag.AlignLeft:  # in a layout, left is always left
                option.setAlignment(Qt.AlignmentFlag.AlignRight)
        wrapping = QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere if wraps else QTextOption.WrapMode.NoWrap
        option.setWrapMode(wrapping)
        if tab_width:
            option.setTabStopDistance(tab_width)
        self._layout.setTextOption(option)
        if formats:
            self._layout.setFormats([*map(self._placed, formats), *self._rooms_beside_code()])
        self._line_tops: list[int] = []
        self._line_height = line_height
        self._room = 0 if self.is_right_to_left else min(room_before, PILL_PADDING)
        begins_with_code = bool(rich.spans) and rich.spans[0].start == 0 and bool(rich.spans[0].style & CODE)
        self._indent = PILL_PADDING - self._room if begins_with_code and not self._isolates else 0
        self._stands_anywhere = not wraps and option.alignment() == Qt.AlignmentFlag.AlignLeft
        self.height = self._set_lines(width)
        self._pills = self._find_pills()

    def wrap(self, width: float) -> None:
        """Change the width. Cheaper than a new passage, and free for code."""
        if not self._stands_anywhere:
            self.height = self._set_lines(width)
            self._pills = self._find_pills()

    @property
    def line_count(self) -> int:
        return self._layout.lineCount()

    @property
    def natural_width(self) -> float:
        return self._layout.maximumWidth()

    def _set_lines(self, width: float) -> int:
        layout, line_height, indent = self._layout, self._line_height, self._indent
        self._line_tops = []
        layout.beginLayout()
        top = 0
        while (line := layout.createLine()).isValid():
            line.setLineWidth(width - indent)
            height = line.height()
            step = max(line_height, ceil(height))
            line.setPosition(QPointF(0 if self.is_right_to_left else indent, top + (step - height) // 2))
            self._line_tops.append(top)
            top += step
            indent = 0
        layout.endLayout()
        return top

    def _find_pills(self) -> list[QRectF]:
        """Return the backgrounds of inline code. The last letter already includes the space on its right."""
        if self._isolates:
            return [
                rect.adjusted(-PILL_PADDING, -0.5, PILL_PADDING, 0.5)
                for start, end in zip(self._isolates[::2], self._isolates[1::2], strict=True)
                for rect in self.rects(start, end)
            ]
        return [
            rect.adjusted(-min(PILL_PADDING, rect.x() or self._room), -0.5, 0, 0.5)
            for span in self._spans
            if span.style & CODE
            for rect in self.rects(span.start, span.start + span.length)
        ]

    def draw_grounds(self, painter: QPainter) -> None:
        for pill in self._pills:
            painter.drawRoundedRect(pill, 3, 3)

    def draw(self, painter: QPainter, highlights: Sequence[Highlight] = (), at: QPoint = _ORIGIN) -> None:
        """Paint the text in the colour of the painter's pen."""
        selections = format_ranges([(item.start, item.end - item.start, item.format) for item in highlights])
        self._layout.draw(painter, at, [self._placed(each) for each in selections])

    # The layout has a character more wherever code is isolated; nothing outside this class knows.

    def _rooms_beside_code(self) -> list[QTextLayout.FormatRange]:
        room = QTextCharFormat()
        room.setFontLetterSpacingType(QFont.SpacingType.AbsoluteSpacing)
        room.setFontLetterSpacing(PILL_PADDING)
        return format_ranges((offset + before, 1, room) for before, offset in enumerate(self._isolates))

    def _laid_out(self, offset: int) -> int:
        """Return where the character at an offset of the text is in the layout."""
        return offset + bisect_right(self._isolates, offset)

    def _shown(self, place: int) -> int:
        """Return the offset in the text of a place in the layout."""
        return place - bisect_left([offset + before for before, offset in enumerate(self._isolates)], place)

    def _placed(self, part: QTextLayout.FormatRange) -> QTextLayout.FormatRange:
        if not self._isolates:
            return part
        start = self._laid_out(part.start)
        return format_ranges([(start, self._laid_out(part.start + part.length - 1) + 1 - start, part.format)])[0]

    def _line_at(self, y: float) -> QTextLine:
        index = 0
        for top in self._line_tops[1:]:
            if y < top:
                break
            index += 1
        return self._layout.lineAt(index)

    def offset_at(self, x: float, y: float) -> int:
        if y < 0:
            return 0
        if y >= self.height:
            return self.length
        line = self._line_at(y)
        place = line.xToCursor(x)
        end = line.textStart() + line.textLength()
        # The end of a wrapped line is drawn at the start of the next one: stay on the line that was hit.
        if place == end and line.lineNumber() < self._layout.lineCount() - 1:
            place = self._layout.previousCursorPosition(place)
        return self._shown(place)

    def span_at(self, x: float, y: float) -> InlineSpan | None:
        if not self._spans or not 0 <= y < self.height:
            return None
        line = self._line_at(y)
        area = line.naturalTextRect()
        if not area.left() <= x <= area.right():
            return None
        offset = self._shown(line.xToCursor(x, QTextLine.CursorPosition.CursorOnCharacter))
        return next((span for span in self._spans if span.start <= offset < span.start + span.length), None)

    def links(self) -> list[InlineSpan]:
        return [span for span in self._spans if span.href]

    def rects(self, start: int, end: int) -> list[QRectF]:
        if start >= end:
            return []
        found: list[QRectF] = []
        start, end = self._laid_out(start), self._laid_out(end - 1) + 1
        for number in range(self._layout.lineCount()):
            line = self._layout.lineAt(number)
            first = max(start, line.textStart())
            last = min(end, line.textStart() + line.textLength())
            if first < last:
                left, right = x_in(line, first), x_in(line, last)
                found.append(QRectF(min(left, right), line.y(), abs(right - left), line.height()))
        return found

    def line_areas(self, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
        """Return top and height of the lines that begin from `start` up to `end`."""
        tops = [*self._line_tops, self.height]
        return [
            (top, below - top)
            for number, (top, below) in enumerate(pairwise(tops))
            if end is None or start <= self._layout.lineAt(number).textStart() <= end
        ]

    def overflowing_lines(self, width: float) -> list[tuple[int, int]]:
        """Return top and height of each line wider than `width`; empty for wrapped text."""
        if self.natural_width <= width:
            return []
        areas = self.line_areas()
        return [area for number, area in enumerate(areas) if self._layout.lineAt(number).naturalTextWidth() > width]


def x_in(line: QTextLine, offset: int) -> float:
    # PySide6 returns the actual position and the coordinate, and types both as an object.
    return cast("tuple[float, int]", line.cursorToX(offset))[0]


def count_lines(text: str, font: QFont, width: float, limit: int) -> int:
    """Return how many lines plain text takes at a width, at most `limit`. Further lines cost no time."""
    if text.count("\n") >= limit:
        return limit
    # No font is so narrow that this many letters fit into fewer lines.
    head = text[: limit * max(1, int(width))].replace("\n", LINE_BREAK)
    return min(limit, max(1, TextPassage(RichText(head), font, (), width=width, line_height=0).line_count))


class Paragraph(QWidget):
    """Shows `text`; parts between backticks use the code font."""

    def __init__(self, text: str, styles: TextStyles, parent: QWidget, *, role: str = "text", font: QFont) -> None:
        super().__init__(parent)
        self._rich = read_code_spans(text)
        self._styles = styles
        self._font = font
        self._role = role
        self._passage: TextPassage | None = None
        self.setAccessibleName(self._rich.text)

    def place(self, x: int, y: int, width: int) -> int:
        formats = [(span.start, span.length, self._styles.format(span.style)) for span in self._rich.spans]
        height = self._styles.text_line
        self._passage = TextPassage(self._rich, self._font, format_ranges(formats), width=width, line_height=height)
        self.setGeometry(x, y, width, self._passage.height)
        return self._passage.height

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._passage is not None:
            with QPainter(self) as painter:
                painter.setPen(self._styles.colour(self._role))
                self._passage.draw(painter)


def read_code_spans(text: str) -> RichText:
    parts = text.split("`")
    if len(parts) < 3 or len(parts) % 2 == 0:
        return RichText(text)
    spans: list[InlineSpan] = []
    at = 0
    for index, part in enumerate(parts):
        length = utf16_length(part)
        if index % 2 and length:
            spans.append(InlineSpan(at, length, CODE))
        at += length
    return RichText("".join(parts), tuple(spans))
