import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.dialects.dialect import Ask, sse
from tests.servers.http1 import HttpRequest
from tests.servers.script import (
    MISSED_TOKENS,
    Block,
    Event,
    Fault,
    Garbage,
    Page,
    RawBlock,
    RedactedThinking,
    Refusal,
    Reply,
    Search,
    StreamError,
    Text,
    Thinking,
    ToolUse,
    Whole,
)
from tests.servers.validation.anthropic import check_count_request, check_request

MODELS: tuple[JsonObject, ...] = (
    {
        "type": "model",
        "id": "claude-test-large",
        "display_name": "Claude Test Large",
        "created_at": "2026-10-01T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": 200_000,
        "max_tokens": 64_000,
    },
    {
        "type": "model",
        "id": "claude-test-old",
        "display_name": "Claude Test Old",
        "created_at": "2024-01-01T00:00:00Z",
        "lifecycle": "retired",
    },
)


@dataclass(frozen=True)
class AnthropicDialect:
    base: str = ""
    answers_at: str = "/v1/messages"
    request_id_header: str = "request-id"
    content_type: str = "text/event-stream; charset=utf-8"
    models: Sequence[JsonObject] = MODELS

    def key(self, headers: Mapping[str, str]) -> str:
        return headers.get("authorization", "").removeprefix("Bearer ") or headers.get("x-api-key", "")

    def objection(self, request: HttpRequest) -> Refusal | None:
        if "anthropic-version" in request.headers:
            return None
        return Refusal(400, "invalid_request_error", "anthropic-version: header is required")

    def violations(self, path: str, body: object) -> list[str]:
        match path:
            case self.answers_at:
                return check_request(body)
            case "/v1/messages/count_tokens":
                return check_count_request(body)
            case _:
                return []

    def besides(self, method: str, path: str, body: object, models: Sequence[JsonObject]) -> Whole | Refusal:
        match method, path:
            case "POST", "/v1/messages/count_tokens":
                return Whole(200, {"input_tokens": len(json.dumps(body)) // 4})
            case "GET", "/v1/models":
                return Whole(200, {"data": list(models), "has_more": False, "first_id": None, "last_id": None})
            case _:
                return Refusal(404, "not_found_error", path)

    def events(self, reply: Reply, ask: Ask) -> Iterator[bytes]:
        yield _event("message_start", message=_message(reply, ask))
        index = 0
        for part in reply.parts:
            if isinstance(part, Event):
                yield self.encoded(part, ask, index)
            elif not isinstance(part, Fault):
                for block in _search_blocks(part, f"srvtoolu_{ask.number:04}_{index}"):
                    yield from _block_events(block, ask.number, index)
                    index += 1
        delta: JsonObject = {"stop_reason": reply.stop_reason, "stop_sequence": None, "stop_details": None}
        if reply.explanation:
            category, _, explanation = reply.explanation.partition(": ")
            delta["stop_details"] = {"type": "refusal", "category": category, "explanation": explanation or None}
        yield _event("message_delta", delta=delta, usage=_used(reply))
        yield _event("message_stop")

    def encoded(self, event: Event | StreamError | Garbage, ask: Ask, number: int) -> bytes:
        match event:
            case Event(name, data):
                return sse(data, name) if isinstance(data, bytes) else _event(name, **data)
            case StreamError(kind, message):
                return _event("error", error={"type": kind, "message": message})
            case Garbage(data):
                return sse(data, "content_block_delta")

    def spelled(self, refusal: Refusal) -> Whole:
        error: JsonObject = {"type": refusal.type, "message": refusal.message}
        if refusal.code:
            error["details"] = {"error_code": refusal.code}
        return Whole(refusal.status, {"type": "error", "error": error}, refusal.headers)


ANTHROPIC = AnthropicDialect()


def _message(reply: Reply, ask: Ask) -> JsonObject:
    usage: JsonObject = {
        "input_tokens": reply.spent.input,
        "output_tokens": 1,
        "cache_read_input_tokens": reply.spent.cache_read,
        "cache_creation_input_tokens": reply.spent.cache_write,
    }
    return {
        "id": f"msg_{ask.number:04}",
        "type": "message",
        "role": "assistant",
        "model": ask.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
        "diagnostics": _diagnostics(reply) if "diagnostics" in ask.body else None,
    }


def _diagnostics(reply: Reply) -> JsonObject | None:
    """Return why the cache was missed; None if the request only continues the last one."""
    if not reply.missed:
        return None
    reason: JsonObject = {"type": reply.missed}
    if reply.missed.endswith("_changed"):
        reason["cache_missed_input_tokens"] = MISSED_TOKENS
    return {"cache_miss_reason": None if reply.missed == "pending" else reason}


def _used(reply: Reply) -> JsonObject:
    usage: JsonObject = {"output_tokens": reply.spent.output}
    searches = sum(isinstance(part, Search) and not part.error for part in reply.parts)
    counts: JsonObject = {"web_search_requests": searches, "web_fetch_requests": 0}
    return usage | {"server_tool_use": counts} if searches else usage


def _search_blocks(part: Block, call_id: str) -> Sequence[Block]:
    if not isinstance(part, Search):
        return (part,)
    use: JsonObject = {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {}}
    asked = json.dumps({"query": part.query})
    pieces: list[JsonObject] = [{"type": "input_json_delta", "partial_json": piece} for piece in (asked[:5], asked[5:])]
    found: object = [
        {
            "type": "web_search_result",
            "url": page.url,
            "title": page.title,
            "encrypted_content": "c2VhbGVk",
            "page_age": None,
        }
        for page in part.pages
    ]
    if part.error:
        found = {"type": "web_search_tool_result_error", "error_code": part.error}
    result: JsonObject = {"type": "web_search_tool_result", "tool_use_id": call_id, "content": found}
    return RawBlock(use, tuple(pieces)), RawBlock(result)


def _citation(page: Page) -> JsonObject:
    return {
        "type": "web_search_result_location",
        "url": page.url,
        "title": page.title,
        "cited_text": page.quote,
        "encrypted_index": "aW5kZXg=",
    }


def _block_events(part: Block, number: int, index: int) -> Iterator[bytes]:
    start, deltas = _block(part)
    if start["type"] in ("tool_use", "server_tool_use") and "id" not in start:
        start = start | {"id": f"toolu_{number:04}_{index}"}
    yield _event("content_block_start", index=index, content_block=start)
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _block(part: Block) -> tuple[JsonObject, Sequence[JsonObject]]:
    match part:
        case Text(pieces, cites):
            cited: list[JsonObject] = [{"type": "citations_delta", "citation": _citation(page)} for page in cites]
            said: list[JsonObject] = [{"type": "text_delta", "text": piece} for piece in pieces]
            return {"type": "text", "text": ""}, [*cited, *said]
        case Search():
            raise AssertionError("a search is two blocks")
        case Thinking(pieces, signature):
            start: JsonObject = {"type": "thinking", "thinking": "", "signature": ""}
            signed: JsonObject = {"type": "signature_delta", "signature": signature}
            return start, [*({"type": "thinking_delta", "thinking": piece} for piece in pieces), signed]
        case RedactedThinking(data):
            return {"type": "redacted_thinking", "data": data}, ()
        case ToolUse(name, pieces, call_id):
            start = {"type": "tool_use", "name": name, "input": {}}
            if call_id:
                start["id"] = call_id
            return start, [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *(pieces or ()))]
        case RawBlock(start, deltas):
            return start, deltas


def _event(name: str, /, **data: object) -> bytes:
    return sse({"type": name} | data, name)
