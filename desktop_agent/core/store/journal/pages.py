"""Pages of a journal: stretches of it whose entries are read together, whichever place the user goes to.

A page is the fold of its own lines, and of the few lines further on that concern its entries (`JournalPage.late`).
Where pages begin has no meaning; they are made long enough to fill a screen or two and short enough to be read in a
moment.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.reading import cannot_read
from desktop_agent.core.store.journal.records import (
    Record,
    YieldGil,
    read_last_records,
    read_record_at,
    read_records,
)
from desktop_agent.core.transcript import JournalPage, Transcript, first_line


class PageSize(NamedTuple):
    """When a page is full: with either. 200 records are some 60 entries."""

    records: int = 200
    length: int = 131_072


LAST_RECORDS: Final = 60
LAST_BYTES: Final = 131_072
"""How much of a long session is shown before anything else of it is known."""

_FIRST_RECORDS: Final = 2


def merged(first: JournalPage, second: JournalPage) -> JournalPage:
    """Return two neighbours as one page."""
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
    """Return the fold of one page. Blocks. Raises `StorageError` when the journal cannot be read."""
    transcript = Transcript()
    for record in read_records(path, blobs, page.start, page.end, yield_gil=yield_gil):
        if record.event is not None:
            transcript.apply(record.event)
    for start in page.late:
        record = read_record_at(path, blobs, start)
        if record is not None and record.event is not None:
            transcript.apply(record.event)
        yield_gil()
    return transcript


def read_last_page(path: Path, blobs: Blobs, *, yield_gil: YieldGil) -> Transcript:
    """Return the end of a session as far as it is known without reading the rest of it.

    What comes before is one page that is not loaded. Blocks. Raises `StorageError` when the journal cannot be read.
    """
    last = read_last_records(path, blobs, count=LAST_RECORDS, max_bytes=LAST_BYTES, yield_gil=yield_gil)
    transcript = Transcript()
    start = last[0].start if last else 0
    if start:
        _begin(transcript, path, blobs)
        transcript.paged.add_page(JournalPage(start=0, end=start, first_seq=1, first_turn=0, entries=0, characters=0))
    for event in _events(last):
        transcript.apply(event)
    return transcript


def find_pages(path: Path, pages: Sequence[JournalPage], text: str, *, yield_gil: YieldGil) -> list[int]:
    """Return which of `pages` may show `text`, whatever its case: they have its longest word. Blocks.

    What is too long to stand in the journal itself is not looked at. Raises `StorageError` when it cannot be read.
    """
    words = re.findall(r"\w+", text.lower())
    needle = max(words, key=len) if words else json.dumps(text.lower(), ensure_ascii=False)[1:-1]
    found: list[int] = []
    try:
        with path.open("rb") as file:
            for number, page in enumerate(pages):
                file.seek(page.start)
                if _has(file.read(page.end - page.start), needle):
                    found.append(number)
                yield_gil()
    except OSError as error:
        raise cannot_read(path, error) from error
    return found


def _has(content: bytes, needle: str) -> bool:
    if needle.isascii():
        return needle.encode() in content.lower()
    return needle in content.decode("utf-8", "replace").lower()


def _begin(transcript: Transcript, path: Path, blobs: Blobs) -> None:
    """Fold in what the first lines say of the whole session."""
    records = read_records(path, blobs)
    for event in _events([record for _, record in zip(range(_FIRST_RECORDS), records, strict=False)]):
        if isinstance(event, ev.SessionOpened):
            transcript.apply(event)
        elif isinstance(event, ev.PromptSubmitted):
            transcript.session.title = first_line(event.text)


def _events(records: Sequence[Record]) -> list[ev.JournalEvent]:
    return [record.event for record in records if record.event is not None]
