"""Scans journals without decoding them: how far a cache has read, and the head of each line."""

import json
import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, BinaryIO, NamedTuple, TypeVar, cast

from msgspec import DecodeError, Meta, Struct
from msgspec.json import Decoder

from desktop_agent.core.base.errors import storage_error
from desktop_agent.core.base.ids import SessionId, is_session_id
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol.model import JsonObject, Usage
from desktop_agent.core.store.journal.lines import read_lines

T = TypeVar("T")
JOURNAL_NAME = "journal.jsonl"

_LONG_AGO = datetime.fromtimestamp(0, UTC)
_READ_AHEAD = 128 * 1024
_WITNESS_BYTES = 256

State = tuple[int, int]
"""Bytes, and modification time in nanoseconds. The pair changes whenever the file does."""


def state_of(status: os.stat_result) -> State:
    return status.st_size, status.st_mtime_ns


def journal_states(folder: Path) -> dict[SessionId, State]:
    """Raises `StorageError`."""
    with storage_error("The sessions could not be listed.", hint="Check the permissions of the data folder."):
        try:
            names = os.listdir(folder)  # noqa: PTH208 - names are all that is wanted
        except (FileNotFoundError, NotADirectoryError):
            return {}
    found = {name: journal_state(folder, name) for name in names if is_session_id(name)}
    return {name: state for name, state in found.items() if state is not None}


def journal_state(folder: Path, session_id: SessionId) -> State | None:
    try:
        status = os.stat(f"{folder}/{session_id}/{JOURNAL_NAME}")  # noqa: PTH116 - a Path of each costs as much again
    except (OSError, ValueError):
        return None
    return state_of(status) if stat.S_ISREG(status.st_mode) else None


class JournalMark(NamedTuple):
    state: State
    read_bytes: int = 0
    """What follows had not been read, or was an unfinished line."""
    witness: bytes = b""
    """A hash of the first and last bytes of the part that was read."""


def open_journal(path: str | os.PathLike[str]) -> BinaryIO:
    return open(path, "rb", buffering=_READ_AHEAD)  # noqa: PTH123 - the caller closes it, thousands of them


def goes_on(file: BinaryIO, mark: JournalMark) -> bool:
    """Whether the journal still begins with the marked part, so that at most lines were added."""
    size, mtime_ns = state_of(os.fstat(file.fileno()))
    is_touched = size == mark.state[0] and mtime_ns != mark.state[1]
    return size >= mark.read_bytes and not is_touched and _witness(file, mark.read_bytes) == mark.witness


def mark_at(file: BinaryIO, state: State, read_bytes: int) -> JournalMark:
    return JournalMark(state, read_bytes, _witness(file, read_bytes))


def whole_lines(file: BinaryIO, start: int) -> Iterator[tuple[int, int, bytes]]:
    """The beginning, the end and the content of each complete line. Lines that are too long are empty."""
    file.seek(start)
    for line in read_lines(file):
        if line.is_ended:
            yield line.offset, line.offset + line.size, line.content or b""


def fields_of(line: bytes) -> JsonObject:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return cast("JsonObject", fields) if isinstance(fields, dict) else {}


def moment_of(written: object) -> datetime:
    try:
        moment = datetime.fromisoformat(str(written))
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return _LONG_AGO


def _witness(file: BinaryIO, read_bytes: int) -> bytes:
    hasher = blake2b(digest_size=16)
    file.seek(0)
    hasher.update(file.read(min(_WITNESS_BYTES, read_bytes)))
    file.seek(max(0, read_bytes - _WITNESS_BYTES))
    hasher.update(file.read(min(_WITNESS_BYTES, read_bytes)))
    return hasher.digest()


HEAD = regex(rb'\{"v":\d+,"seq":\d+,"at":"([0-9T:.Z+-]{19,40})","type":"([a-z_]+)"(?:,"turn":(\d{1,18}))?')

_Count = Annotated[int, Meta(ge=0, lt=10**18)]
_Dollars = Annotated[float, Meta(ge=0, lt=1e9)]


class LineHead(Struct, frozen=True, gc=False):
    at: bytes
    kind: bytes
    turn_digits: bytes | None

    @property
    def turn(self) -> int:
        """0 if the line does not state the turn directly after the type."""
        return int(self.turn_digits or 0)


class _CheckedUsage(Usage, frozen=True, kw_only=True, gc=False):
    """Plausible counts and costs only. One invalid value would spoil sums over many journals."""

    input_tokens: _Count = 0
    output_tokens: _Count = 0
    cache_read_tokens: _Count = 0
    cache_write_tokens: _Count = 0
    web_searches: _Count = 0
    cost_usd: _Dollars | None = None
    unpriced_tokens: _Count = 0


class ReportedModel(Struct, frozen=True, gc=False):
    provider: str
    model: str


class Reported(Struct, frozen=True, gc=False):
    usage: _CheckedUsage
    model: ReportedModel | None = None


_REPORTED = Decoder(learned(Reported))


def head_of(line: bytes) -> LineHead | None:
    found = HEAD.match(line) or HEAD.match(_as_written(line))
    return LineHead(*found.groups()) if found else None


def decoded(line: bytes, decoder: Decoder[T]) -> T | None:
    try:
        return decoder.decode(line)
    except (DecodeError, RecursionError):
        return None


def reported_in(line: bytes) -> Reported | None:
    return decoded(line, _REPORTED)


def _as_written(line: bytes) -> bytes:
    """A line of another program in this application's key order; empty if the line is invalid."""
    fields = fields_of(line)
    head = {key: fields[key] for key in ("v", "seq", "at", "type", "turn") if key in fields}
    try:
        return json.dumps(head | fields, separators=(",", ":")).encode()
    except RecursionError:
        return b""
