"""A journal that cannot be written stops the agent and loses nothing."""

import errno
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.store.journal import journal as journal_module
from tests.harness import Ground, Open, check_conversation

EDIT = Call("edit_file", {"path": "a.py", "old_str": "x = 1\n", "new_str": "x = 2\n"})


@contextmanager
def full_disk(session: Open, ground: Ground, is_refused: Callable[[bytes], bool] = lambda _: True) -> Generator[None]:
    """Let writes to the session's journal fail as on a full disk, for the lines that `is_refused` names."""
    journal = (ground.paths.sessions / session.id / "journal.jsonl").stat()
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
            assert (await s.carry_out(ops.SubmitPrompt(text="go"), ev.Notice)).code == "storage"
            assert (await s.rx.expect(ev.TurnEnded)).reason == "storage_error"
        assert ground.read("a.py") == "x = 1\n"
        await s.prompt("try again")
        check_conversation(s.last_request)


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
            s.submit(ops.SubmitPrompt(text="go"))
            await s.answer()
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
    journal = ground.paths.sessions / s.session.id / "journal.jsonl"
    _, *rest = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"{broken\n" + b"".join(rest))
    for _ in range(2):  # the first failure holds on to nothing
        with pytest.raises(StorageError, match="names its folder"):
            await ground.bench(s.provider).open_session(s.session.id, sink=s.rx)


async def test_the_model_reads_that_the_disk_was_full(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")
    async with ground.session([[EDIT], [Say("ok")]], approval="never") as s:
        await s.rx.expect(ev.SessionOpened)
        with full_disk(s, ground, lambda line: b"changes_prepared" in line):
            s.submit(ops.SubmitPrompt(text="go"))
            assert "The disk is full" in (await s.rx.expect(ev.Notice)).title
            await s.rx.expect(ev.TurnEnded)
        await s.prompt("try again")
        check_conversation(s.last_request)
        [result] = s.results()
        assert result.content.startswith("The disk is full")


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
