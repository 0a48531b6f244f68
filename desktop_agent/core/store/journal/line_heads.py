"""What the beginning of a line says, without decoding the line: enough for the list of sessions and for headings.

It goes by the order in which the codec writes keys, which a test holds. A line that begins otherwise, because another
program wrote it, is decoded and put into that order first.
"""

import json
import re
from typing import Annotated

from msgspec import DecodeError, Meta, Struct
from msgspec.json import Decoder

from desktop_agent.core.base.learned import learned
from desktop_agent.core.protocol.model import Usage
from desktop_agent.core.store.journal.journal_mark import fields_of

_HEAD = re.compile(rb'\{"v":\d+,"seq":\d+,"at":"([0-9T:.Z+-]{19,40})","type":"([a-z_]+)"(?:,"turn":(\d{1,18}))?')

_Count = Annotated[int, Meta(ge=0, lt=10**18)]
_Dollars = Annotated[float, Meta(ge=0, lt=1e9)]


class LineHead(Struct, frozen=True, gc=False):
    """When something happened, and what: in bytes, as a list of sessions looks at the heads of all lines."""

    at: bytes
    kind: bytes
    turn_digits: bytes | None

    @property
    def turn(self) -> int:
        """The turn; 0 where it does not come right after the kind."""
        return int(self.turn_digits or 0)


class _CheckedUsage(Usage, frozen=True, kw_only=True, gc=False):
    """Counts and costs that there can be: sums over many journals must not suffer from one."""

    input_tokens: _Count = 0
    output_tokens: _Count = 0
    cache_read_tokens: _Count = 0
    cache_write_tokens: _Count = 0
    web_searches: _Count = 0
    cost_usd: _Dollars | None = None
    unpriced_tokens: _Count = 0


class ReportedModel(Struct, frozen=True, gc=False):
    """As much of a model's reference as tells models apart."""

    provider: str
    model: str


class Reported(Struct, frozen=True, gc=False):
    """What a `usage_reported` tells of its request."""

    usage: _CheckedUsage
    model: ReportedModel | None = None


_REPORTED = Decoder(learned(Reported))


def written_head(line: bytes) -> LineHead | None:
    """Return the head of a line that we wrote; None for any other."""
    found = _HEAD.match(line)
    return LineHead(*found.groups()) if found else None


def head_of(line: bytes) -> LineHead | None:
    """Return the head of a line; None when it cannot be read."""
    found = _HEAD.match(line) or _HEAD.match(_as_written(line))
    return LineHead(*found.groups()) if found else None


def reported_in(line: bytes) -> Reported | None:
    """Return what a `usage_reported` says; None when that cannot be, or cannot be read."""
    try:
        return _REPORTED.decode(line)
    except (DecodeError, RecursionError):
        return None


def _as_written(line: bytes) -> bytes:
    """Return a line that another program wrote as we write it; nothing of one that is none."""
    fields = fields_of(line)
    head = {key: fields[key] for key in ("v", "seq", "at", "type", "turn") if key in fields}
    try:
        return json.dumps(head | fields, separators=(",", ":")).encode()
    except RecursionError:
        return b""
