"""The parsed form of a message: a flat list of blocks, each small enough to lay out within one frame.

Nesting is flattened into `containers`. Text and code longer than a few kilobytes is cut into parts that continue each
other, so that the cost of a frame does not grow with the text before it.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

SOFT_LIMIT = 2000
PROSE_LINES = 40
"""The most characters and source lines of prose in one block. A longer paragraph continues in the next block."""

CHUNK_LINES = 40
CHUNK_CHARS = 4000
"""The most lines and characters of code or plain text in one block."""

TABLE_ROWS = 20
TABLE_CELLS = 60
TABLE_CHARS = 1200
"""The most body rows of a table in one block. The block is also full once they have this many cells or characters."""

MOST_COLUMNS = 32

BlockKind = Literal["text", "heading", "code", "plain", "table", "rule"]
Alignment = Literal["left", "center", "right"]


class Block(NamedTuple):
    kind: BlockKind
    content: str
    """Markdown without its block syntax for `text` and `heading`; the text itself for `code` and `plain`."""
    start: int
    """Where its source begins, in characters of the whole message."""
    end: int
    joint: str | None = None
    """If this continues the block before it, the text that stood between the two; otherwise None."""
    containers: str = ""
    """`l` for each list and `q` for each quote around it, outermost first."""
    marker: str = ""
    level: int = 0
    language: str = ""
    label: str = ""
    """What stands above code in place of its language."""
    rows: tuple[tuple[str, ...], ...] = ()
    """Cells of a table; the header is row 0 unless the block continues a table."""
    alignments: tuple[Alignment, ...] = ()


class TextSlice(NamedTuple):
    start: int
    text: str
    joint: str | None


def table_parts(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the ends of the parts into which a table is cut. Appended rows never move a cut."""
    ends: list[int] = []
    start = cells = chars = 0
    for number, row in enumerate(rows, 1):
        cells += len(row)
        chars += sum(map(len, row))
        if number - start >= TABLE_ROWS or cells >= TABLE_CELLS or chars >= TABLE_CHARS or number == len(rows):
            ends.append(number)
            start, cells, chars = number, 0, 0
    return ends or [0]


def bounded(text: str, start: int, chars: int, lines: int) -> int:
    """Return the end of the first `lines` lines of `text` after `start`, at most `chars` characters after `start`."""
    limit = min(len(text), start + chars)
    at = start
    for _ in range(lines):
        at = text.find("\n", at, limit) + 1
        if not at:
            return limit
    return at


def prose_cut(text: str) -> int:
    """Return the end of the first part, or 0 if all of `text` fits. Appended text never moves a cut."""
    end = bounded(text, 0, SOFT_LIMIT, PROSE_LINES)
    if end == len(text):
        return 0
    if text[end - 1] == "\n" and text.count("\n", 0, end) == PROSE_LINES:
        return end - 1
    least = SOFT_LIMIT * 2 // 3
    for stop in ("\n", ". ", " "):
        found = text.rfind(stop, least, SOFT_LIMIT)
        if found > 0:
            return found + len(stop.rstrip(" \n"))
    return SOFT_LIMIT


def prose_parts(text: str) -> list[TextSlice]:
    parts: list[TextSlice] = []
    start, joint = 0, None
    while cut := prose_cut(text[start : start + SOFT_LIMIT + 1]):
        end = start + cut
        parts.append(TextSlice(start, text[start:end].rstrip(), joint))
        start, joint = skip_joint(text, end)
    parts.append(TextSlice(start, text[start:], joint))
    return parts


def skip_joint(text: str, end: int) -> tuple[int, str]:
    """Return where the part after a cut at `end` begins, and the white space between the parts."""
    start = end
    while start < len(text) and text[start] in " \n\t":
        start += 1
    return start, "\n" if "\n" in text[end:start] else text[end:start][:1]


def code_cut(text: str) -> tuple[int, str]:
    """Return the end of the first chunk and the separator after it, or (0, "") if all of `text` fits."""
    at = -1
    for _ in range(CHUNK_LINES):
        at = text.find("\n", at + 1, CHUNK_CHARS + 1)
        if at < 0:
            break
    if at >= 0:
        return (at, "\n") if len(text) > at + 1 else (0, "")
    if len(text) <= CHUNK_CHARS:
        return 0, ""
    line_end = text.rfind("\n", 1, CHUNK_CHARS)
    return (line_end, "\n") if line_end > 0 else (CHUNK_CHARS, "")


def code_parts(text: str) -> list[TextSlice]:
    parts: list[TextSlice] = []
    start, joint = 0, None
    # A chunk's decision needs at most one character more than a chunk can hold.
    while True:
        cut, separator = code_cut(text[start : start + CHUNK_CHARS + 2])
        if not cut:
            parts.append(TextSlice(start, text[start:], joint))
            return parts
        parts.append(TextSlice(start, text[start : start + cut], joint))
        start, joint = start + cut + len(separator), separator


def plain_blocks(text: str) -> list[Block]:
    return [
        Block("plain", part.text, part.start, part.start + len(part.text), joint=part.joint)
        for part in code_parts(text)
    ]
