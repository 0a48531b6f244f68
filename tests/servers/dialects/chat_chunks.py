"""The chunks that the deltas of one chat completion come in."""

from collections.abc import Iterator, Mapping
from typing import cast

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.dialects.chat_deltas import Deltas
from tests.servers.dialects.chat_habits import ChatHabits
from tests.servers.dialects.dialect import Ask
from tests.servers.dialects.openai import CREATED
from tests.servers.script import Event, Fault, Reply, Search, Spent, ToolUse

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
    """Return what the role comes with: null when there will be calls only."""
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
