"""OpenAI's Chat Completions API, and what the servers that are compatible with it do differently."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.dialects.dialect import Ask, sse
from tests.servers.dialects.openai import CREATED, MODELS, error_object, key_in, models_or_nothing, refused
from tests.servers.script import (
    Block,
    Event,
    Fault,
    Garbage,
    RawBlock,
    RedactedThinking,
    Refusal,
    Reply,
    Spent,
    StreamError,
    Text,
    Thinking,
    ToolUse,
    Whole,
)

_FINISH: Mapping[str, str] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
_THINKING_FIELDS: Mapping[str, frozenset[str]] = {
    "reasoning_content": frozenset({"messages.*.reasoning_content"}),
    "reasoning_details": frozenset({"messages.*.reasoning", "messages.*.reasoning_details"}),
}
"""The fields of a request that thinking goes back in."""


@dataclass(frozen=True)
class ChatDialect:
    """The format of `POST /chat/completions`. The fields from `thinking` on are habits of compatible servers."""

    base: str = "/v1"
    answers_at: str = "/v1/chat/completions"
    request_id_header: str = "x-request-id"
    models: Sequence[JsonObject] = MODELS
    thinking: Literal["reasoning_content", "reasoning_details"] = "reasoning_content"
    """The field that thinking comes in, which OpenAI does not have: DeepSeek's, or OpenRouter's, with its signature."""
    calls: Literal["fragments", "whole", "together"] = "fragments"
    """Whether a call comes in fragments, each in a chunk of its own, or all that follow each other in one."""
    has_index: bool = True
    """Whether a part of a call says which call it belongs to."""
    repeats_ids: bool = False
    """Whether every fragment of a call has its id and name again."""
    has_empty_deltas: bool = False
    """Whether a chunk with nothing in it follows every chunk."""
    usage_at: Literal["end", "finish"] = "end"
    """Whether usage has a chunk without choices, or comes with the last choice, asked for or not."""
    has_done: bool = True
    """Whether `[DONE]` ends the stream."""
    comment: str = ""
    """What comes as a comment before every event: `OPENROUTER PROCESSING`."""
    takes: frozenset[str] = frozenset()
    """The fields of a request that OpenAI does not know, besides those that thinking came in: `messages.*.prefix`."""
    alternates: bool = False
    """Whether the user and the assistant must take turns, as the templates of many local models demand."""

    def key(self, headers: Mapping[str, str]) -> str:
        """Return the bearer."""
        return key_in(headers)

    def objection(self, headers: Mapping[str, str]) -> Refusal | None:
        """Need nothing."""
        return None

    def violations(self, path: str, body: object) -> list[str]:
        """Check requests for an answer."""
        from tests.servers.validation.chat import check_request

        if path != self.answers_at:
            return []
        return check_request(body, _THINKING_FIELDS[self.thinking] | self.takes, alternates=self.alternates)

    def besides(self, method: str, path: str, body: object, models: Sequence[JsonObject]) -> Whole | Refusal:
        """List models."""
        return models_or_nothing(method, path, models)

    def events(self, reply: Reply, ask: Ask) -> Iterator[bytes]:
        """Yield the chunks of a completion."""
        for chunk in _Completion(self, reply, ask).chunks():
            yield self._commented(chunk if isinstance(chunk, bytes) else sse(chunk))
        if self.has_done:
            yield self._commented(sse(b"[DONE]"))

    def encoded(self, event: Event | StreamError | Garbage, ask: Ask, number: int) -> bytes:
        """Return the data of the event; there are no names here."""
        match event:
            case Event(_, data) | Garbage(data):
                return sse(data)
            case StreamError(kind, message):
                return sse({"error": error_object(kind, message)})

    def spelled(self, refusal: Refusal) -> Whole:
        """Return the error as OpenAI sends it."""
        return refused(refusal)

    def _commented(self, event: bytes) -> bytes:
        return b": %s\n\n%s" % (self.comment.encode(), event) if self.comment else event


CHAT = ChatDialect()
OPENROUTER = ChatDialect(
    thinking="reasoning_details",
    usage_at="finish",
    comment="OPENROUTER PROCESSING",
    takes=frozenset({"reasoning", "usage", "provider", "messages.*.content.*.cache_control"}),
)


class _Completion:
    """One completion, chunk by chunk."""

    def __init__(self, dialect: ChatDialect, reply: Reply, ask: Ask) -> None:
        self._dialect = dialect
        self._reply = reply
        self._ask = ask
        options = ask.body.get("stream_options")
        self._has_usage = isinstance(options, dict) and cast("JsonObject", options).get("include_usage") is True
        self._calls = 0
        self._details = 0

    def chunks(self) -> Iterator[JsonObject | bytes]:
        """Yield the chunks, and events of the script as they are."""
        yield self._chunk({"role": "assistant", "content": "", "refusal": None})
        for part in self._parts():
            if isinstance(part, bytes):
                yield part
                continue
            yield self._chunk(part)
            if self._dialect.has_empty_deltas:
                yield self._chunk({})
                yield self._chunk({"content": ""})
        yield from self._end()

    def _parts(self) -> Iterator[JsonObject | bytes]:
        together: list[JsonObject] = []
        for part in self._reply.parts:
            if isinstance(part, ToolUse) and self._dialect.calls == "together":
                together.append(self._call(part))
                continue
            if together:
                yield {"tool_calls": list(together)}
                together.clear()
            if isinstance(part, Event):
                yield self._dialect.encoded(part, self._ask, 0)
            elif not isinstance(part, Fault):
                yield from self._deltas(part)
        if together:
            yield {"tool_calls": together}

    def _deltas(self, part: Block) -> Iterator[JsonObject]:
        match part:
            case Text(pieces):
                yield from _each("content", pieces)
            case Thinking(pieces, signature):
                yield from self._thinking(pieces, signature)
            case RedactedThinking(data):
                if self._dialect.thinking == "reasoning_details":
                    yield self._detail({"type": "reasoning.encrypted", "data": data})
                    self._details += 1
            case ToolUse() as call if self._dialect.calls == "fragments":
                yield from self._fragments(call)
            case ToolUse() as call:
                yield {"tool_calls": [self._call(call)]}
            case RawBlock(start, deltas):
                yield from (start, *deltas)

    def _thinking(self, pieces: Sequence[str], signature: str) -> Iterator[JsonObject]:
        if self._dialect.thinking == "reasoning_content":
            yield from _each("reasoning_content", pieces)
            return
        for piece in pieces:
            yield {"reasoning": piece} | self._detail({"type": "reasoning.text", "text": piece})
        yield self._detail({"type": "reasoning.text", "signature": signature})
        self._details += 1

    def _detail(self, detail: JsonObject) -> JsonObject:
        return {"reasoning_details": [detail | {"format": "anthropic-claude-v1", "index": self._details}]}

    def _call(self, call: ToolUse) -> JsonObject:
        function: JsonObject = {"name": call.name, "arguments": "".join(_arguments(call))}
        return self._next_call() | {"id": self._id(call), "type": "function", "function": function}

    def _fragments(self, call: ToolUse) -> Iterator[JsonObject]:
        which = self._next_call()
        opening: JsonObject = {"id": self._id(call), "type": "function"}
        yield {"tool_calls": [which | opening | {"function": {"name": call.name, "arguments": ""}}]}
        for piece in _arguments(call):
            if self._dialect.repeats_ids:
                yield {"tool_calls": [which | opening | {"function": {"name": call.name, "arguments": piece}}]}
            else:
                yield {"tool_calls": [which | {"function": {"arguments": piece}}]}

    def _next_call(self) -> JsonObject:
        self._calls += 1
        return {"index": self._calls - 1} if self._dialect.has_index else {}

    def _id(self, call: ToolUse) -> str:
        return call.call_id or f"call_{self._ask.number:04}_{self._calls - 1}"

    def _end(self) -> Iterator[JsonObject]:
        reason = self._reply.stop_reason
        usage: JsonObject = {"usage": _usage(self._reply.spent)}
        with_finish = self._dialect.usage_at == "finish"
        if reason is not None:
            yield self._chunk({}, finish_reason=_FINISH.get(reason, reason)) | (usage if with_finish else {})
        if self._has_usage and not with_finish:
            yield self._chunk() | usage

    def _chunk(self, *deltas: JsonObject, finish_reason: str | None = None) -> JsonObject:
        choices = [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason} for delta in deltas]
        chunk: JsonObject = {
            "id": f"chatcmpl-{self._ask.number:04}",
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": self._ask.model,
            "service_tier": "default",
            "system_fingerprint": "fp_test",
            "choices": choices,
        }
        return chunk | {"usage": None} if self._has_usage else chunk


def _each(field: str, pieces: Sequence[str]) -> Iterator[JsonObject]:
    return ({field: piece} for piece in pieces)


def _arguments(call: ToolUse) -> Sequence[str]:
    """Return the fragments; a call without arguments has an empty object here."""
    return ("{}",) if call.pieces is None else call.pieces


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
