"""What the beginning of a line says, without decoding the line: enough for the list of sessions and for headings.

It goes by the order in which the codec writes keys, which a test holds. A line that begins otherwise, because another
program wrote it, is decoded and put into that order first.
"""

import json
import re

from msgspec import Struct

from desktop_agent.core.protocol.model import Usage
from desktop_agent.core.store.journal.journal_mark import fields_of

_HEAD = re.compile(rb'\{"v":\d+,"seq":\d+,"at":"([0-9T:.Z+-]{19,40})","type":"([a-z_]+)"(?:,"turn":(\d{1,18}))?')
_TOKENS = re.compile(
    rb'"usage":\{"input_tokens":(\d{1,18}),"output_tokens":(\d{1,18}),"cache_read_tokens":(\d{1,18}),"cache_write_tokens":(\d{1,18})[,}]'
)


class LineHead(Struct, frozen=True, gc=False):
    """When something happened, and what: in bytes, as a list of sessions looks at the heads of all lines."""

    at: bytes
    kind: bytes
    turn_digits: bytes | None

    @property
    def turn(self) -> int:
        """The turn; 0 where it does not come right after the kind."""
        return int(self.turn_digits or 0)


def written_head(line: bytes) -> LineHead | None:
    """Return the head of a line that we wrote; None for any other."""
    found = _HEAD.match(line)
    return LineHead(*found.groups()) if found else None


def head_of(line: bytes) -> LineHead | None:
    """Return the head of a line; None when it cannot be read."""
    found = _HEAD.match(line) or _HEAD.match(_as_written(line))
    return LineHead(*found.groups()) if found else None


def usage_in(line: bytes) -> Usage | None:
    """Return the tokens of a `usage_reported`; None when they cannot be read."""
    found = _TOKENS.search(line) or _TOKENS.search(_as_written(line))
    if found is None:
        return None
    read, written, from_cache, to_cache = map(int, found.groups())
    return Usage(input_tokens=read, output_tokens=written, cache_read_tokens=from_cache, cache_write_tokens=to_cache)


def _as_written(line: bytes) -> bytes:
    """Return a line that another program wrote as we write it; nothing of one that is none."""
    fields = fields_of(line)
    head = {key: fields[key] for key in ("v", "seq", "at", "type", "turn") if key in fields}
    try:
        return json.dumps(head | fields, separators=(",", ":")).encode()
    except RecursionError:
        return b""
