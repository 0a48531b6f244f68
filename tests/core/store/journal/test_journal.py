"""The journal keeps every record through cuts, full disks, damage and failing calls."""

import errno
import json
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ModelRef, TextBlock, ToolUseBlock
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal import journal as module
from desktop_agent.core.store.journal.journal import Journal
from desktop_agent.core.store.journal.journal_reader import read_journal
from tests.core.store.journals import record, records, reopen_and_append, write
from tests.dropping_disk import dropping_disk
from tests.faulty_os import FAULTS, FILE_MODULES, FaultyOs, in_place_of_os, rounds

MODEL = ModelRef(provider="anthropic", model="m")


def test_each_record_is_one_line_that_starts_with_its_version_number_time_and_type(path: Path, blobs: Blobs) -> None:
    write(path, blobs, records(1))
    line = json.loads(path.read_text())
    assert list(line)[:4] == ["v", "seq", "at", "type"]
    assert (line["v"], line["seq"], line["type"]) == (1, 1, "session_renamed")


def test_a_long_text_goes_to_a_blob_and_comes_back(path: Path, blobs: Blobs, tmp_path: Path) -> None:
    long_text = "größer " * 5000
    event = ev.MessageDone(
        turn=1,
        message_id="m",
        model=MODEL,
        content=(TextBlock(text=long_text), ToolUseBlock(id="c", name="t", arguments={"content": long_text})),
        stop_reason="tool_use",
    ).stamped(1, ev.UNSTAMPED)
    write(path, blobs, [event])
    assert path.stat().st_size < 2000
    assert len(list((tmp_path / "blobs").rglob("*"))) == 1, "one blob for both"
    assert read_journal(path, blobs) == ([event], [])


def test_arguments_that_look_like_a_blob_reference_stay_what_they_are(path: Path, blobs: Blobs) -> None:
    trick = {"blob": "../../etc/passwd", "size": 1, "media_type": "text/plain; charset=utf-8; moved=string"}
    event = ev.MessageDone(
        turn=1,
        message_id="m",
        model=MODEL,
        content=(ToolUseBlock(id="c", name="t", arguments={"x": trick}),),
        stop_reason="tool_use",
    ).stamped(1, ev.UNSTAMPED)
    write(path, blobs, [event])
    assert read_journal(path, blobs) == ([event], [])


@given(title=st.text(st.characters(codec=None), max_size=200))
def test_any_text_comes_back_even_lone_surrogates(tmp_path_factory: pytest.TempPathFactory, title: str) -> None:
    folder = tmp_path_factory.mktemp("text")
    blobs = Blobs(folder / "blobs")
    event = ev.SessionRenamed(title=title).stamped(1, ev.UNSTAMPED)
    write(folder / "j", blobs, [event])
    assert (folder / "j").read_bytes().count(b"\n") == 1
    assert read_journal(folder / "j", blobs) == ([event], [])


def test_a_disk_that_fills_up_in_the_middle_of_a_record_leaves_the_journal_whole(
    path: Path, blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path, blobs, records(1, 2))
    before = path.read_bytes()
    journal, _ = Journal.open(path, blobs)
    real_write = os.write

    def short_then_full(descriptor: int, data: bytes) -> int:
        monkeypatch.setattr(os, "write", full)
        return real_write(descriptor, data[:7])

    def full(_descriptor: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", short_then_full)
    with pytest.raises(StorageError, match="could not be written"):
        journal.append(record(3), is_durable=False)
    monkeypatch.setattr(os, "write", real_write)
    assert path.read_bytes() == before
    journal.append(record(3), is_durable=False)
    journal.close()
    assert [event.seq for event in read_journal(path, blobs)[0]] == [1, 2, 3]


def test_a_journal_that_was_moved_away_is_not_written_until_it_is_back(path: Path, blobs: Blobs) -> None:
    """File managers delete by moving: later contents would go to the moved folder, and get lost."""
    write(path, blobs, records(1))
    journal, _ = Journal.open(path, blobs)
    elsewhere = path.parent.rename(path.parent.with_name("trash"))
    before = (elsewhere / path.name).read_bytes()
    with pytest.raises(StorageError) as raised:
        journal.append(record(2), is_durable=True)
    assert "put it back" in (raised.value.hint or "")
    assert (elsewhere / path.name).read_bytes() == before
    elsewhere.rename(path.parent)
    journal.append(record(2), is_durable=True)
    journal.close()
    assert read_journal(path, blobs)[0] == records(1, 2)


LONG = "long " * 5000


def check_helps(error: StorageError) -> None:
    assert error.hint, "it says what to do"
    assert error.detail, "and what was the matter"


def life(path: Path, blobs: Blobs) -> list[int]:
    """Open the journal and append to it; return the numbers of the successful records."""
    recorded: list[int] = []
    journal = None
    for number in range(2, 8):
        try:
            if journal is None:
                journal, _ = Journal.open(path, blobs)
            journal.append(record(number, LONG if number == 5 else "t"), is_durable=number % 2 == 0)
            recorded.append(number)
        except StorageError as error:
            check_helps(error)
    assert journal is not None
    with suppress(StorageError):
        journal.close()
    return recorded


@pytest.mark.parametrize("tail", [b"", b'{"v":1,"seq":2,"ty', bytes(5000)], ids=["whole", "torn", "nulls"])
@pytest.mark.parametrize("code", FAULTS, ids=errno.errorcode.get)
def test_one_failure_anywhere_costs_at_most_the_record_that_failed(tmp_path: Path, code: int, tail: bytes) -> None:
    for faulty, folder in rounds(tmp_path, code=code):
        path, blobs = folder / "s" / "journal.jsonl", Blobs(folder / "blobs")
        write(path, blobs, records(1))
        with path.open("ab") as file:
            file.write(tail)
        with in_place_of_os(faulty, *FILE_MODULES, module):
            recorded = life(path, blobs)
        assert len(recorded) >= 5, f"{faulty.failed}: the session goes on when the failure is over"
        assert (len(recorded) == 6) or faulty.failed
        assert reopen_and_append(path, blobs, record(99)) is None or faulty.failed
        events, damages = read_journal(path, blobs)
        assert [event.seq for event in events] == [1, *recorded, 99], faulty.failed
        assert damages == [], faulty.failed


def test_a_system_that_takes_each_write_in_parts_gets_all_of_it(tmp_path: Path) -> None:
    for faulty, folder in rounds(tmp_path, is_short=True):
        path, blobs = folder / "s" / "journal.jsonl", Blobs(folder / "blobs")
        write(path, blobs, records(1))
        with in_place_of_os(faulty, *FILE_MODULES, module):
            assert life(path, blobs) == [2, 3, 4, 5, 6, 7]
        assert [event.seq for event in read_journal(path, blobs)[0]] == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("code", FAULTS, ids=errno.errorcode.get)
def test_a_journal_that_cannot_be_made_is_refused(tmp_path: Path, code: int) -> None:
    for faulty, folder in rounds(tmp_path, code=code):
        path, blobs = folder / "s" / "journal.jsonl", Blobs(folder / "blobs")
        try:
            with in_place_of_os(faulty, *FILE_MODULES, module):
                journal = Journal.create(path, blobs)
                journal.append(record(1), is_durable=True)
                journal.close()
        except StorageError as error:
            check_helps(error)
            assert faulty.failed
            assert not path.exists() or read_journal(path, blobs) in (([], []), (records(1), []))
        else:
            assert read_journal(path, blobs) == (records(1), [])


@pytest.mark.parametrize("failures", [1, 2, 3])
@pytest.mark.parametrize("before", [0, 1, 4])
def test_what_a_failed_fsync_dropped_is_written_again_before_anything_else(
    path: Path, blobs: Blobs, monkeypatch: pytest.MonkeyPatch, before: int, failures: int
) -> None:
    write(path, blobs, records(1))
    disk = dropping_disk(path, monkeypatch)
    journal, _ = Journal.open(path, blobs)
    for number in range(2, 2 + before):
        journal.append(record(number), is_durable=False)
    disk.failures = failures
    for _ in range(failures):
        with pytest.raises(StorageError):
            journal.append(record(2 + before), is_durable=True)
    journal.append(record(2 + before), is_durable=True)
    assert bytes(disk.on_disk) == path.read_bytes()
    assert [event.seq for event in read_journal(path, blobs)[0]] == list(range(1, 3 + before))
    journal.close()


def test_a_journal_closed_after_a_failed_fsync_is_on_the_disk_or_says_that_it_is_not(
    path: Path, blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path, blobs, records(1))
    disk = dropping_disk(path, monkeypatch)
    journal, _ = Journal.open(path, blobs)
    journal.append(record(2), is_durable=False)
    disk.failures = 1
    with pytest.raises(StorageError):
        journal.append(record(3), is_durable=True)
    journal.close()
    assert bytes(disk.on_disk) == path.read_bytes()


def test_a_journal_that_stays_full_refuses_until_there_is_room(path: Path, blobs: Blobs) -> None:
    write(path, blobs, records(1))
    journal, _ = Journal.open(path, blobs)

    class Full(FaultyOs):
        def __getattr__(self, name: str) -> object:
            return self.refuse if name in ("write", "ftruncate") else getattr(os, name)

        def refuse(self, *_: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with in_place_of_os(Full(nth=0), *FILE_MODULES, module):
        for _ in range(3):
            with pytest.raises(StorageError, match="Free some disk space"):
                journal.append(record(2), is_durable=True)
    journal.append(record(2), is_durable=True)
    journal.close()
    assert read_journal(path, blobs) == (records(1, 2), [])


def test_what_is_kept_in_memory_for_want_of_an_fsync_is_bounded(
    path: Path, blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_WAITING_BYTES", 1000)
    write(path, blobs, records(1))
    disk = dropping_disk(path, monkeypatch)
    journal, _ = Journal.open(path, blobs)
    for number in range(2, 100):
        journal.append(record(number), is_durable=False)
        assert path.stat().st_size - len(disk.on_disk) <= 1000
    journal.close()
