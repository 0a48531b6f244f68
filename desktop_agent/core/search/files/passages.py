"""Passages: a text file as overlapping windows of lines, small enough to be an answer."""

from collections.abc import Iterator

from msgspec import Struct

from desktop_agent.core.search.files.question import humps
from desktop_agent.core.search.files.symbols import definitions

STEP_LINES = 40
OVERLAP_LINES = 10
"""What begins in one window is seen whole in it, unless it is longer than this."""
LONGEST_LINE = 500
"""Of longer lines, which are data or made by a tool, only the beginning is indexed."""


class CodePassage(Struct, frozen=True):
    """One window."""

    first: int
    """Its first line, from 1."""
    symbols: tuple[str, ...]
    """What it defines, after what it is part of: the definition before it."""
    words: str
    """The words of its camelCase."""
    content: str


def passages(path: str, text: str) -> Iterator[CodePassage]:
    """Yield the windows of a file, in order. Lines end in `\\n`."""
    lines = [_shortened(line) for line in text.replace("\r\n", "\n").split("\n")]
    if lines and lines[-1] == "\n":
        lines.pop()
    named = definitions(path, lines)
    enclosing = ""
    for begin in range(0, len(lines), STEP_LINES):
        end = min(begin + STEP_LINES + OVERLAP_LINES, len(lines))
        inside = [name for line, name in named if begin <= line < end]
        content = "".join(lines[begin:end])
        symbols = tuple(dict.fromkeys([enclosing, *inside] if enclosing else inside))
        yield CodePassage(begin + 1, symbols, humps(content), content)
        before_next = [name for line, name in named if begin <= line < begin + STEP_LINES]
        enclosing = before_next[-1] if before_next else enclosing
        if end == len(lines):
            return


def _shortened(line: str) -> str:
    return f"{line[:LONGEST_LINE]}\n"
