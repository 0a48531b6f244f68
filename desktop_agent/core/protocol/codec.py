"""The versioned codec between events and JSON: one flat object each, distinguished by `type`.

An event of an unknown type or a later version becomes an `UnknownEvent`, which keeps the whole object.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NoReturn, cast, get_args

from msgspec import Struct, ValidationError, convert, to_builtins

from desktop_agent.core.base.learned import learned
from desktop_agent.core.protocol.events import (
    FORMAT_VERSION,
    UNSTAMPED,
    ApprovalResolved,
    Event,
    JournalEvent,
    KnownEvent,
    MessageDone,
    UnknownEvent,
)
from desktop_agent.core.protocol.model import JsonObject, Message


def as_object(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def text_in(fields: Mapping[str, object], key: str) -> str:
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def object_in(fields: JsonObject, key: str) -> JsonObject:
    return as_object(fields.get(key))


def texts_in(fields: JsonObject, key: str) -> list[str]:
    value = fields.get(key)
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]


def objects_in(fields: JsonObject, key: str) -> list[JsonObject]:
    value = fields.get(key)
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("JsonObject", item) for item in items if isinstance(item, dict)]


def parts_of(value: object) -> Iterable[object]:
    """Return the values in an object or a list; none for anything else."""
    if isinstance(value, dict):
        return cast("JsonObject", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


def is_deeper_than(value: object, levels: int) -> bool:
    level = [value]
    for _ in range(levels + 1):
        level = [inner for outer in level for inner in parts_of(outer)]
        if not level:
            return False
    return True


_NESTED = (dict, list, tuple)


def refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and infinity, which Python's parser would accept although JSON has neither."""
    raise ValueError(f"{name} is not JSON")


class MalformedLineError(ValueError):
    """A journal line is not a JSON object with a type, or violates its type."""


def encode_event(event: Event) -> JsonObject:
    """Return the JSON object of `event`; `v`, `seq`, `at` and `type` come first, for people who read the file."""
    if isinstance(event, UnknownEvent):
        return event.payload
    fields = encode(event)
    if isinstance(event, MessageDone):
        fields["content"] = _encode_blocks(event.content)
    elif isinstance(event, ApprovalResolved):
        fields["decision"] = _tag_last(encode(event.decision), "outcome")
    head: JsonObject = {"v": FORMAT_VERSION} if "seq" in fields else {}
    return head | {key: fields[key] for key in ("seq", "at", "type") if key in fields} | fields


def decode_event(fields: JsonObject) -> JournalEvent:
    kind = fields.get("type")
    if not isinstance(kind, str):
        raise MalformedLineError("a journal line needs a 'type'")
    if fields.get("v") != FORMAT_VERSION or kind not in _EVENTS:
        seq = fields.get("seq")
        return UnknownEvent(seq=seq if isinstance(seq, int) else 0, at=UNSTAMPED, payload=fields)
    try:
        return convert(fields, learned(_EVENTS[kind]))
    except ValidationError as error:
        raise MalformedLineError(_explain(error)) from error


def encode(value: Struct) -> JsonObject:
    return cast("JsonObject", _lists_for_tuples(to_builtins(value, enc_hook=_encode_other)))


def picked(value: object, *names: str) -> JsonObject:
    return {name: getattr(value, name) for name in names}


def encode_message(message: Message) -> JsonObject:
    return encode(message) | {"content": _encode_blocks(message.content)}


def _encode_blocks(blocks: Iterable[Struct]) -> list[JsonObject]:
    return [_tag_last(encode(block), "type") for block in blocks]


def _tag_last(fields: JsonObject, tag: str) -> JsonObject:
    """Move the tag, which msgspec writes first, to the end, where it has always been in journals."""
    fields[tag] = fields.pop(tag)
    return fields


def _lists_for_tuples(value: object) -> object:
    """Replace all tuples by lists, like parsed JSON. Objects are changed in place."""
    # Most parts are texts and numbers: a call for each of them would double the time.
    if isinstance(value, dict):
        fields = cast("JsonObject", value)
        for key, inner in fields.items():
            if type(inner) in _NESTED:
                fields[key] = _lists_for_tuples(inner)
        return fields
    items = cast("Iterable[object]", value)
    return [_lists_for_tuples(inner) if type(inner) in _NESTED else inner for inner in items]


def _encode_other(value: object) -> str:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"no JSON for {type(value).__name__}")


_EVENTS: Mapping[str, type[KnownEvent]] = {kind.__struct_config__.tag: kind for kind in get_args(KnownEvent)}


def _explain(error: ValidationError) -> str:
    message, has_place, place = str(error).rpartition(" - at `$.")
    if not has_place:
        return place
    for sign in "'\"":  # Invalid enum value 'x'
        message = message.partition(f" {sign}")[0]
    return f"{place.rstrip('`')}: {message}"
