"""OpenAI's Responses API: a response's events, items and object."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.dialects.dialect import Ask, sse
from tests.servers.dialects.openai import CREATED, MODELS, error_object, key_in, models_or_nothing, refused
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
    Spent,
    StreamError,
    Text,
    Thinking,
    ToolUse,
    Whole,
)
from tests.servers.validation.responses import check_request

Status = Literal["in_progress", "completed", "incomplete", "failed"]

_ECHOED: JsonObject = {
    "background": False,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
}


def response_object(
    ask: Ask, status: Status, *, output: Sequence[JsonObject] = (), spent: Spent | None = None
) -> JsonObject:
    """Return the response in this status. `spent` only once it is over."""
    return {
        "id": f"resp_{ask.number:04}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": ask.model,
        "output": list(output),
        "usage": None if spent is None else _usage(spent),
    } | {name: ask.body.get(name, default) for name, default in _ECHOED.items()}


def ended(stop_reason: str) -> tuple[Status, JsonObject]:
    match stop_reason:
        case "max_tokens" | "model_context_window_exceeded":
            return "incomplete", {"incomplete_details": {"reason": "max_output_tokens"}}
        case "failed":
            return "failed", {"error": {"code": "server_error", "message": "The model failed."}}
        case "end_turn" | "tool_use" | "stop_sequence" | "refusal":
            return "completed", {}
        case reason:
            return "incomplete", {"incomplete_details": {"reason": reason}}


def diagnostics(ask: Ask, missed: str) -> JsonObject | None:
    """Return how the cache served the request compared with the named response; None without one."""
    options = ask.body.get("prompt_cache_options")
    if not isinstance(options, dict) or "comparison_response_id" not in options:
        return None
    match missed:
        case "":
            return {"type": "cache_hit"}
        case "previous_message_not_found":
            return {"type": "comparison_response_not_found"}
        case "unavailable":
            return {"type": "unavailable"}
        case reason:
            return {"type": "cache_miss", "reason": reason, "cache_missed_tokens": MISSED_TOKENS}


def _usage(spent: Spent) -> JsonObject:
    usage: JsonObject = {
        "input_tokens": spent.whole_input,
        "input_tokens_details": {"cached_tokens": spent.cache_read, "cache_write_tokens": spent.cache_write},
        "output_tokens": spent.output,
        "output_tokens_details": {"reasoning_tokens": spent.thinking},
        "total_tokens": spent.whole_input + spent.output,
    }
    return usage if spent.cost is None else usage | {"cost": spent.cost}


ARGUMENTS_DELTA = "response.function_call_arguments.delta"


@dataclass(frozen=True)
class Piece:
    name: str
    fields: JsonObject


@dataclass(frozen=True)
class Item:
    begun: JsonObject
    done: JsonObject
    pieces: Sequence[Piece]


def item_of(block: Block, reply: Reply, ask: Ask, position: int) -> Item:
    ids = f"{ask.number:04}_{position}"
    status = "incomplete" if _is_cut(reply, position) else "completed"
    match block:
        case Text(pieces, cites):
            return _message(f"msg_{ids}", pieces, status, cites, is_refusal=reply.stop_reason == "refusal")
        case Search():
            return _search(f"ws_{ids}", block, ask)
        case Thinking(pieces, signature):
            return _reasoning(f"rs_{ids}", pieces, signature if _wants_sealed(ask) else None)
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


def _in_part(
    begun: JsonObject, done: JsonObject, event: str, field: str, pieces: Sequence[str], extra: JsonObject
) -> Iterator[Piece]:
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


@dataclass(frozen=True)
class ResponsesDialect:
    base: str = "/v1"
    answers_at: str = "/v1/responses"
    request_id_header: str = "x-request-id"
    content_type: str = "text/event-stream; charset=utf-8"
    models: Sequence[JsonObject] = MODELS
    calls: Literal["fragments", "whole"] = "fragments"
    """Whether a call's arguments come in deltas, or only complete, as from xAI."""
    repeats_output: bool = True
    fails_with: Literal["error", "response.failed"] = "error"
    is_plan: bool = False

    def key(self, headers: Mapping[str, str]) -> str:
        return key_in(headers)

    def objection(self, request: HttpRequest) -> Refusal | None:
        return None

    def violations(self, path: str, body: object) -> list[str]:
        return check_request(body, is_plan=self.is_plan) if path == self.answers_at else []

    def besides(self, method: str, path: str, body: object, models: Sequence[JsonObject]) -> Whole | Refusal:
        return models_or_nothing(method, path, models)

    def events(self, reply: Reply, ask: Ask) -> Iterator[bytes]:
        for number, event in enumerate(_Stream(self, reply, ask).events()):
            if isinstance(event, Piece):
                yield _event(event.name, sequence_number=number, **event.fields)
            else:
                yield self.encoded(event, ask, number)

    def encoded(self, event: Event | StreamError | Garbage, ask: Ask, number: int) -> bytes:
        match event:
            case Event(name, data):
                return sse(data, name) if isinstance(data, bytes) else _event(name, **data)
            case StreamError(kind, message):
                return self._failure(error_object(kind, message), ask, number)
            case Garbage(data):
                return sse(data, "response.output_text.delta")

    def spelled(self, refusal: Refusal) -> Whole:
        return refused(refusal)

    def _failure(self, error: JsonObject, ask: Ask, number: int) -> bytes:
        code, message = error["code"] or error["type"], error["message"]
        if self.fails_with == "error":
            return _event("error", code=code, message=message, param=None, sequence_number=number)
        response = response_object(ask, "failed") | {"error": {"code": code, "message": message}}
        return _event("response.failed", response=response, sequence_number=number)


RESPONSES = ResponsesDialect()
CHATGPT_PLAN = ResponsesDialect(is_plan=True)


class _Stream:
    def __init__(self, dialect: ResponsesDialect, reply: Reply, ask: Ask) -> None:
        self._dialect = dialect
        self._reply = reply
        self._ask = ask
        self._output: list[JsonObject] = []

    def events(self) -> Iterator[Piece | Event]:
        begun = response_object(self._ask, "in_progress")
        yield Piece("response.created", {"response": begun})
        yield Piece("response.in_progress", {"response": begun})
        for position, part in enumerate(self._reply.parts):
            if isinstance(part, Event):
                yield part
            elif not isinstance(part, Fault):
                yield from self._item(item_of(part, self._reply, self._ask, position))
        if self._reply.stop_reason is not None:
            status, details = ended(self._reply.stop_reason)
            output = self._output if self._dialect.repeats_output else []
            response = response_object(self._ask, status, output=output, spent=self._reply.spent) | details
            response["prompt_cache_diagnostics"] = diagnostics(self._ask, self._reply.missed)
            yield Piece(f"response.{status}", {"response": response})

    def _item(self, item: Item) -> Iterator[Piece]:
        place: JsonObject = {"output_index": len(self._output)}
        yield Piece("response.output_item.added", place | {"item": item.begun})
        for piece in item.pieces:
            if self._dialect.calls == "whole" and piece.name == ARGUMENTS_DELTA:
                continue
            yield Piece(piece.name, {"item_id": item.done.get("id")} | place | piece.fields)
        yield Piece("response.output_item.done", place | {"item": item.done})
        self._output.append(item.done)


def _event(name: str, /, **data: object) -> bytes:
    return sse({"type": name} | data, name)
