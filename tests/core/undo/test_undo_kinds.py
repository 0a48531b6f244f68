"""Undo and redo of commands that change kinds of files, and of files with several names."""

import os
import shutil
import socket
from pathlib import Path

import pytest

from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.changes.net import net_changes
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.diff.hunks import review_hunks
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.undo.plan import draft_revert
from tests.harness import Ground, Open, left_alone
from tests.trees import tree_of

pytestmark = pytest.mark.skipif(os.name == "nt", reason="it has no such files")

LISTEN = "python3 -c 'import os; os.mknod(\"made\", 0o140640)'"

COMMANDS = {
    "a folder by a link outside": "rm -r d; ln -s OUTSIDE d",
    "a folder by a link inside": "rm -r d; ln -s other d",
    "a folder by a link to nowhere": "rm -r d; ln -s nowhere d",
    "a folder by a link to itself": "rm -r d; ln -s d d",
    "a folder moved, and a link to it": "mv d elsewhere; ln -s elsewhere d",
    "an inner folder by a link": "rm -r d/deep; ln -s OUTSIDE d/deep",
    "both folders by links": "rm -r d/deep; ln -s /etc d/deep; rm -r other; ln -s d/deep other",
    "a link by a folder": "rm link; mkdir link; echo new > link/f; mkdir link/g; echo newer > link/g/h",
    "a file by a folder": "rm a; mkdir -p a/b; echo new > a/b/c",
    "a folder by a file": "rm -r d; echo now > d",
    "a folder by a pipe": "rm -r d; mkfifo d",
    "a pipe by a folder": "rm pipe; mkdir pipe; echo x > pipe/f",
    "a file by a pipe": "rm a; mkfifo -m 600 a",
    "a pipe by a file": "rm pipe; echo now > pipe",
    "a pipe by a link": "rm pipe; ln -s a pipe",
    "a link by a pipe": "rm link; mkfifo link",
    "a socket by a file": "rm sock; echo now > sock",
    "a file by a socket": f"rm a; {LISTEN}; mv made a",
    "pipes made": "mkfifo new; mkdir n; mkfifo n/p; chmod 640 n/p",
    "a pipe deleted": "rm pipe sock d/inner",
    "a pipe moved": "mv pipe other/p; mv sock s",
    "a pipe's mode": "chmod 600 pipe sock",
    "a folder with a pipe": "rm -r d",
    "all round": "mv a t; mv d a; mv t d; rm link; mv pipe link; mv other pipe; ln -s OUTSIDE other",
    "everything": "rm -rf ./*",
}


def undone_paths(session: Open) -> set[str]:
    return {record.change.path for record in session.transcript.changes.values() if record.is_undone}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    (folder / "deep").mkdir(parents=True)
    (folder / "f").write_text("theirs\n")
    (folder / "deep/g").write_text("theirs\n")
    return folder


@pytest.fixture
def kinds(ground: Ground) -> Ground:
    root = ground.workspace
    ground.write("a", "one\ntwo\n")
    ground.write("d/f", "f\n")
    ground.write("d/deep/g", "g\n")
    ground.write("other/o", "o\n")
    (root / "link").symlink_to("other")
    os.mkfifo(root / "pipe", 0o640)
    os.mkfifo(root / "d/inner")
    here = Path.cwd()
    os.chdir(root)  # the name of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("sock")
    finally:
        os.chdir(here)
    return ground


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
async def test_one_undo_and_one_redo_are_exact(kinds: Ground, outside: Path, command: str) -> None:
    before, theirs = tree_of(kinds.workspace), tree_of(outside)
    call = Call("run_terminal_cmd", {"command": command.replace("OUTSIDE", str(outside))})
    async with kinds.after([call]) as s:
        after = tree_of(kinds.workspace)
        assert after != before
        for _ in range(2):
            assert left_alone(await s.undo(ChangeSelection(turn=1))) == []
            assert tree_of(kinds.workspace) == before
            assert left_alone(await s.redo_step()) == []
            assert tree_of(kinds.workspace) == after
    assert tree_of(outside) == theirs


@pytest.mark.parametrize("instead", ["echo now > d", "ln -s other d", "ln -s nowhere d", "mkfifo d"])
async def test_a_folder_comes_back_where_the_user_removed_what_replaced_it(kinds: Ground, instead: str) -> None:
    before = tree_of(kinds.workspace)
    call = Call("run_terminal_cmd", {"command": f"chmod 750 d/deep; rm -r d; {instead}"})
    async with kinds.after([call]) as s:
        after = tree_of(kinds.workspace)
        (kinds.workspace / "d").unlink()
        assert left_alone(await s.undo(ChangeSelection(turn=1))) == []
        assert tree_of(kinds.workspace) == before
        assert left_alone(await s.redo_step()) == []
    assert tree_of(kinds.workspace) == after


async def test_a_redo_makes_a_folder_where_the_user_removed_the_file_that_it_replaces(kinds: Ground) -> None:
    call = Call("run_terminal_cmd", {"command": "rm a; mkdir -p -m 750 a; echo new > a/b"})
    async with kinds.after([call]) as s:
        after = tree_of(kinds.workspace)
        await s.undo(ChangeSelection(turn=1))
        (kinds.workspace / "a").unlink()
        assert left_alone(await s.redo_step()) == []
    assert tree_of(kinds.workspace) == after


@pytest.mark.parametrize("is_used", [False, True], ids=["empty", "with a file of the user's"])
async def test_a_folder_that_was_removed_stays_while_one_that_came_back_stands_in_it(
    kinds: Ground, *, is_used: bool
) -> None:
    """The undo of `d/deep`'s removal restores `d`, whose own removal stays in force, also after a redo."""
    (kinds.workspace / "d/deep/g").unlink()
    call = Call("run_terminal_cmd", {"command": "rm -r d"})
    async with kinds.after([call]) as s:
        await s.undo(ChangeSelection(path="d/deep"))
        if is_used:
            (kinds.workspace / "d/mine").write_text("mine\n")
        after, undone = tree_of(kinds.workspace), undone_paths(s)
        await s.undo()
        redone = await s.redo_step()
        assert undone_paths(s) == undone
    assert left_alone(redone) == []
    if is_used:
        assert (kinds.workspace / "d/mine").read_text() == "mine\n"
    else:
        assert tree_of(kinds.workspace) == after


async def test_a_folder_that_was_removed_stays_also_for_a_file_that_a_redo_brings_back(kinds: Ground) -> None:
    make = Call("create_file", {"path": "d/new/x", "content": "x\n"})
    remove = Call("run_terminal_cmd", {"command": "rm -r d"})
    async with kinds.session([[make], [Say("Done.")], [remove], [Say("Done.")]], approval="never") as s:
        await s.prompt()
        await s.undo()
        await s.prompt()
        await s.redo_step()
        after, undone = tree_of(kinds.workspace), undone_paths(s)
        await s.undo()
        redone = await s.redo_step()
        assert undone_paths(s) == undone
    assert left_alone(redone) == []
    assert tree_of(kinds.workspace) == after


async def test_a_redo_leaves_what_the_user_removed_though_an_earlier_file_was_at_its_path(kinds: Ground) -> None:
    path = kinds.workspace / "d/f"
    remove, make = Call("delete_file", {"path": "d/f"}), Call("create_file", {"path": "d/f", "content": "new\n"})
    done = [Say("Done.")]
    async with kinds.session([[remove], done, [make], done], approval="never") as s:
        await s.prompt()
        await s.undo()
        path.unlink()
        await s.redo_step()
        await s.prompt()
        path.unlink()
        undone = undone_paths(s)
        await s.undo()
        await s.redo_step()
        assert undone_paths(s) == undone
    assert not path.exists()


RINGS = {
    "two": "mv a t; mv b a; mv t b",
    "two, by copies": "cp a t; cat b > a; cat t > b; rm t",
    "three": "mv a t; mv b a; mv c b; mv t c",
    "two, edited since": "mv a t; mv b a; mv t b\necho more >> b",
}


@pytest.mark.parametrize("lines", RINGS.values(), ids=RINGS.keys())
async def test_files_that_a_command_exchanged_go_back_together_or_not_at_all(kinds: Ground, lines: str) -> None:
    for name in ("a", "b", "c"):
        kinds.write(name, f"{name} one\n{name} two\n")
    calls = [Call("run_terminal_cmd", {"command": line}) for line in lines.splitlines()]
    before = tree_of(kinds.workspace)
    async with kinds.after(calls) as s:
        written = kinds.read("a")
        kinds.write("a", written.replace("one", "mine"))
        after = tree_of(kinds.workspace)
        undone = await s.undo(ChangeSelection(turn=1))
        assert {outcome.state for outcome in undone.outcomes} == {"conflict"}
        assert tree_of(kinds.workspace) == after  # the lines of the first file are nowhere else
        kinds.write("a", written)
        assert left_alone(await s.undo(ChangeSelection(turn=1))) == []
    assert tree_of(kinds.workspace) == before


async def test_a_link_that_somebody_put_there_since_is_a_conflict_and_is_not_followed(
    kinds: Ground, outside: Path
) -> None:
    async with kinds.after([Call("run_terminal_cmd", {"command": "rm d/f"})]) as s:
        shutil.rmtree(kinds.workspace / "d")
        (kinds.workspace / "d").symlink_to(outside)
        (outside / "f").unlink()
        (outcome,) = (await s.undo(ChangeSelection(turn=1))).outcomes
    assert (outcome.path, outcome.state) == ("d/f", "conflict")
    assert not (outside / "f").exists()


async def test_what_is_below_a_link_that_stays_is_a_conflict_already_in_the_draft(kinds: Ground, outside: Path) -> None:
    call = Call("run_terminal_cmd", {"command": f"rm -r d; ln -s {outside} d"})
    async with kinds.after([call]) as s:
        (kinds.workspace / "d").unlink()
        (kinds.workspace / "d").symlink_to(outside / "deep")
        ledger = Ledger(kinds.workspace, Blobs(kinds.paths.blobs))
        draft = draft_revert(s.session.transcript, ledger, "undo", ChangeSelection(turn=1))
    assert draft is not None
    assert {outcome.state for outcome in draft.outcomes()} == {"conflict"}
    assert len(draft.outcomes()) == 5


async def test_a_pipe_that_somebody_made_since_is_a_conflict(kinds: Ground) -> None:
    async with kinds.after([Call("run_terminal_cmd", {"command": "echo x >> a; rm d/f"})]) as s:
        for path in ("a", "d/f"):
            (kinds.workspace / path).unlink(missing_ok=True)
            os.mkfifo(kinds.workspace / path)
        outcomes = (await s.undo(ChangeSelection(turn=1))).outcomes
    assert sorted((outcome.path, outcome.state) for outcome in outcomes) == [("a", "conflict"), ("d/f", "conflict")]
    assert (kinds.workspace / "a").is_fifo()
    assert (kinds.workspace / "d/f").is_fifo()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root makes devices")
async def test_a_device_is_named_because_no_undo_brings_it_back(kinds: Ground) -> None:
    device = kinds.workspace / "device"
    try:
        os.mknod(device, 0o020600, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("this machine makes none")
    async with kinds.after([Call("run_terminal_cmd", {"command": "rm device"})]) as s:
        recorded = s.rx.all(ev.ChangesRecorded)[-1]
    assert ([item.path for item in recorded.uncaptured], recorded.changes) == (["device"], ())


async def test_what_was_written_into_a_renamed_file_stays_where_its_folder_became_a_file(kinds: Ground) -> None:
    """The undo restores the user's file, which the agent overwrote; nothing can be below it."""
    lines = "".join(f"line {number}\n" for number in range(9))
    kinds.write("b.txt", lines)
    kinds.write("in/c.txt", lines)
    commands = [Call("run_terminal_cmd", {"command": command}) for command in ("rm b.txt", "mv in/c.txt b.txt")]
    over = Call("create_file", {"path": "in", "content": "agent\n", "if_exists": "overwrite"})
    async with kinds.session([commands, [Say("Done.")], [over], [Say("Done.")]], approval="never") as s:
        await s.prompt()
        kinds.write("b.txt", lines.replace("line 7", "mine"))
        (kinds.workspace / "in").rmdir()
        kinds.write("in", "mine, too\n")
        await s.prompt()
        outcomes = (await s.undo()).outcomes
    assert {outcome.path: outcome.state for outcome in outcomes} == {
        "in": "restored",
        "in/c.txt": "conflict",
        "b.txt": "conflict",
    }
    assert "mine\n" in kinds.read("b.txt")
    assert kinds.read("in") == "mine, too\n"


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
