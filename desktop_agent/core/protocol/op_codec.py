"""Ops as JSON: one flat object each, distinguished by `type`, for front ends that are other programs.

`decode_op(encode_op(op)) == op` for every op. Bytes are base64, as msgspec writes them.
"""

from collections.abc import Mapping
from typing import cast, get_args

from msgspec import ValidationError, convert

from desktop_agent.core.base.learned import learned
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.codec import encode
from desktop_agent.core.protocol.model import JsonObject


class MalformedOpError(ValueError):
    """What should be an op is no JSON object with a known type, or its fields are not those of the type."""


def encode_op(op: ops.Op) -> JsonObject:
    """Return the JSON object of `op`."""
    return encode(op)


def decode_op(fields: object) -> ops.Op:
    """Return the op that `fields`, read from JSON, describes. Raises `MalformedOpError` that names the field."""
    if not isinstance(fields, dict):
        raise MalformedOpError("an op is a JSON object")
    given = cast("JsonObject", fields)
    kind = given.get("type")
    known = _OPS.get(kind) if isinstance(kind, str) else None
    if known is None:
        raise MalformedOpError(f"`type` must be one of {', '.join(_OPS)}")
    unknown = next((key for key in given if key not in known.__struct_fields__), None)
    if unknown is not None:
        raise MalformedOpError(f"{kind} has no field {unknown!r}")
    try:
        op = convert(given, learned(known))
    except ValidationError as error:
        raise MalformedOpError(f"{kind}: {error}") from error
    if isinstance(op, ops.SubmitPrompt | ops.Steer) and not op.text.strip():
        raise MalformedOpError(f"{kind}: the message is empty - at `$.text`")
    return op


_OPS: Mapping[str, type[ops.Op]] = {kind.__struct_defaults__[-1]: kind for kind in get_args(ops.Op)}
"""By the default of the field `type`, which each declares last."""
