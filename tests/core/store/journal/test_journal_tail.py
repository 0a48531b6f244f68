"""Whatever a crash leaves at the journal's end, the next record gets its own line, and none is lost."""

import json
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import encode_event
from desktop_agent.core.protocol.model import ModelRef, Usage
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import Journal, encode_line
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.store.journal.journal_scan import HEAD, head_of, moment_of, reported_in, whole_lines
from desktop_agent.core.store.journal.lines import MAX_LINE_BYTES, read_lines
from tests.core.samples import AT, MODEL, SAMPLE_EVENTS
from tests.core.store.journals import record, records, reopen_and_append, write


@pytest.mark.parametrize("last", [3, 8, 14, 20, len(SAMPLE_EVENTS)])
def test_a_cut_at_every_byte_of_the_last_three_records_glues_and_loses_none(
    path: Path, blobs: Blobs, last: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", os.fstat)  # thousands of waits for the disk, and no power fails here
    events = [SAMPLE_EVENTS[0], *SAMPLE_EVENTS[max(1, last - 3) : last]]
    write(path, blobs, events)
    whole = path.read_bytes()
    begin = len(whole) - sum(map(len, whole.splitlines(keepends=True)[-3:]))
    for cut in range(begin, len(whole) + 1):
        path.write_bytes(whole[:cut])
        torn = reopen_and_append(path, blobs, record(99))
        ended = whole[:cut].count(b"\n")
        lacks_only_its_newline = whole[cut : cut + 1] == b"\n"
        assert read_journal(path, blobs) == ([*events[: ended + lacks_only_its_newline], record(99)], []), cut
        cut_off = whole[:cut].rpartition(b"\n")[2]
        if cut_off and not lacks_only_its_newline:
            assert torn is not None
            assert torn.read_bytes() == cut_off
            torn.unlink()
        else:
            assert torn is None


@given(junk=st.binary(min_size=1, max_size=300).filter(lambda junk: b"\n" not in junk))
def test_any_bytes_after_the_last_record_are_kept_beside_the_journal(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes
) -> None:
    folder = tmp_path_factory.mktemp("junk")
    blobs, path = Blobs(folder / "blobs"), folder / "s" / "journal.jsonl"
    write(path, blobs, records(1, 2))
    with path.open("ab") as file:
        file.write(junk)
    torn = reopen_and_append(path, blobs, record(3))
    assert read_journal(path, blobs) == (records(1, 2, 3), [])
    assert torn is not None
    assert torn.read_bytes() == junk


@pytest.mark.parametrize("length", [1, 200_000])
def test_a_tail_of_null_bytes_is_cut_off(path: Path, blobs: Blobs, length: int) -> None:
    """After a power failure, ext4 and xfs may have a file of full length with zeros at its end."""
    write(path, blobs, records(1, 2))
    with path.open("ab") as file:
        file.write(b'{"v":1,"seq":3' + bytes(length))
    assert reopen_and_append(path, blobs, record(3)) is not None
    assert read_journal(path, blobs) == (records(1, 2, 3), [])


def test_null_bytes_within_the_journal_cost_the_lines_they_are_in_and_are_named(path: Path, blobs: Blobs) -> None:
    write(path, blobs, records(1, 2, 3))
    first, second, third = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + bytes(len(second) - 1) + b"\n" + third)
    events, damages = read_journal(path, blobs)
    assert events == records(1, 3)
    assert [(damage.line, "null bytes" in damage.reason) for damage in damages] == [(2, True)]


def test_lines_that_an_editor_ended_in_its_own_way_are_read(path: Path, blobs: Blobs) -> None:
    write(path, blobs, records(1, 2))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert reopen_and_append(path, blobs, record(3)) is None
    assert read_journal(path, blobs) == (records(1, 2, 3), [])


def test_a_record_cut_off_twice_at_the_same_place_is_kept_twice(path: Path, blobs: Blobs) -> None:
    write(path, blobs, records(1))
    whole = path.read_bytes()
    kept: list[Path] = []
    for tail in (b"{first", b"{second"):
        path.write_bytes(whole + tail)
        torn = reopen_and_append(path, blobs, record(2))
        assert torn is not None
        kept.append(torn)
    assert [torn.read_bytes() for torn in kept] == [b"{first", b"{second"]


def test_a_tail_without_end_is_moved_away_without_holding_it_in_memory(
    path: Path, blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("desktop_agent.core.store.journal.journal.MAX_LINE_BYTES", 1000)
    write(path, blobs, records(1))
    tail = b'{"title":"' + b"x" * 200_000 + b'"}'  # whole, but longer than any line may be
    with path.open("ab") as file:
        file.write(tail)
    torn = reopen_and_append(path, blobs, record(2))
    assert torn is not None
    assert torn.read_bytes() == tail
    assert read_journal(path, blobs) == (records(1, 2), [])


def test_who_reads_while_another_writes_sees_whole_records_in_order(path: Path, blobs: Blobs) -> None:
    """A record is one write. A partial write may look like a torn last line, never like two lines."""
    journal = Journal.create(path, blobs)
    count = 300

    def append_all() -> None:
        for number in range(1, count + 1):
            journal.append(record(number, "t" * 4000), is_durable=False)

    writer = threading.Thread(target=append_all)
    writer.start()
    while writer.is_alive():
        events, damages = read_journal(path, blobs)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert [damage.line for damage in damages] in ([], [len(events) + 1])
    writer.join()
    journal.close()
    assert len(read_journal(path, blobs)[0]) == count


@pytest.mark.parametrize("limit", [MAX_LINE_BYTES, 10])
def test_what_is_added_to_a_line_while_it_is_read_is_not_taken_for_a_line(path: Path, blobs: Blobs, limit: int) -> None:
    write(path, blobs, records(1, 2, 3))
    whole = path.read_bytes()
    cut = len(whole) - 20
    path.write_bytes(whole[:cut])
    found: list[tuple[int, bool]] = []
    with path.open("rb") as file:
        for line in read_lines(file, limit=limit):
            found.append((line.number, line.is_ended))
            if not line.is_ended:
                with path.open("ab") as writer:
                    writer.write(whole[cut:] + whole)
    assert found == [(1, True), (2, True), (3, False)]


def test_a_journal_that_another_program_wrote_to_is_not_written_any_more(path: Path, blobs: Blobs) -> None:
    write(path, blobs, records(1))
    journal, _ = Journal.open(path, blobs)
    with path.open("ab") as file:
        file.write(b'{"v":1,"seq":2,"type":"dreamed"}\n')
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(StorageError) as caught:
            journal.append(record(2), is_durable=True)
        assert "another program" in caught.value.detail
    journal.close()
    assert path.read_bytes() == before


def test_a_new_session_has_its_name_on_the_disk(path: Path, blobs: Blobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a sync of the folder, a synced file may lose its name in a power failure."""
    synced: list[int] = []
    fsync = os.fsync

    def watch(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    journal = Journal.create(path, blobs)
    journal.append(ev.SessionRenamed(title="t").stamped(1, ev.UNSTAMPED), is_durable=True)
    journal.close()
    assert {folder.stat().st_ino for folder in (path.parent, path.parent.parent)} <= set(synced)


USAGE = Usage(input_tokens=5, output_tokens=7, cache_read_tokens=11, cache_write_tokens=13, web_searches=2)


@pytest.mark.parametrize("event", SAMPLE_EVENTS, ids=lambda event: event.type)
def test_a_line_that_we_write_begins_as_its_readers_expect(event: ev.KnownEvent) -> None:
    line = encode_line(encode_event(event))
    assert HEAD.match(line)
    head = head_of(line)
    assert head is not None
    assert (moment_of(head.at.decode()), head.kind.decode()) == (event.at, event.type)


def test_the_turn_of_a_turn_that_starts_comes_right_after_its_kind() -> None:
    head = head_of(encode_line(encode_event(ev.TurnStarted(turn=12, model=MODEL).stamped(1, AT))))
    assert head is not None
    assert head.turn == 12


@pytest.mark.parametrize("usage", [USAGE, replace(USAGE, cost_usd=0.25), replace(USAGE, cost_usd=0.0)])
@pytest.mark.parametrize("model", [None, MODEL])
def test_what_a_request_took_is_read_from_its_line(usage: Usage, model: ModelRef | None) -> None:
    fields = encode_event(ev.UsageReported(turn=1, usage=usage, model=model).stamped(1, AT))
    for line in (encode_line(fields), json.dumps(dict(reversed(fields.items()))).encode()):
        reported = reported_in(line)
        assert reported is not None
        assert Usage() + reported.usage == usage
        assert (reported.model and reported.model.model) == (model and model.model)


def test_a_line_that_is_older_than_prices_tells_its_tokens() -> None:
    reported = reported_in(b'{"type":"usage_reported","turn":1,"usage":{"input_tokens":5,"output_tokens":7}}')
    assert reported is not None
    assert Usage() + reported.usage == Usage(input_tokens=5, output_tokens=7)


@pytest.mark.parametrize(
    "usage",
    [
        b'{"input_tokens":-1}',
        b'{"output_tokens":1.5}',
        b'{"input_tokens":1' + b"0" * 400 + b"}",
        b'{"cost_usd":-0.01}',
        b'{"cost_usd":1e999}',
        b'{"cost_usd":NaN}',
        b'{"cost_usd":"much"}',
        b'{"unpriced_tokens":-5}',
        b"[" * 100_000,
        b"null",
    ],
)
def test_counts_and_costs_that_cannot_be_are_not_read(usage: bytes) -> None:
    assert reported_in(b'{"type":"usage_reported","turn":1,"usage":' + usage + b"}") is None


@pytest.mark.parametrize("rest", [b"", b"open", b"y" * 20])
def test_only_complete_lines_are_told_and_of_a_line_that_is_too_long_only_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rest: bytes
) -> None:
    monkeypatch.setattr(read_lines, "__kwdefaults__", {"number": 1, "limit": 8})
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"first\n" + b"x" * 20 + b"\nlast\n" + rest)
    with path.open("rb") as file:
        assert list(whole_lines(file, 0)) == [(0, 6, b"first"), (6, 27, b""), (27, 32, b"last")]
