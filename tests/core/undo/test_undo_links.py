"""Undo where one file has several names (hard links): what the agent did goes, and no other name with it."""

import sys

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.providers.scripted import Call, Reply, Say
from tests.harness import Ground

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are shell commands")

LINK = Call("run_terminal_cmd", {"command": "ln -f mine.txt other.txt"})
MOVE = Call("run_terminal_cmd", {"command": "ln mine.txt third.txt; mv -f third.txt other.txt"})
EDIT = Call("edit_file", {"path": "other.txt", "old_str": "mine\n", "new_str": "agent\n"})


def turn(*calls: Call) -> list[Reply]:
    return [list(calls), [Say("done")]]


@pytest.mark.parametrize("command", [LINK, MOVE], ids=["ln", "mv"])
async def test_undoing_that_a_file_became_another_name_leaves_the_first_one_alone(
    ground: Ground, command: Call
) -> None:
    ground.write("mine.txt", "mine\n")
    ground.write("other.txt", "other\n")
    async with ground.session(turn(command), approval="never") as s:
        await s.prompt()
        assert ground.read("other.txt") == "mine\n"
        for _ in range(2):
            s.submit(ops.UndoChanges(selection=ChangeSelection(turn=1)))
            await s.rx.expect(ev.ChangesUndone)
            assert (ground.read("mine.txt"), ground.read("other.txt")) == ("mine\n", "other\n")
            s.submit(ops.RedoSteps())
            await s.rx.expect(ev.ChangesRedone)
            assert (ground.read("mine.txt"), ground.read("other.txt")) == ("mine\n", "mine\n")


async def test_an_edit_of_one_name_is_recorded_and_undone_at_all_of_them(ground: Ground) -> None:
    ground.write("mine.txt", "mine\n")
    (ground.workspace / "other.txt").hardlink_to(ground.workspace / "mine.txt")
    async with ground.session(turn(EDIT), approval="never") as s:
        await s.prompt()
        assert (ground.read("mine.txt"), ground.read("other.txt")) == ("agent\n", "agent\n")
        changes = s.session.transcript.changes.values()
        assert {record.change.path for record in changes} == {"mine.txt", "other.txt"}
        s.submit(ops.UndoChanges(selection=ChangeSelection(turn=1)))
        await s.rx.expect(ev.ChangesUndone)
        assert (ground.read("mine.txt"), ground.read("other.txt")) == ("mine\n", "mine\n")
        assert (ground.workspace / "mine.txt").samefile(ground.workspace / "other.txt")


async def test_a_name_that_was_made_and_edited_is_undone_without_leaving_the_edit_in_the_other(ground: Ground) -> None:
    ground.write("mine.txt", "mine\n")
    ground.write("other.txt", "other\n")
    async with ground.session([*turn(LINK), *turn(EDIT)], approval="never") as s:
        await s.prompt()
        await s.prompt()
        assert (ground.read("mine.txt"), ground.read("other.txt")) == ("agent\n", "agent\n")
        s.submit(ops.UndoChanges(selection=ChangeSelection()))
        await s.rx.expect(ev.ChangesUndone)
        assert (ground.read("mine.txt"), ground.read("other.txt")) == ("mine\n", "other\n")
        s.submit(ops.RedoSteps())
        await s.rx.expect(ev.ChangesRedone)
        assert (ground.read("mine.txt"), ground.read("other.txt")) == ("agent\n", "agent\n")


async def test_a_new_folder_goes_with_the_last_file_in_it_though_a_name_in_it_is_written_first(ground: Ground) -> None:
    ground.write("mine.txt", "mine\n")
    ground.write("other.txt", "other\n")
    calls = [
        Call("create_file", {"path": "new/c.txt", "content": "agent\n"}),
        Call("run_terminal_cmd", {"command": "ln -f mine.txt new/c.txt"}),
        Call("run_terminal_cmd", {"command": "mv other.txt new/"}),
    ]
    replies = [reply for call in calls for reply in turn(call)]
    async with ground.session(replies, approval="never") as s:
        for _ in calls:
            await s.prompt()
        s.submit(ops.UndoChanges(selection=ChangeSelection()))
        await s.rx.expect(ev.ChangesUndone)
        assert sorted(path.name for path in ground.workspace.iterdir()) == ["mine.txt", "other.txt"]
        s.submit(ops.RedoSteps())
        await s.rx.expect(ev.ChangesRedone)
        assert (ground.read("new/c.txt"), ground.read("new/other.txt")) == ("mine\n", "other\n")
