r"""The configured markdown parser. Mathematics stays source text: markdown reads some signs of TeX as emphasis.

Inline formulas are in `$…$`, `$$…$$`, `\(…\)` or `\[…\]`; a block formula begins with a line of only `$$` or `\[`.
"""

import re
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from desktop_agent.ui.chat.markdown.blocks import MOST_COLUMNS, SOFT_LIMIT

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

MarkdownToken: TypeAlias = "Token"

References = dict[str, dict[str, object]]
"""Link reference definitions by label, as markdown-it-py keeps them: `title`, `href` and the lines (`map`)."""

MAX_NESTING = 60

MATH_BLOCK = "math_block"

_FORMULA_CLOSINGS = {"$$": "$$", r"\[": r"\]", r"\(": r"\)"}
_FENCES = ("```", "~~~")
_LONGEST_IN_DOLLARS = 300
_DOLLARS = re.compile(r"\$(?![\s$])(?:[^$\\\n]|\\[^\n])*?(?<!\s)\$(?!\d)")
"""A formula in dollars. To tell it from amounts of money: no space just inside the dollars, no digit after them."""
_IS_TEX = re.compile(r"[\\^_*{]")
"""Characters that markdown would misread or hide. A simpler formula stays readable without its escapes."""


def leave_formula(state: "StateInline", silent: bool) -> bool:
    end = _end_of_formula(state.src, state.pos, state.posMax)
    if end is None:
        return False
    if not silent:
        state.pending += state.src[state.pos : end]
    state.pos = end
    return True


def _end_of_formula(text: str, start: int, limit: int) -> int | None:
    if (closing := _FORMULA_CLOSINGS.get(text[start : start + 2])) is not None:
        end = text.find(closing, start + 2, min(limit, start + SOFT_LIMIT))
        inside = text[start + 2 : end] if end >= 0 else ""
        is_formula = any(map(str.isalnum, inside)) and (closing == "$$" or _IS_TEX.search(inside) is not None)
        return end + 2 if is_formula else None
    if text[start] != "$" or (start and (text[start - 1].isalnum() or text[start - 1] == "$")):
        return None
    found = _DOLLARS.match(text, start, min(limit, start + _LONGEST_IN_DOLLARS))
    return found.end() if found is not None else None


def read_math_block(state: "StateBlock", start_line: int, end_line: int, silent: bool) -> bool:
    """A markdown-it-py rule: reads a line that is a formula, or lines up to a closing sign or a blank line."""
    first = _line_text(state, start_line).strip()
    opening = first[:2]
    if opening not in ("$$", r"\[") or state.is_code_block(start_line):
        return False
    closing, line = _FORMULA_CLOSINGS[opening], start_line + 1
    is_whole = _end_of_formula(first, 0, len(first)) == len(first)
    if first != opening and not is_whole:
        return False
    if silent:
        return True
    while not is_whole and line < end_line and not state.isEmpty(line) and state.sCount[line] >= state.blkIndent:
        if _line_text(state, line).startswith(_FENCES):
            break  # the stream parser opens a fence at every fence line
        line += 1
        if _line_text(state, line - 1).rstrip().endswith(closing):
            break
    token = state.push(MATH_BLOCK, "", 0)
    token.info = "math"
    token.content = state.getLines(start_line, line, state.blkIndent, False)
    token.map = [start_line, line]
    state.line = line
    return True


def _line_text(state: "StateBlock", line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


@cache
def parser() -> "MarkdownIt":
    """Return the configured parser: CommonMark with tables and strikethrough. HTML and mathematics stay text."""
    from markdown_it import MarkdownIt, rules_block

    def short_table(state: "StateBlock", start_line: int, end_line: int, silent: bool) -> bool:
        """Leave a table as text if it has too many columns, or if its header is too long or inside a paragraph."""
        start, end = state.bMarks[start_line], state.eMarks[start_line]
        is_prose = end - start > SOFT_LIMIT or (start == 0 and state.env["is_mid_paragraph"])
        if is_prose or state.src.count("|", start, end) > MOST_COLUMNS + 1:
            return False
        end_line = end_line if silent else _table_end(state, start_line, end_line)
        return rules_block.table(state, start_line, end_line, silent)

    options = {"html": False, "maxNesting": MAX_NESTING}
    markdown = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    markdown.block.ruler.at("table", short_table, {"alt": ["paragraph", "reference"]})
    markdown.inline.ruler.before("escape", "math", leave_formula)
    interrupted = ["paragraph", "reference", "blockquote", "list"]
    markdown.block.ruler.before("fence", MATH_BLOCK, read_math_block, {"alt": interrupted})
    return markdown


def _table_end(state: "StateBlock", start_line: int, end_line: int) -> int:
    lines = range(min(start_line + 2, end_line), end_line)
    return next((line for line in lines if state.eMarks[line] - state.bMarks[line] > SOFT_LIMIT), end_line)
