r"""The configured markdown parser, and inline markdown: plain text, and spans with style and link target.

Mathematics stays source text, because markdown reads some signs of TeX as emphasis: inline formulas are in `$…$`,
`$$…$$`, `\(…\)` or `\[…\]`; a block formula begins with a line of only `$$` or `\[`.

Positions in inline text count UTF-16 units, as Qt's text classes do. Bare web addresses are found as in GitHub's
dialect, but `http` can follow any character, and quotation marks end an address, because models quote addresses.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import unquote

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.plain_text import named, with_directions_named
from desktop_agent.core.base.regex import regex
from desktop_agent.ui.chat.markdown.blocks import MOST_COLUMNS, SOFT_LIMIT
from desktop_agent.ui.wording import utf16_length

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
_DOLLARS = regex(r"\$(?![\s$])(?:[^$\\\n]|\\[^\n])*?(?<!\s)\$(?!\d)")
"""A formula in dollars. To tell it from amounts of money: no space just inside the dollars, no digit after them."""
_IS_TEX = regex(r"[\\^_*{]")
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


BOLD = 1
ITALIC = 2
STRIKE = 4
CODE = 8
LINK = 16
MUTED = 32
"""Looks of a part of a line, as bits that can be combined."""

_BEGUN = regex(r"(?:https?://|(?<![^\s*_~(])www\.(?=\w))[^\s<>\"'`\u2028]*")
_ENTITY = regex(r"&[0-9A-Za-z]+;\Z")
_PUNCTUATION = frozenset("?!.,:*_~;]}")


class WebAddress(NamedTuple):
    start: int
    end: int
    href: str


def web_addresses(text: str) -> Iterator[WebAddress]:
    for found in _BEGUN.finditer(text):
        written = _without_sentence(found[0])
        if written.endswith(("://", "www.")) or written in ("http", "https", "www"):
            continue
        href = f"http://{written}" if written.startswith("www.") else written
        yield WebAddress(found.start(), found.start() + len(written), href)


def _without_sentence(written: str) -> str:
    end = len(written)
    surplus = written.count(")") - written.count("(")
    while end:
        last = written[end - 1]
        if last == ";" and (entity := _ENTITY.search(written, 0, end)):
            end = entity.start()
        elif last in _PUNCTUATION or (last == ")" and surplus > 0):
            surplus -= last == ")"
            end -= 1
        else:
            break
    return written[:end]


LINE_BREAK = "\u2028"
"""How Qt writes a line break within a paragraph."""

_STYLES = {"strong_open": BOLD, "em_open": ITALIC, "s_open": STRIKE}
_CLOSINGS = frozenset(("strong_close", "em_close", "s_close"))
_SYNTAX = regex(r"[\\`*_\[\]!<&~\n]|://|www\.")
"""Text without any of these contains no markup and no address."""


class InlineSpan(NamedTuple):
    """The style of `length` units from `start`: a sum of `BOLD`, `ITALIC` …, and a link target."""

    start: int
    length: int
    style: int
    href: str = ""


class RichText(NamedTuple):
    text: str
    spans: tuple[InlineSpan, ...] = ()


def utf16_slice(text: str, start: int, end: int) -> str:
    if text.isascii():
        return text[start:end]
    units = text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end]
    return units.decode("utf-16-le", "replace")


PICTURE = "picture:"
_SCHEME = regex(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#")


def is_web_address(href: str) -> bool:
    return href.lower().startswith(("http://", "https://"))


def rich_text(content: str, references: References) -> RichText:
    if _SYNTAX.search(content) is None:
        return RichText(with_directions_named(content))
    tokens: list[MarkdownToken] = []
    markdown = parser()
    markdown.inline.parse(content, markdown, {"references": references}, tokens)
    writer = _Writer()
    writer.write(tokens)
    return RichText("".join(writer.parts), tuple(writer.spans))


class _Writer:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.spans: list[InlineSpan] = []
        self._length = 0
        self._style = 0
        self._outer: list[int] = []
        """The style around each open emphasis, restored at its end: the outer one may be of the same kind."""
        self._link = ""
        self._link_start = 0

    def write(self, tokens: Sequence[MarkdownToken]) -> None:
        for token in tokens:
            match token.type:
                case "text":
                    self._add_text(token.content.replace("\n", LINE_BREAK))  # only formulas contain line feeds
                case "softbreak" | "hardbreak":
                    # Models break lines on purpose, so soft breaks are kept.
                    self._add(LINE_BREAK, self._style)
                case "code_inline":
                    self._add(token.content.replace("\n", " "), self._style | CODE)
                case "link_open":
                    self._link, self._link_start = str(token.attrs.get("href", "")), len(self.parts)
                case "link_close":
                    self._close_link()
                case "image":
                    self._add_image(token)
                case kind if kind in _STYLES:
                    self._outer.append(self._style)
                    self._style |= _STYLES[kind]
                case kind if kind in _CLOSINGS:
                    self._style = self._outer.pop()
                case _:
                    if token.content and token.nesting == 0:
                        self._add(token.content, self._style)

    def _add(self, text: str, style: int, href: str = "") -> None:
        is_link = href or self._link
        text = named(text) if is_link else with_directions_named(text)  # the text of a link must not hide its target
        length = utf16_length(text)
        href = href or (self._link if is_web_address(self._link) else "")
        if href:
            style |= LINK
        if style and length:
            self.spans.append(InlineSpan(self._length, length, style, href))
        self.parts.append(text)
        self._length += length

    def _add_text(self, text: str) -> None:
        if self._link or ("://" not in text and "www." not in text):
            self._add(text, self._style)
            return
        end = 0
        for address in web_addresses(text):
            if address.start > end:
                self._add(text[end : address.start], self._style)
            end = address.end
            self._add(text[address.start : end], self._style, address.href)
        if end < len(text):
            self._add(text[end:], self._style)

    def _close_link(self) -> None:
        """Write out the target of a link that cannot be opened, so that the target is not hidden."""
        href, label = self._link, "".join(self.parts[self._link_start :])
        self._link = ""
        if href and not is_web_address(href) and href.removeprefix("#").removeprefix("mailto:") not in label:
            self._add(f" ({href})", MUTED)

    def _add_image(self, token: MarkdownToken) -> None:
        source = str(token.attrs.get("src", ""))
        label = _words(token.children or ()) or source
        if self._link:
            self._add(label, self._style)
        elif is_web_address(source) or (source and _SCHEME.match(source) is None):
            where = source.split("/")[2].rpartition("@")[2] if is_web_address(source) else unquote(source)
            words = QCoreApplication.translate("Markdown", "Picture: {0}")
            told = where if label == source else f"{label} ({where})"
            self._add(words.format(told), self._style, PICTURE + source)
        else:
            self._add(f"{label} ({source})" if source and source != label else label, self._style | MUTED)


def _words(tokens: Sequence[MarkdownToken]) -> str:
    return "".join(
        _words(token.children or ()) if token.type == "image" else "\n" if token.type == "softbreak" else token.content
        for token in tokens
    )


def in_bold(rich: RichText) -> RichText:
    spans: list[InlineSpan] = []
    at = 0
    for span in rich.spans:
        if span.start > at:
            spans.append(InlineSpan(at, span.start - at, BOLD))
        spans.append(span._replace(style=span.style | BOLD))
        at = span.start + span.length
    if at < utf16_length(rich.text):
        spans.append(InlineSpan(at, utf16_length(rich.text) - at, BOLD))
    return RichText(rich.text, tuple(spans))


def read_code_spans(text: str) -> RichText:
    parts = text.split("`")
    if len(parts) < 3 or len(parts) % 2 == 0:
        return RichText(text)
    spans: list[InlineSpan] = []
    at = 0
    for index, part in enumerate(parts):
        length = utf16_length(part)
        if index % 2 and length:
            spans.append(InlineSpan(at, length, CODE))
        at += length
    return RichText("".join(parts), tuple(spans))


_ISOLATE, _END_OF_ISOLATE = "\u2066", "\u2069"
_IN_ISOLATE = regex(f"{_ISOLATE}[^{_END_OF_ISOLATE}]*{_END_OF_ISOLATE}")
_RIGHT_TO_LEFT = regex("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")


def isolates_code(rich: RichText) -> bool:
    """Whether inline code must be kept apart from text that is written from right to left."""
    has_code = any(span.style & CODE for span in rich.spans)
    return has_code and _RIGHT_TO_LEFT.search(rich.text) is not None


def isolated(rich: RichText) -> tuple[str, list[int]]:
    """Isolate inline code, whose brackets would move in text from right to left. Return also the added places."""
    if not isolates_code(rich):
        return rich.text, []
    code = [span for span in rich.spans if span.style & CODE]
    parts: list[str] = []
    at = 0
    for span in code:
        end = span.start + span.length
        inside = utf16_slice(rich.text, span.start, end)
        parts += (utf16_slice(rich.text, at, span.start), _ISOLATE, inside, _END_OF_ISOLATE)
        at = end
    parts.append(utf16_slice(rich.text, at, utf16_length(rich.text)))
    return "".join(parts), [place for span in code for place in (span.start, span.start + span.length)]


def is_right_to_left(rich: RichText) -> bool:
    """Whether the first letter outside inline code belongs to a script that is written from right to left."""
    if rich.text.isascii():
        return False
    prose = _IN_ISOLATE.sub("", isolated(rich)[0])
    kinds = (unicodedata.bidirectional(letter) for letter in prose)
    return next((kind != "L" for kind in kinds if kind in ("L", "R", "AL")), False)
