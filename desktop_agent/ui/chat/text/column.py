"""A column of blocks of which only what is near the eye is laid out; the rest has estimated heights."""

from bisect import bisect_left
from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRect, QRectF
from PySide6.QtGui import QColor, QPainter, QTextCharFormat

from desktop_agent.ui.chat.heights import Heights
from desktop_agent.ui.chat.lexers import Lexers
from desktop_agent.ui.chat.markdown.blocks import Block
from desktop_agent.ui.chat.markdown.highlight import Colouring, colour_code
from desktop_agent.ui.chat.markdown.inline import LINE_BREAK, InlineSpan, RichText, rich_text, utf16_length
from desktop_agent.ui.chat.markdown.parse import References
from desktop_agent.ui.chat.slices import Slice
from desktop_agent.ui.chat.text.box import RULE_HEIGHT, Box, code_padding
from desktop_agent.ui.chat.text.copied import TextPosition, copied_text, shown_text
from desktop_agent.ui.chat.text.marks import TextMark
from desktop_agent.ui.chat.text.passage import Highlight, Passage, TextPassage, format_ranges
from desktop_agent.ui.chat.text.styles import CODE_PADDING_X, TextStyles
from desktop_agent.ui.chat.text.table import TablePassage

_MOST_MARKED = 60
"""So many matches of a block are marked, those around the current one."""

_FEW = 24
"""So many blocks may stay laid out wherever they are."""


class TextMatch(NamedTuple):
    """A found piece of text."""

    block: int
    start: int
    end: int


class Column:
    """The text of one entry. Coordinates are relative to its own top left corner.

    `ground` and `text` are colour roles; without a ground, what is painted below shines through. `is_framed` gives code
    blocks a ground and a header; without it code is bare and its lines are cut at the edge instead of wrapped, as the
    output of a command is shown.
    """

    def __init__(
        self, styles: TextStyles, *, ground: str = "surface", text: str = "text", is_framed: bool = True
    ) -> None:
        self._styles = styles
        self._ground = QColor(getattr(styles.colours, ground)) if ground else QColor(0, 0, 0, 0)
        self._text = QColor(getattr(styles.colours, text))
        self._is_framed = is_framed
        self._width = 0
        self._blocks: list[Block] = []
        self._references: References = {}
        self._marks: Sequence[Sequence[TextMark]] = ()
        self._heights = Heights()
        self._boxes: dict[int, Box] = {}
        self._retired: dict[int, Box] = {}
        self._colours: dict[int, tuple[str, Colouring]] = {}
        self._tables: dict[int, tuple[Block, Sequence[float]]] = {}
        """Of each part of a table, how wide its columns like to be. Stays when its layout is let go."""
        self._selection: tuple[TextPosition, TextPosition] | None = None
        self._matches: Sequence[TextMatch] = ()
        self._current_match: TextMatch | None = None
        self._revision = 0

    @property
    def height(self) -> int:
        """Of all blocks, exact where they were laid out."""
        return self._heights.total

    @property
    def revision(self) -> int:
        """Changes whenever something was laid out or forgotten."""
        return self._revision

    @property
    def blocks(self) -> Sequence[Block]:
        """What it shows."""
        return self._blocks

    @property
    def laid_out(self) -> int:
        """How many blocks are laid out now."""
        return len(self._boxes)

    # -- content --

    def set_blocks(
        self,
        blocks: Sequence[Block],
        references: References,
        changed: int,
        marks: Sequence[Sequence[TextMark]] = (),
    ) -> None:
        """Show `blocks`, of which those from index `changed` on are new or different.

        `marks` say, block by block, how parts of code and plain text look and where they lead.
        """
        marks_before, self._marks = self._marks, marks
        # Whether a part of a fence has a lower edge depends on the block behind it.
        self._revision += 1
        first = max(0, min(changed - 1, len(self._blocks) - 1))
        self._blocks[first:] = blocks[first:]
        self._references = references
        for index in [index for index in self._boxes if index >= first]:
            box = self._boxes[index]
            is_marked_anew = _at(marks, index) != _at(marks_before, index)
            if index >= len(blocks) or is_marked_anew or not self._is_current(index, box):
                self._retired[index] = self._boxes.pop(index)
        boxes = self._boxes
        self._heights.replace(
            first,
            (boxes[index].height if index in boxes else self._estimate(index) for index in range(first, len(blocks))),
        )

    def set_width(self, width: int) -> None:
        """Wrap at `width` from now on."""
        if width != self._width:
            self._width = width
            self._revision += 1
            self._boxes.clear()
            self._retired.clear()
            self._heights.replace(0, (self._estimate(index) for index in range(len(self._blocks))))

    def _is_current(self, index: int, box: Box) -> bool:
        block = self._blocks[index]
        has_reference = self._references and ("[" in block.content or block.kind == "table")
        return (
            box.block == block
            and box.is_continued == self._is_continued(index)
            and box.before == (self._blocks[index - 1] if index else None)
            and not has_reference
        )

    def _is_continued(self, index: int) -> bool:
        return index + 1 < len(self._blocks) and self._blocks[index + 1].joint is not None

    def _gap(self, index: int) -> int:
        return self._styles.gap(self._blocks[index - 1] if index else None, self._blocks[index])

    def _text_width(self, block: Block) -> int:
        width = self._width - self._styles.indent(block.containers)
        if block.kind == "code" and self._is_framed:
            width -= 2 * CODE_PADDING_X
        return max(width, 40)

    def _estimate(self, index: int) -> int:
        block = self._blocks[index]
        gap = self._gap(index)
        match block.kind:
            case "rule":
                return gap + RULE_HEIGHT
            case "table":
                return gap + len(block.rows) * (self._styles.text_line + 10)
            case "code":
                padding = sum(code_padding(block, is_continued=self._is_continued(index))) if self._is_framed else 0
                letter = self._styles.code_width
            case _:
                padding, letter = 0, self._styles.text_width
        lines = estimate_lines(block.content, self._text_width(block) / letter if self._width else 80)
        return gap + padding + lines * self._styles.line_height(block)

    # -- layout --

    def lay_out(self, top: int, bottom: int, time: Slice | None = None) -> None:
        """Lay out what lies between these edges; heights above and within may change by it.

        When the time is over before it is done, the rest stays blank: call it again.
        """
        if not self._blocks or bottom <= 0:
            return
        index = max(0, self._heights.at(top))
        while index < len(self._blocks) and self._heights.top(index) < bottom:
            if index not in self._boxes:
                self._box(index)
                if time is not None and time.is_over():
                    return
            index += 1
        self._retired.clear()

    def release(self, top: int, bottom: int) -> None:
        """Forget the layout of what lies outside these edges."""
        if len(self._boxes) <= _FEW or not self._blocks:
            return
        first, last = self._heights.at(top), self._heights.at(bottom)
        for index in [index for index in self._boxes if not first <= index <= last]:
            del self._boxes[index]
            self._revision += 1

    def anchor(self, y: int) -> tuple[int, int]:
        """Return the block at `y`, and how far below its top `y` is: stable while heights above change."""
        index = max(0, self._heights.at(y))
        return index, y - self._heights.top(index)

    def top(self, index: int) -> int:
        """Return where a block begins."""
        return self._heights.top(min(index, len(self._blocks)))

    def _box(self, index: int) -> Box:
        box = self._boxes.get(index)
        if box is None:
            box = self._boxes[index] = self._make_box(index)
            self._heights.set(index, box.height)
            self._revision += 1
        return box

    def _make_box(self, index: int) -> Box:
        block = self._blocks[index]
        return Box(
            block,
            self._make_passage(index),
            self._styles,
            width=self._width,
            gap=self._gap(index),
            is_framed=self._is_framed,
            is_continued=self._is_continued(index),
            before=self._blocks[index - 1] if index else None,
        )

    def _make_passage(self, index: int) -> Passage | None:
        block = self._blocks[index]
        match block.kind:
            case "rule":
                return None
            case "table":
                return self._make_table(index)
            case "code" | "plain":
                marks = _at(self._marks, index)
                links = tuple(InlineSpan(mark.start, mark.length, 0, mark.href) for mark in marks if mark.href)
                rich = RichText(block.content.replace("\n", LINE_BREAK), links)
                marked = [(mark.start, mark.length, self._styles.mark(mark.look)) for mark in marks]
                formats = [*self._colour_formats(index), *marked]
            case _:
                rich = rich_text(block.content, self._references)
                styles, level = self._styles, block.level
                formats = styles.formats(rich.spans, level)
        return TextPassage(
            rich,
            self._styles.font(block),
            format_ranges(formats),
            width=self._text_width(block),
            line_height=self._styles.line_height(block),
            wraps=self._is_framed or block.kind != "code",
            tab_width=4 * self._styles.code_width,
            room_before=self._styles.indent(block.containers),
        )

    def _make_table(self, index: int) -> TablePassage:
        block = self._blocks[index]
        retired = self._retired.get(index)
        before = retired.passage if retired is not None and isinstance(retired.passage, TablePassage) else None
        # All parts of a table have the columns of its first.
        widths = self._column_widths(index) if block.joint is not None and index > 0 else None
        width = self._text_width(block)
        table = TablePassage(block, self._references, self._styles, width, natural_widths=widths, before=before)
        self._tables[index] = (block, table.natural_widths)
        return table

    def _column_widths(self, index: int) -> Sequence[float] | None:
        """Return how wide the columns of a table like to be, of which the block at `index` is a part."""
        first = next(at for at in range(index, -1, -1) if self._blocks[at].joint is None)
        if first not in self._tables or self._tables[first][0] != self._blocks[first]:
            self._box(first)
        return self._tables[first][1] if first in self._tables else None

    # -- colours of code --

    def colour_next(self, top: int, bottom: int, lexers: Lexers) -> bool:
        """Colour one piece of code between these edges that is plain and whose lexer is there. Whether it did."""
        for index in sorted(self._boxes):
            if self._heights.top(index) > bottom:
                break
            block = self._blocks[index]
            if block.kind != "code" or not block.language or self._heights.top(index + 1) < top:
                continue
            known = self._colours.get(index)
            if known is not None and known[0] == block.content:
                continue
            if lexers.is_known(block.language):
                lexer = lexers.get(block.language)
                before = self._blocks[index - 1].content if block.joint == "\n" else ""
                colouring = colour_code(lexer, before, block.content) if lexer is not None else ()
                self._colours[index] = (block.content, colouring)
                self._boxes[index] = self._make_box(index)
                return True
        return False

    def _colour_formats(self, index: int) -> list[tuple[int, int, QTextCharFormat]]:
        content, colouring = self._colours.get(index, ("", ()))
        if not colouring or not self._blocks[index].content.startswith(content):
            return []
        styles = self._styles
        return [(start, length, styles.foreground(f"syntax_{role}")) for start, length, role in colouring]

    # -- painting --

    def draw(self, painter: QPainter, top: int, bottom: int) -> None:
        """Paint what lies between these edges. Must have been laid out."""
        if not self._blocks:
            return
        index = max(0, self._heights.at(top))
        y = self._heights.top(index)
        while index < len(self._blocks) and y < bottom:
            box = self._boxes.get(index)
            if box is not None:
                highlights, key = self._highlights(index, box)
                box.draw(painter, y, self._ground, self._text, highlights, key)
            y += self._heights[index]
            index += 1

    def _highlights(self, index: int, box: Box) -> tuple[list[Highlight], object]:
        selected = self._selected_range(index, box)
        first = bisect_left(self._matches, (index,))
        matches = self._near_current(self._matches[first : bisect_left(self._matches, (index + 1,), first)])
        if selected is None and not matches:
            return [], None
        highlights: list[Highlight] = []
        current = self._current_match
        for match in matches:
            background = "warning_border" if match == current else "warning_bg"
            highlights.append(Highlight(match.start, match.end, self._styles.highlight(background, "text")))
        if selected is not None:
            highlights.append(Highlight(*selected, self._styles.highlight("accent", "on_accent")))
        return highlights, (selected, tuple(matches), current)

    def _near_current(self, matches: Sequence[TextMatch]) -> Sequence[TextMatch]:
        """Return the matches of a block that are shown as such: Qt paints the text once more for each of them."""
        current = self._current_match
        at = bisect_left(matches, current) if current is not None else 0
        first = max(0, min(at - _MOST_MARKED // 2, len(matches) - _MOST_MARKED))
        return matches[first : first + _MOST_MARKED]

    def _selected_range(self, index: int, box: Box) -> tuple[int, int] | None:
        if self._selection is None or box.passage is None:
            return None
        start, end = self._selection
        first = max(start, TextPosition(index, 0)).offset if start.block <= index else -1
        last = box.passage.length if end.block > index else end.offset if end.block == index else -1
        return (first, last) if 0 <= first < last else None

    def set_selection(self, selection: tuple[TextPosition, TextPosition] | None) -> bool:
        """Show this range as selected. Whether that is different from before."""
        if selection == self._selection:
            return False
        self._selection = selection
        return True

    def set_matches(self, matches: Sequence[TextMatch], current: TextMatch | None) -> None:
        """Show these pieces, in the order of reading, as found, one of them as the one that was asked for."""
        self._matches = matches
        self._current_match = current

    # -- positions --

    def place_at(self, x: float, y: float) -> TextPosition:
        """Return the place nearest to a point."""
        if not self._blocks:
            return TextPosition(0, 0)
        if y < 0:
            return TextPosition(0, 0)
        if y >= self.height:
            return self.end()
        index = self._heights.at(int(y))
        box = self._box(index)
        if box.passage is None:
            return TextPosition(index, 0)
        point = QPointF(x, y - self._heights.top(index)) - box.origin
        return TextPosition(index, box.passage.offset_at(point.x(), point.y()))

    def span_at(self, x: float, y: float) -> tuple[TextPosition, InlineSpan] | None:
        """Return the inline span right under a point."""
        if not 0 <= y < self.height:
            return None
        index = self._heights.at(int(y))
        box = self._boxes.get(index)
        if box is None or box.passage is None:
            return None
        point = QPointF(x, y - self._heights.top(index)) - box.origin
        span = box.passage.span_at(point.x(), point.y())
        return (TextPosition(index, span.start), span) if span is not None else None

    def end(self) -> TextPosition:
        """Return the place behind the last letter."""
        last = len(self._blocks) - 1
        return TextPosition(last, utf16_length(self.shown_text(last))) if last >= 0 else TextPosition(0, 0)

    def rects(self, index: int, start: int, end: int) -> list[QRectF]:
        """Return the area of a piece of text, line by line."""
        box = self._box(index)
        if box.passage is None:
            return []
        shift = box.origin + QPointF(0, self._heights.top(index))
        return [rect.translated(shift) for rect in box.passage.rects(start, end)]

    def line_areas(self, index: int) -> list[tuple[int, int]]:
        """Return top and height of each line of a block of code or plain text."""
        box = self._box(index)
        if not isinstance(box.passage, TextPassage):
            return []
        shift = int(box.origin.y()) + self._heights.top(index)
        return [(top + shift, height) for top, height in box.passage.line_areas()]

    def links(self) -> list[tuple[int, InlineSpan]]:
        """Return the links of what is laid out, in reading order."""
        found: list[tuple[int, InlineSpan]] = []
        for index in sorted(self._boxes):
            passage = self._boxes[index].passage
            if passage is not None:
                found += [(index, span) for span in passage.links()]
        return found

    def code_frames(self) -> list[tuple[int, QRect]]:
        """Return index and header area of the fences whose beginning is laid out."""
        return [
            (
                index,
                QRect(0, self._heights.top(index) + box.gap, self._width, box.height - box.gap),
            )
            for index, box in sorted(self._boxes.items())
            if box.block.kind == "code" and box.block.joint is None
        ]

    # -- text --

    def shown_text(self, index: int) -> str:
        """Return the text of a block as it is shown."""
        box = self._boxes.get(index)
        if box is not None:
            return box.passage.text if box.passage is not None else ""
        return shown_text(self._blocks[index], self._references)

    def code(self, index: int) -> str:
        """Return the whole code of the fence that begins at `index`."""
        parts = [self._blocks[index].content]
        for block in self._blocks[index + 1 :]:
            if block.joint is None:
                break
            parts += (block.joint, block.content)
        return "".join(parts)

    def selected_text(self, start: TextPosition, end: TextPosition, source: str) -> str:
        """Return the text between two places: as shown within one block, as its markdown source across blocks."""
        end = min(end, self.end())
        return copied_text(self._blocks, self._references, start, end, source) if start < end else ""


def _at(marks: Sequence[Sequence[TextMark]], index: int) -> Sequence[TextMark]:
    return marks[index] if index < len(marks) else ()


def estimate_lines(text: str, letters: float) -> int:
    """Return about how many lines `text` takes with so many letters in each."""
    return ceil(len(text) / max(letters, 1.0)) + text.count("\n") if text else 1
