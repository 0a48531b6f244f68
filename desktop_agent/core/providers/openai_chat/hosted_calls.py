"""Web searches that a router makes by itself: it says which pages the answer rests on, and not what it looked for.

Source: https://openrouter.ai/docs/guides/features/server-tools/web-search
"""

from desktop_agent.core.protocol.foreign_json import object_in, objects_in, text_in
from desktop_agent.core.protocol.model import Citation, HostedCall, JsonObject, OpaqueBlock, WebPage
from desktop_agent.core.providers.surrogates import repaired

WEB_SEARCH: JsonObject = {"type": "openrouter:web_search", "parameters": {"max_results": 5}}
"""Up to as many results as our own tool has."""

_LONGEST_QUOTE = 600
"""What it repeats of a page may be all of it."""


class GrowingCitations:
    """The pages that one message rests on, while they arrive."""

    def __init__(self) -> None:
        self._by_url: dict[str, Citation] = {}

    def add(self, delta: JsonObject) -> None:
        """Take the citations in one delta, if there are some."""
        for note in objects_in(delta, "annotations"):
            cited = object_in(note, "url_citation")
            if url := repaired(text_in(cited, "url")):
                title, quote = repaired(text_in(cited, "title")), repaired(text_in(cited, "content")[:_LONGEST_QUOTE])
                self._by_url.setdefault(url, Citation(url=url, title=title, quote=quote))

    @property
    def citations(self) -> tuple[Citation, ...]:
        """Each page once, in the order in which they came."""
        return tuple(self._by_url.values())

    def block(self, message_id: str) -> OpaqueBlock | None:
        """Return what tells of the search; it does not go back. `None` when there was none."""
        if not self._by_url:
            return None
        pages = tuple(WebPage(url=each.url, title=each.title) for each in self.citations)
        return OpaqueBlock(payload={}, call=HostedCall(id=f"search_{message_id}", pages=pages))
