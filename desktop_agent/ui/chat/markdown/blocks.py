"""What a message is made of once read: a flat list of blocks, each small enough to lay out in a frame.

Nesting is flattened into `containers`, so a fence in a list in a quote is one block that knows how far in it stands.
Text and code longer than a few kilobytes is cut into parts that continue each other: what a frame costs must not grow
with what was written before.
"""

from typing import Literal, NamedTuple

SOFT_LIMIT = 2000
"""Characters of prose in one block. A longer paragraph continues in the next block."""

CHUNK_LINES = 40
CHUNK_CHARS = 4000
"""Lines and characters of code or plain text in one block."""

TABLE_ROWS = 20
"""Body rows of a table in one block."""

BlockKind = Literal["text", "heading", "code", "plain", "table", "rule"]
Alignment = Literal["left", "center", "right"]


class Block(NamedTuple):
    """One block: its own text, where it stands, and which part of the source it came from.

    A named tuple because thousands are made, compared and thrown away while an answer streams.
    """

    kind: BlockKind
    content: str
    """Markdown without its block syntax for `text` and `heading`; the very text for `code` and `plain`."""
    start: int
    """Where its source begins, in characters of the whole message."""
    end: int
    joint: str | None = None
    """Set when this continues the block before it: what stood between the two parts."""
    containers: str = ""
    """`l` for each list and `q` for each quote around it, outermost first."""
    marker: str = ""
    """The sign or number of the list item that begins here."""
    level: int = 0
    """Of a heading, 1 to 6."""
    language: str = ""
    """What a fence says it holds, its first word."""
    rows: tuple[tuple[str, ...], ...] = ()
    """Cells of a table; the header is row 0 unless the block continues a table."""
    alignments: tuple[Alignment, ...] = ()


class Part(NamedTuple):
    """A piece of a long text: where it begins, what it holds, and what stood before it."""

    start: int
    text: str
    joint: str | None


def prose_cut(text: str) -> int:
    """Return where the first part of `text` ends, or 0 when it fits in one block.

    Looks at the first `SOFT_LIMIT` characters only, so more text at the end never moves a cut.
    """
    if len(text) <= SOFT_LIMIT:
        return 0
    least = SOFT_LIMIT * 2 // 3
    for stop in ("\n", ". ", " "):
        found = text.rfind(stop, least, SOFT_LIMIT)
        if found > 0:
            return found + len(stop.rstrip(" \n"))
    return SOFT_LIMIT


def prose_parts(text: str) -> list[Part]:
    """Cut `text` into parts of a few kilobytes, at line ends, sentences or words where there are any."""
    parts: list[Part] = []
    start, joint = 0, None
    while cut := prose_cut(text[start : start + SOFT_LIMIT + 1]):
        end = start + cut
        parts.append(Part(start, text[start:end].rstrip(), joint))
        start, joint = skip_joint(text, end)
    parts.append(Part(start, text[start:], joint))
    return parts


def skip_joint(text: str, end: int) -> tuple[int, str]:
    """Return where the part after a cut at `end` begins, and the white space between the two."""
    start = end
    while start < len(text) and text[start] in " \n\t":
        start += 1
    return start, "\n" if "\n" in text[end:start] else text[end:start][:1]


def code_cut(text: str) -> tuple[int, str]:
    """Return where the first chunk of `text` ends and what separates it from the next, or (0, "") when it fits.

    Looks at the first `CHUNK_LINES` lines and `CHUNK_CHARS` characters only, and wants text behind the cut.
    """
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


def code_parts(text: str) -> list[Part]:
    """Cut code or plain text into chunks of whole lines; a line longer than a chunk is cut within."""
    parts: list[Part] = []
    start, joint = 0, None
    # A chunk's decision needs at most one character more than a chunk can hold.
    while True:
        cut, separator = code_cut(text[start : start + CHUNK_CHARS + 2])
        if not cut:
            parts.append(Part(start, text[start:], joint))
            return parts
        parts.append(Part(start, text[start : start + cut], joint))
        start, joint = start + cut + len(separator), separator


def plain_blocks(text: str) -> list[Block]:
    """Return `text` as it is, not read as markdown: what a person wrote, or what a program printed."""
    return [
        Block("plain", part.text, part.start, part.start + len(part.text), joint=part.joint)
        for part in code_parts(text)
    ]
