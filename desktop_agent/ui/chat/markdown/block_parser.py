r"""Converts markdown source to blocks: markdown-it-py parses the structure, this module flattens it.

Mathematics stays source text, because markdown reads some signs of TeX as emphasis. Inline formulas are in `$…$`,
`$$…$$`, `\(…\)` or `\[…\]`; a block formula begins with a line of only `$$` or `\[`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from desktop_agent.ui.chat.markdown.blocks import (
    MOST_COLUMNS,
    SOFT_LIMIT,
    Alignment,
    Block,
    BlockKind,
    TextSlice,
    code_parts,
    prose_cut,
    prose_parts,
    table_parts,
)

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

MarkdownToken: TypeAlias = "Token"

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


References = dict[str, dict[str, object]]
"""Link reference definitions by label, as markdown-it-py keeps them: `title`, `href` and the lines (`map`)."""

SENTINEL = "\u2060"
"""A word joiner, put before a line from the middle of a paragraph. It is invisible, and no block starts with it."""

BULLET = "•"
_MAX_NESTING = 60
_NEWLINE = re.compile("\n")
_ALIGNMENTS: dict[str, Alignment] = {"text-align:center": "center", "text-align:right": "right"}
_TASK_SIGNS = {"[ ] ": "☐", "[x] ": "☑", "[X] ": "☑"}


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

    options = {"html": False, "maxNesting": _MAX_NESTING}
    markdown = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    markdown.block.ruler.at("table", short_table, {"alt": ["paragraph", "reference"]})
    markdown.inline.ruler.before("escape", "math", leave_formula)
    interrupted = ["paragraph", "reference", "blockquote", "list"]
    markdown.block.ruler.before("fence", MATH_BLOCK, read_math_block, {"alt": interrupted})
    return markdown


def language_of(info: str) -> str:
    word = info.split(maxsplit=1)[0] if info.strip() else ""
    if "\\" not in word and "&" not in word:
        return word
    from markdown_it.common.utils import unescapeAll

    return unescapeAll(word)


def _table_end(state: "StateBlock", start_line: int, end_line: int) -> int:
    lines = range(min(start_line + 2, end_line), end_line)
    return next((line for line in lines if state.eMarks[line] - state.bMarks[line] > SOFT_LIMIT), end_line)


class Node(Struct, frozen=True):
    """A node of a parsed region: its tokens `first:last` and its lines `line:end_line`."""

    first: int
    last: int
    line: int
    end_line: int


Resumption = Literal["", "paragraph", "list", "table"]


class Region:
    """A part of the source that is parsed on its own.

    The first `prefix` characters of `text` are not in the source: they continue a paragraph or a table (`resumes`).
    `number` continues an ordered list, and `joint` continues a paragraph. `offset` is the message position of the first
    character after the prefix.
    """

    def __init__(
        self,
        text: str,
        offset: int,
        *,
        prefix: int = 0,
        resumes: Resumption = "",
        number: int | None = None,
        joint: str = "",
        references: References | None = None,
    ) -> None:
        self.text, self.offset, self.prefix = text, offset, prefix
        self.resumes, self.number, self.joint, self.references = resumes, number, joint, references or {}
        self.tokens: list[Token] = []
        markdown = parser()
        env = {"references": self.references, "is_mid_paragraph": resumes == "paragraph"}
        markdown.block.parse(text, markdown, env, self.tokens)
        self.nodes = _top_level(self.tokens)
        self.line_starts = [0, *(found.end() for found in _NEWLINE.finditer(text))]

    @property
    def complete_lines(self) -> int:
        """How many lines end in a newline. The meaning of an unfinished last line can still change."""
        return len(self.line_starts) - 1

    def position(self, line: int) -> int:
        at = self.line_starts[line] if line < len(self.line_starts) else len(self.text)
        return self.offset + max(0, at - self.prefix)

    def span(self, line: int, end_line: int) -> tuple[int, int]:
        """Return start and end of these lines in the message, without trailing blank lines."""
        start, end = self.position(line), self.position(end_line)
        shift = self.prefix - self.offset
        return start, start + len(self.text[start + shift : end + shift].rstrip())

    def text_start(self, line: int) -> int:
        """Return where the text of a top-level paragraph that begins in `line` starts, as a position in the message."""
        at = max(self.line_starts[line], self.prefix)
        while self.text[at] in " \t":
            at += 1
        return self.offset + at - self.prefix

    def blocks(self, nodes: Sequence[Node]) -> list[Block]:
        """A list among the blocks may lack its last items."""
        found: list[Block] = []
        for node in nodes:
            flattener = _Flattener(self, is_first=node.first == 0)
            if self.tokens[node.first].type in ("bullet_list_open", "ordered_list_open"):
                for item in self.items(node):
                    flattener.flatten(item)
            else:
                flattener.flatten(node)
            found += flattener.found
        return found

    def first_fence(self) -> int | None:
        for index, node in enumerate(self.nodes):
            if self.tokens[node.first].type == "fence" and node.line < self.complete_lines:
                return index
        return None

    def items(self, node: Node) -> list[Node]:
        starts = [
            index
            for index in range(node.first, node.last)
            if self.tokens[index].level == 1 and self.tokens[index].type == "list_item_open"
        ]
        ends = [*starts[1:], node.last]
        lines = [(self.tokens[index].map or [0, 0])[0] for index in starts]
        starts[0] = node.first
        return [
            Node(first, last, line, end_line)
            for first, last, line, end_line in zip(starts, ends, lines, [*lines[1:], node.end_line], strict=True)
        ]

    def row_lines(self, node: Node) -> list[int]:
        return _row_lines(self.tokens[node.first : node.last])[1:]


def _top_level(tokens: "Sequence[Token]") -> list[Node]:
    nodes: list[Node] = []
    first = 0
    for index, token in enumerate(tokens):
        if token.level == 0 and token.nesting <= 0:
            line, end_line = tokens[first].map or (0, 0)
            nodes.append(Node(first, index + 1, line, end_line))
            first = index + 1
    return nodes


@dataclass(slots=True)
class _Flattener:
    region: Region
    is_first: bool
    """Whether the node is the first of its region. Only the first can continue a block from before the region."""
    found: list[Block] = field(default_factory=list[Block])
    containers: str = ""
    marker: str = ""
    """The marker of an item that has no block yet."""
    item_lines: tuple[int, int] = (0, 0)
    numbers: list[int | None] = field(default_factory=list[int | None])
    """The next number of each open list, `None` for bullets."""

    def flatten(self, node: Node) -> None:
        tokens = self.region.tokens[node.first : node.last]
        if max(token.level for token in tokens) >= _MAX_NESTING - 1:
            self._as_source(node, tokens)
            return
        index = 0
        while index < len(tokens):
            index += self._take(tokens, index)

    def _as_source(self, node: Node, tokens: "list[Token]") -> None:
        """Add the source itself, because markdown-it-py drops deeply nested content."""
        for token in tokens:
            if token.level == 0 and token.nesting == 1:
                self._take([token], 0)
        if self.numbers and (number := self.numbers[-1]) is not None:
            self.numbers[-1] = number + 1
        start, end = self.region.span(node.line, node.end_line)
        shift = self.region.prefix - self.region.offset
        self._add("plain", (node.line, node.end_line), code_parts(self.region.text[start + shift : end + shift]))
        for token in tokens:
            if token.level == 0 and token.nesting == -1:
                self._take([token], 0)

    def _take(self, tokens: "list[Token]", index: int) -> int:
        """Return the number of tokens processed."""
        token = tokens[index]
        lines = (token.map[0], token.map[1]) if token.map else (0, 0)
        match token.type:
            case "paragraph_open":
                self._paragraph(lines, tokens[index + 1].content)
            case "heading_open":
                self._heading(token, lines, tokens[index + 1].content)
            case "fence" | "code_block" | "math_block":
                parts = code_parts(token.content.removesuffix("\n"))
                self._add("code", lines, parts, language=language_of(token.info))
            case "hr":
                self._add("rule", lines, [TextSlice(0, "", None)])
            case "table_open":
                end = next(at for at in range(index, len(tokens)) if tokens[at].type == "table_close") + 1
                self._table(tokens[index:end])
                return end - index
            case "list_item_open":
                self._begin_item(token.markup, lines)
            case "list_item_close":
                self._finish_empty_item()
            case "bullet_list_open" | "ordered_list_open":
                self._finish_empty_item()  # a list at the start of an item is placed below the item's marker
                self.numbers.append(self._first_number(token) if token.type == "ordered_list_open" else None)
                self.containers += "l"
            case "blockquote_open":
                self.containers += "q"
            case "bullet_list_close" | "ordered_list_close":
                self.numbers.pop()
                self.containers = self.containers[:-1]
            case "blockquote_close":
                self.containers = self.containers[:-1]
            case _:
                pass
        return 1

    def _resumes(self, what: Resumption) -> bool:
        return self.is_first and not self.found and self.region.resumes == what

    def _first_number(self, token: "Token") -> int:
        if self.is_first and not self.numbers and self.region.number is not None:
            return self.region.number
        return int(token.attrs.get("start", 1))

    def _begin_item(self, markup: str, lines: tuple[int, int]) -> None:
        self._finish_empty_item()
        number = self.numbers[-1]
        self.marker = BULLET if number is None else f"{number}{markup}"
        self.item_lines = lines
        if number is not None:
            self.numbers[-1] = number + 1

    def _finish_empty_item(self) -> None:
        if self.marker:
            line = self.item_lines[0]
            self._add("text", (line, line + 1), [TextSlice(0, "", None)])

    def _paragraph(self, lines: tuple[int, int], content: str) -> None:
        is_resumed = self._resumes("paragraph")
        content = content.removeprefix(SENTINEL) if is_resumed else content
        if self.marker and (sign := _TASK_SIGNS.get(content[:4])):
            self.marker, content = sign, content[4:].lstrip()
        parts = prose_parts(content)
        if is_resumed:
            parts[0] = parts[0]._replace(joint=self.region.joint)
        if self.containers:
            self._add("text", lines, parts)
            return
        # A top-level paragraph keeps its source text, so that every part has its position in the source.
        start = self.region.text_start(lines[0])
        for part in parts:
            at = start + part.start
            self.found.append(Block("text", part.text, at, at + len(part.text), joint=part.joint))

    def _heading(self, token: "Token", lines: tuple[int, int], content: str) -> None:
        level = int(token.tag[1:])
        text = content.removeprefix(SENTINEL) if self._resumes("paragraph") else content
        if token.markup.startswith("#") or not prose_cut(text):
            self._add("heading", lines, prose_parts(text), level=level)
            return
        # An underlined paragraph: parts that settled before the underline stay a paragraph.
        self._paragraph(lines, content)
        end = self.region.span(*lines)[1]
        self.found[-1] = self.found[-1]._replace(kind="heading", level=level, joint=None, end=end)

    def _add(
        self, kind: BlockKind, lines: tuple[int, int], parts: list[TextSlice], *, level: int = 0, language: str = ""
    ) -> None:
        start, end = self.region.span(*lines)
        for part in parts:
            block = Block(
                kind, part.text, start, end, part.joint, self.containers, self.marker, level=level, language=language
            )
            self.found.append(block)
            self.marker = ""

    def _table(self, tokens: "list[Token]") -> None:
        rows, alignments = _cells(tokens)
        lines = _row_lines(tokens)
        is_resumed = self._resumes("table")
        if is_resumed and len(rows) == 1:
            return
        at = 1
        for part_end in table_parts(rows[1:]):
            is_continued = is_resumed or at > 1
            last = 1 + part_end
            end_line = lines[last - 1] + 1 if last > 1 else lines[0] + 2
            start, end = self.region.span(lines[at if is_continued else 0], end_line)
            block = Block(
                "table",
                "",
                start,
                end,
                "\n" if is_continued else None,
                self.containers,
                self.marker,
                rows=tuple(rows[at if is_continued else 0 : last]),
                alignments=alignments,
            )
            self.found.append(block)
            self.marker = ""
            at = last


def _row_lines(tokens: "Sequence[Token]") -> list[int]:
    return [token.map[0] for token in tokens if token.type == "tr_open" and token.map]


def _cells(tokens: "Sequence[Token]") -> tuple[list[tuple[str, ...]], tuple[Alignment, ...]]:
    rows: list[tuple[str, ...]] = []
    alignments: list[Alignment] = []
    row: list[str] = []
    for token in tokens:
        match token.type:
            case "th_open":
                alignments.append(_ALIGNMENTS.get(str(token.attrs.get("style", "")), "left"))
            case "inline":
                row.append(token.content)
            case "tr_close":
                rows.append(tuple(row))
                row = []
            case _:
                pass
    return rows, tuple(alignments)
