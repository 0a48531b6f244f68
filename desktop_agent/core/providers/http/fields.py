"""Read fields of the API's JSON: the right type, or a stream that cannot be trusted.

Those named `…_in` never fail, as in `protocol.foreign_json`; the others raise `ProviderError`.

Plain functions over decoded JSON instead of models: an unknown block must go back as it came.
"""

import json
import math
from typing import cast

from desktop_agent.core.protocol.foreign_json import text_in
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.http.faults import broken_off
from desktop_agent.core.providers.surrogates import is_encodable, repaired
from desktop_agent.core.system.network.connections import MAX_NAME_CHARS, oversized

_MOST_TOKENS = 10**9
"""More is no count, and sums of it would not fit into the files that keep them."""


def required_object(fields: JsonObject, name: str) -> JsonObject:
    """Return the object `name`. Raises `ProviderError` if it is missing or something else."""
    value = fields.get(name)
    if not isinstance(value, dict):
        raise broken_off(f"malformed event: {name} is not an object")
    return cast("JsonObject", value)


def required_text(fields: JsonObject, name: str) -> str:
    """Return the text `name`, perhaps with half a character at its ends. Raises `ProviderError` if it is none."""
    value = fields.get(name)
    if not isinstance(value, str):
        raise broken_off(f"malformed event: {name} is not text")
    return value


def optional_text(fields: JsonObject, name: str) -> str:
    """Return the text `name`, or nothing when there is none."""
    return required_text(fields, name) if fields.get(name) is not None else ""


def required_token(fields: JsonObject, name: str) -> str:
    """Return the text `name`, which is an id, a name or a signature: not empty, and no broken characters."""
    value = required_text(fields, name)
    if not value or not is_encodable(value):
        raise broken_off(f"malformed event: {name} is empty or broken")
    return value


def required_name(fields: JsonObject, name: str) -> str:
    """Return the name or id `name`. Raises `ProviderError` also for one that is longer than any."""
    value = required_token(fields, name)
    if len(value) > MAX_NAME_CHARS:
        raise oversized(f"{name} has {len(value):,} characters")
    return value


def message_id_in(fields: JsonObject) -> str:
    """Return the id of a message, which is kept and may go back; nothing where there is none, or what none can be."""
    message_id = repaired(text_in(fields, "id"))
    return message_id if len(message_id) <= MAX_NAME_CHARS else ""


def required_index(fields: JsonObject) -> int:
    """Return the number of the block that an event is about."""
    value = fields.get("index")
    if not isinstance(value, int) or isinstance(value, bool):
        raise broken_off("malformed event: index is not a number")
    return value


def count_in(fields: JsonObject, name: str, otherwise: int) -> int:
    """Return a number of tokens, or `otherwise` when the event does not say, or says what none can be."""
    value = fields.get(name)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return cast("int", value) if is_count else otherwise


def size_in(fields: JsonObject, name: str) -> int | None:
    """Return a number of tokens above zero, or `None` when there is none, or one that none can be."""
    return count_in(fields, name, 0) or None


def decode_event(data: str) -> JsonObject | None:
    """Return the object that the data of a server-sent event spells; `None` when there is none.

    A number that is none in JSON, or infinite here, is null: neither a journal nor a request could hold it. Raises
    `ProviderError` for anything else.
    """
    if not data:
        return None
    try:
        event: object = _EVENTS.decode(data)
    except (ValueError, RecursionError) as error:
        raise broken_off(f"malformed event: {type(error).__name__}") from None
    if not isinstance(event, dict):
        raise broken_off("malformed event: not an object")
    return cast("JsonObject", event)


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _nothing(_name: str) -> None:
    """What NaN and the infinities are read as: some servers report them, in fields that are not used here."""


_EVENTS = json.JSONDecoder(parse_float=_finite, parse_constant=_nothing)
