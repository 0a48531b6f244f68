"""A column of blocks of which only what is near the eye is laid out; the rest has estimated heights."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRect, QRectF
from PySide6.QtGui import QColor, QPainter

from desktop_agent.ui.chat.heights import Heights
from desktop_agent.ui.chat.lexers import Lexers
from desktop_agent.ui.chat.markdown.blocks import Block
from desktop_agent.ui.chat.markdown.inline import InlineSpan
from desktop_agent.ui.chat.markdown.parse import References
from desktop_agent.ui.chat.slices import Slice
from desktop_agent.ui.chat.text.box import Box
from desktop_agent.ui.chat.text.column_text import ColumnText, TextPosition
from desktop_agent.ui.chat.text.highlights import ColumnHighlights
from desktop_agent.ui.chat.text.marks import TextMark
from desktop_agent.ui.chat.text.passage import TextPassage
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.chat.text.typesetter import Typesetter

_FEW = 24
"""So many blocks may stay laid out wherever they are."""


class Column:
    """Where the blocks of one entry stand: its `text`, and what of it is highlighted, are parts of it.

    Coordinates are relative to its own top left corner. `ground` and `ink` are colour roles; without a ground, what is
    painted below shines through. `is_framed` gives code blocks a ground and a header; without it code is bare and its
    lines are cut at the edge instead of wrapped, as the output of a command is shown.
    """

    def __init__(
        self, styles: TextStyles, *, ground: str = "surface", ink: str = "text", is_framed: bool = True
    ) -> None:
        self.text = ColumnText()
        self.highlights = ColumnHighlights(styles)
        self._typesetter = Typesetter(self.text, styles, is_framed=is_framed)
        self._ground = styles.colour(ground) if ground else QColor(0, 0, 0, 0)
        self._ink = styles.colour(ink)
        self._heights = Heights()
        self._boxes: dict[int, Box] = {}
        self._retired: dict[int, Box] = {}
        self._of_other_width: dict[int, Box] = {}
        """What was laid out before the width changed, and is not needed yet at the new one."""
        self.revision = 0
        """Changes whenever something was laid out or forgotten."""

    @property
    def height(self) -> int:
        """Of all blocks, exact where they were laid out."""
        return self._heights.total

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
        """Show `blocks`, of which those from index `changed` on are new or different, with their `marks`."""
        text, boxes = self.text, self._boxes
        self.revision += 1
        # Whether a part of a fence has a lower edge depends on the block behind it.
        first = max(0, min(changed - 1, len(text.blocks) - 1))
        marked_before = {index: text.marks_of(index) for index in boxes if index >= first}
        text.blocks[first:] = blocks[first:]
        text.references, text.marks = references, marks
        self._of_other_width = {index: box for index, box in self._of_other_width.items() if index < first}
        for index, before in marked_before.items():
            is_kept = index < len(blocks) and text.marks_of(index) == before
            if not is_kept or not self._typesetter.is_current(index, boxes[index]):
                self._retired[index] = boxes.pop(index)
        self._heights.replace(
            first,
            (
                boxes[index].height if index in boxes else self._typesetter.estimate(index)
                for index in range(first, len(blocks))
            ),
        )

    def set_width(self, width: int) -> None:
        """Wrap at `width` from now on."""
        if width != self._typesetter.width:
            self._typesetter.width = width
            self.revision += 1
            self._of_other_width |= self._boxes
            self._boxes.clear()
            self._retired.clear()
            self._heights.replace(0, map(self._typesetter.estimate, range(len(self.text.blocks))))

    # -- layout --

    def lay_out(self, top: int, bottom: int, time: Slice | None = None) -> None:
        """Lay out what lies between these edges; heights above and within may change by it.

        When the time is over before it is done, the rest stays blank: call it again.
        """
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
        """Forget the layout of what lies outside these edges."""
        if len(self._boxes) + len(self._of_other_width) <= _FEW or not self.text.blocks:
            return
        first, last = self._heights.at(top), self._heights.at(bottom)
        for boxes in (self._boxes, self._of_other_width):
            for index in [index for index in boxes if not first <= index <= last]:
                del boxes[index]
                self.revision += 1

    def release_all(self) -> None:
        """Forget the layout, and with it every painted picture. Heights stay as they are."""
        self._boxes.clear()
        self._retired.clear()
        self._of_other_width.clear()
        self.revision += 1

    def anchor(self, y: int) -> tuple[int, int]:
        """Return the block at `y`, and how far below its top `y` is: stable while heights above change."""
        index = max(0, self._heights.at(y))
        return index, y - self._heights.top(index)

    def top(self, index: int) -> int:
        """Return where a block begins."""
        return self._heights.top(min(index, len(self.text.blocks)))

    def _box(self, index: int) -> Box:
        box = self._boxes.get(index)
        if box is None:
            before = self._of_other_width.pop(index, None)
            if before is not None:
                box = self._typesetter.box_of_other_width(index, before)
            else:
                box = self._typesetter.box(index, self._retired.get(index))
            self._boxes[index] = box
            self._heights.set(index, box.height)
            self.revision += 1
        return box

    def colour_next(self, top: int, bottom: int, lexers: Lexers) -> bool:
        """Colour one piece of code between these edges that is plain and whose lexer is there. Whether it did."""
        for index in sorted(self._boxes):
            if self._heights.top(index) > bottom:
                break
            if self._heights.top(index + 1) >= top and self._typesetter.colour(index, lexers):
                self._boxes[index] = self._typesetter.box(index)
                return True
        return False

    # -- painting --

    def draw(self, painter: QPainter, top: int, bottom: int) -> None:
        """Paint what lies between these edges. Must have been laid out."""
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
        """Return the place nearest to a point."""
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
                QRect(0, self._heights.top(index) + box.gap, self._typesetter.width, box.height - box.gap),
            )
            for index, box in sorted(self._boxes.items())
            if box.block.kind == "code" and box.block.joint is None
        ]
