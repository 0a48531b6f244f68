"""Records of a journal with where they stand in it: forwards from any line on, or the last ones, quickly.

Every step is one line, so that a thread that reads never keeps the interpreter lock from the window for long;
`Yielder` gives it away now and then.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.protocol.events import JournalEvent
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.lines import Line
from desktop_agent.core.store.journal.reading import Damage, Readable, cannot_read, read_each_line

YieldGil = Callable[[], None]
"""Called between two records; lets other threads run."""

_TAIL_BLOCK_BYTES = 65_536
_TYPE_BYTES = 200
"""How far from the beginning of a line its type is at most."""
_BURST_S = 0.001
_BREATH_S = 0.0002


class Yielder:
    """Gives the interpreter lock away once it was held for a millisecond."""

    def __init__(self) -> None:
        self._since = time.perf_counter()

    def __call__(self) -> None:
        """Pause, if it is time to."""
        if time.perf_counter() - self._since > _BURST_S:
            time.sleep(_BREATH_S)  # noqa: TID251 - hands the interpreter lock to the window's thread
            self._since = time.perf_counter()


class Record(Struct, frozen=True):
    """A line of a journal. `event` is None when it cannot be read; `problems` say what is wrong with it."""

    start: int
    end: int
    event: JournalEvent | None
    problems: tuple[str, ...] = ()


def read_records(
    path: Path,
    blobs: Blobs,
    start: int = 0,
    end: int | None = None,
    *,
    is_thin: bool = False,
    yield_gil: YieldGil = lambda: None,
) -> Iterator[Record]:
    """Yield the records whose lines begin from byte `start` to `end`.

    A last line that is not ended yet is being written: it is no record. When `is_thin`, the long texts in results of
    tools are not fetched; a `…` stands for each. Raises `StorageError` when the file cannot be read.
    """
    results = _WithoutTexts(blobs.folder)

    def blobs_of(line: Line) -> Blobs:
        return results if _is_result(line) else blobs

    for line, found in read_each_line(path, blobs, start, blobs_of if is_thin else None):
        if not line.is_ended or (end is not None and line.offset >= end):
            return
        yield _record(line, found)
        yield_gil()


def read_record_at(path: Path, blobs: Blobs, start: int) -> Record | None:
    """Return the record whose line begins at `start`."""
    return next(read_records(path, blobs, start), None)


def read_last_records(path: Path, blobs: Blobs, *, count: int, max_bytes: int, yield_gil: YieldGil) -> list[Record]:
    """Return the last records: `count` of them, or fewer when they have more than `max_bytes`; but at least one.

    It reads no more of the file than that. Raises `StorageError` when the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            start = _start_of_last_lines(file, count, max_bytes)
    except OSError as error:
        raise cannot_read(path, error) from error
    return list(read_records(path, blobs, start, yield_gil=yield_gil))


class _WithoutTexts(Blobs):
    """Has the same short text for every blob."""

    def get(self, digest: Digest, *, size: int | None = None) -> bytes:
        return "…".encode()


def _is_result(line: Line) -> bool:
    """Whether it is a tool's result without a plan in it."""
    content = line.content or b""
    return content.find(b'"tool_call_finished"', 0, _TYPE_BYTES) >= 0 and b'"todos"' not in content


def _record(line: Line, found: Readable | Damage) -> Record:
    end = line.offset + line.size
    if isinstance(found, Damage):
        return Record(line.offset, end, None, (found.reason,))
    return Record(line.offset, end, found.event, tuple(found.lost))


def _start_of_last_lines(file: BinaryIO, count: int, max_bytes: int) -> int:
    """Return where the last `count` whole lines begin."""
    position = file.seek(0, 2)
    limit = position - max_bytes
    starts: list[int] = []  # of lines, from the last one backwards; the first stands for the end of the file
    while position > 0 and len(starts) <= count and (position > limit or len(starts) < 2):
        length = min(_TAIL_BLOCK_BYTES, position)
        file.seek(position - length)
        block = file.read(length)
        at = len(block)
        while (at := block.rfind(b"\n", 0, at)) >= 0:
            starts.append(position - length + at + 1)
        position -= length
    if position == 0:
        starts.append(0)
    wanted = [start for start in starts[1 : count + 1] if start >= limit]
    return wanted[-1] if wanted else starts[1] if len(starts) > 1 else 0
