"""Calls that ran at a provider, shown as ours are: what the blocks of a message tell of them. Pure."""

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    Citation,
    HostedCall,
    JsonObject,
    OpaqueBlock,
    TextBlock,
    ToolCall,
    ToolResult,
    WebPage,
)
from desktop_agent.core.transcript.entries import ToolEntry

UNFINISHED = "The provider did not finish this."


def hosted_calls(content: Sequence[AssistantBlock], *, goes_on: bool) -> dict[CallId, HostedCall]:
    """Return the calls that a message tells of, each once, in their order.

    One that was begun and not ended has failed, unless the message `goes_on` with the next one.
    """
    calls: dict[CallId, HostedCall] = {}
    for block in content:
        if isinstance(block, OpaqueBlock) and (call := block.call) is not None:
            begun = calls.get(call.id)
            calls[call.id] = replace(call, tool=begun.tool, query=call.query or begun.query) if begun else call
    if not goes_on:
        for call_id, call in calls.items():
            if call.state == "started":
                calls[call_id] = replace(call, state="failed", error=UNFINISHED)
    return calls


def citations_of(content: Sequence[AssistantBlock]) -> dict[str, Citation]:
    """Return the pages that the text of a message rests on, by their addresses."""
    cited: dict[str, Citation] = {}
    for block in content:
        for citation in block.citations if isinstance(block, TextBlock) else ():
            known = cited.setdefault(citation.url, citation)
            if not known.quote:
                cited[citation.url] = citation
    return cited


def begun_entry(call: HostedCall, turn: int, at: datetime) -> ToolEntry:
    """Return the entry of a call that begins."""
    entry = ToolEntry(
        turn=turn,
        call=ToolCall(id=call.id, name=call.tool, arguments={}),
        title=call.query,
        is_read_only=False,
        started_at=at,
    )
    tell(entry, call, {})
    return entry


def tell(entry: ToolEntry, call: HostedCall, cited: dict[str, Citation]) -> None:
    """Put into an entry what is known of its call by now, with what the text says of the pages that were found."""
    query = call.query or entry.title
    arguments: JsonObject = {"url" if call.tool == "web_fetch" else "query": query} if query else {}
    entry.call, entry.title = ToolCall(id=call.id, name=call.tool, arguments=arguments), query
    entry.state = call.state
    if call.state != "started":
        entry.result = _result(call, cited)


def with_cited(calls: dict[CallId, HostedCall], cited: dict[str, Citation]) -> dict[CallId, HostedCall]:
    """Return `calls` with the pages that the text rests on and no call lists: the last search found them."""
    listed = {page.url for call in calls.values() for page in call.pages}
    more = tuple(WebPage(url=each.url, title=each.title) for each in cited.values() if each.url not in listed)
    searches = [call for call in calls.values() if call.tool == "web_search" and call.state == "completed"]
    if not more or not searches:
        return calls
    last = searches[-1]
    return calls | {last.id: replace(last, pages=(*last.pages, *more))}


def _result(call: HostedCall, cited: dict[str, Citation]) -> ToolResult:
    if call.error:
        return ToolResult(content=call.error, is_error=True, metadata={"at_provider": True})
    pages = sorted(call.pages, key=lambda page: page.url not in cited)  # what the answer rests on comes first
    found = [_found(page, cited.get(page.url)) for page in pages]
    content = "\n".join("\n".join(filter(None, map(str, page.values()))) for page in found)
    results: JsonObject = {"results": found} if call.tool == "web_search" else {}
    return ToolResult(content=content, metadata=results | {"at_provider": True})


def _found(page: WebPage, cited: Citation | None) -> JsonObject:
    title = page.title or (cited.title if cited is not None else "")
    return {"title": title or page.url, "link": page.url, "snippet": cited.quote if cited is not None else ""}
