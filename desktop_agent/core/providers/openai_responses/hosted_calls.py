"""Web searches that the API makes by itself: how one is offered, and what its items and citations tell.

Source: https://developers.openai.com/api/docs/guides/tools-web-search
"""

from desktop_agent.core.protocol.foreign_json import object_in, objects_in, text_in, texts_in
from desktop_agent.core.protocol.model import Citation, HostedCall, JsonObject, WebPage
from desktop_agent.core.providers.surrogates import repaired

WEB_SEARCH: JsonObject = {"type": "web_search"}
SOURCES = "web_search_call.action.sources"
"""What to include for a call to say which pages it found."""

_CALL = "web_search_call"
_FAILED = "The provider's search failed."


def hosted_call_in(item: JsonObject, *, is_done: bool = True) -> HostedCall | None:
    """Return what an item tells of a search, or of a page that was read; `None` for any other item."""
    if item.get("type") != _CALL:
        return None
    call_id, action = text_in(item, "id"), object_in(item, "action")
    url, pattern = text_in(action, "url"), text_in(action, "pattern")
    if not is_done:
        return HostedCall(id=call_id, state="started")
    if item.get("status") == "failed":
        return HostedCall(id=call_id, query=_query(action) or url, error=_FAILED, state="failed")
    if text_in(action, "type") in ("open_page", "find_in_page"):
        return HostedCall(id=call_id, tool="web_fetch", query=f"{pattern} — {url}" if pattern else url)
    pages = tuple(WebPage(url=text_in(source, "url")) for source in objects_in(action, "sources"))
    return HostedCall(id=call_id, query=_query(action), pages=tuple(page for page in pages if page.url))


def is_charged(call: HostedCall) -> bool:
    """Whether the vendor charges for a call: for each search, but not for reading a page that it found."""
    return call.tool == "web_search" and call.state == "completed"


def citations_in(item: JsonObject) -> tuple[Citation, ...]:
    """Return the pages that a message rests on."""
    notes = (note for part in objects_in(item, "content") for note in objects_in(part, "annotations"))
    cited = (note for note in notes if note.get("type") == "url_citation" and text_in(note, "url"))
    return tuple(Citation(url=repaired(text_in(each, "url")), title=repaired(text_in(each, "title"))) for each in cited)


def _query(action: JsonObject) -> str:
    return text_in(action, "query") or ", ".join(texts_in(action, "queries"))
