"""The object that stands for the whole response: at its beginning, at its end, when it failed."""

from collections.abc import Sequence
from typing import Literal

from desktop_agent.core.protocol.model import JsonObject
from tests.servers.dialects.dialect import Ask
from tests.servers.dialects.openai import CREATED
from tests.servers.script import MISSED_TOKENS, Spent

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
    """Return the response in this status. `spent` only when it is over."""
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
    """Return how the cache served the request, compared with the response that it names; nothing without one."""
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
