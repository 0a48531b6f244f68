"""What the API says about sizes: how much each of its models reads at once, and how many tokens a request takes."""

import json
from collections.abc import Mapping
from typing import cast

from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.anthropic.faults import FailedCall, not_the_api


def read_windows(page: bytes, call: FailedCall) -> Mapping[str, int | None]:
    """Return the context window of each model of a `GET /v1/models` answer that can still be used, in its order.

    `None` where the answer does not say. Raises `ProviderError` if it is no such answer.
    """
    data = _object(page, call, "the list of models is not JSON").get("data")
    if not isinstance(data, list):
        raise not_the_api(call, "the list of models has no data")
    windows: dict[str, int | None] = {}
    for entry in cast("list[object]", data):
        match entry:
            case {"lifecycle": "retired"}:
                pass
            case {"id": str(model)}:
                windows[model] = _size(cast("JsonObject", entry), "max_input_tokens")
            case _:
                pass
    return windows


def read_count(answer: bytes, call: FailedCall) -> int:
    """Return what the API counted. Raises `ProviderError` for an answer that has no count."""
    count = _size(_object(answer, call, "the count of tokens is not JSON"), "input_tokens")
    if count is None:
        raise not_the_api(call, "the count of tokens has no number")
    return count


def _object(answer: bytes, call: FailedCall, flaw: str) -> JsonObject:
    """Return the object that an answer is, an empty one for other JSON."""
    try:
        fields: object = json.loads(answer)
    except (ValueError, RecursionError):
        raise not_the_api(call, flaw) from None
    return cast("JsonObject", fields) if isinstance(fields, dict) else {}


def _size(entry: JsonObject, name: str) -> int | None:
    value = entry.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
