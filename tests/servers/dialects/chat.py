"""OpenAI's Chat Completions API, as of OpenAI and of compatible servers; OpenRouter's errors and models."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.dialects.dialect import Ask, sse
from tests.servers.dialects.openai import CREATED, MODELS, error_object, key_in, models_or_nothing, refused
from tests.servers.http1 import HttpRequest
from tests.servers.script import (
    Block,
    Event,
    Fault,
    Garbage,
    Page,
    Part,
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
from tests.servers.validation.chat import check_request


@dataclass(frozen=True)
class ChatHabits:
    """The habits of a service. The defaults are OpenAI's own, except for the field of thinking."""

    thinking: Literal["reasoning_content", "reasoning", "reasoning_details"] = "reasoning_content"
    calls: Literal["fragments", "whole", "together"] = "fragments"
    has_index: bool = True
    repeats_ids: bool = False
    has_empty_deltas: bool = False
    """Whether an empty chunk follows every chunk: no field, empty fields, null."""
    usage_at: Literal["end", "finish"] = "end"
    """Whether usage comes in a chunk without choices, or always with the last choice."""
    has_done: bool = True
    comment: str = ""
    numbers_errors: bool = False
    takes: frozenset[str] = frozenset()
    server_tools: frozenset[str] = frozenset()
    alternates: bool = False

    @property
    def thinking_fields(self) -> frozenset[str]:
        return {
            "reasoning_content": frozenset({"reasoning_content"}),
            "reasoning": frozenset({"reasoning"}),
            "reasoning_details": frozenset({"reasoning", "reasoning_details"}),
        }[self.thinking]


class Deltas:
    def __init__(self, habits: ChatHabits, number: int) -> None:
        self._habits = habits
        self._number = number
        self._calls = 0
        self._details = 0

    def of(self, parts: Sequence[Part]) -> Iterator[JsonObject | Event]:
        together: list[JsonObject] = []
        for part in parts:
            if isinstance(part, ToolUse) and self._habits.calls == "together":
                together.append(self._whole_call(part))
                continue
            if together:
                yield {"tool_calls": list(together)}
                together.clear()
            if isinstance(part, Event):
                yield part
            elif not isinstance(part, Fault):
                yield from self._of_block(part)
        if together:
            yield {"tool_calls": together}

    def _of_block(self, block: Block) -> Iterator[JsonObject]:
        match block:
            case Text(pieces, cites):
                yield from _each("content", pieces)
                for page in cites:
                    yield {"content": "", "annotations": [_citation(page)]}
            case Search():
                pass  # this format has no query
            case Thinking(pieces, signature):
                yield from self._thinking(pieces, signature)
            case RedactedThinking(data):
                if self._habits.thinking == "reasoning_details":
                    yield self._detail({"type": "reasoning.encrypted", "data": data})
                    self._details += 1
            case ToolUse() as call if self._habits.calls == "fragments":
                yield from self._fragments(call)
            case ToolUse() as call:
                yield {"tool_calls": [self._whole_call(call)]}
            case RawBlock(start, deltas):
                yield from (start, *deltas)

    def _thinking(self, pieces: Sequence[str], signature: str) -> Iterator[JsonObject]:
        if self._habits.thinking != "reasoning_details":
            yield from _each(self._habits.thinking, pieces)
            return
        for piece in pieces:
            yield {"reasoning": piece} | self._detail({"type": "reasoning.text", "text": piece})
        yield self._detail({"type": "reasoning.text", "signature": signature})
        self._details += 1

    def _detail(self, detail: JsonObject) -> JsonObject:
        return {"reasoning_details": [detail | {"format": "anthropic-claude-v1", "index": self._details}]}

    def _whole_call(self, call: ToolUse) -> JsonObject:
        place, opening = self._next_call(call)
        return place | opening | {"function": {"name": call.name, "arguments": "".join(_arguments(call))}}

    def _fragments(self, call: ToolUse) -> Iterator[JsonObject]:
        place, opening = self._next_call(call)
        yield {"tool_calls": [place | opening | {"function": {"name": call.name, "arguments": ""}}]}
        for piece in _arguments(call):
            if self._habits.repeats_ids:
                yield {"tool_calls": [place | opening | {"function": {"name": call.name, "arguments": piece}}]}
            else:
                yield {"tool_calls": [place | {"function": {"arguments": piece}}]}

    def _next_call(self, call: ToolUse) -> tuple[JsonObject, JsonObject]:
        place: JsonObject = {"index": self._calls} if self._habits.has_index else {}
        call_id = call.call_id or f"call_{self._number:04}_{self._calls}"
        self._calls += 1
        return place, {"id": call_id, "type": "function"}


def _each(field: str, pieces: Sequence[str]) -> Iterator[JsonObject]:
    return ({field: piece} for piece in pieces)


def _citation(page: Page) -> JsonObject:
    cited: JsonObject = {"url": page.url, "title": page.title, "content": page.quote, "start_index": 0, "end_index": 1}
    return {"type": "url_citation", "url_citation": cited}


def _arguments(call: ToolUse) -> Sequence[str]:
    return ("{}",) if call.pieces is None else call.pieces


_FINISH: Mapping[str, str] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


def chunks(habits: ChatHabits, reply: Reply, ask: Ask) -> Iterator[JsonObject | Event]:
    options = ask.body.get("stream_options")
    has_usage = isinstance(options, dict) and cast("JsonObject", options).get("include_usage") is True
    without: JsonObject = {"usage": None} if has_usage else {}
    usage: JsonObject = {"usage": _usage(reply.spent) | _searches(reply)}

    yield chunk(ask, {"role": "assistant", "content": _first_content(reply), "refusal": None}) | without
    for delta in Deltas(habits, ask.number).of(reply.parts):
        if isinstance(delta, Event):
            yield delta
            continue
        yield chunk(ask, delta) | without
        if habits.has_empty_deltas:
            yield from (chunk(ask, empty) | without for empty in _empty_deltas(habits))
    if reply.stop_reason is not None:
        reason = _FINISH.get(reply.stop_reason, reply.stop_reason)
        yield chunk(ask, {}, finish_reason=reason) | (usage if habits.usage_at == "finish" else without)
    if has_usage and habits.usage_at == "end":
        yield chunk(ask) | usage


def chunk(ask: Ask, *deltas: JsonObject, finish_reason: str | None = None) -> JsonObject:
    choices = [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason} for delta in deltas]
    return {
        "id": f"chatcmpl-{ask.number:04}",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": ask.model,
        "service_tier": "default",
        "system_fingerprint": "fp_test",
        "choices": choices,
    }


def _first_content(reply: Reply) -> str | None:
    """Return the content beside the role: null when only calls follow."""
    has_only_calls = all(isinstance(part, ToolUse | Fault) for part in reply.parts)
    return None if has_only_calls and reply.parts else ""


def _empty_deltas(habits: ChatHabits) -> tuple[JsonObject, ...]:
    nothing: JsonObject = {"content": None, "tool_calls": None}
    nothing |= dict.fromkeys(sorted(habits.thinking_fields))
    return {}, {"content": "", "tool_calls": []}, nothing


def _searches(reply: Reply) -> JsonObject:
    searches = sum(isinstance(part, Search) for part in reply.parts)
    return {"server_tool_use": {"web_search_requests": searches}} if searches else {}


def _usage(spent: Spent) -> JsonObject:
    details: JsonObject = {"cached_tokens": spent.cache_read, "cache_write_tokens": spent.cache_write}
    usage: JsonObject = {
        "prompt_tokens": spent.whole_input,
        "completion_tokens": spent.output,
        "total_tokens": spent.whole_input + spent.output,
        "prompt_tokens_details": details,
        "completion_tokens_details": {"reasoning_tokens": spent.thinking},
    }
    return usage if spent.cost is None else usage | {"cost": spent.cost}


_STATUSES: Mapping[str, int] = {
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 400,
    "rate_limit_error": 429,
    "api_error": 500,
    "overloaded_error": 503,
}


def _model(model_id: str, name: str, *, inputs: tuple[str, ...], parameters: tuple[str, ...]) -> JsonObject:
    return {
        "id": model_id,
        "canonical_slug": model_id,
        "name": name,
        "created": CREATED,
        "description": "A model for tests.",
        "context_length": 200_000,
        "architecture": {
            "modality": f"{'+'.join(inputs)}->text",
            "input_modalities": list(inputs),
            "output_modalities": ["text"],
            "tokenizer": "Other",
            "instruct_type": None,
        },
        "pricing": {
            "prompt": "0.000003",
            "completion": "0.000015",
            "request": "0",
            "image": "0",
            "internal_reasoning": "0",
            "input_cache_read": "0.0000003",
            "input_cache_write": "0.00000375",
        },
        "top_provider": {"context_length": 200_000, "max_completion_tokens": 64_000, "is_moderated": False},
        "per_request_limits": None,
        "supported_parameters": list(parameters),
    }


OPENROUTER_MODELS: tuple[JsonObject, ...] = (
    _model(
        "vendor/large-test",
        "Vendor: Large Test",
        inputs=("text", "image"),
        parameters=("max_tokens", "tools", "tool_choice", "reasoning", "include_reasoning"),
    ),
    _model("vendor/small-test", "Vendor: Small Test", inputs=("text",), parameters=("max_tokens", "temperature")),
)


def numbered_error(kind: str, message: str) -> JsonObject:
    return {"code": _STATUSES.get(kind, 500), "message": message, "metadata": {"provider_name": "Vendor"}}


def numbered_refusal(refusal: Refusal) -> Whole:
    status = {413: 400, 529: 503}.get(refusal.status, refusal.status)  # what only Anthropic answers with
    error = numbered_error(refusal.type, refusal.message) | {"code": status}
    return Whole(status, {"error": error}, refusal.headers)


@dataclass(frozen=True)
class ChatDialect(ChatHabits):
    base: str = "/v1"
    answers_at: str = "/v1/chat/completions"
    request_id_header: str = "x-request-id"
    content_type: str = "text/event-stream; charset=utf-8"
    models: Sequence[JsonObject] = MODELS

    def key(self, headers: Mapping[str, str]) -> str:
        return key_in(headers)

    def objection(self, request: HttpRequest) -> Refusal | None:
        return None

    def violations(self, path: str, body: object) -> list[str]:
        if path != self.answers_at:
            return []
        thinking = {f"messages.*.{field}" for field in self.thinking_fields}
        return check_request(body, self.takes | thinking, self.server_tools, alternates=self.alternates)

    def besides(self, method: str, path: str, body: object, models: Sequence[JsonObject]) -> Whole | Refusal:
        return models_or_nothing(method, path, models)

    def events(self, reply: Reply, ask: Ask) -> Iterator[bytes]:
        for number, each in enumerate(chunks(self, reply, ask)):
            yield self._commented(self.encoded(each, ask, number) if isinstance(each, Event) else sse(each))
        if self.has_done:
            yield self._commented(sse(b"[DONE]"))

    def encoded(self, event: Event | StreamError | Garbage, ask: Ask, number: int) -> bytes:
        match event:
            case Event(_, data) | Garbage(data):
                return sse(data)
            case StreamError(kind, message) if self.numbers_errors:
                failed = chunk(ask, {"role": "assistant", "content": ""}, finish_reason="error")
                return sse(failed | {"error": numbered_error(kind, message)})
            case StreamError(kind, message):
                return sse({"error": error_object(kind, message)})

    def spelled(self, refusal: Refusal) -> Whole:
        return numbered_refusal(refusal) if self.numbers_errors else refused(refusal)

    def _commented(self, event: bytes) -> bytes:
        return b": %s\n\n%s" % (self.comment.encode(), event) if self.comment else event


CHAT = ChatDialect()
OPENROUTER = ChatDialect(
    thinking="reasoning_details",
    usage_at="finish",
    comment="OPENROUTER PROCESSING",
    numbers_errors=True,
    server_tools=frozenset({"openrouter:web_search"}),
    takes=frozenset({"reasoning", "usage", "provider", "messages.*.content.*.cache_control"}),
    models=OPENROUTER_MODELS,
)
