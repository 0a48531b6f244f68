"""Converts an HTML page to readable text, like markdown, in linear time even for an unclosed comment or tag."""

import re
from html import unescape
from urllib.parse import urljoin

from msgspec import Struct

_MARKUP = re.compile(r"<(!--|[!?]|(?:script|style)(?=[\s/>])|/?[a-z][^\s/>]*+)", re.IGNORECASE)
_END_OF = {
    "!--": re.compile("-->"),
    "!": re.compile(">"),
    "?": re.compile(">"),
    "script": re.compile(r"</script[^>]*+>", re.IGNORECASE),
    "style": re.compile(r"</style[^>]*+>", re.IGNORECASE),
}
_ATTRIBUTE = re.compile(
    r"""[\s/]*+([^\s/>=][^\s/>=]*+|=)           # a name, or an equals sign out of place
        (?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s>]++)?+)?+   # its value""",
    re.VERBOSE,
)
_TAG_END = re.compile(r"[\s/]*+>")


class HtmlReader:
    def handle_start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle a start tag. Names are in lower case. A self-closing tag ends right after it."""

    def handle_end(self, tag: str) -> None:
        """Handle an end tag. The tag may never have started."""

    def handle_text(self, text: str) -> None:
        """Handle a text. Character references are resolved."""

    def read(self, html: str) -> None:
        position = 0
        while (found := _MARKUP.search(html, position)) is not None:
            if found.start() > position:
                self.handle_text(unescape(html[position : found.start()]))
            end = self._behind(html, found, found[1].lower())
            if end is None:
                return
            position = end
        if position < len(html):
            self.handle_text(unescape(html[position:]))

    def _behind(self, html: str, found: re.Match[str], name: str) -> int | None:
        if (ending := _END_OF.get(name)) is not None:
            closed = ending.search(html, found.start() + 2)
            return closed.end() if closed is not None else None
        attributes, end = _attributes(html, found.end())
        if end is None:
            return None
        if name.startswith("/"):
            self.handle_end(name[1:])
            return end
        self.handle_start(name, attributes)
        if html[end - 2] == "/":
            self.handle_end(name)
        return end


def _attributes(html: str, position: int) -> tuple[dict[str, str], int | None]:
    attributes: dict[str, str] = {}
    while (closed := _TAG_END.match(html, position)) is None:
        found = _ATTRIBUTE.match(html, position)
        if found is None:
            return attributes, None
        value = found[2] or ""
        if value[:1] in ("'", '"') and len(value) > 1 and value[-1] == value[0]:
            value = value[1:-1]
        attributes.setdefault(found[1].lower(), unescape(value))
        position = found.end()
    return attributes, closed.end()


_RAW = frozenset({"template", "noscript", "svg", "iframe", "object", "select", "canvas"})
_NAVIGATION = frozenset({"nav"})
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "details", "dd", "div", "dl", "dt", "fieldset", "figcaption"}
    | {"figure", "footer", "form", "header", "html", "legend", "main", "ol", "p", "pre", "section", "summary", "table"}
    | {"ul"}
)
_SPACES = re.compile(r"[ \t\r\n\f\v]+")


class PageText(Struct, frozen=True):
    title: str
    text: str


def read_page(html: str, url: str) -> PageText:
    reader = _Reader(url, _RAW | _NAVIGATION)
    reader.read(html)
    if reader.skipping or not reader.text():  # an unclosed tag may have hidden the page
        reader = _Reader(url, _RAW)
        reader.read(html)
    return PageText(" ".join(reader.title.split()), reader.text())


class _Reader(HtmlReader):
    def __init__(self, url: str, skipped: frozenset[str]) -> None:
        self.title = ""
        self._url = url
        self._skipped = skipped
        self.skipping: list[str] = []
        self._parts: list[str] = []
        self._breaks = 0
        self._has_space = False
        self._lists: list[int | None] = []
        self._quotes = 0
        self._pre = 0
        self._cells = 0
        self._in_title = False
        self._link: tuple[str, int] | None = None

    def text(self) -> str:
        return "".join(self._parts).strip("\n")

    def handle_start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in self._skipped:
            self.skipping.append(tag)
        if self.skipping:
            return
        match tag:
            case "title":
                self._in_title = True
            case "br":
                self._owe(1)
            case "hr":
                self._line("---")
            case "img" if attributes.get("alt", "").strip():
                self._word(f"[image: {' '.join(attributes['alt'].split())}]")
            case "a":
                self._end_link()
                self._link = (attributes.get("href", ""), len(self._parts))
            case "code" if not self._pre:
                self._word("`", glue=True)
            case "li":
                self._begin_item()
            case "tr":
                self._owe(1)
                self._cells = 0
            case "td" | "th":
                self._cells += 1
                self._has_space = False
                self._word("| " if self._cells == 1 else " | ", glue=True)
                self._has_space = False
            case _:
                self._begin_block(tag)

    def handle_end(self, tag: str) -> None:
        if self.skipping:
            if tag in self.skipping:
                while self.skipping.pop() != tag:
                    pass
            return
        match tag:
            case "title":
                self._in_title = False
            case "a":
                self._end_link()
            case "code" if not self._pre:
                self._parts.append("`")
            case "tr" if self._cells:
                self._parts.append(" |")
                self._cells = 0
                self._owe(1)
            case _ if tag in _BLOCKS or tag in _HEADINGS:
                self._end_block(tag)
            case _:
                pass

    def handle_text(self, text: str) -> None:
        if self.skipping:
            return
        if self._in_title:
            self.title += text
        elif self._pre:
            self._pay()
            self._parts.append(text)
        else:
            text = _SPACES.sub(" ", text)
            self._has_space = self._has_space or text.startswith(" ")
            if text.strip(" "):
                self._word(text.strip(" "), glue=True)
                self._has_space = text.endswith(" ")

    def _begin_block(self, tag: str) -> None:
        if tag in _HEADINGS:
            self._line(_HEADINGS[tag] + " ")
        elif tag in ("ul", "ol"):
            self._owe(1 if self._lists else 2)
            self._lists.append(0 if tag == "ol" else None)
        elif tag == "blockquote":
            self._owe(2)
            self._quotes += 1
        elif tag == "pre":
            self._line("```\n")
            self._pre += 1
        elif tag in _BLOCKS:
            self._owe(2)

    def _end_block(self, tag: str) -> None:
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        elif tag == "blockquote":
            self._quotes = max(0, self._quotes - 1)
        elif tag == "pre" and self._pre:
            self._pre -= 1
            self._parts.append("\n```")
        elif tag == "table":
            self._cells = 0
        self._owe(1 if self._lists else 2)

    def _begin_item(self) -> None:
        self._owe(1)
        number = self._lists[-1] if self._lists else None
        if number is not None:
            self._lists[-1] = number + 1
        mark = "- " if number is None else f"{number + 1}. "
        self._word("  " * max(0, min(len(self._lists), 10) - 1) + mark, glue=True)

    def _end_link(self) -> None:
        if self._link is None:
            return
        href, start = self._link
        self._link = None
        text = "".join(self._parts[start:])
        target = _absolute(self._url, href)
        if not target or not text.strip():
            return
        if "\n" in text.strip():  # a whole block that is a link
            self._parts.append(f" ({target})")
            return
        lead = text[: len(text) - len(text.lstrip())]
        self._parts[start:] = [f"{lead}[{text.strip()}]({target})"]

    def _owe(self, breaks: int) -> None:
        if self._cells:
            self._has_space = True
        else:
            self._breaks = max(self._breaks, breaks)

    def _line(self, text: str) -> None:
        self._owe(2)
        self._word(text, glue=True)
        if text == "---":
            self._owe(2)

    def _word(self, text: str, *, glue: bool = False) -> None:
        self._has_space = self._has_space or not glue
        self._pay()
        self._parts.append(text)
        self._has_space = not glue

    def _pay(self) -> None:
        if self._breaks:
            if self._parts:
                self._parts.append("\n" * self._breaks)
            self._parts.append("> " * min(self._quotes, 5))
        elif self._has_space and self._parts and not self._parts[-1].endswith((" ", "\n")):
            self._parts.append(" ")
        self._breaks = 0
        self._has_space = False


def _absolute(base: str, href: str) -> str:
    if not href.strip() or href.lstrip().startswith("#"):
        return ""
    try:
        target = urljoin(base, href.strip())
    except ValueError:
        return ""
    return target if target.lower().startswith(("http://", "https://")) and " " not in target else ""
