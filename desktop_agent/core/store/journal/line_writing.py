"""What a line of a journal file is, byte for byte.

The quick way is pydantic's own JSON; what it refuses goes the slow way of `json`, which takes a lone surrogate. Neither
way writes NaN and infinities: they are not JSON, and no other program would read the line.
"""

import json

from pydantic_core import PydanticSerializationError, to_json

from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.store.journal import lines

_NOT_FINITE = (b"NaN", b"Infinity")


def encode_line(fields: JsonObject) -> bytes:
    """Return the line of `fields` with its newline. Raises `ValueError` for what no reader would take back."""
    try:
        line = to_json(fields)
    except PydanticSerializationError:
        # A lone surrogate has no UTF-8 form; escaped it is valid JSON and comes back the same.
        line = _encoded_slowly(fields)
    else:
        if any(name in line for name in _NOT_FINITE):  # most likely in a text; to know it costs more than it is worth
            line = _encoded_slowly(fields)
    if len(line) > lines.MAX_LINE_BYTES:
        raise ValueError(f"a record of {len(line)} bytes is too long")
    return line + b"\n"


def _encoded_slowly(fields: JsonObject) -> bytes:
    try:
        return json.dumps(fields, separators=(",", ":"), allow_nan=False).encode()
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
