"""Parses markdown that arrives in pieces. The blocks do not depend on how the text is cut into pieces.

A block is *settled* once the next block has begun on a complete line; settled source is never parsed again. Long blocks
settle in parts: a paragraph at its soft cuts, a list by item, a table by rows.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from desktop_agent.ui.chat.markdown.block_parser import SENTINEL, Node, References, Region, Resumption, language_of
from desktop_agent.ui.chat.markdown.blocks import (
    CHUNK_CHARS,
    SOFT_LIMIT,
    Block,
    bounded,
    code_cut,
    prose_cut,
    skip_joint,
)
from desktop_agent.ui.chat.markdown.inline import rich_text
from desktop_agent.ui.widgets.text_colours import lexer_for_language

_FENCE = r"(?P<fence>`{3,}(?=[^`\n]*\n)|~{3,})(?P<info>[^\n]*)\n"
_OPENING = re.compile("^" + _FENCE, re.MULTILINE)
"""A complete line with a fence in the first column, so in no quote or list. It opens a fence unless one is open."""

_INDENTED_OPENING = re.compile(r"(?P<indent> {0,3})" + _FENCE)

_MAY_CLOSE = re.compile(r" {0,3}(`*|~*)[ \t]*")
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
            self._show(region)
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

    def _show(self, region: Region) -> None:
        self.blocks += region.blocks(region.nodes)
        self.references = region.references
        length = len(self._tail)
        self._patience = length + length // 16 if length > _PATIENT_ABOVE else 0

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
        lines = region.row_lines(node)
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
