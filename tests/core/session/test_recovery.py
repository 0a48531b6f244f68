"""A session that was cut off at any record is put in order: valid conversation, files and records agree, undo works."""

import shutil
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import UserMessage
from desktop_agent.core.providers.scripted import Call, Reply, Say
from tests.harness import Ground, check_conversation

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
    """Run one turn with every kind of change, then undo it."""
    for path, content in BEFORE.items():
        ground.write(path, content)
    async with ground.session(SCRIPT, approval="on_request", sandbox="none") as s:
        await s.prompt("go", answers=1)
        await s.undo()
        return s.id


async def test_cut_after_every_record_the_session_recovers(ground: Ground) -> None:
    """The files are those of the end (everything undone), whatever the cut journal says was done last."""
    session_id = await make_session(ground)
    journal = ground.paths.sessions / session_id / "journal.jsonl"
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
    """The process died right after an edit reached the disk, or right after that was recorded."""
    ground.write("a.py", "x = 1\r\n")
    script: list[Reply] = [SCRIPT[0][:2], [Say("Done.")]]
    async with ground.session(script, approval="never") as s:
        await s.prompt()
        session_id = s.id
    journal = ground.paths.sessions / session_id / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    cut = next(i for i, line in enumerate(lines) if stage.encode() in line)
    journal.write_bytes(b"".join(lines[: cut + 1]))
    async with ground.session([[Say("ok")]], resume=session_id) as s:
        await s.rx.expect(ev.TurnEnded)
        assert list(s.session.transcript.changes) == ["1.1"]
        await s.undo()
        assert ground.read("a.py") == "x = 1\r\n"


async def test_a_write_that_never_happened_is_not_claimed(ground: Ground) -> None:
    """The process died after the intention was recorded and before the file was written."""
    ground.write("a.py", "x = 1\r\n")
    async with ground.session([SCRIPT[0][:2], [Say("Done.")]], approval="never") as s:
        await s.prompt()
        session_id = s.id
    ground.write("a.py", "x = 1\r\n")
    journal = ground.paths.sessions / session_id / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    cut = next(i for i, line in enumerate(lines) if b"changes_prepared" in line)
    journal.write_bytes(b"".join(lines[: cut + 1]))
    async with ground.session([[Say("ok")]], resume=session_id) as s:
        await s.rx.expect(ev.TurnEnded)
        assert s.session.transcript.changes == {}


async def test_what_a_killed_command_changed_is_found_afterwards(ground: Ground) -> None:
    """The process died while a command ran: the baseline taken before it shows what it did."""
    ground.write("b.txt", "b\n")
    script: list[Reply] = [[Call("run_terminal_cmd", {"command": "echo B > b.txt"})], [Say("Done.")]]
    async with ground.session(script) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await s.answer()
        await s.rx.expect(ev.ChangesPrepared)
        # What the disk looks like at this very moment is what a kill would leave.
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
    journal = ground.paths.sessions / session_id / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    assert b"changes_undone" in lines[-1]
    journal.write_bytes(b"".join(lines[:-1]))
    # One of the files had not been reached yet.
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
        journal = ground.paths.sessions / session_id / "journal.jsonl"
        killed = journal.read_bytes()
    journal.write_bytes(killed)
    async with ground.session([[Say("ok")]], resume=session_id, is_attended=False) as s:
        resolved = await s.rx.expect(ev.ApprovalResolved)
        assert resolved.decision.outcome == "aborted"
        await s.prompt("go on")
        check_conversation(s.last_request)
        assert isinstance(s.last_request.messages[-1], UserMessage)
        assert ground.read("a.py") == "x = 1\r\n"


async def test_a_session_whose_folder_is_not_known_any_more_is_not_continued_somewhere_else(ground: Ground) -> None:
    async with ground.session([[Say("ok")]]) as s:
        await s.prompt()
    journal = ground.paths.sessions / s.id / "journal.jsonl"
    journal.write_bytes(b"lost" + journal.read_bytes())
    with pytest.raises(StorageError, match="folder"):
        async with ground.session([[Say("never")]], resume=s.id):
            pass
