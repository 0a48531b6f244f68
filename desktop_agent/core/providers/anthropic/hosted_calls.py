"""Web searches that the API makes by itself: how one is offered, what the blocks of one tell, and what goes back of it.

Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool
"""

from collections.abc import Mapping, Sequence

from desktop_agent.core.protocol.foreign_json import object_in, objects_in, text_in
from desktop_agent.core.protocol.model import Citation, HostedCall, HostedTool, JsonObject, TextBlock, WebPage
from desktop_agent.core.providers.surrogates import repaired

WEB_SEARCH: JsonObject = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
"""The version without code that runs there, which all models with search take; and a bound for what it costs."""

_LOCATION = "web_search_result_location"
_USE = "server_tool_use"
_RESULTS: Mapping[str, HostedTool] = {"web_search_tool_result": "web_search", "web_fetch_tool_result": "web_fetch"}
_ERRORS: Mapping[str, str] = {
    "max_uses_exceeded": "The model may not search more often in one answer.",
    "too_many_requests": "The provider has too many searches at the moment.",
    "unavailable": "The provider's search is not available at the moment.",
    "invalid_tool_input": "The provider could not use what the model wanted to search for.",
    "query_too_long": "What the model wanted to search for is too long.",
    "request_too_large": "What was found is too large for the model.",
}


def hosted_call_in(block: JsonObject) -> HostedCall | None:
    """Return what a block of an answer tells of a search; `None` for any other block."""
    kind = text_in(block, "type")
    if kind == _USE and text_in(block, "name") in _RESULTS.values():
        asked = object_in(block, "input")
        tool: HostedTool = "web_search" if text_in(block, "name") == "web_search" else "web_fetch"
        query = text_in(asked, "query") or text_in(asked, "url")
        return HostedCall(id=text_in(block, "id"), tool=tool, query=query, state="started")
    if kind not in _RESULTS:
        return None
    call = HostedCall(id=text_in(block, "tool_use_id"), tool=_RESULTS[kind])
    if code := text_in(object_in(block, "content"), "error_code"):
        said = _ERRORS.get(code, f"The provider's search failed: {code}.")
        return HostedCall(id=call.id, tool=call.tool, error=said, state="failed")
    found = objects_in(block, "content") or [object_in(block, "content")]
    pages = (WebPage(url=text_in(each, "url"), title=text_in(each, "title")) for each in found)
    return HostedCall(id=call.id, tool=call.tool, pages=tuple(page for page in pages if page.url))


def citation_in(citation: JsonObject) -> Citation | None:
    """Return a citation of a page that was found; `None` for one of something else."""
    if citation.get("type") != _LOCATION:
        return None
    url, title, quote, seal = (
        repaired(text_in(citation, name)) for name in ("url", "title", "cited_text", "encrypted_index")
    )
    return Citation(url=url, title=title, quote=quote, seal=seal)


def text_block(block: TextBlock) -> JsonObject:
    """Return a text as it goes back, with the citations that it came with."""
    wire: JsonObject = {"type": "text", "text": repaired(block.text)}
    sealed = [each for each in block.citations if each.seal]
    return wire | {"citations": [_citation(each) for each in sealed]} if sealed else wire


def _citation(citation: Citation) -> JsonObject:
    return {
        "type": _LOCATION,
        "url": citation.url,
        "title": citation.title or None,
        "cited_text": citation.quote,
        "encrypted_index": citation.seal,
    }


def settle(entries: Sequence[tuple[str, list[JsonObject]]]) -> None:
    """Take calls without a result, and results without their call, out of these messages: a role and blocks each.

    The API refuses both. A call in the last answer stays where that goes on: nothing follows but results of our tools.
    """
    asked = {text_in(block, "id"): at for at, (_, blocks) in enumerate(entries) for block in blocks if _is_use(block)}
    ended = {
        text_in(block, "tool_use_id"): at
        for at, (_, blocks) in enumerate(entries)
        for block in blocks
        if _is_end(block)
    }
    last = max((at for at, (role, _) in enumerate(entries) if role == "assistant"), default=-1)
    after = [block for _, blocks in entries[last + 1 :] for block in blocks]
    goes_on = not after or after[0].get("type") == "tool_result"

    def is_whole(block: JsonObject, at: int) -> bool:
        if _is_use(block):
            return ended.get(text_in(block, "id"), -1) >= at or (at == last and goes_on)
        return not _is_end(block) or asked.get(text_in(block, "tool_use_id"), len(entries)) <= at

    for at, (_, blocks) in enumerate(entries):
        blocks[:] = [block for block in blocks if is_whole(block, at)]


def _is_use(block: JsonObject) -> bool:
    return block.get("type") == _USE


def _is_end(block: JsonObject) -> bool:
    """Whether a block ends a call that ran there; a `tool_result` is one of ours."""
    return text_in(block, "type").endswith("_tool_result")
