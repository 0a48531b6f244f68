"""Pages of a journal, following one that grows, and finding a record by its number."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.lines import offset_after
from desktop_agent.core.store.journal.records import (
    LAST_RECORDS,
    Follower,
    Yielder,
    find_pages,
    merged,
    read_last_page,
    read_last_records,
    read_page,
    read_records,
)
from desktop_agent.core.transcript import JournalPage, PageEntry, TextEntry, ToolEntry
from tests.journals import opened, turn, write_journal


@pytest.fixture
def journal(tmp_path: Path, blobs: Blobs) -> Path:
    path = tmp_path / "s" / "journal.jsonl"
    write_journal(path, blobs, [opened(), *(event for number in range(1, 41) for event in turn(number))])
    return path


def page(start: int, end: int, **fields: int) -> JournalPage:
    return JournalPage(
        start=start, end=end, first_seq=1, first_turn=0, entries=2, characters=10, late=tuple(fields.values())
    )


@pytest.mark.parametrize("count", [1, 2, 7, 100, 10_000])
def test_the_last_records_are_those_that_reading_everything_ends_with(journal: Path, blobs: Blobs, count: int) -> None:
    every = list(read_records(journal, blobs))
    last = read_last_records(journal, blobs, count=count, max_bytes=10**9, yield_gil=Yielder())
    assert last == every[-count:]


@pytest.mark.parametrize("limit", [1, 500, 2_000, 70_000])
def test_no_more_is_read_than_may_be_but_always_one_record(journal: Path, blobs: Blobs, limit: int) -> None:
    every = list(read_records(journal, blobs))
    last = read_last_records(journal, blobs, count=10_000, max_bytes=limit, yield_gil=Yielder())
    assert last == every[-len(last) :]
    assert len(last) == 1 or last[-1].end - last[0].start <= limit


def test_an_empty_journal_has_no_records(tmp_path: Path, blobs: Blobs) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b"")
    assert read_last_records(path, blobs, count=5, max_bytes=100, yield_gil=Yielder()) == []
    assert read_last_page(path, blobs, yield_gil=Yielder()).entries == []


def test_a_line_that_is_being_written_is_no_record(journal: Path, blobs: Blobs) -> None:
    every = list(read_records(journal, blobs))
    with journal.open("ab") as file:
        file.write(b'{"v":1,"seq":')
    assert list(read_records(journal, blobs)) == every
    assert read_last_records(journal, blobs, count=2, max_bytes=10**6, yield_gil=Yielder()) == every[-2:]


def test_the_end_of_a_session_says_where_it_works_and_what_it_is_called(journal: Path, blobs: Blobs) -> None:
    transcript = read_last_page(journal, blobs, yield_gil=Yielder())
    assert (transcript.session.workspace, transcript.session.title, transcript.turn) == ("/w", "Prompt 1: ok", 40)
    assert isinstance(transcript.entries[0], PageEntry)
    assert len(transcript.entries) < LAST_RECORDS


def test_pages_are_found_by_the_longest_word_whatever_its_case(journal: Path, blobs: Blobs) -> None:
    records = list(read_records(journal, blobs))
    cut = records[len(records) // 2].start
    pages = [page(0, cut), page(cut, records[-1].end)]
    assert find_pages(journal, pages, "PROMPT 3:", yield_gil=Yielder()) == [0, 1]
    assert find_pages(journal, pages, "no such words", yield_gil=Yielder()) == []
    assert (
        find_pages(journal, pages, '"', yield_gil=Yielder())
        == []
        == find_pages(journal, pages, "Ä", yield_gil=Yielder())
    )


def test_two_pages_as_one_need_no_line_that_is_among_their_own(journal: Path, blobs: Blobs) -> None:
    joined = merged(page(0, 100, late=150, later=900), page(100, 200, later=950))
    assert (joined.start, joined.end, joined.entries, joined.late) == (0, 200, 4, (900, 950))


def test_a_page_is_the_fold_of_its_own_lines(journal: Path, blobs: Blobs) -> None:
    records = list(read_records(journal, blobs))
    first = page(0, records[14].start)
    assert [type(entry) for entry in read_page(journal, blobs, first, yield_gil=Yielder()).entries] == [
        ev.PromptSubmitted,
        TextEntry,
        ToolEntry,
        TextEntry,
        ToolEntry,
        TextEntry,
    ]


NEAR = 4_096
LONGEST = 3_000


def written(folder: Path, sizes: Sequence[int]) -> Path:
    """Write a journal of records of these sizes, numbered from 1."""
    path = folder / "session" / "journal.jsonl"
    notices = (ev.Notice(level="info", code="test", title="x" * size) for size in sizes)
    write_journal(path, Blobs(folder / "blobs"), notices)
    return path


@given(sizes=st.lists(st.integers(0, LONGEST), max_size=60), data=st.data())
def test_from_the_place_on_every_later_record_is_read_and_hardly_more(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    path = written(folder, sizes)
    seq = data.draw(st.integers(0, len(sizes) + 1))
    start = offset_after(path, seq, near_bytes=NEAR)
    events = Follower(path, Blobs(folder / "blobs"), start).read()
    assert [event.seq for event in events if event.seq > seq] == list(range(seq + 1, len(sizes) + 1))
    lines = path.read_bytes()[start:].splitlines(keepends=True)
    for_nothing = sum(len(line) for line, event in zip(lines, events, strict=True) if event.seq <= seq)
    assert for_nothing <= NEAR + LONGEST + 200


def test_in_a_journal_of_another_program_the_search_ends_too_early_and_never_too_late(tmp_path: Path) -> None:
    path = written(tmp_path, [LONGEST] * 60)
    path.write_bytes(path.read_bytes().replace(b'{"v":1,"seq":', b'{"v": 1, "seq": '))
    assert offset_after(path, 50) == 0
