"""The bodies of searches: lines of files and web pages, all as links.

Results come from the call's metadata, which is untrusted. Nothing is loaded from the network.
"""

import json
from collections.abc import Iterator
from itertools import groupby, islice
from typing import ClassVar, NamedTuple, cast
from urllib.parse import urlsplit

from desktop_agent.core.protocol.model import JsonObject, ToolResult
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.cards.tool_body import Bar, Content, ContentWriter, ToolBody, entry_of, short_line
from desktop_agent.ui.chat.entries.entry import EntryRow
from desktop_agent.ui.chat.markdown.parser import is_web_address
from desktop_agent.ui.chat.text.styles import LINK_TINT, MUTED_TINT, TextMark, Tint

MOST_PLACES = 1_000
_MAX_TEXT = 300
_MAX_PATH = 1_000


class FoundPlace(NamedTuple):
    """A line of a file, a whole file (`line` 0), or a file's number of matches (`times`)."""

    path: str
    line: int = 0
    text: str = ""
    times: int = 0


def count_found(result: ToolResult) -> int:
    """Return how many places a search found. Fast, because it is called for every tool call."""
    return sum(1 for _ in _listed(result)) if _has_list(result) else len(_counts(result))


def found_in(result: ToolResult, most: int = MOST_PLACES) -> tuple[FoundPlace, ...]:
    return tuple(map(_read_place, islice(_listed(result), most))) if _has_list(result) else _counts(result)[:most]


def _has_list(result: ToolResult) -> bool:
    return isinstance(result.metadata.get("matches"), list)


def _listed(result: ToolResult) -> Iterator[JsonObject]:
    for item in cast("list[object]", result.metadata["matches"])[:MOST_PLACES]:
        if isinstance(item, dict):
            place = cast("JsonObject", item)
            path = place.get("path")
            if path and isinstance(path, str):
                yield place


def _read_place(item: JsonObject) -> FoundPlace:
    path, text = item.get("path"), item.get("text")
    line, count = (value if type(value) is int and value > 0 else 0 for value in (item.get("line"), item.get("count")))
    return FoundPlace(
        short_line(path, _MAX_PATH) if isinstance(path, str) else "",
        line,
        short_line(text, _MAX_TEXT).strip() if isinstance(text, str) else "",
        count,
    )


def _counts(result: ToolResult) -> tuple[FoundPlace, ...]:
    if not isinstance(result.metadata.get("matches"), int) or not result.content.startswith("{"):
        return ()
    try:
        answer: object = json.loads(result.content)
    except ValueError:
        return ()
    if not isinstance(answer, dict):
        return ()
    counts = cast("dict[str, object]", answer)
    return tuple(
        FoundPlace(short_line(path, _MAX_PATH), times=count)
        for path, count in list(counts.items())[:MOST_PLACES]
        if type(count) is int and not path.startswith("[")  # "[and 7 more files]"
    )


SHOWN_ROWS = 8
_WORTH_HIDING = 3
"""The fewest places that are hidden. Fewer would take hardly more room than the button that shows them."""
_ALL = "all"
_NUMBER_WIDTH = 5


class MatchesBody(ToolBody):
    @classmethod
    def fits(cls, entry: ToolEntry) -> bool:
        # The cheap check comes first, because this runs for every call.
        return entry.result is not None and "matches" in entry.result.metadata and count_found(entry.result) > 0

    @classmethod
    def read(cls, row: EntryRow) -> Content:
        writer = ContentWriter()
        for path, group in groupby(_places(row).shown, key=lambda found: found.path):
            found = list(group)
            if found[0].line:
                writer.end_paragraph()
            writer.add(path, LINK_TINT, path)
            if found[0].times:
                writer.add(f"  {found[0].times}", MUTED_TINT)
            writer.end_line()
            for place in found:
                if place.line:
                    number = f"{place.line:>{_NUMBER_WIDTH}}  "
                    line = number + place.text
                    # One mark links to the line, so that Tab stops once at each line.
                    start = writer.at
                    writer.add(line, Tint(), place_name(place))
                    writer.mark(TextMark(start, len(number), MUTED_TINT))
                    writer.end_line()
        return writer.content(has_paragraphs=True)

    def bar(self) -> Bar | None:
        if _ALL in self.row.opened:
            return Bar("", self.tr("Show fewer"))
        hidden = _places(self.row).hidden
        if not hidden:
            return None
        return Bar("", entry_words.counted(hidden, "Show %n more", "Show %n more"))

    def on_bar_clicked(self) -> None:
        self.row.opened ^= {_ALL}
        self.unfolded.emit()

    def follow(self, href: str) -> None:
        place = next((found for found in _places(self.row).shown if href in (place_name(found), found.path)), None)
        if place is not None:
            self.actions.file_requested.emit(place.path, place.line if href != place.path else 0)


def place_name(found: FoundPlace) -> str:
    return f"{found.path}:{found.line}" if found.line else found.path


def _places(row: EntryRow) -> "_ReadPlaces":
    result, is_all = entry_of(row).result, _ALL in row.opened
    known = row.loaded.get("places")
    if isinstance(known, _ReadPlaces) and known.result is result and known.is_all == is_all:
        return known
    total = count_found(result) if result is not None else 0
    hidden = total - SHOWN_ROWS if not is_all and total - SHOWN_ROWS >= _WORTH_HIDING else 0
    shown = found_in(result, total - hidden) if result is not None else ()
    read = row.loaded["places"] = _ReadPlaces(result, is_all, hidden, shown)
    return read


class _ReadPlaces(NamedTuple):
    result: object
    is_all: bool
    hidden: int
    shown: tuple[FoundPlace, ...]


SHOWN_PAGES = 5
_MOST_PAGES = 100
_MAX_TITLE = 200
_MAX_SNIPPET = 280
_TITLE = Tint("accent_text", is_underlined=True)
_PLAIN_TITLE = Tint("text")
_SECONDARY = Tint("muted", is_secondary=True)


class WebResult(NamedTuple):
    """A web page. `link` is empty if no address may be opened."""

    title: str
    link: str
    snippet: str


class WebResultsBody(ToolBody):
    ground: ClassVar[str] = "surface"

    @classmethod
    def fits(cls, entry: ToolEntry) -> bool:
        return entry.result is not None and bool(pages_of(entry.result))

    @classmethod
    def read(cls, row: EntryRow) -> Content:
        writer = ContentWriter()
        pages = _pages(row)
        for page in pages if _ALL in row.opened else pages[:SHOWN_PAGES]:
            writer.end_paragraph()
            writer.add(page.title, _TITLE if page.link else _PLAIN_TITLE, page.link)
            if page.link:
                writer.add(f"  {urlsplit(page.link).netloc}", _SECONDARY)
            writer.end_line()
            if page.snippet:
                writer.add(page.snippet, _SECONDARY)
                writer.end_line()
        return writer.content("plain", has_paragraphs=True)

    @classmethod
    def copied(cls, row: EntryRow) -> str:
        return "\n".join("\n".join(part for part in page if part) for page in _pages(row))

    def bar(self) -> Bar | None:
        hidden = len(_pages(self.row)) - SHOWN_PAGES
        if hidden <= 0:
            return None
        more = entry_words.counted(hidden, "Show %n more result", "Show %n more results")
        return Bar("", self.tr("Show fewer") if _ALL in self.row.opened else more)

    def on_bar_clicked(self) -> None:
        self.row.opened ^= {_ALL}
        self.unfolded.emit()


def pages_of(result: ToolResult) -> tuple[WebResult, ...]:
    listed = result.metadata.get("results")
    if not isinstance(listed, list):
        return ()
    items = (cast("JsonObject", item) for item in cast("list[object]", listed)[:_MOST_PAGES] if isinstance(item, dict))
    return tuple(page for page in map(_read_page, items) if page.title)


def _read_page(item: JsonObject) -> WebResult:
    title, link, snippet = (str(item.get(key) or "").strip() for key in ("title", "link", "snippet"))
    try:
        may_open = is_web_address(link) and bool(urlsplit(link).netloc)
    except ValueError:  # a malformed IPv6 host, say
        may_open = False
    return WebResult(short_line(title or link, _MAX_TITLE), link if may_open else "", short_line(snippet, _MAX_SNIPPET))


def _pages(row: EntryRow) -> tuple[WebResult, ...]:
    result = entry_of(row).result
    return pages_of(result) if result is not None else ()
