"""Search engines: how a query is sent, and which parts of an answer are results."""

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from urllib.parse import parse_qs, quote, urljoin, urlsplit

from msgspec import Struct

from desktop_agent.core.base.plain_text import shortened
from desktop_agent.core.protocol.codec import as_object, object_in, objects_in
from desktop_agent.core.tools.web.page import HtmlReader, read_page

LONGEST_TITLE = 200
LONGEST_SNIPPET = 500


class SearchResult(Struct, frozen=True, kw_only=True):
    title: str
    link: str
    snippet: str


class Engine(Struct, frozen=True, kw_only=True):
    name: str
    address: str
    query: Callable[[str, int], Mapping[str, str]]
    read: Callable[[str, str], Iterator[SearchResult]]
    """Parses an answer that came from the given address. Raises `ValueError` if it makes no sense."""


def standard_engines() -> tuple[Engine, ...]:
    return (
        Engine(
            name="duckduckgo",
            address="https://html.duckduckgo.com/html/",
            query=lambda words, _count: {"q": words},
            read=partial(_from_page, form=_Form(title=("a", "result__a"), snippet=(None, "result__snippet"))),
        ),
        Engine(
            name="duckduckgo_api",
            address="https://api.duckduckgo.com/",
            query=lambda words, _count: {"q": words, "format": "json", "no_html": "1", "skip_disambig": "1"},
            read=read_duckduckgo_api,
        ),
        Engine(
            name="bing",
            address="https://www.bing.com/search",
            query=lambda words, count: {"q": words, "count": str(count)},
            read=partial(_from_page, form=_Form(title=("h2", ""), snippet=("p", ""), within=("li", "b_algo"))),
        ),
        Engine(
            name="wikipedia",
            address="https://en.wikipedia.org/w/api.php",
            query=lambda words, count: {
                "action": "query",
                "list": "search",
                "format": "json",
                "srsearch": words,
                "srlimit": str(count),
            },
            read=read_wikipedia,
        ),
    )


class _Form(Struct, frozen=True, kw_only=True):
    title: tuple[str, str]
    snippet: tuple[str | None, str]
    within: tuple[str, str] | None = None


def _from_page(page: str, address: str, form: _Form) -> Iterator[SearchResult]:
    reader = _ResultReader(form)
    reader.read(page)
    for title, link, snippet in reader.found:
        if (target := unwrapped(link, address)) and title.strip():
            yield _result(title, target, snippet)


class _ResultReader(HtmlReader):
    def __init__(self, form: _Form) -> None:
        self.found: list[list[str]] = []
        self._form = form
        self._is_within = form.within is None
        self._reading: int | None = None
        """The field that the current text belongs to: 0 for a title, 2 for a snippet."""
        self._until = ""

    def handle_start(self, tag: str, attributes: dict[str, str]) -> None:
        classes = attributes.get("class", "").split()
        form = self._form
        if form.within is not None and tag == form.within[0]:
            self._is_within = form.within[1] in classes
            self._reading = None
        if not self._is_within:
            return
        if _matches(form.title, tag, classes):
            self.found.append(["", attributes.get("href", ""), ""])
            self._reading, self._until = 0, tag
        elif self._reading == 0 and tag == "a" and not self.found[-1][1]:
            self.found[-1][1] = attributes.get("href", "")
        elif self.found and not self.found[-1][2] and _matches(form.snippet, tag, classes):
            self._reading, self._until = 2, tag

    def handle_end(self, tag: str) -> None:
        if tag == self._until:
            self._reading = None

    def handle_text(self, text: str) -> None:
        if self._reading is not None:
            self.found[-1][self._reading] += text


def _matches(form: tuple[str | None, str], tag: str, classes: list[str]) -> bool:
    name, class_name = form
    return name in (None, tag) and (not class_name or class_name in classes)


def read_duckduckgo_api(answer: str, address: str) -> Iterator[SearchResult]:
    fields = as_object(json.loads(answer))
    if link := unwrapped(str(fields.get("AbstractURL", "")), address):
        yield _result(str(fields.get("Heading", "")) or link, link, str(fields.get("AbstractText", "")))
    for topic in [*objects_in(fields, "Results"), *objects_in(fields, "RelatedTopics")]:
        for one in [topic, *objects_in(topic, "Topics")]:
            text = str(one.get("Text", ""))
            if text and (link := unwrapped(str(one.get("FirstURL", "")), address)):
                yield _result(text.partition(" - ")[0], link, text)


def read_wikipedia(answer: str, address: str) -> Iterator[SearchResult]:
    fields = as_object(json.loads(answer))
    if "error" in fields:
        raise ValueError(str(object_in(fields, "error").get("info", "error")))
    for hit in objects_in(object_in(fields, "query"), "search"):
        if title := str(hit.get("title", "")):
            link = urljoin(address, "/wiki/" + quote(title.replace(" ", "_")))
            yield _result(title, link, read_page(str(hit.get("snippet", "")), address).text)


def unwrapped(link: str, address: str) -> str:
    """The real target of a `link` on a page at `address`; empty for an ad, or if it is not a web page."""
    try:
        target = urljoin(address, link.strip())
        parts = urlsplit(target)
        query = parse_qs(parts.query)
    except ValueError:
        return ""
    if not link.strip() or parts.scheme not in ("http", "https") or not parts.hostname:
        return ""
    own = urlsplit(address).hostname or ""
    if parts.hostname.endswith("duckduckgo.com") or parts.hostname == own:
        if parts.path == "/l/":
            return _web(query.get("uddg", [""])[0])
        if parts.path == "/y.js":
            return ""
    if parts.path == "/ck/a" and (parts.hostname.endswith("bing.com") or parts.hostname == own):
        return _web(_bing_target(query.get("u", [""])[0]))
    return target


def _bing_target(packed: str) -> str:
    if not packed.startswith("a1"):
        return ""
    text = packed[2:]
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("utf-8")
    except (binascii.Error, ValueError):
        return ""


def _web(link: str) -> str:
    return link if link.lower().startswith(("http://", "https://")) and "duckduckgo.com/y.js" not in link else ""


def _result(title: str, link: str, snippet: str) -> SearchResult:
    title, snippet = " ".join(title.split()), " ".join(snippet.split())
    return SearchResult(title=shortened(title, LONGEST_TITLE), link=link, snippet=shortened(snippet, LONGEST_SNIPPET))
