"""Verify names a session's damage, and a repair loses nothing."""

import json
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing

import pytest

from desktop_agent.core.base.errors import SessionBusyError, StorageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.core.store import verify as module
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.store.session_folder import SessionLock, is_locked
from desktop_agent.core.store.verify import repair, verify
from desktop_agent.core.system.files import digest_of
from tests.faulty_os import FILE_MODULES, FaultyOs, in_place_of_os
from tests.harness import Ground, check_conversation

SCRIPT: list[Reply] = [
    [
        Say("Working. " * 3000),
        Call("create_file", {"path": "a.txt", "content": "a\n"}),
        Call("read_file", {"path": "a.txt"}),
    ],
    [Say("Done.")],
    [Call("create_file", {"path": "b.txt", "content": "b\n"})],
    [Say("Done again.")],
]


class Stored:
    def __init__(self, ground: Ground, session_id: SessionId) -> None:
        self.ground = ground
        self.id = session_id
        self.catalog = SessionCatalog(ground.paths.sessions, Blobs(ground.paths.blobs), ground.paths.cache)
        self.path = self.catalog.journal_path(session_id)

    @property
    def lines(self) -> list[bytes]:
        return self.path.read_bytes().splitlines(keepends=True)

    def line_of(self, kind: str) -> int:
        return next(index for index, line in enumerate(self.lines) if json.loads(line)["type"] == kind)

    def rewrite(self, change: Callable[[list[bytes]], object]) -> None:
        lines = self.lines
        change(lines)
        self.path.write_bytes(b"".join(lines))

    def codes(self) -> list[str]:
        return [finding.code for finding in verify(self.catalog, self.id).findings]

    def events(self) -> list[ev.JournalEvent]:
        events, damages = read_journal(self.path, self.catalog.blobs)
        assert damages == []
        return events


@pytest.fixture
async def stored(ground: Ground) -> Stored:
    async with ground.session(SCRIPT, approval="never", sandbox="none") as s:
        await s.prompt("first")
        await s.prompt("second")
    return Stored(ground, s.id)


def edited(line: bytes, **fields: object) -> bytes:
    return json.dumps(json.loads(line) | fields).encode() + b"\n"


def torn(stored: Stored) -> None:
    stored.path.write_bytes(stored.path.read_bytes()[:-9])


def broken_line(stored: Stored) -> None:
    stored.rewrite(lambda lines: lines.__setitem__(4, b"{broken\n"))


def null_line(stored: Stored) -> None:
    stored.rewrite(lambda lines: lines.__setitem__(4, bytes(len(lines[4]) - 1) + b"\n"))


def without_a_result(stored: Stored) -> None:
    stored.rewrite(lambda lines: lines.pop(stored.line_of("tool_call_finished")))


def with_a_second_result(stored: Stored) -> None:
    index = stored.line_of("tool_call_finished")
    stored.rewrite(lambda lines: lines.insert(index, lines[index]))


def numbered_wrong(stored: Stored) -> None:
    stored.rewrite(lambda lines: lines.__setitem__(5, edited(lines[5], seq=2)))


def of_another_session(stored: Stored) -> None:
    stored.rewrite(lambda lines: lines.__setitem__(0, edited(lines[0], session_id="20260101-000000-000000")))


def opened_twice(stored: Stored) -> None:
    stored.rewrite(lambda lines: lines.append(edited(lines[0], seq=len(lines) + 1, workspace="/etc")))


def cut_off_in_a_turn(stored: Stored) -> None:
    index = stored.line_of("tool_call_started")
    stored.rewrite(lambda lines: lines.__delitem__(slice(index, None)))


DAMAGES: dict[str, Callable[[Stored], None]] = {
    "torn_tail": torn,
    "unreadable_line": broken_line,
    "missing_result": without_a_result,
    "duplicate_result": with_a_second_result,
    "wrong_sequence": numbered_wrong,
    "wrong_id": of_another_session,
}


async def test_a_session_that_is_fine_is_said_to_be_and_left_alone(stored: Stored) -> None:
    before = {path: path.read_bytes() for path in stored.path.parent.rglob("*") if path.is_file()}
    report = verify(stored.catalog, stored.id)
    assert report.is_fine
    assert report.records == len(stored.lines)
    done = repair(stored.catalog, stored.id)
    assert done.kept is None
    assert {path: path.read_bytes() for path in stored.path.parent.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        *((damage, code) for code, damage in DAMAGES.items()),
        (null_line, "unreadable_line"),
        (opened_twice, "unreadable_line"),
        (cut_off_in_a_turn, "missing_result"),
    ],
)
async def test_what_is_wrong_is_named_and_mended_and_the_session_goes_on(
    stored: Stored, damage: Callable[[Stored], None], code: str
) -> None:
    damage(stored)
    damaged = stored.path.read_bytes()
    assert code in stored.codes()
    assert stored.path.read_bytes() == damaged, "to look changes nothing"
    done = repair(stored.catalog, stored.id)
    assert done.after.is_fine, done.after.findings
    assert done.kept is not None
    assert done.kept.name == "journal.jsonl.before-repair"
    assert done.kept.read_bytes() == damaged
    assert [event.seq for event in stored.events()] == list(range(1, len(stored.lines) + 1))
    async with stored.ground.session([[Say("ok")]], resume=stored.id) as s:
        assert (await s.prompt("go on")).reason == "completed"
        check_conversation(s.last_request)
        assert s.session.transcript.session.workspace == str(stored.ground.workspace)


async def test_a_session_that_waits_for_the_user_is_fine_and_a_repair_leaves_its_question(ground: Ground) -> None:
    ground.write("a.txt", "a\n")
    asks = Call("edit_file", {"path": "a.txt", "old_str": "a", "new_str": "b"})
    async with ground.session([[Call("read_file", {"path": "a.txt"}), asks]], approval="always") as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        s.submit(ops.Shutdown(keeps_questions=True))
        await s.task
    waiting = Stored(ground, s.id)
    assert waiting.codes() == []
    numbered_wrong(waiting)
    found = verify(waiting.catalog, waiting.id).findings
    assert [finding.title for finding in found] == ["Record 2 follows record 5.", "Record 7 follows record 2."]
    assert repair(waiting.catalog, waiting.id).after.is_fine
    async with ground.session([[Say("ok")]], resume=waiting.id, approval="always") as again:
        assert len(again.session.transcript.pending_approvals) == 1


async def test_all_of_it_at_once_is_mended_in_one_go(stored: Stored) -> None:
    for damage in (without_a_result, with_a_second_result, numbered_wrong, of_another_session, broken_line, torn):
        damage(stored)
    assert len(set(stored.codes())) >= 5
    assert repair(stored.catalog, stored.id).after.is_fine


async def test_lines_that_were_right_stay_as_they_were_to_the_byte(stored: Stored) -> None:
    before = stored.lines
    torn(stored)
    repair(stored.catalog, stored.id)
    assert stored.lines[: len(before) - 1] == before[:-1]
    assert [json.loads(line)["type"] for line in stored.lines[len(before) - 1 :]] == ["turn_ended"]


async def test_records_of_a_later_version_survive_a_repair(stored: Stored) -> None:
    later: JsonObject = {"v": 9, "seq": 1, "type": "dreamed", "of": [2**70, "\ud800"]}
    stored.rewrite(lambda lines: lines.insert(5, json.dumps(later).encode() + b"\n"))
    assert stored.codes()
    assert repair(stored.catalog, stored.id).after.is_fine
    [unknown] = [event for event in stored.events() if isinstance(event, ev.UnknownEvent)]
    assert unknown.payload == later | {"seq": 6}


async def test_a_second_repair_keeps_its_own_copy(stored: Stored) -> None:
    kept = [(damage(stored), repair(stored.catalog, stored.id).kept)[1] for damage in (torn, numbered_wrong)]
    assert [path.name for path in kept if path] == ["journal.jsonl.before-repair", "journal.jsonl.before-repair-2"]


async def test_a_missing_content_is_taken_from_the_file_that_still_has_it(stored: Stored) -> None:
    for blob in stored.catalog.blobs.folder.iterdir():
        if blob.name.startswith((digest_of(b"a\n"), digest_of(b"b\n"))):
            blob.unlink()
    stored.ground.write("b.txt", "the user's\n")
    assert stored.codes() == ["missing_blob", "missing_blob"]
    done = repair(stored.catalog, stored.id)
    assert [finding.detail for finding in done.after.findings] == [digest_of(b"b\n")]
    assert stored.catalog.blobs.get(digest_of(b"a\n")) == b"a\n"
    assert done.kept is None, "the journal had nothing to do with it"


async def test_a_damaged_long_text_is_named_with_its_line(stored: Stored) -> None:
    [long] = [
        path
        for path in stored.catalog.blobs.folder.iterdir()
        if b"Working" in Blobs.get(stored.catalog.blobs, path.name[:64])
    ]
    long.write_bytes(b"something else")
    [finding] = verify(stored.catalog, stored.id).findings
    assert (finding.code, finding.line) == ("missing_blob", stored.line_of("message_done") + 1)
    assert repair(stored.catalog, stored.id).after.findings == (finding,), "it is not invented"


async def test_a_session_without_its_first_line_can_be_read_and_not_continued(stored: Stored) -> None:
    stored.rewrite(lambda lines: lines.pop(0))
    assert "no_opening" in stored.codes()
    done = repair(stored.catalog, stored.id)
    assert [finding.code for finding in done.after.findings] == ["no_opening"]


async def test_a_list_entry_that_says_something_else_is_made_anew(ground: Ground, stored: Stored) -> None:
    right = stored.catalog.summary(stored.id)
    with closing(sqlite3.connect(ground.paths.cache / "sessions.sqlite3")) as cache, cache:
        assert cache.execute("UPDATE session SET summary = replace(summary, 'first', 'another')").rowcount == 1
    assert stored.catalog.summary(stored.id) != right
    assert [finding.code for finding in verify(stored.catalog, stored.id).findings] == ["stale_cache"]
    assert repair(stored.catalog, stored.id).after.is_fine
    assert stored.catalog.summary(stored.id) == right


async def test_a_session_that_is_open_is_looked_at_and_not_repaired(ground: Ground) -> None:
    async with ground.session([[Say("ok")]], approval="never") as s:
        await s.prompt()
        stored = Stored(ground, s.id)
        with stored.path.open("ab") as file:
            file.write(b'{"v":1,"seq":')  # like a partly written record that a reader sees
        report = verify(stored.catalog, s.id)
        assert (report.is_fine, report.is_open_elsewhere) == (True, True)
        with pytest.raises(SessionBusyError):
            repair(stored.catalog, s.id)
        assert is_locked(stored.path.parent), "and its owner still has it"
        os.truncate(stored.path, stored.path.stat().st_size - len(b'{"v":1,"seq":'))
        await s.prompt()


async def test_asking_whether_a_session_is_locked_keeps_nobody_out(stored: Stored) -> None:
    folder = stored.path.parent
    assert not is_locked(folder)
    lock = SessionLock(folder)
    assert is_locked(folder)
    assert is_locked(folder)
    lock.release()
    assert not is_locked(folder)
    asking = SessionLock(folder)  # like a process that only checks the lock
    threading.Timer(0.05, asking.release).start()
    SessionLock(folder, patience_s=5).release()


async def test_a_repair_that_fails_anywhere_leaves_the_old_or_the_mended_journal(stored: Stored) -> None:
    numbered_wrong(stored)
    damaged = stored.path.read_bytes()
    failures: list[str] = []
    for nth in range(1, 100):
        faulty = FaultyOs(nth=nth, code=28)
        with in_place_of_os(faulty, *FILE_MODULES, module):
            try:
                repair(stored.catalog, stored.id)
            except StorageError as error:
                failures.append(error.hint)
        if not faulty.failed:
            break
        if stored.path.read_bytes() != damaged:
            assert stored.codes() == []
            stored.path.write_bytes(damaged)
    assert failures
    assert all(failures), "each says what to do"
    assert stored.codes() == []
    assert not [path for path in stored.path.parent.iterdir() if path.name.endswith(".tmp")]


def test_a_session_of_which_nothing_was_written_is_removed_by_a_repair(ground: Ground) -> None:
    catalog = SessionCatalog.of(ground.paths)
    session_id = "20261121-213700-k3f9qx"
    folder = ground.paths.sessions / session_id
    folder.mkdir(parents=True)
    (folder / "journal.jsonl").touch()
    (folder / "lock").touch()
    [finding] = verify(catalog, session_id).findings
    assert (finding.code, bool(finding.repair)) == ("empty", True)
    repaired = repair(catalog, session_id)
    assert repaired.after.is_fine
    assert not folder.exists()
    assert catalog.ids() == []
