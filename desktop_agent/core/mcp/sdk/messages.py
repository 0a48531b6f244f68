"""A line that a server printed, read as a message of the protocol, also when the SDK cannot read it.

An answer that cannot be read must not count as a stray line: its caller would wait for the whole time limit.
"""

import json
import re
from typing import Final, cast

import mcp_types

UNREADABLE: Final = -32097
"""The code of the error that stands for an answer that cannot be read."""

NOT_READABLE: Final = "It answered with what cannot be read."

_ID: Final = re.compile(r'"id"\s*:\s*(\d{1,18})\s*[,}]')
_AROUND: Final = 300
"""How many characters at the ends of a line are looked through for what it answers."""


def read_message(line: str) -> mcp_types.JSONRPCMessage:
    """Return the message, or an error for the request that it answers. Raises `ValueError` for what is no message."""
    try:
        return mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        answered = _mended(line) or _unreadable(line)
        if answered is None:
            raise
        return answered


def _mended(line: str) -> mcp_types.JSONRPCMessage | None:
    r"""Return a message with `?` for halves of pairs (`"\ud83d"`), which JavaScript writes where it cuts an emoji."""
    try:
        whole = json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace")
        return mcp_types.jsonrpc_message_adapter.validate_json(whole, by_name=False)
    except (ValueError, RecursionError):
        return None


def _unreadable(line: str) -> mcp_types.JSONRPCError | None:
    """Return the error for the request that the line answers; None when it answers none, as a line of a log."""
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        number = _number_in(line)
    else:
        fields = cast("dict[str, object]", found) if isinstance(found, dict) else {}
        is_answer = "jsonrpc" in fields and "method" not in fields and ("result" in fields or "error" in fields)
        number = fields.get("id") if is_answer else None
    if not isinstance(number, int):
        return None
    error = mcp_types.ErrorData(code=UNREADABLE, message=NOT_READABLE)
    return mcp_types.JSONRPCError(jsonrpc="2.0", id=number, error=error)


def _number_in(line: str) -> int | None:
    ends = (line[:_AROUND], line[-_AROUND:])
    is_answer = any('"jsonrpc"' in end for end in ends) and any('"result"' in end or '"error"' in end for end in ends)
    found = next((match for match in map(_ID.search, ends) if match is not None), None)
    return int(found.group(1)) if is_answer and found is not None else None
