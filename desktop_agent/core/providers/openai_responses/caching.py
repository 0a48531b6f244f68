"""How a Responses request finds the cache of the one before, and what the API says when it did not."""

from collections.abc import Mapping

from desktop_agent.core.protocol.foreign_json import object_in, text_in
from desktop_agent.core.protocol.model import CacheMiss, CacheMissReason, JsonObject, ModelRequest
from desktop_agent.core.providers.http.fields import count_in

CACHE_KEY = "prompt_cache_key"
CACHE_OPTIONS = "prompt_cache_options"
COMPARED = "comparison_response_id"

CACHE_FIELDS = frozenset({CACHE_KEY, CACHE_OPTIONS})
"""What servers that speak this format need not know."""

_REASONS: Mapping[str, CacheMissReason] = {
    "model_changed": "model",
    "tools_changed": "tools",
    "input_changed": "messages",
    "context_compacted": "compaction",
    "prompt_cache_key_changed": "options",
    "text_format_changed": "options",
    "reasoning_effort_changed": "options",
    "verbosity_changed": "options",
    "service_tier_changed": "options",
}


def cache_fields(request: ModelRequest) -> JsonObject:
    """Return the fields of a body that are about caching: whose cache, and which answer to compare with."""
    fields: JsonObject = {}
    if request.conversation:
        fields[CACHE_KEY] = request.conversation
    if request.follows:
        fields[CACHE_OPTIONS] = {COMPARED: request.follows}
    return fields


def cache_miss_in(response: JsonObject) -> CacheMiss | None:
    """Return what the diagnostics of a response say; `None` where they say nothing."""
    diagnostics = object_in(response, "prompt_cache_diagnostics")
    if text_in(diagnostics, "type") != "cache_miss":
        return None
    reason = _REASONS.get(text_in(diagnostics, "reason"), "unknown")
    return CacheMiss(reason=reason, tokens=count_in(diagnostics, "cache_missed_tokens", 0))
