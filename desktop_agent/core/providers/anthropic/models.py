"""What the API says about models and sizes: the models it offers, and how many tokens a request takes."""

import json
from typing import cast

from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.anthropic.faults import FailedCall, not_the_api
from desktop_agent.core.providers.base import ModelInfo


def read_models(page: bytes, call: FailedCall) -> tuple[ModelInfo, ...]:
    """Return the models of a `GET /v1/models` answer that can still be used. Raises `ProviderError` if it is none."""
    try:
        answer: object = json.loads(page)
    except (ValueError, RecursionError):
        raise not_the_api(call, "the list of models is not JSON") from None
    data = cast("JsonObject", answer).get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list):
        raise not_the_api(call, "the list of models has no data")
    entries = [cast("JsonObject", entry) for entry in cast("list[object]", data) if isinstance(entry, dict)]
    return tuple(model for entry in entries if (model := _model(entry)) is not None)


def read_count(answer: bytes, call: FailedCall) -> int:
    """Return what the API counted. Raises `ProviderError` for an answer that has no count."""
    try:
        fields: object = json.loads(answer)
    except (ValueError, RecursionError):
        raise not_the_api(call, "the count of tokens is not JSON") from None
    count = _size(cast("JsonObject", fields), "input_tokens") if isinstance(fields, dict) else None
    if count is None:
        raise not_the_api(call, "the count of tokens has no number")
    return count


def _model(entry: JsonObject) -> ModelInfo | None:
    """Return the model, or `None` for one that is retired or has no id."""
    match entry:
        case {"lifecycle": "retired"}:
            return None
        case {"id": str(model_id)}:
            name = entry.get("display_name")
            return ModelInfo(
                id=model_id,
                name=name if isinstance(name, str) and name else model_id,
                context_tokens=_size(entry, "max_input_tokens"),
                max_output_tokens=_size(entry, "max_tokens"),
            )
        case _:
            return None


def _size(entry: JsonObject, name: str) -> int | None:
    value = entry.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
