"""A session on disk: recorded in time, refused on a full disk, repaired after a crash."""

import errno
import os
import shutil
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection, UserMessage
from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.core.session.recorder import Recorder
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal import journal as journal_module
from desktop_agent.core.store.journal.journal import Journal
from tests.core.samples import SAMPLE_EVENTS
from tests.dropping_disk import DroppingDisk, dropping_disk
from tests.harness import Ground, Open, check_conversation

EDIT = Call("edit_file", {"path": "a.py", "old_str": "x = 1\n", "new_str": "x = 2\n"})


@contextmanager
def full_disk(session: Open, ground: Ground, is_refused: Callable[[bytes], bool] = lambda _: True) -> Generator[None]:
    """Let writes to the session's journal fail as on a full disk, for lines that `is_refused` accepts."""
    journal = (ground.journal(session.id)).stat()
    write = os.write

    def refuse(descriptor: int, data: bytes | memoryview) -> int:
        target = os.fstat(descriptor)
        if stat.S_ISREG(target.st_mode) and os.path.samestat(target, journal) and is_refused(bytes(data)):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", refuse)
        yield


async def test_a_prompt_that_cannot_be_recorded_comes_back_and_the_session_goes_on_later(ground: Ground) -> None:
    async with ground.session([[Say("ok")]]) as s:
        await s.rx.expect(ev.SessionOpened)
        with full_disk(s, ground):
            rejected = await s.carry_out(ops.SubmitPrompt(text="my long question"), ev.PromptRejected)
            notice = await s.rx.expect(ev.Notice)
        assert rejected.text == "my long question"
        assert (notice.code, notice.seq) == ("storage", 0)
        assert s.provider.requests == []
        assert (await s.prompt("my long question")).reason == "completed"


async def test_no_tool_acts_when_the_intention_cannot_be_recorded(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")
    async with ground.session([[EDIT], [Say("ok")]], approval="never") as s:
        await s.rx.expect(ev.SessionOpened)
        with full_disk(s, ground, lambda line: b"changes_prepared" in line):
            notice = await s.carry_out(ops.SubmitPrompt(text="go"), ev.Notice)
            assert (notice.code, "The disk is full" in notice.title) == ("storage", True)
            assert (await s.rx.expect(ev.TurnEnded)).reason == "storage_error"
        assert ground.read("a.py") == "x = 1\n"
        await s.prompt("try again")
        check_conversation(s.last_request)
        [result] = s.results()
        assert result.content.startswith("The disk is full"), "the model reads it, too"


async def test_a_change_whose_record_failed_is_found_and_recorded_before_the_next_turn(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")
    async with ground.session([[EDIT], [Say("ok")]], approval="never") as s:
        await s.rx.expect(ev.SessionOpened)
        with full_disk(s, ground, lambda line: b"changes_recorded" in line):
            assert (await s.carry_out(ops.SubmitPrompt(text="go"), ev.TurnEnded)).reason == "storage_error"
        assert ground.read("a.py") == "x = 2\n"
        await s.prompt("go on")
        check_conversation(s.last_request)
        assert list(s.session.transcript.changes) == ["1.1"]
        await s.undo()
        assert ground.read("a.py") == "x = 1\n"


async def test_a_command_does_not_start_when_its_intention_cannot_be_recorded(ground: Ground) -> None:
    async with ground.session([[Call("run_terminal_cmd", {"command": "touch ran"})]]) as s:
        with full_disk(s, ground, lambda line: b"changes_prepared" in line):
            await s.begin()
            assert (await s.rx.expect(ev.TurnEnded)).reason == "storage_error"
        assert not (ground.workspace / "ran").exists()


async def test_an_undo_that_cannot_be_recorded_is_not_done(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")
    async with ground.session([[EDIT], [Say("ok")]], approval="never") as s:
        await s.prompt()
        with full_disk(s, ground, lambda line: b"changes_prepared" in line):
            assert (await s.carry_out(ops.UndoChanges(selection=ChangeSelection()), ev.Notice)).code == "storage"
        assert ground.read("a.py") == "x = 2\n"


async def test_closing_on_a_full_disk_ends_everything(ground: Ground) -> None:
    async with ground.session([[Say("ok")]]) as s:
        await s.prompt()
        with full_disk(s, ground):
            await s.close()
        assert s.task.done()


async def test_a_session_whose_first_record_is_damaged_works_in_no_folder_at_all(ground: Ground) -> None:
    async with ground.session([[Say("ok")]]) as s:
        await s.prompt("hello")
    journal = ground.journal(s.session.id)
    _, *rest = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"{broken\n" + b"".join(rest))
    for _ in range(2):  # the first failure holds on to nothing
        with pytest.raises(StorageError, match="names its folder"):
            await ground.bench(s.provider).open_session(s.session.id, sink=s.rx)


def no_room(_descriptor: int, data: bytes) -> None:
    if data:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def test_of_a_session_that_could_not_be_written_nothing_stays(ground: Ground) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal_module, "write_all", no_room)
        async with ground.session([[Say("ok")]]) as s:
            assert "The disk is full" in (await s.rx.expect(ev.Notice)).title
    assert list(ground.paths.sessions.iterdir()) == []


async def test_a_session_that_had_no_room_at_first_stays_when_there_is(ground: Ground) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal_module, "write_all", no_room)
        session = ground.session([[Say("ok")]])
        s = await session.__aenter__()
        await s.rx.expect(ev.Notice)
    assert (await s.prompt("now")).reason == "completed"
    await session.__aexit__(None, None, None)
    assert [folder.name for folder in ground.paths.sessions.iterdir()] == [s.id]


LATER = {
    "turn_started",
    "usage_reported",
    "tool_call_finished",
    "notice",
    "review_marked",
    "guidance_loaded",
    "command_run",
    "hook_ran",
    "diagnostics_found",
}
"""The records that by docs/session-format.md do not wait for the disk."""


async def recorded_on(path: Path, disk: DroppingDisk, events: list[ev.KnownEvent]) -> list[tuple[str, bool]]:
    """Record the events; return with each whether the disk had the whole journal when the sink was told."""
    told: list[tuple[str, bool]] = []

    def hear(event: ev.Event) -> None:
        told.append((event.type, disk.is_safe(path)))

    journal, _ = Journal.open(path, Blobs(path.parent / "blobs"))
    recorder = Recorder(journal, SystemClock(), last_seq=0, folds=(), sink=hear)
    for event in events:
        await recorder.record(event)
    await recorder.aclose()
    return told


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "s" / "journal.jsonl"
    Journal.create(path, Blobs(tmp_path / "blobs")).close()
    return path


async def test_what_was_said_decided_or_changed_is_on_the_disk_before_it_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = dropping_disk(path, monkeypatch)
    told = await recorded_on(path, disk, list(SAMPLE_EVENTS))
    assert {kind for kind, is_safe in told if not is_safe} == LATER
    assert {kind for kind, is_safe in told if is_safe}.isdisjoint(LATER)
    assert len({kind for kind, _ in told}) == len(get_args(ev.KnownEvent))
    assert disk.is_safe(path), "and all of it when the session closes"


async def test_all_of_a_turn_is_on_the_disk_when_its_end_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = dropping_disk(path, monkeypatch)
    later = [event for event in SAMPLE_EVENTS if event.type in LATER]
    end = next(event for event in SAMPLE_EVENTS if event.type == "turn_ended")
    *_, last = await recorded_on(path, disk, [*later, end])
    assert last == ("turn_ended", True)


BEFORE = {"a.py": "x = 1\r\n", "b.txt": "b\n"}
SCRIPT: list[Reply] = [
    [
        Say("Working."),
        Call("edit_file", {"path": "a.py", "old_str": "x = 1", "new_str": "x = 2"}),
        Call("create_file", {"path": "new/c.txt", "content": "c\n"}),
        Call("run_terminal_cmd", {"command": "sed -i s/b/B/ b.txt; echo d > d.txt"}),
        Call("edit_file", {"path": "a.py", "old_str": "x = 2", "new_str": "x = 3"}),
    ],
    [Say("Done.")],
]


def files(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


async def make_session(ground: Ground) -> str:
    for path, content in BEFORE.items():
        ground.write(path, content)
    async with ground.session(SCRIPT, approval="on_request", sandbox="none") as s:
        await s.prompt("go", answers=1)
        await s.undo()
        return s.id


async def test_cut_after_every_record_the_session_recovers(ground: Ground) -> None:
    """Wherever the journal is cut, the files are those of its end, with everything undone."""
    session_id = await make_session(ground)
    journal = ground.journal(session_id)
    lines = journal.read_bytes().splitlines(keepends=True)
    for cut in range(1, len(lines)):
        journal.write_bytes(b"".join(lines[:cut]))
        async with ground.session([[Say("ok")]], resume=session_id, is_attended=False) as s:
            await s.prompt("go on")
            check_conversation(s.last_request)
            assert s.session.transcript.turns.status == "idle"
            seqs = [event.seq for event in s.rx.recorded]
            assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))


@pytest.mark.parametrize("stage", ["changes_prepared", "changes_recorded"])
async def test_a_write_that_happened_without_its_record_is_recorded_and_can_be_undone(
    ground: Ground, stage: str
) -> None:
    """The process died right after an edit reached the disk, or right after its record."""
    ground.write("a.py", "x = 1\r\n")
    script: list[Reply] = [SCRIPT[0][:2], [Say("Done.")]]
    async with ground.session(script, approval="never") as s:
        await s.prompt()
        session_id = s.id
    ground.cut_journal(session_id, stage, keeps_it=True)
    async with ground.session([[Say("ok")]], resume=session_id) as s:
        await s.rx.expect(ev.TurnEnded)
        assert list(s.session.transcript.changes) == ["1.1"]
        await s.undo()
        assert ground.read("a.py") == "x = 1\r\n"


async def test_a_write_that_never_happened_is_not_claimed(ground: Ground) -> None:
    """The process died after the intent was recorded and before the file was written."""
    ground.write("a.py", "x = 1\r\n")
    async with ground.session([SCRIPT[0][:2], [Say("Done.")]], approval="never") as s:
        await s.prompt()
        session_id = s.id
    ground.write("a.py", "x = 1\r\n")
    ground.cut_journal(session_id, "changes_prepared", keeps_it=True)
    async with ground.session([[Say("ok")]], resume=session_id) as s:
        await s.rx.expect(ev.TurnEnded)
        assert s.session.transcript.changes == {}


async def test_what_a_killed_command_changed_is_found_afterwards(ground: Ground) -> None:
    """The process died while a command ran; the baseline shows the command's changes."""
    ground.write("b.txt", "b\n")
    script: list[Reply] = [[Call("run_terminal_cmd", {"command": "echo B > b.txt"})], [Say("Done.")]]
    async with ground.session(script) as s:
        await s.begin()
        await s.rx.expect(ev.ChangesPrepared)
        # The disk's present state is what a kill would leave.
        copy = ground.paths.data.with_name("killed")
        shutil.copytree(ground.paths.data, copy)
        shutil.copytree(ground.paths.cache, copy.with_name("killed-cache"))
        await s.rx.expect(ev.TurnEnded)
        session_id = s.id
    shutil.rmtree(ground.paths.data)
    shutil.rmtree(ground.paths.cache)
    copy.rename(ground.paths.data)
    copy.with_name("killed-cache").rename(ground.paths.cache)
    async with ground.session([[Say("ok")]], resume=session_id) as s:
        recorded = await s.rx.expect(ev.ChangesRecorded)
        assert [(change.path, change.author) for change in recorded.changes] == [("b.txt", "shell")]
        await s.undo()
        assert ground.read("b.txt") == "b\n"


async def test_an_undo_cut_off_half_way_knows_which_files_it_had_put_back(ground: Ground) -> None:
    session_id = await make_session(ground)
    undone = files(ground.workspace)
    assert {path: content.decode() for path, content in undone.items()} == BEFORE
    journal = ground.journal(session_id)
    lines = journal.read_bytes().splitlines(keepends=True)
    assert b"changes_undone" in lines[-1]
    journal.write_bytes(b"".join(lines[:-1]))
    # One of the files was not written yet.
    ground.write("b.txt", "B\n")
    async with ground.session([[Say("ok")]], resume=session_id) as s:
        event = await s.rx.expect(ev.ChangesUndone)
        assert "b.txt" not in {outcome.path for outcome in event.outcomes}
        assert [record.change.path for record in s.session.transcript.changed.active()] == ["b.txt"]
        await s.undo()
        assert files(ground.workspace) == undone


async def test_what_waited_for_an_approval_is_over_where_nobody_can_give_it(ground: Ground) -> None:
    ground.write("a.py", "x = 1\r\n")
    async with ground.session([SCRIPT[0][:2], [Say("ok")]]) as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        session_id = s.id
        journal = ground.journal(session_id)
        killed = journal.read_bytes()
    journal.write_bytes(killed)
    async with ground.session([[Say("ok")]], resume=session_id, is_attended=False) as s:
        resolved = await s.rx.expect(ev.ApprovalResolved)
        assert resolved.decision.outcome == "aborted"
        await s.prompt("go on")
        check_conversation(s.last_request)
        assert isinstance(s.last_request.messages[-1], UserMessage)
        assert ground.read("a.py") == "x = 1\r\n"
