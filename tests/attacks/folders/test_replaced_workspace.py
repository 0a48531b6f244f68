"""A session never acts on what replaced its workspace, neither open nor reopened."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from desktop_agent.composition.session_context import SessionOptions
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, ChangeSelection, JsonObject, ModelRequest
from desktop_agent.core.providers.scripted import Call, Reply, Say, ScriptedProvider, in_order
from desktop_agent.core.system.files import digest_of
from desktop_agent.headless.runner import HeadlessRun, RunOptions
from tests.attacks.corpus import cases
from tests.harness import MODEL, Ground
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
    shutil.rmtree(workspace)
    workspace.mkdir()
    (workspace / "a.txt").write_text("one\n")


def by_a_link_to_itself(workspace: Path) -> None:
    workspace.rename(workspace.with_name("moved"))
    workspace.symlink_to(workspace)


def by_a_file(workspace: Path) -> None:
    workspace.rename(workspace.with_name("moved"))
    workspace.write_text("a file")


def by_nothing(workspace: Path) -> None:
    workspace.rename(workspace.with_name("moved"))


SWAPS: list[Callable[[Path], None]] = [
    by_another_folder,
    by_a_link,
    by_a_link_to_itself,
    by_a_copy,
    by_a_file,
    by_nothing,
]
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
        asked = await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
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
        told = await s.carry_out(ops.UndoChanges(selection=ChangeSelection(turn=1)), ev.Notice)
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
        await s.turn()
        recorded = s.rx.all(ev.ChangesRecorded)
        assert not any(event.changes for event in recorded)
        assert "moved" in str([event.uncaptured for event in recorded])


# -- a session that is opened again --


async def edited_and_closed(ground: Ground) -> SessionId:
    ground.write("a.txt", "one\n")
    async with ground.session([[Call("edit_file", ACTS["edit_file"])], [Say("done")]], approval="on_request") as s:
        await s.prompt()
        return s.id


@pytest.mark.parametrize("swap", SWAPS)
async def test_an_undo_in_a_later_process_leaves_what_took_the_place_of_the_folder_alone(
    ground: Ground, swap: Callable[[Path], None]
) -> None:
    session_id = await edited_and_closed(ground)
    swap(ground.workspace)
    if ground.workspace.is_dir():
        ground.write("a.txt", "two\n")  # exactly what an undo would look for
    before = around(ground.workspace)
    for op in (
        ops.UndoChanges(selection=ChangeSelection()),
        ops.RedoChanges(selection=ChangeSelection()),
        ops.RedoSteps(),
        ops.WriteFile(path="a.txt", expected=digest_of(b"two\n"), content=b"typed\n"),
        ops.MoveFile(path="a.txt", to="b.txt", expected=digest_of(b"two\n")),
    ):
        async with ground.session([], resume=session_id) as s:
            told = await s.carry_out(op, ev.Notice)
            assert str(ground.workspace) in told.title
            assert told.hint
    assert around(ground.workspace) == before


async def test_a_folder_that_is_put_back_is_the_one_that_was_meant(ground: Ground) -> None:
    session_id = await edited_and_closed(ground)
    moved = ground.workspace.with_name("moved")
    by_another_folder(ground.workspace)
    shutil.rmtree(ground.workspace)
    moved.rename(ground.workspace)
    async with ground.session([], resume=session_id) as s:
        await s.carry_out(ops.UndoChanges(selection=ChangeSelection()), ev.ChangesUndone)
    assert ground.read("a.txt") == "one\n"


async def test_a_folder_that_the_user_accepted_is_the_one_that_is_meant_from_then_on(ground: Ground) -> None:
    session_id = await edited_and_closed(ground)
    shutil.copytree(ground.workspace, ground.workspace.with_name("backup"))
    shutil.rmtree(ground.workspace)
    ground.workspace.with_name("backup").rename(ground.workspace)
    options = SessionOptions(accepts_folder=True)
    for op, content in ((ops.UndoChanges(selection=ChangeSelection()), "one\n"), (ops.RedoSteps(), "two\n")):
        opened = await ground.bench(ScriptedProvider(in_order([]))).opener.open(session_id, lambda _: None, options)
        opened.session.submit(op)
        opened.session.submit(ops.Shutdown(when_idle=True))
        await opened.session.run()
        assert ground.read("a.txt") == content
        options = SessionOptions()


async def test_a_message_after_the_refusal_goes_on_in_the_folder_that_is_there(ground: Ground) -> None:
    session_id = await edited_and_closed(ground)
    by_a_copy(ground.workspace)
    create = [Call("create_file", ACTS["create_file"])]
    async with ground.session([create, [Say("done")]], resume=session_id) as s:
        assert (await s.prompt()).reason == "workspace_error"
        assert not (ground.workspace / "new.txt").exists()
        assert (await s.prompt()).reason == "completed"
        assert ground.read("new.txt") == "x"
    async with ground.session([], resume=session_id) as s:
        await s.carry_out(ops.UndoChanges(selection=ChangeSelection(turn=3)), ev.ChangesUndone)
    assert not (ground.workspace / "new.txt").exists()


async def test_a_killed_undo_is_concluded_when_its_folder_is_back_and_not_in_another_one(ground: Ground) -> None:
    session_id = await edited_and_closed(ground)
    async with ground.session([], resume=session_id) as s:
        await s.carry_out(ops.UndoChanges(selection=ChangeSelection()), ev.ChangesUndone)
    journal = ground.paths.sessions / session_id / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))  # the files were written, but not the record
    assert b"changes_prepared" in lines[-2]
    moved = ground.workspace.with_name("moved")
    by_another_folder(ground.workspace)
    left_over = ground.write(".desktop-agent-1234.tmp", "another's")
    before = around(ground.workspace)
    async with ground.session([], resume=session_id) as s:
        await s.carry_out(ops.UndoChanges(selection=ChangeSelection()), ev.Notice)
        assert not s.rx.all(ev.ChangesUndone)
    assert around(ground.workspace) == before
    left_over.unlink()
    shutil.rmtree(ground.workspace)
    moved.rename(ground.workspace)
    async with ground.session([], resume=session_id) as s:
        concluded = await s.rx.expect(ev.ChangesUndone)
        assert [outcome.path for outcome in concluded.outcomes] == ["a.txt"]
        await s.carry_out(ops.RedoSteps(), ev.ChangesRedone)
    assert ground.read("a.txt") == "two\n"


async def test_a_session_of_an_earlier_version_learns_its_folder_with_the_next_message(ground: Ground) -> None:
    session_id = await edited_and_closed(ground)
    journal = ground.paths.sessions / session_id / "journal.jsonl"
    opening, *rest = journal.read_bytes().splitlines(keepends=True)
    fields = {key: value for key, value in json.loads(opening).items() if key != "folder"}
    journal.write_bytes(b"".join([json.dumps(fields).encode() + b"\n", *rest]))
    async with ground.session([[Say("yes")]], resume=session_id) as s:
        await s.prompt("still there?")
    by_a_copy(ground.workspace)
    async with ground.session([], resume=session_id) as s:
        assert (await s.carry_out(ops.UndoChanges(selection=ChangeSelection()), ev.Notice)).code == "not_undone"
    assert ground.read("a.txt") == "one\n"


async def test_a_run_that_takes_its_changes_back_ends_when_the_folder_is_gone_by_then(ground: Ground) -> None:
    ground.write("a.txt", "one\n")

    def script(request: ModelRequest) -> Reply:
        if len(request.messages) > 1:
            by_another_folder(ground.workspace)
            return [Say("done")]
        return [Call("edit_file", ACTS["edit_file"])]

    options = RunOptions(
        prompts=("go",),
        workspace=ground.workspace,
        session=SessionOptions(model=MODEL, approval="on_request"),
        undo_last_turn=True,
    )
    ended = await HeadlessRun(ground.bench(ScriptedProvider(script)), options).run()
    assert ended.undo_operations == ()
    assert any("moved away" in problem for problem in ended.problems)
    assert ground.read("a.txt") == "one\n"
    assert (ground.workspace.with_name("moved") / "a.txt").read_text() == "two\n"


async def test_a_link_in_the_place_of_the_folder_is_never_accepted_and_it_is_said_what_to_do(ground: Ground) -> None:
    """The folder was moved to another disk and replaced by a link: no message makes the conversation follow it."""
    ground.write("a.txt", "one\n")
    script: list[Reply] = [[Call("read_file", {"path": "a.txt"})], [Say("read")]]
    async with ground.session(script, approval="on_request") as s:
        elsewhere = ground.workspace.with_name("elsewhere")
        ground.workspace.rename(elsewhere)
        ground.workspace.symlink_to(elsewhere)
        for _ in range(2):
            assert (await s.prompt()).reason == "workspace_error"
            told = s.rx.all(ev.Notice)[-1]
            assert told.title == f"A link to {elsewhere} has taken the place of the folder {ground.workspace}."
            assert "start a new conversation" in told.hint
            assert "message" not in told.hint
        ground.workspace.unlink()
        elsewhere.rename(ground.workspace)
        assert (await s.prompt()).reason == "completed"
