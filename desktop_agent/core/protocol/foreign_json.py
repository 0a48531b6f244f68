"""Reading JSON of a foreign shape: whatever is there, the answer has the type that was asked for."""

from typing import cast

from desktop_agent.core.protocol.model import JsonObject


def as_object(value: object) -> JsonObject:
    """Return `value` if it is an object, else an empty one."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def text_in(fields: JsonObject, key: str) -> str:
    """Return the text under `key`; empty when there is none."""
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def object_in(fields: JsonObject, key: str) -> JsonObject:
    """Return the object under `key`; an empty one when there is none."""
    return as_object(fields.get(key))


def texts_in(fields: JsonObject, key: str) -> list[str]:
    """Return the texts of the list under `key`; what else is in it is passed over."""
    value = fields.get(key)
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]


def objects_in(fields: JsonObject, key: str) -> list[JsonObject]:
    """Return the objects of the list under `key`; what else is in it is passed over."""
    value = fields.get(key)
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("JsonObject", item) for item in items if isinstance(item, dict)]
