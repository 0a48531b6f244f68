"""Reading journals for a cache: how far it has come, and whether what it read still stands there.

A journal only grows, so a reader of a part of it needs to read the rest only. Should it have been rewritten after all
(repaired, or put back from a copy), then the mark does not fit, and it is read from its beginning.
"""

import json
import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import SessionId, is_session_id
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.store.journal.lines import MAX_LINE_BYTES

JOURNAL_NAME = "journal.jsonl"

_LONG_AGO = datetime.fromtimestamp(0, UTC)
_READ_AHEAD = 128 * 1024
_WITNESS_BYTES = 256
_LIMIT = MAX_LINE_BYTES + 1
"""With the newline."""


State = tuple[int, int]
"""Size in bytes and time of modification in nanoseconds: what changes whenever a file does."""


def state_of(status: os.stat_result) -> State:
    """Return how a file is."""
    return status.st_size, status.st_mtime_ns


def journal_states(folder: Path) -> dict[SessionId, State]:
    """Every journal as it is now. Raises `StorageError` when the folder of the sessions cannot be read."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names are all that is wanted
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise StorageError(
            "The sessions could not be listed.", hint="Check the permissions of the data folder.", detail=str(error)
        ) from error
    found = {name: journal_state(folder, name) for name in names if is_session_id(name)}
    return {name: state for name, state in found.items() if state is not None}


def journal_state(folder: Path, session_id: SessionId) -> State | None:
    """Return how a journal is, as far as we may look; None when there is none."""
    try:
        status = os.stat(f"{folder}/{session_id}/{JOURNAL_NAME}")  # noqa: PTH116 - a Path of each costs as much again
    except (OSError, ValueError):
        return None
    return state_of(status) if stat.S_ISREG(status.st_mode) else None


class JournalMark(NamedTuple):
    """A journal as it was when it was read, up to the end of a line."""

    state: State
    read_bytes: int = 0
    """Up to where; the rest had no end of line yet, or was not read."""
    witness: bytes = b""
    """Identifies the part that was read, by its first and last bytes."""


def open_journal(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a journal to be read from one end to the other."""
    return open(path, "rb", buffering=_READ_AHEAD)  # noqa: PTH123 - the caller closes it, thousands of them


def goes_on(file: BinaryIO, mark: JournalMark) -> bool:
    """Whether the journal is the one that was marked, with more at its end."""
    size, mtime_ns = state_of(os.fstat(file.fileno()))
    is_touched = size == mark.state[0] and mtime_ns != mark.state[1]
    return size >= mark.read_bytes and not is_touched and _witness(file, mark.read_bytes) == mark.witness


def mark_at(file: BinaryIO, state: State, read_bytes: int) -> JournalMark:
    """Return the mark of a journal that was read up to `read_bytes`, and was in `state` before."""
    return JournalMark(state, read_bytes, _witness(file, read_bytes))


def whole_lines(file: BinaryIO, start: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield where each line begins and ends, and the line, from `start` on; without a last one that has no end yet.

    Of a line that is too long to be one, only its place is returned. This is `read_lines` for callers for whom a `Line`
    costs too much.
    """
    file.seek(start)
    place = start
    while line := file.readline(_LIMIT):
        end = place + len(line)
        is_ended = line.endswith(b"\n")
        if not is_ended and len(line) == _LIMIT:
            line = b""
            while not is_ended and (more := file.readline(_READ_AHEAD)):
                end += len(more)
                is_ended = more.endswith(b"\n")
        if not is_ended:
            return
        yield place, end, line
        place = end


def fields_of(line: bytes) -> JsonObject:
    """Return the object of a line, an empty one for what is none."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return cast("JsonObject", fields) if isinstance(fields, dict) else {}


def moment_of(written: object) -> datetime:
    """Return the moment that a line names, a very early one for what is none."""
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
