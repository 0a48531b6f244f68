"""Tokens as both formats count them: the whole input, of which some came from a cache or went into it."""

import math

from desktop_agent.core.protocol.foreign_json import object_in
from desktop_agent.core.protocol.model import JsonObject, Usage
from desktop_agent.core.providers.http.fields import count_in


def read_usage(fields: JsonObject, *, whole_input: str, output: str) -> Usage:
    """Return the usage in `fields`, where the input and the output have these names."""
    details = object_in(fields, f"{whole_input}_details")
    read = count_in(details, "cached_tokens", 0)
    written = count_in(details, "cache_write_tokens", 0)
    whole = count_in(fields, whole_input, 0)
    return Usage(
        input_tokens=max(whole - read - written, 0),
        output_tokens=count_in(fields, output, 0),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


def cost_in(fields: JsonObject) -> float | None:
    """Return what a request cost in US dollars, as OpenRouter reports it; `None` where it does not."""
    value = fields.get("cost")
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value < math.inf else None


def searches_in(fields: JsonObject) -> int:
    """Return how often OpenRouter searched the web for a request."""
    return count_in(object_in(fields, "server_tool_use"), "web_search_requests", 0)
