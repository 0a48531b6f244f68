"""Parses markdown that arrives in pieces into blocks, which do not depend on how the text is cut into pieces.

A region of the source is parsed on its own: markdown-it-py parses the structure, this module flattens it. A block is
*settled* once the next block has begun on a complete line; settled source is never parsed again. Long blocks settle in
parts: a paragraph at its soft cuts, a list by item, a table by rows.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.regex import regex
from desktop_agent.ui.chat.markdown.blocks import (
    CHUNK_CHARS,
    SOFT_LIMIT,
    Alignment,
    Block,
    BlockKind,
    TextSlice,
    bounded,
    code_cut,
    code_parts,
    prose_cut,
    prose_parts,
    skip_joint,
    table_parts,
)
from desktop_agent.ui.chat.markdown.parser import MAX_NESTING, MarkdownToken, References, parser, rich_text
from desktop_agent.ui.widgets.text_colours import lexer_for_language

SENTINEL = "\u2060"
"""A word joiner, put before a line from the middle of a paragraph. It is invisible, and no block starts with it."""

BULLET = "•"
_NEWLINE = regex("\n")
_ALIGNMENTS: dict[str, Alignment] = {"text-align:center": "center", "text-align:right": "right"}
_TASK_SIGNS = {"[ ] ": "☐", "[x] ": "☑", "[X] ": "☑"}


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
        self.tokens: list[MarkdownToken] = []
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


def _top_level(tokens: Sequence[MarkdownToken]) -> list[Node]:
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
        if max(token.level for token in tokens) >= MAX_NESTING - 1:
            self._as_source(node, tokens)
            return
        index = 0
        while index < len(tokens):
            index += self._take(tokens, index)

    def _as_source(self, node: Node, tokens: list[MarkdownToken]) -> None:
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

    def _take(self, tokens: list[MarkdownToken], index: int) -> int:
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

    def _first_number(self, token: MarkdownToken) -> int:
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

    def _heading(self, token: MarkdownToken, lines: tuple[int, int], content: str) -> None:
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

    def _table(self, tokens: list[MarkdownToken]) -> None:
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


def _row_lines(tokens: Sequence[MarkdownToken]) -> list[int]:
    return [token.map[0] for token in tokens if token.type == "tr_open" and token.map]


def _cells(tokens: Sequence[MarkdownToken]) -> tuple[list[tuple[str, ...]], tuple[Alignment, ...]]:
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


def language_of(info: str) -> str:
    word = info.split(maxsplit=1)[0] if info.strip() else ""
    if "\\" not in word and "&" not in word:
        return word
    from markdown_it.common.utils import unescapeAll

    return unescapeAll(word)


_FENCE = r"(?P<fence>`{3,}(?=[^`\n]*\n)|~{3,})(?P<info>[^\n]*)\n"
_OPENING = regex("^" + _FENCE, re.MULTILINE)
"""A complete line with a fence in the first column, so in no quote or list. It opens a fence unless one is open."""

_INDENTED_OPENING = regex(r"(?P<indent> {0,3})" + _FENCE)

_MAY_CLOSE = regex(r" {0,3}(`*|~*)[ \t]*")
"""The beginning of a line that may become the closing line of a fence, so it is not shown as code yet."""

_WINDOW_CHARS = 8_192
_WINDOW_LINES = 256
"""The most lines that are parsed at once; longer quotes are cut. A huge quote would freeze the window."""

_MOST_REFERENCES = 1_000
"""The most link definitions that are used. There is a limit because each parsing step passes all of them on."""

_PATIENT_ABOVE = 6_000
"""An unsettled rest longer than this, such as one huge quote, is parsed again only when it has grown by a sixteenth."""


class _Fence(Struct):
    closing: re.Pattern[str]
    language: str
    source_start: int
    """Where the source of the open block begins. The fence's first block includes its opening line."""
    indent: re.Pattern[str]
    joint: str | None = None


class MarkdownStream:
    """Parses growing text into `blocks`. `feed` and `close` return the index of the first changed block."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.references: References = {}
        """All link definitions read so far. Which text is a link depends on them, so they come with `blocks`."""
        self._settled = 0
        self._settled_references: References = {}
        self._tail = ""
        self._offset = 0
        self._resumes: Resumption = ""
        self._number: int | None = None
        self._joint = ""
        self._table_head = ""
        self._fence: _Fence | None = None
        self._held = ""
        """A carriage return at the end of the text so far, held back because its newline may follow."""
        self._patience = 0
        self.is_closed = False
        self._parts: list[str] = []
        self.consumed = 0

    @property
    def source(self) -> str:
        r"""The text read so far, with line ends as `\n`. Positions in blocks refer to it."""
        if len(self._parts) > 1:
            self._parts[:] = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    def feed(self, text: str) -> int:
        self.consumed += len(text)
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        return self._read(text.removesuffix("\r"))

    def close(self) -> int:
        self.is_closed = True
        text, self._held = self._held, ""
        return self._read(text)

    def _read(self, text: str) -> int:
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        text = text.replace("\0", "\ufffd")
        self._parts.append(text)
        self._tail += text
        if len(self._tail) < self._patience and not self.is_closed:
            return len(self.blocks)
        targets = _targets(self.references)
        start = self._settled
        old = self.blocks[start:]
        del self.blocks[start:]
        while self._settle():
            pass
        if _targets(self.references) != targets:
            return 0
        now = self.blocks[start:]
        same = min(len(old), len(now))
        return start + next((index for index in range(same) if old[index] != now[index]), same)

    # -- settling --

    def _settle(self) -> bool:
        """Return whether more may be settled."""
        if self._fence is not None:
            return self._settle_code(self._fence)
        opening = _OPENING.search(self._tail, self._first_line_start())
        if opening is not None and opening.end() - opening.start() > _WINDOW_CHARS:
            opening = None  # it was cut before its line was complete, or would have been
        if opening is not None and not self._tail[: opening.start()].strip():
            self._open_fence(opening.start())
            return True
        limit = opening.start() if opening is not None else len(self._tail)
        window = bounded(self._tail, 0, _WINDOW_CHARS, _WINDOW_LINES)
        is_whole = limit <= window
        region = self._region(self._tail[: min(limit, window)])
        fence = region.first_fence()
        if fence is not None:
            self._keep(region, region.blocks(region.nodes[:fence]), region.nodes[fence].line)
            self._open_fence(region.position(region.nodes[fence].line) - self._offset)
            return True
        if is_whole and (opening is not None or self.is_closed):
            self._finish(region, limit)
            return opening is not None
        if self._settle_region(region, is_full=not is_whole):
            return True
        if is_whole:
            self.blocks += region.blocks(region.nodes)
            self.references = region.references
            length = len(self._tail)
            self._patience = length + length // 16 if length > _PATIENT_ABOVE else 0
            return False
        end = self._tail.rfind("\n", 0, window) + 1 or window
        self._finish(region if end == window else self._region(self._tail[:end]), end)
        return True

    def _first_line_start(self) -> int:
        if self._resumes != "paragraph":
            return 0
        end = self._tail.find("\n")
        return end + 1 if end >= 0 else len(self._tail)

    def _region(self, source: str) -> Region:
        prefix = {"paragraph": SENTINEL, "table": self._table_head}.get(self._resumes, "")
        return Region(
            prefix + source,
            self._offset,
            prefix=len(prefix),
            resumes=self._resumes,
            number=self._number,
            joint=self._joint,
            references=dict(self._settled_references),
        )

    def _finish(self, region: Region, limit: int) -> None:
        self._keep(region, region.blocks(region.nodes), region.complete_lines + 1)
        self._go_to(limit)

    def _keep(self, region: Region, blocks: list[Block], end_line: int) -> None:
        self.blocks += blocks
        self._settled = len(self.blocks)
        for label, definition in region.references.items():
            lines = definition.get("map")
            is_new = label not in self._settled_references and len(self._settled_references) < _MOST_REFERENCES
            if is_new and isinstance(lines, list) and lines[0] < end_line:
                self._settled_references[label] = definition
        self.references = self._settled_references

    def _go_to(self, length: int, resumes: Resumption = "", *, number: int | None = None, joint: str = "") -> None:
        """Continue `length` characters further. `resumes` says whether the next block continues the last block."""
        self._tail = self._tail[length:]
        self._offset += length
        self._resumes, self._number, self._joint = resumes, number, joint
        self._patience = 0

    def _settle_region(self, region: Region, *, is_full: bool) -> bool:
        """`is_full` says that the region has no space for more of the last node."""
        nodes = region.nodes
        count = _last_complete(nodes, region)
        if count:
            self._keep(region, region.blocks(nodes[:count]), nodes[count].line)
            self._go_to(region.position(nodes[count].line) - self._offset)
            return True
        match region.tokens[0].type if nodes else "":
            case "paragraph_open" | "heading_open":
                return self._settle_prose(region, nodes[0])
            case "bullet_list_open" | "ordered_list_open":
                return self._settle_items(region, nodes[0])
            case "table_open":
                return self._settle_rows(region, nodes[0], is_full=is_full)
            case _:
                return False

    # -- long things settle in parts --

    def _settle_prose(self, region: Region, node: Node) -> bool:
        """Settle a paragraph up to its soft cut, once the text after the cut certainly belongs to it."""
        if region.tokens[0].markup.startswith("#"):
            return False
        text = region.tokens[1].content
        if self._resumes == "paragraph":
            text = text.removeprefix(SENTINEL)
        cut = prose_cut(text[: _sure_length(text)].rstrip())
        if not cut:
            return False
        part = text[:cut].rstrip()
        start = region.text_start(node.line)
        joint = self._joint if self._resumes == "paragraph" else None
        self._keep(region, [Block("text", part, start, start + len(part), joint)], node.line)
        next_start, next_joint = skip_joint(text, cut)
        self._go_to(start - self._offset + next_start, "paragraph", joint=next_joint)
        return True

    def _settle_items(self, region: Region, node: Node) -> bool:
        items = region.items(node)
        count = _last_complete(items, region)
        if not count:
            return False
        number = None
        if region.tokens[node.first].type == "ordered_list_open":
            first = int(region.tokens[node.first].attrs.get("start", 1)) if self._number is None else self._number
            number = first + count
        settled = Node(node.first, items[count].first, node.line, items[count].line)
        self._keep(region, region.blocks([settled]), settled.end_line)
        self._go_to(region.position(settled.end_line) - self._offset, "list", number=number)
        return True

    def _settle_rows(self, region: Region, node: Node, *, is_full: bool) -> bool:
        """Settle rows that fill whole blocks once a complete row follows. If `is_full`, settle all complete rows."""
        lines = _row_lines(region.tokens[node.first : node.last])[1:]
        complete = sum(line < region.complete_lines for line in lines)
        if not complete:
            # Read on without the table if the line after it is too long for a row.
            is_over = is_full and self._resumes == "table" and len(region.nodes) > 1
            if is_over:
                self._go_to(0)
            return is_over
        blocks, count = region.blocks([node]), 0
        for index, block in enumerate(blocks):
            end = count + len(block.rows) - (block.joint is None)
            if end >= complete:
                blocks = blocks[:index]
                break
            count = end
        if not count and not is_full:
            return False
        end = region.position(lines[(count or complete) - 1] + 1) - self._offset
        if not count:
            only = self._region(self._tail[:end])
            blocks = only.blocks(only.nodes)
        head = region.text[region.line_starts[node.line] : region.line_starts[node.line + 2]]
        self._keep(region, blocks, node.line)
        self._go_to(end, "table")
        self._table_head = head
        return True

    # -- fences --

    def _open_fence(self, start: int) -> None:
        opening = _INDENTED_OPENING.match(self._tail, start)
        assert opening is not None
        fence, info, indent = opening["fence"], opening["info"], len(opening["indent"])
        self._fence = _Fence(
            closing=re.compile(rf"^ {{0,3}}{fence[0]}{{{len(fence)},}}[ \t]*(?:\n|\Z)", re.MULTILINE),
            language=language_of(info),
            source_start=self._offset + start,
            indent=re.compile(rf"^ {{1,{indent}}}" if indent else r"(?!)", re.MULTILINE),
        )
        self._go_to(opening.end())

    def _settle_code(self, fence: _Fence) -> bool:
        code_end, source_end, is_complete = self._code_end(fence)
        start = 0
        while True:
            cut, joint = code_cut(self._tail[start : min(code_end, start + CHUNK_CHARS + 2)])
            if not cut:
                break
            self._add_code(fence, start, start + cut, self._offset + start + cut)
            self._settled = len(self.blocks)
            start += cut + len(joint)
            fence.joint, fence.source_start = joint, self._offset + start
        is_line = code_end > start and self._tail[code_end - 1] == "\n"
        self._add_code(fence, start, code_end - is_line, self._offset + source_end)
        if is_complete:
            self._settled = len(self.blocks)
            self._fence = None
            self._go_to(source_end)
            return True
        self._go_to(start)
        return False

    def _code_end(self, fence: _Fence) -> tuple[int, int, bool]:
        """Return the end of the code in the tail, the end of its source, and whether the fence ends there."""
        # After a cut within a line, the tail begins with the rest of this line.
        first_line = self._tail.find("\n") + 1 or len(self._tail) if fence.joint == "" else 0
        closing = fence.closing.search(self._tail, first_line)
        if closing is not None and (closing[0].endswith("\n") or self.is_closed):
            return closing.start(), closing.end() - closing[0].endswith("\n"), True
        end = len(self._tail)
        if self.is_closed:
            return end, end, True
        line_start = max(self._tail.rfind("\n") + 1, first_line)
        may_close = _MAY_CLOSE.fullmatch(self._tail, line_start)
        return line_start if may_close else end, end, False

    def _add_code(self, fence: _Fence, start: int, end: int, source_end: int) -> None:
        code = self._tail[start:end]
        at = code.find("\n") + 1 or len(code) if fence.joint == "" else 0
        code = code[:at] + fence.indent.sub("", code[at:])
        self.blocks.append(Block("code", code, fence.source_start, source_end, fence.joint, language=fence.language))


def _last_complete(nodes: Sequence[Node], region: Region) -> int:
    for index in range(len(nodes) - 1, 0, -1):
        # A block that begins on a complete line stays. A table also needs its second line.
        is_table = region.tokens[nodes[index].first].type == "table_open"
        if nodes[index].line + is_table < region.complete_lines:
            return index
    return 0


def _targets(references: References) -> dict[str, object]:
    return {label: definition.get("href") for label, definition in references.items()}


def _sure_length(text: str) -> int:
    """Return how much of a paragraph is certain. Its last two lines may still become another block."""
    end = len(text)
    for _ in range(2):
        line_start = text.rfind("\n", 0, end) + 1
        if len(text[line_start:end].rstrip()) > SOFT_LIMIT:
            return end
        end = max(line_start - 1, 0)
    return end


def warm_up() -> None:
    """Import the parsers and use them once: 60 ms. Call this after the first paint, in any thread."""
    stream = MarkdownStream()
    stream.feed("# Title\n\nSome *text*.\n")
    stream.close()
    for block in stream.blocks:
        rich_text(block.content, stream.references)
    for language in ("python", "bash"):
        lexer_for_language(language)
