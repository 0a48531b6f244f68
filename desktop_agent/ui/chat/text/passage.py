"""Blocks of text laid out at a width, to be painted, hit and highlighted: passages, tables, and the boxes around them.

Positions are UTF-16 offsets.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from typing import cast

from msgspec import Struct
from PySide6.QtCore import QCoreApplication, QLineF, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPixmap,
    QRegion,
    QTextCharFormat,
    QTextLayout,
    QTextLine,
    QTextOption,
)
from PySide6.QtWidgets import QWidget

from desktop_agent.core.base.plain_text import with_directions_named
from desktop_agent.ui.chat.markdown.blocks import Alignment, Block
from desktop_agent.ui.chat.markdown.parser import (
    CODE,
    InlineSpan,
    References,
    RichText,
    in_bold,
    is_right_to_left,
    isolated,
    isolates_code,
    read_code_spans,
    rich_text,
)
from desktop_agent.ui.chat.text.file_links import with_file_links
from desktop_agent.ui.chat.text.styles import (
    CODE_HEADER,
    CODE_PADDING_X,
    LIST_INDENT,
    MOST_INDENTS,
    PILL_PADDING,
    QUOTE_BAR,
    QUOTE_INDENT,
    TextStyles,
    code_padding,
)
from desktop_agent.ui.theme import Radius
from desktop_agent.ui.widgets.text_colours import diff_lines, format_ranges, is_diff
from desktop_agent.ui.wording import utf16_length

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
        text, self._isolates = isolated(rich)
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


_PADDING_X = 10
_PADDING_Y = 5
_LEAST_WIDTH = 28.0
_UNBOUNDED = 100_000.0
_FLAGS: dict[Alignment, Qt.AlignmentFlag] = {
    "left": Qt.AlignmentFlag.AlignLeft,
    "center": Qt.AlignmentFlag.AlignHCenter,
    "right": Qt.AlignmentFlag.AlignRight,
}


class _Cell:
    """A table cell. Laid out on a single line, and again only if its column is too narrow for that."""

    def __init__(self, content: str, *, is_header: bool, styles: TextStyles, references: References) -> None:
        self.content = content
        self.is_header = is_header
        rich = with_file_links(rich_text(content, references), styles.files)
        self._rich = in_bold(rich) if is_header else rich
        self._styles = styles
        self._line = self._lay_out(_UNBOUNDED)
        self.natural_width = self._line.natural_width
        self.passage = self._line
        self._width: float = _UNBOUNDED
        self.start = 0
        self.origin = QPointF()

    def fit(self, width: float, alignment: Alignment) -> None:
        if width >= self.natural_width:
            self.passage, self._width = self._line, _UNBOUNDED
        elif width != self._width:
            self.passage, self._width = self._lay_out(width, alignment), width

    def shift(self, width: float, alignment: Alignment) -> float:
        if self._width != _UNBOUNDED:
            return 0
        return {"right": width - self.natural_width, "center": (width - self.natural_width) / 2}.get(alignment, 0)

    def _lay_out(self, width: float, alignment: Alignment = "left") -> TextPassage:
        formats = self._styles.formats(self._rich.spans, is_isolated=isolates_code(self._rich))
        return TextPassage(
            self._rich,
            self._styles.body,
            format_ranges(formats),
            width=width,
            line_height=self._styles.text_line,
            room_before=_PADDING_X,
            alignment=_FLAGS[alignment] | Qt.AlignmentFlag.AlignAbsolute,
        )


class TablePassage:
    """A block with all or some rows of a table. It has the interface of a `TextPassage`."""

    def __init__(
        self,
        block: Block,
        references: References,
        styles: TextStyles,
        width: float,
        *,
        natural_widths: Sequence[float] | None,
        before: "TablePassage | None",
    ) -> None:
        """`before` is the previous layout. `natural_widths` belong to the continued table; `None` begins a table."""
        self._styles = styles
        self._alignments = block.alignments
        self._has_header = block.joint is None
        self._rows = self._make_cells(block, references, before)
        self.natural_widths = natural_widths or [
            max((row[at].natural_width for row in self._rows if at < len(row)), default=0.0)
            for at in range(len(block.alignments))
        ]
        self._widths = _share(self.natural_widths, width - 2 * _PADDING_X * len(block.alignments))
        self._row_tops = self._place()
        self._cells = [cell for row in self._rows for cell in row]
        self._linked = [cell for cell in self._cells if cell.passage.links()]
        self.text = self._join()
        self.length = utf16_length(self.text)

    @property
    def height(self) -> int:
        return self._row_tops[-1]

    def _make_cells(self, block: Block, references: References, before: "TablePassage | None") -> list[list[_Cell]]:
        old = before._rows if before is not None and before._styles is self._styles else []
        rows: list[list[_Cell]] = []
        for number, contents in enumerate(block.rows):
            row: list[_Cell] = []
            is_header = number == 0 and self._has_header
            for column, content in enumerate(contents):
                cell = old[number][column] if number < len(old) and column < len(old[number]) else None
                if cell is None or cell.content != content or cell.is_header != is_header or "[" in content:
                    cell = _Cell(content, is_header=is_header, styles=self._styles, references=references)
                row.append(cell)
            rows.append(row)
        return rows

    def _place(self) -> list[int]:
        tops = [0]
        for row in self._rows:
            x = float(_PADDING_X)
            height = self._styles.text_line
            for cell, width, alignment in zip(row, self._widths, self._alignments, strict=False):
                cell.fit(width, alignment)
                cell.origin = QPointF(x + cell.shift(width, alignment), tops[-1] + _PADDING_Y)
                x += width + 2 * _PADDING_X
                height = max(height, cell.passage.height)
            tops.append(tops[-1] + height + 2 * _PADDING_Y)
        return tops

    def _join(self) -> str:
        parts: list[str] = []
        at = 0
        for row in self._rows:
            for cell in row:
                cell.start = at
                parts += (cell.passage.text, "\t")
                at += cell.passage.length + 1
            parts[-1:] = "\n"
        return "".join(parts[:-1])

    # -- painting --

    def draw_grounds(self, painter: QPainter) -> None:
        for cell in self._cells:
            painter.translate(cell.origin)
            cell.passage.draw_grounds(painter)
            painter.translate(-cell.origin)

    def draw(self, painter: QPainter, highlights: Sequence[Highlight]) -> None:
        pen = painter.pen()
        right = sum(self._widths) + 2 * _PADDING_X * len(self._widths)
        for number, top in enumerate(self._row_tops[1:], 1):
            is_under_header = number == 1 and self._has_header
            role = self._styles.colours.border_strong if is_under_header else self._styles.colours.border
            painter.setPen(QPen(QColor(role), 1))
            painter.drawLine(QLineF(0, top - 0.5, right, top - 0.5))
        painter.setPen(pen)
        for cell in self._cells:
            inside = [
                Highlight(max(0, item.start - cell.start), min(cell.passage.length, item.end - cell.start), item.format)
                for item in highlights
                if item.start < cell.start + cell.passage.length and item.end > cell.start
            ]
            painter.translate(cell.origin)
            cell.passage.draw(painter, inside)
            painter.translate(-cell.origin)

    # -- positions --

    def _cell_at(self, x: float, y: float) -> _Cell:
        row = self._rows[max(0, min(bisect_right(self._row_tops, y) - 1, len(self._rows) - 1))]
        edge = 0.0
        for cell, width in zip(row, self._widths, strict=False):
            edge += width + 2 * _PADDING_X
            if x < edge:
                return cell
        return row[-1]

    def offset_at(self, x: float, y: float) -> int:
        if y < 0:
            return 0
        if y >= self.height:
            return self.length
        cell = self._cell_at(x, y)
        inside_y = min(max(0.0, y - cell.origin.y()), cell.passage.height - 1)
        return cell.start + cell.passage.offset_at(x - cell.origin.x(), inside_y)

    def span_at(self, x: float, y: float) -> InlineSpan | None:
        cell = self._cell_at(x, y)
        span = cell.passage.span_at(x - cell.origin.x(), y - cell.origin.y())
        return span._replace(start=span.start + cell.start) if span is not None else None

    def links(self) -> list[InlineSpan]:
        return [span._replace(start=span.start + cell.start) for cell in self._linked for span in cell.passage.links()]

    def rects(self, start: int, end: int) -> list[QRectF]:
        starts = [cell.start for cell in self._cells]
        first, last = max(0, bisect_right(starts, start) - 1), bisect_right(starts, end)
        return [
            rect.translated(cell.origin)
            for cell in self._cells[first:last]
            for rect in cell.passage.rects(max(0, start - cell.start), min(cell.passage.length, end - cell.start))
        ]


Passage = TextPassage | TablePassage


def _share(naturals: Sequence[float], available: float) -> list[float]:
    """Return the natural column widths if they fit. Otherwise wide columns share the space left by narrow ones."""
    widths = [max(_LEAST_WIDTH, width) for width in naturals]
    if sum(widths) <= available:
        return widths
    left, waiting = max(available, 1.0), sorted(range(len(widths)), key=widths.__getitem__)
    for position, index in enumerate(waiting):
        share = left / (len(waiting) - position)
        widths[index] = min(widths[index], max(share, 1.0))
        left -= widths[index]
    return widths


RULE_HEIGHT = 17
_TASK_SIGNS = "☐☑"


class Box:
    """A block laid out at a width. Its `height` includes the gap above it."""

    def __init__(
        self,
        block: Block,
        passage: Passage | None,
        styles: TextStyles,
        *,
        width: int,
        gap: int,
        is_framed: bool,
        is_continued: bool,
        before: Block | None,
        room: int = 0,
    ) -> None:
        """`is_framed` gives code its background; `room` is left free at the lower edge."""
        self.block = block
        self.passage = passage
        self.width = width
        self.gap = gap
        self.is_continued = is_continued
        self.before = before
        self._styles = styles
        self._has_ground = is_framed and block.kind == "code"
        self._pixmap: QPixmap | None = None
        self._painted: object = None
        self._is_mirrored = isinstance(passage, TextPassage) and passage.is_right_to_left
        x = 0 if self._is_mirrored else styles.indent(block.containers)
        if self._has_ground:
            top, bottom = code_padding(block, is_continued=is_continued)
            self.origin = QPointF(x + CODE_PADDING_X, gap + top)
            is_label_alone = block.label and not block.content
            self.height = gap + top + (0 if is_label_alone else (passage.height if passage else 0) + bottom) + room
        else:
            self.origin = QPointF(x, gap)
            self.height = gap + (passage.height if passage else RULE_HEIGHT) + room

    def draw(
        self, painter: QPainter, y: int, ground: QColor, text: QColor, highlights: Sequence[Highlight], key: object
    ) -> None:
        """Paint the box at `y`. If `key` is unchanged, a cached picture of the box is copied."""
        scale = painter.device().devicePixelRatio()
        if scale != int(scale):  # a picture would fall between pixels and blur
            painter.save()
            painter.translate(0, y)
            self._paint(painter, text, highlights)
            painter.restore()
            return
        key = (scale, ground.rgba(), text.rgba(), key)
        if self._pixmap is None or self._painted != key:
            pixmap = QPixmap(int(self.width * scale), int(self.height * scale))
            pixmap.setDevicePixelRatio(scale)
            pixmap.fill(ground)
            with QPainter(pixmap) as into:
                self._paint(into, text, highlights)
            self._pixmap, self._painted = pixmap, key
        painter.drawPixmap(0, y, self._pixmap)

    def _paint(self, painter: QPainter, text: QColor, highlights: Sequence[Highlight]) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._has_ground:
            self._paint_code_ground(painter)
        if self.block.containers:
            self._paint_containers(painter)
        if self.passage is None:
            painter.setPen(QPen(self._styles.colour("border"), 1))
            y = self.gap + RULE_HEIGHT // 2 + 0.5
            painter.drawLine(QLineF(self.origin.x(), y, self.width, y))
            return
        painter.translate(self.origin)
        if self._has_ground and is_diff(self.block.language):
            self._paint_changed_lines(painter)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._styles.colour("sunken"))
        self.passage.draw_grounds(painter)
        overflow: list[tuple[int, int]] = []
        if self.block.kind == "code" and isinstance(self.passage, TextPassage):
            overflow = self._paint_overflow(painter, self.passage)
        painter.setPen(text)
        self.passage.draw(painter, highlights)
        if overflow:
            painter.setClipping(False)

    def _paint_code_ground(self, painter: QPainter) -> None:
        x = self.origin.x() - CODE_PADDING_X
        radius = Radius.CARD
        top = self.gap if self.block.joint is None else self.gap - 2 * radius
        bottom = self.height + 2 * radius if self.is_continued else self.height
        path = QPainterPath()
        path.addRoundedRect(QRectF(x, top, self.width - x, bottom - top), radius, radius)
        painter.setClipRect(QRectF(0, self.gap, self.width, self.height - self.gap))
        painter.fillPath(path, self._styles.colour("sunken"))
        painter.setClipping(False)
        if self.block.joint is None:
            painter.setPen(self._styles.colour("muted"))
            painter.setFont(self._styles.small)
            width = self.width - x if self.block.label else (self.width - x) // 2  # without a label there are buttons
            area = QRectF(x + CODE_PADDING_X, self.gap, width - CODE_PADDING_X, CODE_HEADER)
            metrics = painter.fontMetrics()
            said = metrics.elidedText(
                self.block.label or fence_label(self.block.language), Qt.TextElideMode.ElideRight, int(area.width())
            )
            painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, said)

    def _paint_changed_lines(self, painter: QPainter) -> None:
        assert isinstance(self.passage, TextPassage)
        for start, length, role in diff_lines(with_directions_named(self.block.content)):
            if ground := {"added_text": "added_line", "removed_text": "removed_line"}.get(role):
                for top, height in self.passage.line_areas(start, start + length):
                    area = QRectF(1 - CODE_PADDING_X, top, self.width - self.origin.x() + CODE_PADDING_X - 2, height)
                    painter.fillRect(area, self._styles.colour(ground))

    def _paint_containers(self, painter: QPainter) -> None:
        x = 0
        containers = self.block.containers[:MOST_INDENTS]
        known = self.before.containers if self.before is not None else ""
        last_list = containers.rfind("l")
        for depth, container in enumerate(containers):
            if container == "q":
                # One bar through everything in the same quote, gaps included.
                top = 0 if known[: depth + 1] == containers[: depth + 1] else self.gap
                bar = QRectF(self._side(x, QUOTE_BAR), top, QUOTE_BAR, self.height - top)
                painter.fillRect(bar, self._styles.colour("border_strong"))
                x += QUOTE_INDENT
            else:
                if depth == last_list and self.block.marker:
                    self._paint_marker(painter, x)
                x += LIST_INDENT

    def _side(self, x: float, width: float) -> float:
        """Return the left edge of an item of this `width`, `x` away from the side on which reading begins."""
        return self.width - x - width if self._is_mirrored else x

    def _paint_marker(self, painter: QPainter, x: float) -> None:
        line_height = self._styles.line_height(self.block)
        middle = self.origin.y() + line_height / 2
        marker = self.block.marker
        if marker in _TASK_SIGNS:
            self._paint_task(painter, QPointF(self._side(x + 3, 13), middle - 6), is_done=marker == "☑")
        elif marker == "•":
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._styles.colour("muted"))
            painter.drawEllipse(QPointF(self._side(x + 9, 0), middle + 0.5), 2.25, 2.25)
        else:
            painter.setPen(self._styles.colour("muted"))
            painter.setFont(self._styles.body)
            room = 40 + LIST_INDENT - 6
            area = QRectF(self._side(x - 40, room), middle - line_height / 2, room, line_height)
            side = Qt.AlignmentFlag.AlignLeft if self._is_mirrored else Qt.AlignmentFlag.AlignRight
            if self._is_mirrored:
                painter.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the dot is on the side of the text
            painter.drawText(area, side | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute, marker)

    def _paint_task(self, painter: QPainter, at: QPointF, *, is_done: bool) -> None:
        square = QRectF(at.x() + 0.5, at.y() + 0.5, 12, 12)
        painter.setPen(QPen(self._styles.colour("accent" if is_done else "faint"), 1))
        painter.setBrush(self._styles.colour("accent") if is_done else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(square, 3, 3)
        if is_done:
            painter.setPen(QPen(self._styles.colour("on_accent"), 1.6))
            painter.drawPolyline([at + QPointF(3.5, 6.5), at + QPointF(5.8, 9), at + QPointF(9.7, 4.2)])

    def _paint_overflow(self, painter: QPainter, passage: TextPassage) -> list[tuple[int, int]]:
        """Mark the lines that continue beyond the edge, and exclude the marks from the clip. Return their areas."""
        width = self.width - self.origin.x()
        lines = passage.overflowing_lines(width)
        if not lines:
            return []
        left = width - 2 * self._styles.code_width
        painter.setFont(self._styles.code)
        painter.setPen(self._styles.colour("muted"))
        region = QRegion(QRectF(0, 0, width, passage.height).toAlignedRect())
        for top, height in lines:
            area = QRectF(left, top, width - left, height)
            painter.drawText(area, Qt.AlignmentFlag.AlignCenter, "…")
            region -= QRegion(area.toAlignedRect())
        painter.setClipRegion(region)
        return lines


def fence_label(language: str) -> str:
    match language.lower():
        case "math" | "latex" | "tex" | "katex":
            words = QCoreApplication.translate("FenceLabel", "{0}: formula, shown as source")
        case "mermaid" | "plantuml" | "dot" | "graphviz":
            words = QCoreApplication.translate("FenceLabel", "{0}: diagram, shown as source")
        case _:
            words = "{0}"
    return words.format(language)


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
