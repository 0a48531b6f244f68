"""The parts of a reply as output items of the Responses API, with the events that fill them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.dialects.dialect import Ask
from tests.servers.script import Block, Page, RawBlock, RedactedThinking, Reply, Search, Text, Thinking, ToolUse

ARGUMENTS_DELTA = "response.function_call_arguments.delta"


@dataclass(frozen=True)
class Piece:
    """An event before it has its number."""

    name: str
    fields: JsonObject


@dataclass(frozen=True)
class Item:
    """An output item as it begins and as it is when done, and what comes in between."""

    begun: JsonObject
    done: JsonObject
    pieces: Sequence[Piece]


def item_of(block: Block, reply: Reply, ask: Ask, position: int, shows: Literal["summary", "text"]) -> Item:
    ids = f"{ask.number:04}_{position}"
    status = "incomplete" if _is_cut(reply, position) else "completed"
    match block:
        case Text(pieces, cites):
            return _message(f"msg_{ids}", pieces, status, cites, is_refusal=reply.stop_reason == "refusal")
        case Search():
            return _search(f"ws_{ids}", block, ask)
        case Thinking(pieces, signature):
            sealed = signature if _wants_sealed(ask) else None
            return (
                _reasoning(f"rs_{ids}", pieces, sealed) if shows == "summary" else _open_reasoning(f"rs_{ids}", pieces)
            )
        case RedactedThinking(data):
            return _reasoning(f"rs_{ids}", (), data if _wants_sealed(ask) else None)
        case ToolUse() as call:
            return _function_call(f"fc_{ids}", f"call_{ids}", call, status)
        case RawBlock(start, deltas):
            return Item(start, start, [_raw(delta) for delta in deltas])


def _is_cut(reply: Reply, position: int) -> bool:
    is_last = not any(isinstance(part, Block) for part in reply.parts[position + 1 :])
    return is_last and reply.stop_reason in ("max_tokens", "model_context_window_exceeded", "content_filter")


def _wants_sealed(ask: Ask) -> bool:
    return _includes(ask, "reasoning.encrypted_content")


def _includes(ask: Ask, name: str) -> bool:
    include = ask.body.get("include")
    return isinstance(include, list) and name in cast("list[object]", include)


def _search(item_id: str, search: Search, ask: Ask) -> Item:
    begun: JsonObject = {"id": item_id, "type": "web_search_call", "status": "in_progress"}
    action: JsonObject = {"type": "search", "query": search.query, "queries": [search.query]}
    if _includes(ask, "web_search_call.action.sources"):
        action["sources"] = [{"type": "url", "url": page.url} for page in search.pages]
    done = begun | {"status": "failed" if search.error else "completed", "action": action}
    steps = ("in_progress", "searching", "completed")
    return Item(begun, done, [Piece(f"response.web_search_call.{step}", {}) for step in steps])


def _message(item_id: str, pieces: Sequence[str], status: str, cites: Sequence[Page], *, is_refusal: bool) -> Item:
    kind, field, event = ("refusal", "refusal", "refusal") if is_refusal else ("output_text", "text", "output_text")
    cited = [
        {"type": "url_citation", "url": page.url, "title": page.title, "start_index": 0, "end_index": 1}
        for page in cites
    ]
    extra: JsonObject = {} if is_refusal else {"annotations": cited, "logprobs": []}
    begun: JsonObject = {"id": item_id, "type": "message", "status": "in_progress", "content": [], "role": "assistant"}
    whole = "".join(pieces)
    part: JsonObject = {"type": kind, field: whole} | extra
    return Item(
        begun,
        begun | {"status": status, "content": [part]},
        list(_in_part(part | {field: ""}, part, event, field, pieces, {} if is_refusal else {"logprobs": []})),
    )


def _reasoning(item_id: str, pieces: Sequence[str], sealed: str | None) -> Item:
    begun: JsonObject = {"id": item_id, "type": "reasoning", "summary": []}
    seal: JsonObject = {} if sealed is None else {"encrypted_content": sealed}
    summary: list[JsonObject] = [{"type": "summary_text", "text": "".join(pieces)}] if pieces else []
    return Item(begun | dict.fromkeys(seal, ""), begun | {"summary": summary} | seal, list(_summary(pieces)))


def _summary(pieces: Sequence[str]) -> Iterator[Piece]:
    if not pieces:
        return
    place: JsonObject = {"summary_index": 0}
    whole = "".join(pieces)
    part: JsonObject = {"type": "summary_text", "text": whole}
    yield Piece("response.reasoning_summary_part.added", place | {"part": part | {"text": ""}})
    for piece in pieces:
        yield Piece("response.reasoning_summary_text.delta", place | {"delta": piece})
    yield Piece("response.reasoning_summary_text.done", place | {"text": whole})
    yield Piece("response.reasoning_summary_part.done", place | {"part": part})


def _open_reasoning(item_id: str, pieces: Sequence[str]) -> Item:
    begun: JsonObject = {"id": item_id, "type": "reasoning", "summary": [], "content": []}
    part: JsonObject = {"type": "reasoning_text", "text": "".join(pieces)}
    filling = _in_part(part | {"text": ""}, part, "reasoning_text", "text", pieces, {})
    return Item(begun, begun | {"content": [part]}, list(filling))


def _in_part(
    begun: JsonObject, done: JsonObject, event: str, field: str, pieces: Sequence[str], extra: JsonObject
) -> Iterator[Piece]:
    """Yield the events of the only content part of an item."""
    place: JsonObject = {"content_index": 0}
    yield Piece("response.content_part.added", place | {"part": begun})
    for piece in pieces:
        yield Piece(f"response.{event}.delta", place | {"delta": piece} | extra)
    yield Piece(f"response.{event}.done", place | {field: done[field]} | extra)
    yield Piece("response.content_part.done", place | {"part": done})


def _function_call(item_id: str, call_id: str, call: ToolUse, status: str) -> Item:
    fragments = ("{}",) if call.pieces is None else call.pieces
    begun: JsonObject = {
        "id": item_id,
        "type": "function_call",
        "status": "in_progress",
        "arguments": "",
        "call_id": call.call_id or call_id,
        "name": call.name,
    }
    whole = "".join(fragments)
    pieces = [Piece(ARGUMENTS_DELTA, {"delta": fragment}) for fragment in fragments]
    pieces.append(Piece("response.function_call_arguments.done", {"arguments": whole}))
    return Item(begun, begun | {"status": status, "arguments": whole}, pieces)


def _raw(delta: JsonObject) -> Piece:
    return Piece(str(delta["type"]), {name: value for name, value in delta.items() if name != "type"})
