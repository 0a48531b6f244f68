"""Reads the HTML of a specification as the conversation would show it.

Three things never appear in a message, and are replaced: a link that cannot be followed names its target behind the
words, a picture is a link with its description, a line break is a newline.
"""

from collections.abc import Sequence
from html.parser import HTMLParser
from urllib.parse import unquote

from desktop_agent.core.base.plain_text import named
from desktop_agent.ui.chat.markdown.parser import BOLD, CODE, ITALIC, LINK, MUTED, PICTURE, STRIKE, is_web_address
from tests.ui.chat.markdown.conformance.outline import Line, Run, Seen, joined

_STYLES = {"strong": BOLD, "em": ITALIC, "del": STRIKE, "code": CODE}
_ALONE = frozenset(("br", "hr", "img", "input"))
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))


class Element:
    def __init__(self, tag: str, attributes: Sequence[tuple[str, str | None]] = ()) -> None:
        self.tag = tag
        self.attributes = {name: value or "" for name, value in attributes}
        self.inside: list[Element | str] = []

    def elements(self, *tags: str) -> "list[Element]":
        return [each for each in self.inside if isinstance(each, Element) and (not tags or each.tag in tags)]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("page")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, attrs)
        self.open[-1].inside.append(element)
        if tag not in _ALONE:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].inside.append(Element(tag, attrs))

    def handle_endtag(self, tag: str) -> None:
        if tag not in _ALONE:
            assert self.open.pop().tag == tag, "the page is no tree"

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(data)


def expected(html: str) -> list[Seen]:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    blocks = _Blocks()
    blocks.read(reader.open[0], "")
    return blocks.found


class _Blocks:
    def __init__(self) -> None:
        self.found: list[Seen] = []
        self._marker = ""
        self._marker_place = ""

    def read(self, parent: Element, containers: str) -> None:
        """Read the content of an element; loose text becomes a paragraph."""
        loose: list[Element | str] = []
        for each in [*parent.inside, Element("end")]:
            if isinstance(each, str) or each.tag in (*_STYLES, "a", "img", "br", "input"):
                loose.append(each)
                continue
            self._paragraph(loose, containers)
            loose = []
            self._block(each, containers)

    def _block(self, element: Element, containers: str) -> None:
        match element.tag:
            case "p":
                self._paragraph(element.inside, containers)
            case tag if tag in _HEADINGS:
                self._add(Seen("heading", level=int(tag[1]), lines=(_inline(element.inside),)), containers)
            case "pre":
                (code,) = element.elements()
                text = "".join(each for each in code.inside if isinstance(each, str)).removesuffix("\n")
                language = code.attributes.get("class", "").removeprefix("language-")
                self._add(Seen("code", language=language, lines=((Run(text),),)), containers)
            case "hr":
                self._add(Seen("rule"), containers)
            case "blockquote":
                self.read(element, containers + "q")
            case "ul" | "ol":
                self._list(element, containers + "l")
            case "table":
                self._table(element, containers)
            case _:
                assert element.tag == "end", element.tag

    def _list(self, element: Element, containers: str) -> None:
        number = int(element.attributes.get("start", 1)) if element.tag == "ol" else None
        for item in element.elements("li"):
            self._finish_item()
            self._marker = "•" if number is None else f"{number}."
            self._marker_place = containers
            number = None if number is None else number + 1
            self.read(item, containers)
            self._finish_item()

    def _finish_item(self) -> None:
        if self._marker:
            self._add(Seen("text", lines=((),)), self._marker_place)

    def _table(self, element: Element, containers: str) -> None:
        rows = [row.elements() for part in element.elements() for row in part.elements("tr")]
        cells = tuple(_inline(cell.inside) for row in rows for cell in row)
        sides = tuple(cell.attributes.get("align", "left") for cell in rows[0])
        self._add(Seen("table", lines=cells, alignments=sides, columns=len(rows[0])), containers)

    def _paragraph(self, inside: Sequence[Element | str], containers: str) -> None:
        inside = list(inside)
        if inside and isinstance(inside[0], str):
            inside[0] = inside[0].lstrip("\n")
        if not any(inside):
            return
        first = inside[0]
        if isinstance(first, Element) and first.tag == "input":
            self._marker = "☑" if "checked" in first.attributes else "☐"
            words = inside[1]
            assert isinstance(words, str)
            inside[:2] = [words.removeprefix(" ")]
        if isinstance(inside[-1], str):
            inside[-1] = inside[-1].rstrip("\n")
        self._add(Seen("text", lines=(_inline(inside),)), containers)

    def _add(self, block: Seen, containers: str) -> None:
        self.found.append(block._replace(containers=containers, marker=self._marker))
        self._marker = ""


def _inline(inside: Sequence[Element | str], style: int = 0, link: str | None = None) -> Line:
    """Return text in styles. `link` is the target of an enclosing link."""
    found: list[Run] = []
    for number, each in enumerate(inside):
        if isinstance(each, str):
            before = inside[number - 1] if number else ""
            is_broken = isinstance(before, Element) and before.tag == "br"
            found.append(_run(each.removeprefix("\n") if is_broken else each, style, link))
        elif each.tag == "br":
            found.append(_run("\n", style, link))
        elif each.tag == "img":
            found += _picture(each, style, link)
        elif each.tag == "a":
            target = each.attributes.get("href", "")
            label = _inline(each.inside, style, target)
            found += label
            words = "".join(run.text for run in label)
            if target and not is_web_address(target) and target.removeprefix("#").removeprefix("mailto:") not in words:
                found.append(Run(f" ({target})", MUTED))
        else:
            found += _inline(each.inside, style | _STYLES[each.tag], link)
    return joined(found)


def _run(text: str, style: int, link: str | None) -> Run:
    href = link if link is not None and is_web_address(link) else ""
    return Run(named(text) if link is not None else text, style | (LINK if href else 0), href)


def _picture(element: Element, style: int, link: str | None) -> list[Run]:
    source = element.attributes.get("src", "")
    label = element.attributes.get("alt", "") or source
    if link is not None:
        return [_run(label, style, link)]
    if not source:
        return [Run(label, style | MUTED)]
    where = source.split("/")[2] if is_web_address(source) else unquote(source)
    told = where if label == source else f"{label} ({where})"
    return [Run(f"Picture: {told}", style | LINK, PICTURE + source)]
