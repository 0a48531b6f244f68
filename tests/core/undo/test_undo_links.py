"""Undo where one file has several names (hard links): what the agent did goes, and no other name with it."""

import sys

import pytest

from desktop_agent.core.changes.net import net_changes
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.diff.hunks import review_hunks
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.providers.scripted import Call, Say
from tests.harness import Ground

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are shell commands")

LINK = Call("run_terminal_cmd", {"command": "ln -f mine.txt other.txt"})
MOVE = Call("run_terminal_cmd", {"command": "ln mine.txt third.txt; mv -f third.txt other.txt"})
EDIT = Call("edit_file", {"path": "other.txt", "old_str": "mine\n", "new_str": "agent\n"})


@pytest.mark.parametrize("command", [LINK, MOVE], ids=["ln", "mv"])
async def test_undoing_that_a_file_became_another_name_leaves_the_first_one_alone(
    ground: Ground, command: Call
) -> None:
    ground.write("mine.txt", "mine\n")
    ground.write("other.txt", "other\n")
    async with ground.after([command]) as s:
        assert ground.read("other.txt") == "mine\n"
        for _ in range(2):
            await s.undo(ChangeSelection(turn=1))
            assert (ground.read("mine.txt"), ground.read("other.txt")) == ("mine\n", "other\n")
            await s.redo_step()
            assert (ground.read("mine.txt"), ground.read("other.txt")) == ("mine\n", "mine\n")


async def test_an_edit_of_one_name_is_recorded_and_undone_at_all_of_them(ground: Ground) -> None:
    ground.write("mine.txt", "mine\n")
    (ground.workspace / "other.txt").hardlink_to(ground.workspace / "mine.txt")
    async with ground.after([EDIT]) as s:
        assert (ground.read("mine.txt"), ground.read("other.txt")) == ("agent\n", "agent\n")
        changes = s.session.transcript.changes.values()
        assert {record.change.path for record in changes} == {"mine.txt", "other.txt"}
        await s.undo(ChangeSelection(turn=1))
        assert (ground.read("mine.txt"), ground.read("other.txt")) == ("mine\n", "mine\n")
        assert (ground.workspace / "mine.txt").samefile(ground.workspace / "other.txt")


async def test_a_name_that_was_made_and_edited_is_undone_without_leaving_the_edit_in_the_other(ground: Ground) -> None:
    ground.write("mine.txt", "mine\n")
    ground.write("other.txt", "other\n")
    async with ground.after([LINK], [EDIT]) as s:
        assert (ground.read("mine.txt"), ground.read("other.txt")) == ("agent\n", "agent\n")
        await s.undo()
        assert (ground.read("mine.txt"), ground.read("other.txt")) == ("mine\n", "other\n")
        await s.redo_step()
        assert (ground.read("mine.txt"), ground.read("other.txt")) == ("agent\n", "agent\n")


async def test_a_new_folder_goes_with_the_last_file_in_it_though_a_name_in_it_is_written_first(ground: Ground) -> None:
    ground.write("mine.txt", "mine\n")
    ground.write("other.txt", "other\n")
    calls = [
        Call("create_file", {"path": "new/c.txt", "content": "agent\n"}),
        Call("run_terminal_cmd", {"command": "ln -f mine.txt new/c.txt"}),
        Call("run_terminal_cmd", {"command": "mv other.txt new/"}),
    ]
    async with ground.after(*([call] for call in calls)) as s:
        await s.undo()
        assert sorted(path.name for path in ground.workspace.iterdir()) == ["mine.txt", "other.txt"]
        await s.redo_step()
        assert (ground.read("new/c.txt"), ground.read("new/other.txt")) == ("mine\n", "other\n")


RELINK_BACK = Call("run_terminal_cmd", {"command": "ln -f other.txt mine.txt"})
TEXT = "".join(f"line {number}\n" for number in range(20))


@pytest.mark.parametrize("command", [LINK, RELINK_BACK], ids=["this became the other", "the other became this"])
@pytest.mark.parametrize("theirs", [TEXT, f"{TEXT}more\n"], ids=["same content", "other content"])
async def test_what_is_redone_after_the_file_became_one_with_another_is_written_there_alone(
    ground: Ground, command: Call, theirs: str
) -> None:
    ground.write("other.txt", TEXT)
    ground.write("mine.txt", theirs)
    edit = Call("edit_file", {"path": "other.txt", "old_str": "line 3\n", "new_str": "agent\n"})
    async with ground.session([[edit], [Say("done")], [command], [Say("done")]], approval="never") as s:
        await s.prompt()
        await s.undo()
        await s.prompt()
        left_alone = ground.read("mine.txt")
        redone = await s.redo_step()
        assert "agent\n" in ground.read("other.txt")
        assert ground.read("mine.txt") == left_alone
        assert ["mine.txt" in outcome.reason for outcome in redone.outcomes] == [True]
        await s.undo()
        assert (ground.read("other.txt"), ground.read("mine.txt")) == (TEXT, theirs)


async def test_one_hunk_of_a_file_with_two_names_is_undone_at_both_and_they_stay_one_file(ground: Ground) -> None:
    ground.write("mine.txt", TEXT)
    (ground.workspace / "other.txt").hardlink_to(ground.workspace / "mine.txt")
    edits = [
        Call("edit_file", {"path": "other.txt", "old_str": f"line {number}\n", "new_str": f"agent {number}\n"})
        for number in (3, 16)
    ]
    async with ground.after(edits) as s:
        both = ground.read("mine.txt")
        (row,) = (one for one in net_changes(s.session.transcript.changes.values()) if one.path == "mine.txt")
        diff = diff_change(row.change, ground.blob(row.change.before), ground.blob(row.change.after))
        first, _ = (named.key for named in review_hunks(diff))
        await s.undo(ChangeSelection(path="mine.txt", hunks=(first,)))
        one = both.replace("agent 3", "line 3")
        assert (ground.read("mine.txt"), ground.read("other.txt")) == (one, one)
        assert {row.state for row in net_changes(s.session.transcript.changes.values())} == {"partly"}
        await s.undo(ChangeSelection(path="other.txt"))
        assert (ground.read("mine.txt"), ground.read("other.txt")) == (TEXT, TEXT)
        assert {row.state for row in net_changes(s.session.transcript.changes.values())} == {"undone"}
        for expected in (one, both):
            await s.redo_step()
            assert (ground.read("mine.txt"), ground.read("other.txt")) == (expected, expected)
        assert (ground.workspace / "mine.txt").samefile(ground.workspace / "other.txt")
