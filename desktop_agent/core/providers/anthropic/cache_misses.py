"""Why the API could not use its cache, as it says with the first event of an answer.

Source: https://platform.claude.com/docs/en/build-with-claude/cache-diagnostics
"""

from collections.abc import Mapping

from desktop_agent.core.protocol.foreign_json import object_in, text_in
from desktop_agent.core.protocol.model import CacheMiss, CacheMissReason, JsonObject
from desktop_agent.core.providers.http.fields import count_in

_REASONS: Mapping[str, CacheMissReason] = {
    "model_changed": "model",
    "system_changed": "system",
    "tools_changed": "tools",
    "messages_changed": "messages",
}
"""The others, `previous_message_not_found` and `unavailable`, do not say that anything was missed."""


def cache_miss_in(message: JsonObject) -> CacheMiss | None:
    """Return what the diagnostics of a message say; `None` where they say nothing, or not yet."""
    why = object_in(object_in(message, "diagnostics"), "cache_miss_reason")
    reason = _REASONS.get(text_in(why, "type"))
    return CacheMiss(reason=reason, tokens=count_in(why, "cache_missed_input_tokens", 0)) if reason else None
