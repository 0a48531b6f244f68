import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import MalformedLineError, encode_event
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal import journal_reader
from desktop_agent.core.store.journal.journal_reader import STEPS, migrated, read_journal
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
from desktop_agent.core.transcript import JournalPage, PageEntry, TextEntry, ToolEntry, replay
from tests.core.samples import SAMPLE_EVENTS
from tests.core.store.journals import reopen_and_append
from tests.journals import opened, turn, write_journal


@pytest.fixture
def journal(tmp_path: Path, blobs: Blobs) -> Path:
    path = tmp_path / "s" / "journal.jsonl"
    write_journal(path, blobs, [opened(), *(event for number in range(1, 41) for event in turn(number))])
    return path


def page(start: int, end: int, **fields: int) -> JournalPage:
    return JournalPage(start=start, end=end, entries=2, characters=10, late=tuple(fields.values()))


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


def renamed_field(fields: JsonObject) -> JsonObject:
    return {("title" if key == "name" else key): value for key, value in fields.items()}


def trimmed(fields: JsonObject) -> JsonObject:
    return fields | {"title": str(fields["title"]).strip()}


TWO_STEPS = {1: renamed_field, 2: trimmed}


def test_there_is_a_step_from_every_earlier_version() -> None:
    assert set(STEPS) == set(range(1, ev.FORMAT_VERSION))


def test_a_line_goes_through_every_step_that_it_needs() -> None:
    first: JsonObject = {"v": 1, "type": "session_renamed", "name": " a "}
    second: JsonObject = {"v": 2, "type": "session_renamed", "title": " a "}
    third: JsonObject = {"v": 3, "type": "session_renamed", "title": " a "}
    assert migrated(first, steps=TWO_STEPS, target=3) == third | {"title": "a"}
    assert migrated(second, steps=TWO_STEPS, target=3) == third | {"title": "a"}
    assert migrated(third, steps=TWO_STEPS, target=3) == third
    assert first["v"] == 1, "the line itself is not touched"


@pytest.mark.parametrize("version", [4, 0, -1, "1", None, True, 2.5, [1]])
def test_a_line_of_a_version_that_never_was_or_is_yet_to_come_is_left_alone(version: object) -> None:
    line: JsonObject = {"v": version, "type": "session_renamed", "name": "a"}
    assert migrated(line, steps=TWO_STEPS, target=3) is line


def test_a_version_that_no_step_leads_on_from_is_named() -> None:
    with pytest.raises(MalformedLineError, match="version 1"):
        migrated({"v": 1, "type": "x"}, steps={2: trimmed}, target=3)


def test_an_old_journal_is_read_through_the_steps_and_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.jsonl"
    line = {"v": 0, "seq": 1, "at": "2026-01-01T00:00:00Z", "type": "session_renamed", "name": "old"}
    path.write_text(json.dumps(line) + "\n")
    before = path.read_bytes()

    def from_zero(fields: JsonObject) -> JsonObject:
        return renamed_field(fields) | {"v": 1} if fields["v"] == 0 else fields

    monkeypatch.setattr(journal_reader, "migrated", from_zero)
    events, damages = read_journal(path, Blobs(tmp_path / "blobs"))
    assert [getattr(event, "title", "") for event in events] == ["old"]
    assert damages == []
    assert path.read_bytes() == before


def test_a_journal_with_lines_of_the_future_opens_keeps_them_and_goes_on(tmp_path: Path) -> None:
    path, blobs = tmp_path / "journal.jsonl", Blobs(tmp_path / "blobs")
    known = [encode_event(event) for event in SAMPLE_EVENTS[:2]]
    future: list[JsonObject] = [
        {"v": 1, "seq": 3, "at": "2030-01-01T00:00:00Z", "type": "dreamed", "of": ["sheep"]},
        {"v": 7, "seq": 4, "at": "2030-01-01T00:00:00Z", "type": "prompt_submitted", "words": "unheard of"},
        {"v": [9], "seq": "five", "type": "session_renamed"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in [*known, *future]))
    before = path.read_bytes()
    events, damages = read_journal(path, blobs)
    assert damages == []
    assert [event.payload for event in events if isinstance(event, ev.UnknownEvent)] == future
    transcript = replay(events)
    assert transcript.session.last_seq == 4
    assert reopen_and_append(path, blobs, SAMPLE_EVENTS[2].stamped(5, ev.UNSTAMPED)) is None
    assert path.read_bytes().startswith(before)
    assert [encode_event(event) for event in read_journal(path, blobs)[0]][:5] == [*known, *future]
