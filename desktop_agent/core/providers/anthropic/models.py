"""What the API says about sizes: how much each of its models reads at once, and how many tokens a request takes."""

import json
from collections.abc import Sequence
from typing import cast

from desktop_agent.core.models.known_model import ListedModel
from desktop_agent.core.protocol.foreign_json import object_in
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.http.fields import size_in
from desktop_agent.core.providers.http.refusals import FailedCall, not_the_api

_EFFORTS = ("low", "medium", "high", "xhigh", "max")


def read_models(page: bytes, call: FailedCall) -> Sequence[ListedModel]:
    """Return the models of a `GET /v1/models` answer that can still be used, in its order.

    Raises `ProviderError` if it is no such answer.
    """
    data = _object(page, call, "the list of models is not JSON").get("data")
    if not isinstance(data, list):
        raise not_the_api(call, "the list of models has no data")
    entries = (cast("JsonObject", entry) for entry in cast("list[object]", data) if isinstance(entry, dict))
    return [_listed(entry) for entry in entries if isinstance(entry.get("id"), str) and _is_usable(entry)]


def read_count(answer: bytes, call: FailedCall) -> int:
    """Return what the API counted. Raises `ProviderError` for an answer that has no count."""
    count = size_in(_object(answer, call, "the count of tokens is not JSON"), "input_tokens")
    if count is None:
        raise not_the_api(call, "the count of tokens has no number")
    return count


def _is_usable(entry: JsonObject) -> bool:
    return entry.get("lifecycle") != "retired"


def _listed(entry: JsonObject) -> ListedModel:
    can = object_in(entry, "capabilities")
    efforts = object_in(can, "effort")
    label = entry.get("display_name")
    return ListedModel(
        name=cast("str", entry["id"]),
        label=label if isinstance(label, str) else "",
        context_tokens=size_in(entry, "max_input_tokens"),
        output_tokens=size_in(entry, "max_tokens"),
        takes_images=_supports(can, "image_input"),
        thinks=_supports(can, "thinking"),
        takes_tools=True if can else None,
        efforts=tuple(level for level in _EFFORTS if _supports(efforts, level)) if "effort" in can else None,
    )


def _supports(abilities: JsonObject, name: str) -> bool | None:
    """Return whether an ability is there; `None` where the list does not say."""
    said = object_in(abilities, name).get("supported")
    return said if isinstance(said, bool) else None


def _object(answer: bytes, call: FailedCall, flaw: str) -> JsonObject:
    """Return the object that an answer is, an empty one for other JSON."""
    try:
        fields: object = json.loads(answer)
    except (ValueError, RecursionError):
        raise not_the_api(call, flaw) from None
    return cast("JsonObject", fields) if isinstance(fields, dict) else {}
