"""A session on each hostile folder: no hang, nothing outside is touched, and failures have reasons."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.system.workspace import scan_directory, walk_files
from tests import harness
from tests.attacks.corpus import cases
from tests.attacks.folders.hostile import FOLDERS, Fill
from tests.harness import Ground
from tests.trees import tree_of

CALLS = [
    Call("list_files", {"recursive": True}),
    Call("glob_file_search", {"glob_pattern": "**/*"}),
    Call("grep", {"pattern": "one"}),
    Call("read_file", {"path": "plain.txt"}),
    Call("edit_file", {"path": "plain.txt", "old_str": "one", "new_str": "two"}),
    Call("run_terminal_cmd", {"command": "echo three >> plain.txt; ls -a | head -5"}),
]
PATIENCE_S = 50  # less than the minute after which a search that waits is ended


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some folders are large; the time limit is there for hangs."""
    monkeypatch.setattr(harness, "PATIENCE_S", PATIENCE_S)


@pytest.fixture
def hostile(ground: Ground) -> Iterator[Ground]:
    """The ground; `rm` removes its workspace, since Python's own removal is limited in depth."""
    yield ground
    subprocess.call(["chmod", "-R", "u+rwx", str(ground.workspace)], stderr=subprocess.DEVNULL)
    subprocess.check_call(["rm", "-rf", str(ground.workspace)])


@pytest.mark.parametrize("fill", cases(FOLDERS, lambda fill: fill.__name__))
async def test_a_hostile_folder_is_worked_in(hostile: Ground, fill: Fill) -> None:
    outside = hostile.workspace.parent / "outside"
    outside.mkdir()
    hostile.write("plain.txt", "one\n")
    fill(hostile.workspace, outside)
    before = tree_of(outside)
    script = [[call] for call in CALLS]
    async with asyncio.timeout(PATIENCE_S), hostile.session([*script, [Say("done")]], approval="on_request") as s:
        assert (await s.prompt()).reason == "completed"
        finished = s.rx.all(ev.ToolCallFinished)
        assert len(finished) == len(CALLS)
        assert all(event.result.content for event in finished)
        read, edited = finished[3], finished[4]
        assert "one" in read.result.content
        assert not edited.result.is_error, edited.result.content
        assert hostile.read("plain.txt").startswith("two\n")
        assert "swordfish" not in str(s.provider.requests)
        await s.carry_out(ops.UndoChanges(selection=ChangeSelection(turn=1)), ev.ChangesUndone)
    assert hostile.read("plain.txt") == "one\n"
    assert tree_of(outside) == before
    assert not (hostile.workspace / "pwned").exists()


@pytest.mark.parametrize("fill", cases(FOLDERS, lambda fill: fill.__name__))
async def test_the_tree_of_a_hostile_folder_is_listed(hostile: Ground, fill: Fill) -> None:
    outside = hostile.workspace.parent / "outside"
    outside.mkdir()
    fill(hostile.workspace, outside)
    async with asyncio.timeout(PATIENCE_S):
        listing = await asyncio.to_thread(scan_directory, hostile.workspace)
        assert listing.problem == ""
        files, _ = await asyncio.to_thread(walk_files, hostile.workspace)
    assert not any(Path(file).is_absolute() for file in files)


async def test_thirty_folders_are_tried() -> None:
    assert len(FOLDERS) >= 30
