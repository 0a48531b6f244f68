"""Mathematics in markdown: left as it was written, because what it means to TeX, markdown would take for emphasis.

Inline it stands in `$…$`, `$$…$$`, `\\(…\\)` or `\\[…\\]`; a block of it begins with a line of only `$$` or
`\\[`, and is shown as code.
"""

import re
from typing import Literal, Protocol

from desktop_agent.ui.chat.markdown.blocks import SOFT_LIMIT

MATH_BLOCK = "math_block"
"""The type of the token of a block."""

_CLOSINGS = {"$$": "$$", r"\[": r"\]", r"\(": r"\)"}
_FENCES = ("```", "~~~")
_LONGEST_IN_DOLLARS = 300
_DOLLARS = re.compile(r"\$(?![\s$])(?:[^$\\\n]|\\[^\n])*?(?<!\s)\$(?!\d)")
"""An amount is no formula: no blank inside the dollars, and no digit behind them."""
_IS_TEX = re.compile(r"[\\^_*{]")
"""What markdown would read as something else, or not show. Anything simpler is as readable without its escapes."""


class _Token(Protocol):
    """What is told of a block."""

    info: str
    content: str
    map: list[int] | None


class _Lines(Protocol):
    """The state of markdown-it-py's reader of blocks, as far as it is needed here."""

    src: str
    bMarks: list[int]
    eMarks: list[int]
    tShift: list[int]
    sCount: list[int]
    blkIndent: int
    line: int

    def isEmpty(self, line: int) -> bool: ...
    def is_code_block(self, line: int) -> bool: ...
    def getLines(self, begin: int, end: int, indent: int, keepLastLF: bool) -> str: ...
    def push(self, ttype: str, tag: str, nesting: Literal[0]) -> _Token: ...


class _Text(Protocol):
    """The state of its reader of what is in a block."""

    src: str
    pos: int
    posMax: int

    @property
    def pending(self) -> str: ...
    @pending.setter
    def pending(self, value: str) -> None: ...


def leave_formula(state: _Text, silent: bool) -> bool:
    """Take a formula for text: a rule of the reader of what is in a block."""
    end = _end_of_formula(state.src, state.pos, state.posMax)
    if end is None:
        return False
    if not silent:
        state.pending += state.src[state.pos : end]
    state.pos = end
    return True


def _end_of_formula(text: str, start: int, limit: int) -> int | None:
    """Return where the formula ends that begins at `start`, if one does."""
    if (closing := _CLOSINGS.get(text[start : start + 2])) is not None:
        end = text.find(closing, start + 2, min(limit, start + SOFT_LIMIT))
        inside = text[start + 2 : end] if end >= 0 else ""
        is_formula = any(map(str.isalnum, inside)) and (closing == "$$" or _IS_TEX.search(inside) is not None)
        return end + 2 if is_formula else None
    if text[start] != "$" or (start and (text[start - 1].isalnum() or text[start - 1] == "$")):
        return None
    found = _DOLLARS.match(text, start, min(limit, start + _LONGEST_IN_DOLLARS))
    return found.end() if found is not None else None


def read_math_block(state: _Lines, start_line: int, end_line: int, silent: bool) -> bool:
    """Read a line with only the sign, and the lines up to the one that ends with its counterpart, or to a blank one.

    A rule of the reader of blocks.
    """
    opening = _line(state, start_line).strip()
    if opening not in ("$$", r"\[") or state.is_code_block(start_line):
        return False
    if silent:
        return True
    closing, line = _CLOSINGS[opening], start_line + 1
    while line < end_line and not state.isEmpty(line) and state.sCount[line] >= state.blkIndent:
        if _line(state, line).startswith(_FENCES):
            break  # the reader of a stream opens a fence wherever one stands
        line += 1
        if _line(state, line - 1).rstrip().endswith(closing):
            break
    token = state.push(MATH_BLOCK, "", 0)
    token.info = "math"
    token.content = state.getLines(start_line, line, state.blkIndent, False)
    token.map = [start_line, line]
    state.line = line
    return True


def _line(state: _Lines, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
