"""Undo and redo of what a command did to the kinds of files: each other's place, and names that hold no bytes."""

import os
import shutil
import socket
from pathlib import Path

import pytest

from desktop_agent.core.changes.ledger import Ledger
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
    """The paths of which a change is undone."""
    return {record.change.path for record in session.transcript.changes.values() if record.is_undone}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder elsewhere, with a file of the name of one in the workspace."""
    folder = tmp_path / "outside"
    (folder / "deep").mkdir(parents=True)
    (folder / "f").write_text("theirs\n")
    (folder / "deep/g").write_text("theirs\n")
    return folder


@pytest.fixture
def ground(ground: Ground) -> Ground:
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
async def test_one_undo_and_one_redo_are_exact(ground: Ground, outside: Path, command: str) -> None:
    before, theirs = tree_of(ground.workspace), tree_of(outside)
    call = Call("run_terminal_cmd", {"command": command.replace("OUTSIDE", str(outside))})
    async with ground.after([call]) as s:
        after = tree_of(ground.workspace)
        assert after != before
        for _ in range(2):
            assert left_alone(await s.undo(ChangeSelection(turn=1))) == []
            assert tree_of(ground.workspace) == before
            assert left_alone(await s.redo_step()) == []
            assert tree_of(ground.workspace) == after
    assert tree_of(outside) == theirs


@pytest.mark.parametrize("instead", ["echo now > d", "ln -s other d", "ln -s nowhere d", "mkfifo d"])
async def test_a_folder_comes_back_where_the_user_removed_what_replaced_it(ground: Ground, instead: str) -> None:
    before = tree_of(ground.workspace)
    call = Call("run_terminal_cmd", {"command": f"chmod 750 d/deep; rm -r d; {instead}"})
    async with ground.after([call]) as s:
        after = tree_of(ground.workspace)
        (ground.workspace / "d").unlink()
        assert left_alone(await s.undo(ChangeSelection(turn=1))) == []
        assert tree_of(ground.workspace) == before
        assert left_alone(await s.redo_step()) == []
    assert tree_of(ground.workspace) == after


async def test_a_redo_makes_a_folder_where_the_user_removed_the_file_that_it_replaces(ground: Ground) -> None:
    call = Call("run_terminal_cmd", {"command": "rm a; mkdir -p -m 750 a; echo new > a/b"})
    async with ground.after([call]) as s:
        after = tree_of(ground.workspace)
        await s.undo(ChangeSelection(turn=1))
        (ground.workspace / "a").unlink()
        assert left_alone(await s.redo_step()) == []
    assert tree_of(ground.workspace) == after


@pytest.mark.parametrize("is_used", [False, True], ids=["empty", "with a file of the user's"])
async def test_a_folder_that_was_removed_stays_while_one_that_came_back_stands_in_it(
    ground: Ground, *, is_used: bool
) -> None:
    """Undone alone, the removal of `d/deep` brings `d` with it, whose own removal stays in force, also after a redo."""
    (ground.workspace / "d/deep/g").unlink()
    call = Call("run_terminal_cmd", {"command": "rm -r d"})
    async with ground.after([call]) as s:
        await s.undo(ChangeSelection(path="d/deep"))
        if is_used:
            (ground.workspace / "d/mine").write_text("mine\n")
        after, undone = tree_of(ground.workspace), undone_paths(s)
        await s.undo()
        redone = await s.redo_step()
        assert undone_paths(s) == undone
    assert left_alone(redone) == []
    if is_used:
        assert (ground.workspace / "d/mine").read_text() == "mine\n"
    else:
        assert tree_of(ground.workspace) == after


async def test_a_folder_that_was_removed_stays_also_for_a_file_that_a_redo_brings_back(ground: Ground) -> None:
    make = Call("create_file", {"path": "d/new/x", "content": "x\n"})
    remove = Call("run_terminal_cmd", {"command": "rm -r d"})
    async with ground.session([[make], [Say("Done.")], [remove], [Say("Done.")]], approval="never") as s:
        await s.prompt()
        await s.undo()
        await s.prompt()
        await s.redo_step()
        after, undone = tree_of(ground.workspace), undone_paths(s)
        await s.undo()
        redone = await s.redo_step()
        assert undone_paths(s) == undone
    assert left_alone(redone) == []
    assert tree_of(ground.workspace) == after


async def test_a_redo_leaves_what_the_user_removed_though_an_earlier_file_was_at_its_path(ground: Ground) -> None:
    path = ground.workspace / "d/f"
    remove, make = Call("delete_file", {"path": "d/f"}), Call("create_file", {"path": "d/f", "content": "new\n"})
    done = [Say("Done.")]
    async with ground.session([[remove], done, [make], done], approval="never") as s:
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
async def test_files_that_a_command_exchanged_go_back_together_or_not_at_all(ground: Ground, lines: str) -> None:
    for name in ("a", "b", "c"):
        ground.write(name, f"{name} one\n{name} two\n")
    calls = [Call("run_terminal_cmd", {"command": line}) for line in lines.splitlines()]
    before = tree_of(ground.workspace)
    async with ground.after(calls) as s:
        written = ground.read("a")
        ground.write("a", written.replace("one", "mine"))
        after = tree_of(ground.workspace)
        undone = await s.undo(ChangeSelection(turn=1))
        assert {outcome.state for outcome in undone.outcomes} == {"conflict"}
        assert tree_of(ground.workspace) == after  # the lines of the first file are nowhere else
        ground.write("a", written)
        assert left_alone(await s.undo(ChangeSelection(turn=1))) == []
    assert tree_of(ground.workspace) == before


async def test_a_link_that_somebody_put_there_since_is_a_conflict_and_is_not_followed(
    ground: Ground, outside: Path
) -> None:
    async with ground.after([Call("run_terminal_cmd", {"command": "rm d/f"})]) as s:
        shutil.rmtree(ground.workspace / "d")
        (ground.workspace / "d").symlink_to(outside)
        (outside / "f").unlink()
        (outcome,) = (await s.undo(ChangeSelection(turn=1))).outcomes
    assert (outcome.path, outcome.state) == ("d/f", "conflict")
    assert not (outside / "f").exists()


async def test_what_is_below_a_link_that_stays_is_a_conflict_already_in_the_draft(
    ground: Ground, outside: Path
) -> None:
    call = Call("run_terminal_cmd", {"command": f"rm -r d; ln -s {outside} d"})
    async with ground.after([call]) as s:
        (ground.workspace / "d").unlink()
        (ground.workspace / "d").symlink_to(outside / "deep")
        ledger = Ledger(ground.workspace, Blobs(ground.paths.blobs))
        draft = draft_revert(s.session.transcript, ledger, "undo", ChangeSelection(turn=1))
    assert draft is not None
    assert {outcome.state for outcome in draft.outcomes()} == {"conflict"}
    assert len(draft.outcomes()) == 5


async def test_a_pipe_that_somebody_made_since_is_a_conflict(ground: Ground) -> None:
    async with ground.after([Call("run_terminal_cmd", {"command": "echo x >> a; rm d/f"})]) as s:
        for path in ("a", "d/f"):
            (ground.workspace / path).unlink(missing_ok=True)
            os.mkfifo(ground.workspace / path)
        outcomes = (await s.undo(ChangeSelection(turn=1))).outcomes
    assert sorted((outcome.path, outcome.state) for outcome in outcomes) == [("a", "conflict"), ("d/f", "conflict")]
    assert (ground.workspace / "a").is_fifo()
    assert (ground.workspace / "d/f").is_fifo()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root makes devices")
async def test_a_device_is_named_because_no_undo_brings_it_back(ground: Ground) -> None:
    device = ground.workspace / "device"
    try:
        os.mknod(device, 0o020600, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("this machine makes none")
    async with ground.after([Call("run_terminal_cmd", {"command": "rm device"})]) as s:
        recorded = s.rx.all(ev.ChangesRecorded)[-1]
    assert ([item.path for item in recorded.uncaptured], recorded.changes) == (["device"], ())


async def test_what_was_written_into_a_renamed_file_stays_where_its_folder_became_a_file(ground: Ground) -> None:
    """The user's file, which the agent wrote over: undone it is there again, and nothing can be below it."""
    lines = "".join(f"line {number}\n" for number in range(9))
    ground.write("b.txt", lines)
    ground.write("in/c.txt", lines)
    commands = [Call("run_terminal_cmd", {"command": command}) for command in ("rm b.txt", "mv in/c.txt b.txt")]
    over = Call("create_file", {"path": "in", "content": "agent\n", "if_exists": "overwrite"})
    async with ground.session([commands, [Say("Done.")], [over], [Say("Done.")]], approval="never") as s:
        await s.prompt()
        ground.write("b.txt", lines.replace("line 7", "mine"))
        (ground.workspace / "in").rmdir()
        ground.write("in", "mine, too\n")
        await s.prompt()
        outcomes = (await s.undo()).outcomes
    assert {outcome.path: outcome.state for outcome in outcomes} == {
        "in": "restored",
        "in/c.txt": "conflict",
        "b.txt": "conflict",
    }
    assert "mine\n" in ground.read("b.txt")
    assert ground.read("in") == "mine, too\n"
