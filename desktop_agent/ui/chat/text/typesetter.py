"""Sets the blocks of a column: how each looks and how high it is, wherever it stands."""

from collections.abc import Iterable, Sequence
from math import ceil

from PySide6.QtGui import QTextCharFormat

from desktop_agent.ui.chat.lexers import Lexers
from desktop_agent.ui.chat.markdown.blocks import Block
from desktop_agent.ui.chat.markdown.highlight import Colouring, colour_code
from desktop_agent.ui.chat.markdown.inline import LINE_BREAK, InlineSpan, RichText, rich_text
from desktop_agent.ui.chat.text.box import RULE_HEIGHT, Box, code_padding
from desktop_agent.ui.chat.text.column_text import ColumnText
from desktop_agent.ui.chat.text.direction import is_right_to_left
from desktop_agent.ui.chat.text.file_links import FileLink, file_links, with_file_links
from desktop_agent.ui.chat.text.marks import LINK, TextMark
from desktop_agent.ui.chat.text.passage import TextPassage
from desktop_agent.ui.chat.text.styles import CODE_PADDING_X, TextStyles
from desktop_agent.ui.chat.text.table import Passage, TablePassage
from desktop_agent.ui.terminal.formats import format_ranges


class Typesetter:
    """Makes boxes for the blocks of `text`, `width` pixels wide. Knows the colours of code that were found out.

    With `is_framed` code has a ground and a header, and its lines are wrapped; without, they are cut at the edge.
    """

    def __init__(self, text: ColumnText, styles: TextStyles, *, is_framed: bool) -> None:
        self.width = 0
        self._text = text
        self._styles = styles
        self._is_framed = is_framed
        self._colours: dict[int, tuple[str, Colouring]] = {}
        self._tables: dict[int, tuple[Block, Sequence[float]]] = {}
        """Of the first part of each table, how wide its columns like to be."""

    def box(self, index: int, retired: Box | None = None) -> Box:
        """Lay a block out. `retired` is how it was a moment ago: what did not change in a table is kept."""
        return self._box_around(index, self._passage(index, retired))

    def box_of_other_width(self, index: int, box: Box) -> Box:
        """Lay a block out that did not change, but stood in `box` at another width, of which nothing is kept."""
        passage = box.passage
        if isinstance(passage, TextPassage):
            passage.wrap(self._text_width(box.block))
            return self._box_around(index, passage)
        return self.box(index, box)

    def _box_around(self, index: int, passage: Passage | None) -> Box:
        return Box(
            self._text.blocks[index],
            passage,
            self._styles,
            width=self.width,
            gap=self._gap(index),
            is_framed=self._is_framed,
            is_continued=self._text.is_continued(index),
            before=self._text.block_before(index),
        )

    def is_current(self, index: int, box: Box) -> bool:
        """Whether a block would be laid out again as it is in `box`."""
        block = self._text.blocks[index]
        has_reference = self._text.references and ("[" in block.content or block.kind == "table")
        return (
            box.block == block
            and box.is_continued == self._text.is_continued(index)
            and box.before == self._text.block_before(index)
            and not has_reference
        )

    def estimate(self, index: int) -> int:
        """Return about how high a block is."""
        block = self._text.blocks[index]
        gap = self._gap(index)
        match block.kind:
            case "rule":
                return gap + RULE_HEIGHT
            case "table":
                return gap + len(block.rows) * (self._styles.text_line + 10)
            case "code":
                is_continued = self._text.is_continued(index)
                padding = sum(code_padding(block, is_continued=is_continued)) if self._is_framed else 0
                letter = self._styles.code_width
            case _:
                padding, letter = 0, self._styles.text_width
        lines = _estimate_lines(block.content, self._text_width(block) / letter if self.width else 80)
        return gap + padding + lines * self._styles.line_height(block)

    def _gap(self, index: int) -> int:
        return self._styles.gap(self._text.block_before(index), self._text.blocks[index])

    def _text_width(self, block: Block) -> int:
        width = self.width - self._styles.indent(block.containers)
        if block.kind == "code" and self._is_framed:
            width -= 2 * CODE_PADDING_X
        return max(width, 40)

    def _passage(self, index: int, retired: Box | None) -> Passage | None:
        block = self._text.blocks[index]
        match block.kind:
            case "rule":
                return None
            case "table":
                before = retired.passage if retired is not None else None
                return self._table(index, before if isinstance(before, TablePassage) else None)
            case "code" | "plain":
                marks = self._text.marks_of(index)
                links = tuple(InlineSpan(mark.start, mark.length, 0, mark.href) for mark in marks if mark.href)
                rich = RichText(block.content.replace("\n", LINE_BREAK), links)
                formats: list[tuple[int, int, QTextCharFormat]] = []
                if not self._is_framed:
                    found = _links_beside(marks, file_links(block.content, self._styles.files))
                    rich = rich._replace(spans=(*links, *found))
                    formats = [(span.start, span.length, self._styles.mark(LINK)) for span in found]
                marked = [(mark.start, mark.length, self._styles.mark(mark.look)) for mark in marks]
                formats = [*self._colour_formats(index), *formats, *marked]
            case _:
                rich = with_file_links(rich_text(block.content, self._text.references), self._styles.files)
                is_mirrored = is_right_to_left(rich.text)
                formats = self._styles.formats(rich.spans, block.level, is_right_to_left=is_mirrored)
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

    # -- tables --

    def _table(self, index: int, before: TablePassage | None) -> TablePassage:
        block = self._text.blocks[index]
        # All parts of a table have the columns of its first.
        widths = self._column_widths(index) if block.joint is not None and index > 0 else None
        width = self._text_width(block)
        table = TablePassage(block, self._text.references, self._styles, width, natural_widths=widths, before=before)
        if widths is None:
            self._tables[index] = (block, table.natural_widths)
        return table

    def _column_widths(self, index: int) -> Sequence[float]:
        """Return how wide the columns of a table like to be, of which the block at `index` is a part."""
        blocks = self._text.blocks
        first = next(at for at in range(index, -1, -1) if blocks[at].joint is None)
        if first not in self._tables or self._tables[first][0] != blocks[first]:
            self._table(first, None)
        return self._tables[first][1]

    # -- colours of code --

    def colour(self, index: int, lexers: Lexers) -> bool:
        """Find out the colours of a block, if it is code and its lexer is there by now. Whether they are new."""
        block = self._text.blocks[index]
        if block.kind != "code" or not block.language:
            return False
        known = self._colours.get(index)
        if (known is not None and known[0] == block.content) or not lexers.is_known(block.language):
            return False
        lexer = lexers.get(block.language)
        before = self._text.blocks[index - 1].content if block.joint == "\n" else ""
        self._colours[index] = (block.content, colour_code(lexer, before, block.content) if lexer is not None else ())
        return True

    def _colour_formats(self, index: int) -> list[tuple[int, int, QTextCharFormat]]:
        content, colouring = self._colours.get(index, ("", ()))
        if not colouring or not self._text.blocks[index].content.startswith(content):
            return []
        styles = self._styles
        return [(start, length, styles.foreground(f"syntax_{role}")) for start, length, role in colouring]


def _estimate_lines(text: str, letters: float) -> int:
    """Return about how many lines `text` takes with so many letters in each."""
    return ceil(len(text) / max(letters, 1.0)) + text.count("\n") if text else 1


def _links_beside(marks: Sequence[TextMark], found: Iterable[FileLink]) -> list[InlineSpan]:
    """Return what was found in what has no look of its own: not in code, nor in what leads somewhere already."""
    return [
        InlineSpan(place.start, place.length, 0, place.href)
        for place in found
        if not any(mark.start < place.start + place.length and place.start < mark.start + mark.length for mark in marks)
    ]
