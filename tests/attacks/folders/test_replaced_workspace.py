"""A workspace that is moved away or replaced while a session has it open: nothing acts on what took its place."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, ChangeSelection, JsonObject, ModelRequest
from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.core.system.files import digest_of
from tests.attacks.corpus import cases
from tests.harness import Ground
from tests.trees import tree_of


def by_another_folder(workspace: Path) -> None:
    workspace.rename(workspace.with_name("moved"))
    workspace.mkdir()
    (workspace / "a.txt").write_text("one\n")


def by_a_link(workspace: Path) -> None:
    elsewhere = workspace.with_name("elsewhere")
    elsewhere.mkdir()
    (elsewhere / "a.txt").write_text("one\n")
    workspace.rename(workspace.with_name("moved"))
    workspace.symlink_to(elsewhere)


def by_a_copy(workspace: Path) -> None:
    """Deleted first, so that the file system may give the new folder the same inode."""
    shutil.rmtree(workspace)
    workspace.mkdir()
    (workspace / "a.txt").write_text("one\n")


def by_a_file(workspace: Path) -> None:
    workspace.rename(workspace.with_name("moved"))
    workspace.write_text("a file")


def by_nothing(workspace: Path) -> None:
    workspace.rename(workspace.with_name("moved"))


SWAPS: list[Callable[[Path], None]] = [by_another_folder, by_a_link, by_a_copy, by_a_file, by_nothing]
ACTS: dict[str, JsonObject] = {
    "edit_file": {"path": "a.txt", "old_str": "one", "new_str": "two"},
    "create_file": {"path": "new.txt", "content": "x"},
    "run_terminal_cmd": {"command": "echo x > made"},
    "delete_file": {"path": "a.txt"},
    "read_file": {"path": "a.txt"},
}
SWAPPED = [(swap, act) for swap in SWAPS for act in ACTS]


def name(case: tuple[Callable[[Path], None], str]) -> str:
    return f"{case[0].__name__}-{case[1]}"


def around(workspace: Path) -> dict[str, object]:
    """Everything beside the application's own folders."""
    own = {"config", "data", "cache", "logs"}
    return {path: node for path, node in tree_of(workspace.parent).items() if path.split("/")[0] not in own}


@pytest.mark.parametrize("case", cases(SWAPPED, name))
async def test_a_call_does_not_act_on_what_took_the_place_of_the_folder(
    ground: Ground, case: tuple[Callable[[Path], None], str]
) -> None:
    swap, act = case
    ground.write("a.txt", "one\n")
    seen: list[dict[str, object]] = []

    def script(request: ModelRequest) -> Reply:
        if len(request.messages) > 1:
            return [Say("done")]
        swap(ground.workspace)
        seen.append(around(ground.workspace))
        return [Call(act, ACTS[act])]

    async with ground.session(script, approval="on_request") as s:
        ended = await s.prompt()
        assert ended.reason == "workspace_error"
        assert s.rx.all(ev.ToolCallFinished)[0].result.is_error
        [told] = s.rx.all(ev.Notice)
        assert str(ground.workspace) in told.title
        assert told.hint
    assert around(ground.workspace) == seen[0]


@pytest.mark.parametrize("act", cases(["edit_file", "run_terminal_cmd"], str))
async def test_a_folder_that_is_replaced_while_a_question_waits_is_not_written(ground: Ground, act: str) -> None:
    ground.write("a.txt", "one\n")
    arguments: JsonObject = ACTS[act] if act == "edit_file" else {"command": "touch made"}
    async with ground.session([[Call(act, arguments)], [Say("done")]], sandbox="none") as s:
        s.submit(ops.SubmitPrompt(text="go"))
        asked = await s.rx.expect(ev.ApprovalRequested)
        by_another_folder(ground.workspace)
        before = around(ground.workspace)
        s.submit(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()))
        assert (await s.rx.expect(ev.TurnEnded)).reason == "fatal_tool_error"
        assert "moved" in s.rx.all(ev.ToolCallFinished)[0].result.content
    assert around(ground.workspace) == before


async def test_another_message_goes_on_in_the_new_folder_once_the_user_was_told(ground: Ground) -> None:
    ground.write("a.txt", "one\n")
    edit = [Call("edit_file", ACTS["edit_file"])]
    async with ground.session([edit, [Say("done")]], approval="on_request") as s:
        by_another_folder(ground.workspace)
        assert (await s.prompt()).reason == "workspace_error"
        assert ground.read("a.txt") == "one\n"
        assert (await s.prompt()).reason == "completed"
        assert ground.read("a.txt") == "two\n"
        assert (ground.workspace.with_name("moved") / "a.txt").read_text() == "one\n"


async def test_an_undo_and_what_the_user_types_leave_the_new_folder_alone(ground: Ground) -> None:
    ground.write("a.txt", "one\n")
    async with ground.session([[Call("edit_file", ACTS["edit_file"])], [Say("done")]], approval="on_request") as s:
        await s.prompt()
        ground.workspace.rename(ground.workspace.with_name("moved"))
        ground.write("a.txt", "two\n")
        before = around(ground.workspace)
        s.submit(ops.UndoChanges(selection=ChangeSelection(turn=1)))
        told = await s.rx.expect(ev.Notice)
        assert "moved" in told.title
        s.submit(ops.WriteFile(path="a.txt", expected=digest_of(b"two\n"), content=b"typed\n"))
        assert "moved" in (await s.rx.expect(ev.Notice)).title
        assert not s.rx.all(ev.ChangesUndone)
    assert around(ground.workspace) == before


async def test_a_command_that_replaces_its_folder_does_not_make_changes_of_all_files(ground: Ground) -> None:
    ground.write("a.txt", "one\n")
    swap = f"cd .. && mv '{ground.workspace}' moved && mkdir '{ground.workspace}'"
    call = Call("run_terminal_cmd", {"command": swap})
    async with ground.session([[call], [Say("done")]], sandbox="none") as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await s.answer()
        await s.rx.expect(ev.TurnEnded)
        recorded = s.rx.all(ev.ChangesRecorded)
        assert not any(event.changes for event in recorded)
        assert "moved" in str([event.uncaptured for event in recorded])
