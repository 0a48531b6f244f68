"""The text of blocks as it is shown, and what copying a part of it gives."""

from collections.abc import Sequence
from typing import NamedTuple

from desktop_agent.ui.chat.markdown.blocks import Block
from desktop_agent.ui.chat.markdown.inline import LINE_BREAK, rich_text, utf16_length, utf16_slice
from desktop_agent.ui.chat.markdown.parse import References


class TextPosition(NamedTuple):
    """A position in a column: a block, and an offset in its text. Places of one column compare in reading order."""

    block: int
    offset: int


END = TextPosition(1 << 60, 0)
"""Behind everything, in any column."""


def shown_text(block: Block, references: References) -> str:
    """Return the text of a block as it is shown, with `LINE_BREAK` between lines."""
    match block.kind:
        case "rule":
            return ""
        case "table":
            return "\n".join("\t".join(rich_text(cell, references).text for cell in row) for row in block.rows)
        case "code" | "plain":
            return block.content.replace("\n", LINE_BREAK)
        case _:
            return rich_text(block.content, references).text


def copied_text(
    blocks: Sequence[Block], references: References, start: TextPosition, end: TextPosition, source: str
) -> str:
    """Return what copying from `start` to `end` gives.

    Within one block that is the text as it is shown; beyond, blocks that are whole give their source, where it begins
    and ends in `source`, and the parts at both ends their text.
    """
    first, last = blocks[start.block], blocks[end.block]
    if first.start == last.start:  # one block, or parts of one paragraph in a list or quote, which share their source
        return _joined(blocks, references, start, end)
    last_text = shown_text(last, references)
    is_whole_end = end.offset >= utf16_length(last_text)
    middle_start = first.start if start.offset == 0 else first.end
    middle_end = last.end if is_whole_end else max(last.start, middle_start)
    parts = [source[middle_start:middle_end]]
    if start.offset:
        first_text = shown_text(first, references)
        parts.insert(0, _lines(utf16_slice(first_text, start.offset, utf16_length(first_text))))
    if not is_whole_end:
        parts.append(_lines(utf16_slice(last_text, 0, end.offset)))
    return "".join(parts)


def _joined(blocks: Sequence[Block], references: References, start: TextPosition, end: TextPosition) -> str:
    parts: list[str] = []
    for index in range(start.block, end.block + 1):
        text = shown_text(blocks[index], references)
        first = start.offset if index == start.block else 0
        last = end.offset if index == end.block else utf16_length(text)
        parts += (blocks[index].joint or "", utf16_slice(text, first, last))
    return _lines("".join(parts[1:]))


def _lines(text: str) -> str:
    return text.replace(LINE_BREAK, "\n")
