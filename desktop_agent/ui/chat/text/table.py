"""A table laid out as a grid of passages. Its text, for positions and copying, has tabs between cells."""

from bisect import bisect_right
from collections.abc import Sequence

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from desktop_agent.ui.chat.markdown.blocks import Alignment, Block
from desktop_agent.ui.chat.markdown.inline import InlineSpan, RichText, rich_text
from desktop_agent.ui.chat.markdown.marks import BOLD
from desktop_agent.ui.chat.markdown.parse import References
from desktop_agent.ui.chat.text.file_links import with_file_links
from desktop_agent.ui.chat.text.passage import Highlight, TextPassage
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.terminal.formats import format_ranges
from desktop_agent.ui.wording.visible_text import utf16_length

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
    """One cell: laid out once on a single line, and again only when its column is too narrow for that."""

    def __init__(self, content: str, *, is_header: bool, styles: TextStyles, references: References) -> None:
        self.content = content
        self.is_header = is_header
        rich = with_file_links(rich_text(content, references), styles.files)
        self._rich = _in_bold(rich) if is_header else rich
        self._styles = styles
        self._line = self._lay_out(_UNBOUNDED)
        self.natural_width = self._line.natural_width
        self.passage = self._line
        self._width: float = _UNBOUNDED
        self.start = 0
        """Where its text begins in the text of the table."""
        self.origin = QPointF()

    def fit(self, width: float, alignment: Alignment) -> None:
        """Lay the cell out for a column this wide."""
        if width >= self.natural_width:
            self.passage, self._width = self._line, _UNBOUNDED
        elif width != self._width:
            self.passage, self._width = self._lay_out(width, alignment), width

    def shift(self, width: float, alignment: Alignment) -> float:
        """Return how far right a cell on a single line stands in its column."""
        if self._width != _UNBOUNDED:
            return 0
        return {"right": width - self.natural_width, "center": (width - self.natural_width) / 2}.get(alignment, 0)

    def _lay_out(self, width: float, alignment: Alignment = "left") -> TextPassage:
        formats = self._styles.formats(self._rich.spans)
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
    """One block of a table: the whole of it, or some of its rows. It can do what a `TextPassage` can."""

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
        """Lay `block` out. `natural_widths` are those of the table it continues, `before` its cells a moment ago."""
        self._styles = styles
        self._alignments = block.alignments
        self._has_header = block.joint is None
        self._rows = self._make_cells(block, references, before)
        self.natural_widths = natural_widths or self._natural_widths()
        self._widths = _share(self.natural_widths, width - 2 * _PADDING_X * len(block.alignments))
        self._row_tops = self._place()
        self._cells = [cell for row in self._rows for cell in row]
        self._linked = [cell for cell in self._cells if cell.passage.links()]
        self._starts: list[int] = []
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

    def _natural_widths(self) -> list[float]:
        columns = range(len(self._alignments))
        return [max((row[at].natural_width for row in self._rows if at < len(row)), default=0.0) for at in columns]

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
                self._starts.append(at)
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
        first = max(0, bisect_right(self._starts, start) - 1)
        last = bisect_right(self._starts, end)
        return [
            rect.translated(cell.origin)
            for cell in self._cells[first:last]
            for rect in cell.passage.rects(max(0, start - cell.start), min(cell.passage.length, end - cell.start))
        ]


Passage = TextPassage | TablePassage
"""One block's text once it is laid out."""


def _in_bold(rich: RichText) -> RichText:
    """Return `rich` with everything in bold: the words of a header."""
    spans: list[InlineSpan] = []
    at = 0
    for span in rich.spans:
        if span.start > at:
            spans.append(InlineSpan(at, span.start - at, BOLD))
        spans.append(span._replace(style=span.style | BOLD))
        at = span.start + span.length
    if at < utf16_length(rich.text):
        spans.append(InlineSpan(at, utf16_length(rich.text) - at, BOLD))
    return RichText(rich.text, tuple(spans))


def _share(naturals: Sequence[float], available: float) -> list[float]:
    """Return column widths: as wide as they like while that fits, else the wide ones share what the narrow leave."""
    widths = [max(_LEAST_WIDTH, width) for width in naturals]
    if sum(widths) <= available:
        return widths
    left, waiting = max(available, 1.0), sorted(range(len(widths)), key=widths.__getitem__)
    for position, index in enumerate(waiting):
        share = left / (len(waiting) - position)
        widths[index] = min(widths[index], max(share, 1.0))
        left -= widths[index]
    return widths
