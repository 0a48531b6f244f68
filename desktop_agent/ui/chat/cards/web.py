"""The body of a web search: titles that lead to their pages, and what they say. Nothing is loaded from there."""

from typing import ClassVar, NamedTuple, cast
from urllib.parse import urlsplit

from desktop_agent.core.protocol.model import JsonObject, ToolResult
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.cards.body import Bar, ToolBody, entry_of
from desktop_agent.ui.chat.cards.content import Content, ContentWriter, one_line
from desktop_agent.ui.chat.markdown.inline import is_web_address
from desktop_agent.ui.chat.text.styles import Tint
from desktop_agent.ui.chat.transcript.row_state import RowState

SHOWN = 5
_MOST = 100
_ALL = "all"
_MAX_TITLE = 200
_MAX_SNIPPET = 280
_TITLE = Tint("accent_text", is_underlined=True)
_PLAIN_TITLE = Tint("text")
_SECONDARY = Tint("muted", is_secondary=True)


class WebResult(NamedTuple):
    """One result. Without an address that may be opened, `link` is empty."""

    title: str
    link: str
    snippet: str


class WebResultsBody(ToolBody):
    """Pages that were found."""

    ground: ClassVar[str] = "surface"

    @classmethod
    def fits(cls, entry: ToolEntry) -> bool:
        return entry.result is not None and bool(pages_of(entry.result))

    @classmethod
    def read(cls, row: RowState) -> Content:
        writer = ContentWriter()
        pages = _pages(row)
        for page in pages if _ALL in row.opened else pages[:SHOWN]:
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
    def copied(cls, row: RowState) -> str:
        return "\n".join("\n".join(part for part in page if part) for page in _pages(row))

    def bar(self) -> Bar | None:
        hidden = len(_pages(self.row)) - SHOWN
        if hidden <= 0:
            return None
        more = entry_words.counted(hidden, "Show %n result more", "Show %n results more")
        return Bar("", self.tr("Show fewer") if _ALL in self.row.opened else more)

    def on_bar_clicked(self) -> None:
        self.row.opened ^= {_ALL}
        self.unfolded.emit()


def pages_of(result: ToolResult) -> tuple[WebResult, ...]:
    """Return the pages that a result lists; none when it is not that of a web search."""
    listed = result.metadata.get("results")
    if not isinstance(listed, list):
        return ()
    items = (cast("JsonObject", item) for item in cast("list[object]", listed)[:_MOST] if isinstance(item, dict))
    return tuple(page for page in map(_page, items) if page.title)


def _page(item: JsonObject) -> WebResult:
    title, link, snippet = (str(item.get(key) or "").strip() for key in ("title", "link", "snippet"))
    try:
        may_open = is_web_address(link) and bool(urlsplit(link).netloc)
    except ValueError:  # a malformed IPv6 host, say
        may_open = False
    return WebResult(one_line(title or link, _MAX_TITLE), link if may_open else "", one_line(snippet, _MAX_SNIPPET))


def _pages(row: RowState) -> tuple[WebResult, ...]:
    result = entry_of(row).result
    return pages_of(result) if result is not None else ()
