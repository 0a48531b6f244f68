"""Records of a journal with their positions: from any line on, the last ones, by page, or as they are added.

A page is the fold of its own lines, and of the later lines that concern its entries (`JournalPage.late`).
"""

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import Digest
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import JournalEvent
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_reader import (
    Damage,
    Readable,
    placed,
    read_each_line,
    read_line,
    reading,
    refuse_links,
)
from desktop_agent.core.store.journal.lines import Line, open_regular, read_lines
from desktop_agent.core.transcript import JournalPage, Transcript, first_line

YieldGil = Callable[[], None]

_TAIL_BLOCK_BYTES = 65_536
_TYPE_BYTES = 200
_BURST_S = 0.001
_BREATH_S = 0.0002


class Yielder:
    def __init__(self) -> None:
        self._since = time.perf_counter()

    def __call__(self) -> None:
        if time.perf_counter() - self._since > _BURST_S:
            time.sleep(_BREATH_S)  # noqa: TID251 - hands the interpreter lock to the window's thread
            self._since = time.perf_counter()


class Record(Struct, frozen=True):
    """A line of a journal and its position. `event` is None if the line cannot be read; `problems` say why."""

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
    """Yield the records whose lines begin from byte `start` to `end`. Raises `StorageError`.

    An unfinished last line is skipped. When `is_thin`, `…` replaces the long texts in tool results.
    """
    results = _WithoutTexts(blobs.folder)

    def blobs_of(line: Line) -> Blobs:
        content = line.content or b""
        is_result = content.find(b'"tool_call_finished"', 0, _TYPE_BYTES) >= 0
        return results if is_result and b'"todos"' not in content else blobs  # a plan is read whole

    for line, found in read_each_line(path, blobs, start, blobs_of if is_thin else None):
        if not line.is_ended or (end is not None and line.offset >= end):
            return
        line_end = line.offset + line.size
        if isinstance(found, Damage):
            yield Record(line.offset, line_end, None, (found.reason,))
        else:
            yield Record(line.offset, line_end, found.event, tuple(found.lost))
        yield_gil()


def read_last_records(path: Path, blobs: Blobs, *, count: int, max_bytes: int, yield_gil: YieldGil) -> list[Record]:
    """Return the last `count` records, or fewer if these exceed `max_bytes`. Raises `StorageError`."""
    with reading(path), path.open("rb") as file:
        start = _start_of_last_lines(file, count, max_bytes)
    return list(read_records(path, blobs, start, yield_gil=yield_gil))


class _WithoutTexts(Blobs):
    def get(self, digest: Digest, *, size: int | None = None) -> bytes:
        return "…".encode()


def _start_of_last_lines(file: BinaryIO, count: int, max_bytes: int) -> int:
    position = file.seek(0, 2)
    limit = position - max_bytes
    starts: list[int] = []  # of lines, last first; the first entry is the end of the file
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


class PageSize(NamedTuple):
    """A page is full when it reaches either limit. 200 records are some 60 entries."""

    records: int = 200
    length: int = 131_072


LAST_RECORDS: Final = 60
LAST_BYTES: Final = 131_072

_FIRST_RECORDS: Final = 2


def merged(first: JournalPage, second: JournalPage) -> JournalPage:
    late = (at for at in (*first.late, *second.late) if at >= second.end)
    return replace(
        first,
        end=second.end,
        entries=first.entries + second.entries,
        characters=first.characters + second.characters,
        calls=first.calls | second.calls,
        compactions=(*first.compactions, *second.compactions),
        late=tuple(sorted(late)),
    )


def read_page(path: Path, blobs: Blobs, page: JournalPage, *, yield_gil: YieldGil) -> Transcript:
    """Return the fold of a page. Blocks. Raises `StorageError`."""
    transcript = Transcript()
    for record in read_records(path, blobs, page.start, page.end, yield_gil=yield_gil):
        if record.event is not None:
            transcript.apply(record.event)
    for start in page.late:
        record = next(read_records(path, blobs, start), None)
        if record is not None and record.event is not None:
            transcript.apply(record.event)
        yield_gil()
    return transcript


def read_last_page(path: Path, blobs: Blobs, *, yield_gil: YieldGil) -> Transcript:
    """Return the last entries. Everything before them is one page that is not loaded. Blocks. Raises `StorageError`."""
    last = read_last_records(path, blobs, count=LAST_RECORDS, max_bytes=LAST_BYTES, yield_gil=yield_gil)
    transcript = Transcript()
    start = last[0].start if last else 0
    if start:
        _begin(transcript, path, blobs)
        transcript.paged.add_page(JournalPage(start=0, end=start))
    for event in _events(last):
        transcript.apply(event)
    return transcript


def find_pages(path: Path, pages: Sequence[JournalPage], text: str, *, yield_gil: YieldGil) -> list[int]:
    """The indexes of `pages` that have the longest word of `text`. Blocks. Raises `StorageError`."""
    words = re.findall(r"\w+", text.lower())
    needle = max(words, key=len) if words else json.dumps(text.lower(), ensure_ascii=False)[1:-1]
    found: list[int] = []
    with reading(path), path.open("rb") as file:
        for number, page in enumerate(pages):
            file.seek(page.start)
            if _has(file.read(page.end - page.start), needle):
                found.append(number)
            yield_gil()
    return found


def _has(content: bytes, needle: str) -> bool:
    if needle.isascii():
        return needle.encode() in content.lower()
    return needle in content.decode("utf-8", "replace").lower()


def _begin(transcript: Transcript, path: Path, blobs: Blobs) -> None:
    records = read_records(path, blobs)
    for event in _events([record for _, record in zip(range(_FIRST_RECORDS), records, strict=False)]):
        if isinstance(event, ev.SessionOpened):
            transcript.apply(event)
        elif isinstance(event, ev.PromptSubmitted):
            transcript.session.title = first_line(event.text)


def _events(records: Sequence[Record]) -> list[ev.JournalEvent]:
    return [record.event for record in records if record.event is not None]


_WITNESS_BYTES = 512


class Follower:
    """Reads a journal that another process writes, without disturbing the writer. Blocks."""

    def __init__(self, path: Path, blobs: Blobs, start: int = 0) -> None:
        """`start` is the byte offset of a line."""
        self._path = path
        self._blobs = blobs
        self._offset = start
        self._line = 1
        self._is_first = start == 0
        self._identity: tuple[int, int] | None = None
        self._witness = b""

    def read(self) -> list[JournalEvent]:
        """Events since the last call. Raises `StorageError` if the journal must be read again from its beginning."""
        try:
            refuse_links(self._path)
            with open_regular(self._path) as file:
                status = os.fstat(file.fileno())
                identity = status.st_dev, status.st_ino
                if self._identity not in (None, identity) or status.st_size < self._offset:
                    raise _lost("The journal was replaced, or became shorter.")
                self._identity = identity
                if status.st_size == self._offset:
                    return []
                file.seek(self._offset - len(self._witness))
                if file.read(len(self._witness)) != self._witness:
                    raise _lost("What was read is not there any more.")
                found: list[JournalEvent] = []
                for line in read_lines(file, number=self._line):
                    if not line.is_ended:
                        break  # the line is being written
                    self._offset += line.size
                    self._line += 1
                    record = read_line(line, self._blobs)
                    if isinstance(record, Readable):
                        record = placed(record, line, self._path.parent.name, is_first=self._is_first)
                    if isinstance(record, Readable):
                        self._is_first = False
                        found.append(record.event)
                length = min(_WITNESS_BYTES, self._offset)
                file.seek(self._offset - length)
                self._witness = file.read(length)
                return found
        except OSError as error:
            raise _lost(str(error)) from error


def _lost(detail: str) -> StorageError:
    hint = "Open it again."
    return StorageError("The session cannot be followed any more.", hint=hint, detail=detail)
