"""A column of blocks. Blocks near the viewport are laid out, the heights of others are estimates.

Layout runs in time slices, so that the window can paint and respond in between.
"""

import time
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import ceil
from typing import Final

from PySide6.QtCore import QPointF, QRect, QRectF
from PySide6.QtGui import QColor, QPainter, QTextCharFormat

from desktop_agent.core.base.plain_text import with_directions_named
from desktop_agent.ui.chat.markdown.blocks import Block
from desktop_agent.ui.chat.markdown.parser import (
    LINE_BREAK,
    InlineSpan,
    References,
    RichText,
    isolates_code,
    rich_text,
    utf16_slice,
)
from desktop_agent.ui.chat.text.column_text import ColumnHighlights, ColumnText, TextPosition
from desktop_agent.ui.chat.text.file_links import file_links, with_file_links
from desktop_agent.ui.chat.text.passage import RULE_HEIGHT, Box, Passage, TablePassage, TextPassage
from desktop_agent.ui.chat.text.styles import CODE_PADDING_X, LINK_TINT, TextMark, TextStyles, code_padding
from desktop_agent.ui.widgets.text_colours import Colouring, Lexers, colour_code, diff_lines, format_ranges, is_diff
from desktop_agent.ui.wording import utf16_length

SLICE_S: Final = 0.0015
"""The time for one slice. A tenth of a frame, because placing and painting its result takes several times that."""


class Slice:
    """A time limit for several steps: `seconds` from now, or none if `is_open`. The first step is always made."""

    def __init__(self, seconds: float = SLICE_S, *, is_open: bool = False) -> None:
        self.is_open = is_open
        self.was_over = False
        self._end = float("inf") if is_open else time.perf_counter() + seconds

    def is_over(self) -> bool:
        self.was_over = self.was_over or time.perf_counter() >= self._end
        return self.was_over


class Heights:
    """Stacked heights in whole pixels. Changes near the end are cheap, because conversations grow there."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._bottoms: list[int] = []

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    @property
    def total(self) -> int:
        return self._bottom(len(self._heights) - 1)

    def top(self, index: int) -> int:
        """Return the top of the item at `index`. With `len()`, return the end of the column."""
        return self._bottom(index - 1)

    def at(self, y: int) -> int:
        """Return the index of the item at or nearest to `y`; -1 if the column is empty."""
        self._bottom(len(self._heights) - 1)
        return min(bisect_right(self._bottoms, y), len(self._heights) - 1)

    def replace(self, start: int, heights: Iterable[int]) -> None:
        self._heights[start:] = heights
        del self._bottoms[start:]

    def set(self, index: int, height: int) -> None:
        if self._heights[index] != height:
            self._heights[index] = height
            del self._bottoms[index:]

    def splice(self, start: int, count: int, heights: Iterable[int]) -> None:
        self._heights[start : start + count] = heights
        del self._bottoms[start:]

    def _bottom(self, index: int) -> int:
        if index < 0:
            return 0
        known = len(self._bottoms)
        if index >= known:
            start = self._bottoms[-1] if known else 0
            bottoms = accumulate(self._heights[known:], initial=start)
            next(bottoms)
            self._bottoms += bottoms
        return self._bottoms[index]


_FEW = 24
"""How many blocks of a column can stay laid out, however far out of view they are."""


class Column:
    """Blocks one below the other. Unless `is_framed`, code lines are cut at the edge.

    `ground` (empty: transparent) and `ink` are the colour roles of background and text.
    """

    def __init__(
        self, styles: TextStyles, *, ground: str = "surface", ink: str = "text", is_framed: bool = True
    ) -> None:
        self.text = ColumnText()
        self.highlights = ColumnHighlights(styles)
        self._styles = styles
        self._is_framed = is_framed
        self._width = 0
        self._colours: dict[int, tuple[str, Colouring]] = {}
        self._tables: dict[int, tuple[Block, Sequence[float]]] = {}
        """The natural column widths of each table, by the index of its first block."""
        self._ground = styles.colour(ground) if ground else QColor(0, 0, 0, 0)
        self._ink = styles.colour(ink)
        self._heights = Heights()
        self._boxes: dict[int, Box] = {}
        self._retired: dict[int, Box] = {}
        self._of_other_width: dict[int, Box] = {}
        self._rooms: dict[int, int] = {}
        self.revision = 0
        """Changes whenever something was laid out or forgotten."""

    @property
    def height(self) -> int:
        """The height of all blocks: exact for laid-out blocks, estimated for others."""
        return self._heights.total

    @property
    def laid_out(self) -> int:
        return len(self._boxes)

    # -- content --

    def set_blocks(
        self, blocks: Sequence[Block], references: References, changed: int, marks: Sequence[Sequence[TextMark]] = ()
    ) -> None:
        """Show these blocks. Those from index `changed` on are new or different."""
        text, boxes = self.text, self._boxes
        self.revision += 1
        # Whether a part of a fence has a lower edge depends on the next block.
        first = max(0, min(changed - 1, len(text.blocks) - 1))
        marked_before = {index: text.marks_of(index) for index in boxes if index >= first}
        text.blocks[first:] = blocks[first:]
        text.references, text.marks = references, marks
        self._of_other_width = {index: box for index, box in self._of_other_width.items() if index < first}
        for index, before in marked_before.items():
            is_kept = index < len(blocks) and text.marks_of(index) == before
            if not is_kept or not self._is_current(index, boxes[index]):
                self._retired[index] = boxes.pop(index)
        self._heights.replace(
            first,
            (boxes[index].height if index in boxes else self._estimate(index) for index in range(first, len(blocks))),
        )

    def set_width(self, width: int) -> None:
        if width != self._width:
            self._width = width
            self.revision += 1
            self._of_other_width |= self._boxes
            self._boxes.clear()
            self._retired.clear()
            self._heights.replace(0, map(self._estimate, range(len(self.text.blocks))))

    def set_room(self, index: int, height: int) -> None:
        """Keep this height free below a block, from the next layout on."""
        if self._rooms.get(index, 0) != height:
            self._rooms[index] = height
            self._boxes.pop(index, None)
            if index < len(self.text.blocks):
                self._heights.set(index, self._estimate(index))
            self.revision += 1

    def room(self, index: int) -> QRect:
        height, bottom = self._rooms.get(index, 0), self.top(index + 1)
        left = self._styles.indent(self.text.blocks[index].containers) if index < len(self.text.blocks) else 0
        return QRect(left, bottom - height, self._width - left, height)

    # -- layout --

    def lay_out(self, top: int, bottom: int, time: Slice | None = None) -> None:
        """Lay out the blocks between these edges, until the time is over. This can change the heights above them."""
        if not self.text.blocks or bottom <= 0:
            return
        index = max(0, self._heights.at(top))
        while index < len(self.text.blocks) and self._heights.top(index) < bottom:
            if index not in self._boxes:
                self._box(index)
                if time is not None and time.is_over():
                    return
            index += 1
        self._retired.clear()

    def release(self, top: int, bottom: int) -> None:
        if len(self._boxes) + len(self._of_other_width) <= _FEW or not self.text.blocks:
            return
        first, last = self._heights.at(top), self._heights.at(bottom)
        for boxes in (self._boxes, self._of_other_width):
            for index in [index for index in boxes if not first <= index <= last]:
                del boxes[index]
                self.revision += 1

    def release_all(self) -> None:
        self._boxes.clear()
        self._retired.clear()
        self._of_other_width.clear()
        self.revision += 1

    def anchor(self, y: int) -> tuple[int, int]:
        """Return the block at `y`, and the distance of `y` from its top. Both stay valid while heights above change."""
        index = max(0, self._heights.at(y))
        return index, y - self._heights.top(index)

    def top(self, index: int) -> int:
        return self._heights.top(min(index, len(self.text.blocks)))

    def _box(self, index: int) -> Box:
        box = self._boxes.get(index)
        if box is None:
            before = self._of_other_width.pop(index, None)
            if before is not None and isinstance(before.passage, TextPassage):  # unchanged, at another width
                before.passage.wrap(self._text_width(before.block))
                box = self._box_around(index, before.passage)
            else:
                box = self._new_box(index, before or self._retired.get(index))
            self._boxes[index] = box
            self._heights.set(index, box.height)
            self.revision += 1
        return box

    def colour_next(self, top: int, bottom: int, lexers: Lexers) -> bool:
        for index in sorted(self._boxes):
            if self._heights.top(index) > bottom:
                break
            if self._heights.top(index + 1) >= top and self._colour(index, lexers):
                self._boxes[index] = self._new_box(index)
                return True
        return False

    # -- boxes --

    def _new_box(self, index: int, retired: Box | None = None) -> Box:
        """Lay out a block. Unchanged table cells are taken from `retired`, its last layout."""
        return self._box_around(index, self._passage(index, retired))

    def _box_around(self, index: int, passage: Passage | None) -> Box:
        return Box(
            self.text.blocks[index],
            passage,
            self._styles,
            width=self._width,
            gap=self._gap(index),
            is_framed=self._is_framed,
            is_continued=self.text.is_continued(index),
            before=self.text.block_before(index),
            room=self._rooms.get(index, 0),
        )

    def _is_current(self, index: int, box: Box) -> bool:
        block = self.text.blocks[index]
        has_reference = self.text.references and ("[" in block.content or block.kind == "table")
        return (
            box.block == block
            and box.is_continued == self.text.is_continued(index)
            and box.before == self.text.block_before(index)
            and not has_reference
        )

    def _estimate(self, index: int) -> int:
        block = self.text.blocks[index]
        gap = self._gap(index) + self._rooms.get(index, 0)
        match block.kind:
            case "rule":
                return gap + RULE_HEIGHT
            case "table":
                return gap + len(block.rows) * (self._styles.text_line + 10)
            case "code":
                is_continued = self.text.is_continued(index)
                padding = sum(code_padding(block, is_continued=is_continued)) if self._is_framed else 0
                letter = self._styles.code_width
            case _:
                padding, letter = 0, self._styles.text_width
        letters = self._text_width(block) / letter if self._width else 80
        lines = ceil(len(block.content) / max(letters, 1.0)) + block.content.count("\n") if block.content else 1
        return gap + padding + lines * self._styles.line_height(block)

    def _gap(self, index: int) -> int:
        return self._styles.gap(self.text.block_before(index), self.text.blocks[index])

    def _text_width(self, block: Block) -> int:
        width = self._width - self._styles.indent(block.containers)
        if block.kind == "code" and self._is_framed:
            width -= 2 * CODE_PADDING_X
        return max(width, 40)

    def _passage(self, index: int, retired: Box | None) -> Passage | None:
        block = self.text.blocks[index]
        match block.kind:
            case "rule":
                return None
            case "table":
                before = retired.passage if retired is not None else None
                return self._table(index, before if isinstance(before, TablePassage) else None)
            case "code" | "plain":
                text = with_directions_named(block.content)
                marks = _moved(self.text.marks_of(index), block.content, text)
                links = tuple(InlineSpan(mark.start, mark.length, 0, mark.href) for mark in marks if mark.href)
                rich = RichText(text.replace("\n", LINE_BREAK), links)
                formats: list[tuple[int, int, QTextCharFormat]] = []
                if not self._is_framed:
                    found = [
                        link
                        for link in file_links(text, self._styles.files)
                        if not any(
                            mark.start < link.start + link.length and link.start < mark.start + mark.length
                            for mark in marks
                        )
                    ]
                    rich = rich._replace(spans=(*links, *found))
                    formats = [(span.start, span.length, self._styles.mark(LINK_TINT)) for span in found]
                marked = [(mark.start, mark.length, self._styles.mark(mark.look)) for mark in marks]
                formats = [*self._colour_formats(index), *formats, *marked]
            case _:
                rich = with_file_links(rich_text(block.content, self.text.references), self._styles.files)
                formats = self._styles.formats(rich.spans, block.level, is_isolated=isolates_code(rich))
        return TextPassage(
            rich,
            self._styles.font(block),
            format_ranges(formats),
            width=self._text_width(block),
            line_height=self._styles.line_height(block),
            wraps=self._is_framed or block.kind != "code",
            tab_width=4 * self._styles.code_width,
            room_before=self._styles.indent(block.containers),
            is_code=block.kind == "code" or not self._is_framed,
        )

    def _table(self, index: int, before: TablePassage | None) -> TablePassage:
        block = self.text.blocks[index]
        # All parts of a table have the columns of its first part.
        widths = self._column_widths(index) if block.joint is not None and index > 0 else None
        width = self._text_width(block)
        table = TablePassage(block, self.text.references, self._styles, width, natural_widths=widths, before=before)
        if widths is None:
            self._tables[index] = (block, table.natural_widths)
        return table

    def _column_widths(self, index: int) -> Sequence[float]:
        blocks = self.text.blocks
        first = next(at for at in range(index, -1, -1) if blocks[at].joint is None)
        if first not in self._tables or self._tables[first][0] != blocks[first]:
            self._table(first, None)
        return self._tables[first][1]

    def _colour(self, index: int, lexers: Lexers) -> bool:
        block = self.text.blocks[index]
        if block.kind != "code" or not block.language or is_diff(block.language):
            return False
        known = self._colours.get(index)
        if (known is not None and known[0] == block.content) or not lexers.is_known(block.language):
            return False
        lexer = lexers.get(block.language)
        before = self.text.blocks[index - 1].content if block.joint == "\n" else ""
        code = with_directions_named(block.content)
        self._colours[index] = (block.content, colour_code(lexer, before, code) if lexer is not None else ())
        return True

    def _colour_formats(self, index: int) -> list[tuple[int, int, QTextCharFormat]]:
        block = self.text.blocks[index]
        is_changes = is_diff(block.language)
        content, colouring = (
            ("", diff_lines(with_directions_named(block.content))) if is_changes else self._colours.get(index, ("", ()))
        )
        if not colouring or not block.content.startswith(content):
            return []
        styles = self._styles
        return [(start, length, styles.foreground(role)) for start, length, role in colouring]

    # -- painting --

    def draw(self, painter: QPainter, top: int, bottom: int) -> None:
        """Paint the part between these edges, which must have been laid out."""
        if not self.text.blocks:
            return
        index = max(0, self._heights.at(top))
        y = self._heights.top(index)
        while index < len(self.text.blocks) and y < bottom:
            box = self._boxes.get(index)
            if box is not None:
                length = box.passage.length if box.passage is not None else 0
                highlights, key = self.highlights.of_block(index, length)
                box.draw(painter, y, self._ground, self._ink, highlights, key)
            y += self._heights[index]
            index += 1

    # -- positions --

    def place_at(self, x: float, y: float) -> TextPosition:
        if not self.text.blocks or y < 0:
            return TextPosition(0, 0)
        if y >= self.height:
            return self.text.end()
        index = self._heights.at(int(y))
        box = self._box(index)
        if box.passage is None:
            return TextPosition(index, 0)
        point = QPointF(x, y - self._heights.top(index)) - box.origin
        return TextPosition(index, box.passage.offset_at(point.x(), point.y()))

    def span_at(self, x: float, y: float) -> tuple[TextPosition, InlineSpan] | None:
        if not 0 <= y < self.height:
            return None
        index = self._heights.at(int(y))
        box = self._boxes.get(index)
        if box is None or box.passage is None:
            return None
        point = QPointF(x, y - self._heights.top(index)) - box.origin
        span = box.passage.span_at(point.x(), point.y())
        return (TextPosition(index, span.start), span) if span is not None else None

    def rects(self, index: int, start: int, end: int) -> list[QRectF]:
        box = self._box(index)
        if box.passage is None:
            return []
        shift = box.origin + QPointF(0, self._heights.top(index))
        return [rect.translated(shift) for rect in box.passage.rects(start, end)]

    def line_areas(self, index: int) -> list[tuple[int, int]]:
        box = self._box(index)
        if not isinstance(box.passage, TextPassage):
            return []
        shift = int(box.origin.y()) + self._heights.top(index)
        return [(top + shift, height) for top, height in box.passage.line_areas()]

    def links(self) -> list[tuple[int, InlineSpan]]:
        found: list[tuple[int, InlineSpan]] = []
        for index in sorted(self._boxes):
            passage = self._boxes[index].passage
            if passage is not None:
                found += [(index, span) for span in passage.links()]
        return found

    def code_frames(self) -> list[tuple[int, QRect]]:
        """Return the index and header area of each fence whose beginning is laid out."""
        return [
            (index, QRect(0, self._heights.top(index) + box.gap, self._width, box.height - box.gap))
            for index, box in sorted(self._boxes.items())
            if box.block.kind == "code" and box.block.joint is None
        ]


def _moved(marks: Sequence[TextMark], content: str, shown: str) -> Sequence[TextMark]:
    """Return the marks of a text where they are in the shown text, which names some of its characters."""
    if shown == content:
        return marks

    def at(offset: int) -> int:
        return utf16_length(with_directions_named(utf16_slice(content, 0, offset)))

    starts = [at(mark.start) for mark in marks]
    return [
        mark._replace(start=start, length=at(mark.start + mark.length) - start)
        for mark, start in zip(marks, starts, strict=True)
    ]
