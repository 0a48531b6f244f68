"""The versioned codec between events or ops and JSON: one flat object each, distinguished by `type`.

`decode_event(encode_event(e)) == e` for every event, and a line of an unknown type or a later version survives a round
trip byte for byte in meaning: it becomes an `UnknownEvent` that holds the whole object.
"""

from functools import cache
from typing import Annotated, cast, get_args

from pydantic import ConfigDict, Discriminator, TypeAdapter, ValidationError

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.protocol.events import (
    FORMAT_VERSION,
    UNSTAMPED,
    Event,
    JournalEvent,
    KnownEvent,
    LiveEvent,
    UnknownEvent,
)
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.protocol.ops import Op


class MalformedLineError(ValueError):
    """A journal line is not a JSON object with a type, or lacks what its type requires."""


def encode_event(event: Event) -> JsonObject:
    """Return the JSON object of `event`; `v`, `seq`, `at` and `type` come first, for people who read the file."""
    if isinstance(event, UnknownEvent):
        return event.payload
    fields = cast("JsonObject", _events().dump_python(event, mode="json"))
    head: JsonObject = {"v": FORMAT_VERSION} if "seq" in fields else {}
    return head | {key: fields[key] for key in ("seq", "at", "type") if key in fields} | fields


def decode_event(fields: JsonObject) -> JournalEvent:
    """Return the event that `fields` describes. Raises `MalformedLineError`; never drops what it does not know."""
    kind = fields.get("type")
    if not isinstance(kind, str):
        raise MalformedLineError("a journal line needs a 'type'")
    if fields.get("v") != FORMAT_VERSION or kind not in _known_types():
        seq = fields.get("seq")
        return UnknownEvent(seq=seq if isinstance(seq, int) else 0, at=UNSTAMPED, payload=fields, type=kind)
    try:
        return cast("JournalEvent", _events().validate_python(fields))
    except ValidationError as error:
        raise MalformedLineError(_explain(error)) from error


def encode_op(op: Op) -> JsonObject:
    """Return the JSON object of `op`."""
    return cast("JsonObject", _ops().dump_python(op, mode="json"))


def decode_op(fields: JsonObject) -> Op:
    """Return the op that `fields` describes, or raise `UsageError` naming what is wrong."""
    try:
        return _ops().validate_python(fields)
    except ValidationError as error:
        raise UsageError("This is not a valid request.", detail=_explain(error)) from error


@cache
def _events() -> TypeAdapter[KnownEvent | LiveEvent]:
    # No measure or duration is infinite: a line that says so (`1e400` does) was not written by us.
    return TypeAdapter(Annotated[KnownEvent | LiveEvent, Discriminator("type")], config=ConfigDict(allow_inf_nan=False))


@cache
def _ops() -> TypeAdapter[Op]:
    return TypeAdapter(Annotated[Op, Discriminator("type")])


@cache
def _known_types() -> frozenset[str]:
    return frozenset(kind.__dataclass_fields__["type"].default for kind in get_args(KnownEvent))


def _explain(error: ValidationError) -> str:
    """Return the problems as `field: message`, joined by `; `, without echoing the values."""
    return "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors(include_url=False))
