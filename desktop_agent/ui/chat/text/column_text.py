"""The text of a column of blocks, laid out or not: for search, selection and copying."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from desktop_agent.core.base.plain_text import with_directions_named
from desktop_agent.ui.chat.markdown.blocks import Block
from desktop_agent.ui.chat.markdown.parser import LINE_BREAK, References, rich_text, utf16_slice
from desktop_agent.ui.chat.text.passage import Highlight
from desktop_agent.ui.chat.text.styles import TextMark, TextStyles
from desktop_agent.ui.wording import utf16_length


class TextPosition(NamedTuple):
    """A position in a column: a block, and an offset in its text. Positions compare in reading order."""

    block: int
    offset: int


END = TextPosition(1 << 60, 0)


class ColumnText:
    """The text of a column. `marks` give, by block, the style and link target of parts of code and plain text."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.references: References = {}
        self.marks: Sequence[Sequence[TextMark]] = ()

    def block_before(self, index: int) -> Block | None:
        return self.blocks[index - 1] if index else None

    def is_continued(self, index: int) -> bool:
        return index + 1 < len(self.blocks) and self.blocks[index + 1].joint is not None

    def marks_of(self, index: int) -> Sequence[TextMark]:
        return self.marks[index] if index < len(self.marks) else ()

    def shown(self, index: int) -> str:
        return shown_text(self.blocks[index], self.references)

    def end(self) -> TextPosition:
        last = len(self.blocks) - 1
        return TextPosition(last, utf16_length(self.shown(last))) if last >= 0 else TextPosition(0, 0)

    def code(self, index: int) -> str:
        parts = [self.blocks[index].content]
        for block in self.blocks[index + 1 :]:
            if block.joint is None:
                break
            parts += (block.joint, block.content)
        return "".join(parts)

    def copied(self, start: TextPosition, end: TextPosition, source: str) -> str:
        """Return the text to copy: within one block as displayed; across blocks, whole blocks as in `source`."""
        end = min(end, self.end())
        if start >= end:
            return ""
        first, last = self.blocks[start.block], self.blocks[end.block]
        if first.start == last.start:  # one block, or parts of one item or quote, which share their source
            return self._joined(start, end)
        last_text = self.shown(end.block)
        is_whole_end = end.offset >= utf16_length(last_text)
        middle_start = first.start if start.offset == 0 else first.end
        middle_end = last.end if is_whole_end else max(last.start, middle_start)
        parts = [source[middle_start:middle_end]]
        if start.offset:
            first_text = self.shown(start.block)
            parts.insert(0, _lines(utf16_slice(first_text, start.offset, utf16_length(first_text))))
        if not is_whole_end:
            parts.append(_lines(utf16_slice(last_text, 0, end.offset)))
        return "".join(parts)

    def _joined(self, start: TextPosition, end: TextPosition) -> str:
        parts: list[str] = []
        for index in range(start.block, end.block + 1):
            text = self.shown(index)
            first = start.offset if index == start.block else 0
            last = end.offset if index == end.block else utf16_length(text)
            parts += (self.blocks[index].joint or "", utf16_slice(text, first, last))
        return _lines("".join(parts[1:]))


def shown_text(block: Block, references: References) -> str:
    """Return the displayed text of a block, with `LINE_BREAK` between lines."""
    match block.kind:
        case "rule":
            return ""
        case "table":
            return "\n".join("\t".join(rich_text(cell, references).text for cell in row) for row in block.rows)
        case "code" | "plain":
            return with_directions_named(block.content).replace("\n", LINE_BREAK)
        case _:
            return rich_text(block.content, references).text


def _lines(text: str) -> str:
    return text.replace(LINE_BREAK, "\n")


_MOST_MARKED = 60
"""The most matches of one block that are marked. If there are more, those around the current one are."""


class TextMatch(NamedTuple):
    block: int
    start: int
    end: int


class ColumnHighlights:
    def __init__(self, styles: TextStyles) -> None:
        self._styles = styles
        self._selection: tuple[TextPosition, TextPosition] | None = None
        self._matches: Sequence[TextMatch] = ()
        self._current: TextMatch | None = None

    def select(self, selection: tuple[TextPosition, TextPosition] | None) -> bool:
        if selection == self._selection:
            return False
        self._selection = selection
        return True

    def show_matches(self, matches: Sequence[TextMatch], current: TextMatch | None) -> None:
        """`matches` are in reading order."""
        self._matches = matches
        self._current = current

    def of_block(self, index: int, length: int) -> tuple[list[Highlight], object]:
        """Return the highlights in a block of this length, and a key that changes with them."""
        selected = self._selected_range(index, length)
        first = bisect_left(self._matches, (index,))
        matches = self._near_current(self._matches[first : bisect_left(self._matches, (index + 1,), first)])
        if selected is None and not matches:
            return [], None
        highlights: list[Highlight] = []
        for match in matches:
            background = "found_current" if match == self._current else "warning_bg"
            highlights.append(Highlight(match.start, match.end, self._styles.highlight(background, "text")))
        if selected is not None:
            highlights.append(Highlight(*selected, self._styles.highlight("accent", "on_accent")))
        return highlights, (selected, tuple(matches), self._current)

    def _near_current(self, matches: Sequence[TextMatch]) -> Sequence[TextMatch]:
        at = bisect_left(matches, self._current) if self._current is not None else 0
        first = max(0, min(at - _MOST_MARKED // 2, len(matches) - _MOST_MARKED))
        return matches[first : first + _MOST_MARKED]

    def _selected_range(self, index: int, length: int) -> tuple[int, int] | None:
        if self._selection is None:
            return None
        start, end = self._selection
        first = max(start, TextPosition(index, 0)).offset if start.block <= index else -1
        last = length if end.block > index else end.offset if end.block == index else -1
        return (first, last) if 0 <= first < last else None
