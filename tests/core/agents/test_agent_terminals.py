"""Commands that an agent has us run: judged, confined as it is, shown, captured, limited, and ended completely."""

import json
import shutil
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import psutil
import pytest

from desktop_agent.core.agents.peer import INVALID_PARAMS, INVALID_REQUEST, NOT_FOUND
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, Denied, ModelRef
from desktop_agent.core.session.agent_services import MOST_OPEN
from desktop_agent.core.settings.live_settings import LiveSettings
from tests.core.agents.scene import PROGRAM, Scene, answers, call, ended, request, said
from tests.core.stubborn import is_alive
from tests.harness import Open

FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
UNTIL_ANSWERED = request("elicitation/create", mode="form", message="Go on?", requestedSchema=FORM)
RUNNING = {"toolCallId": "1", "title": "A command", "kind": "execute"}


def create(command: str, *args: str, **more: Any) -> dict[str, Any]:
    return request("terminal/create", command=command, args=list(args), **more)


def of_terminal(*methods: str) -> list[dict[str, Any]]:
    return [request(f"terminal/{method}", terminalId="TERMINAL") for method in methods]


def embedded(number: str, status: str = "in_progress") -> dict[str, Any]:
    shown = {"toolCallId": number, "status": status, "content": [{"type": "terminal", "terminalId": "TERMINAL"}]}
    return {"update": {"sessionUpdate": "tool_call_update", **shown}}


@asynccontextmanager
async def allowing(scene: Scene, *prompts: list[dict[str, Any]]) -> AsyncGenerator[Open]:
    """Open a session in which the user allows every command."""
    async with scene.session(*prompts) as opened:

        def allow(event: ev.Event) -> None:
            if isinstance(event, ev.ApprovalRequested) and event.request.command is not None:
                opened.submit(ops.AnswerApproval(call_id=event.request.call_id, decision=Allowed()))

        opened.rx.at_once = allow
        yield opened


async def go_on(opened: Open) -> None:
    while not (asked := [one for one in opened.session.transcript.pending_approvals if one.question is not None]):
        await opened.rx.expect(ev.ApprovalRequested)
    opened.submit(ops.AnswerApproval(call_id=asked[0].call_id, decision=Allowed()))


def result_of(opened: Open) -> tuple[str, dict[str, Any], str]:
    """Return the only call's id, its answer, and what was printed live."""
    (started,), (finished,) = opened.rx.all(ev.ToolCallStarted), opened.rx.all(ev.ToolCallFinished)
    assert started.call.id == finished.call_id
    printed = "".join(one.text for one in opened.rx.all(ev.ToolOutputDelta) if one.call_id == finished.call_id)
    return finished.call_id, json.loads(finished.result.content), printed


async def test_a_command_that_nobody_allowed_is_asked_about_shown_captured_and_undone(scene: Scene) -> None:
    steps = [create("echo made > a.txt; echo ran; exit 3"), *of_terminal("wait_for_exit", "output", "release")]
    async with scene.session(steps, approval="on_write") as opened:
        opened.submit(ops.SubmitPrompt(text="go"))
        asked = (await opened.answer()).request
        assert (asked.command, asked.is_fixed) == ("echo made > a.txt; echo ran; exit 3", True)
        await opened.rx.expect(ev.TurnEnded)
        created, *told = answers(opened)
        assert created.keys() == {"terminalId"}
        assert told == [{"exitCode": 3}, {"output": "ran\n", "truncated": False, "exitStatus": {"exitCode": 3}}, {}]
        number, answer, printed = result_of(opened)
        assert (answer["output"], answer["metadata"]["exit_code"], printed) == ("ran\n", 3, "ran\n")
        (recorded,) = (event for event in opened.rx.all(ev.ChangesRecorded) if event.changes)
        assert (recorded.call_id, recorded.changes[0].author) == (number, "agent")
        await opened.undo()
        assert not (scene.ground.workspace / "a.txt").exists()


async def test_the_command_of_a_call_that_was_allowed_is_the_work_of_that_call(scene: Scene) -> None:
    asked = RUNNING | {"rawInput": {"command": "echo made > a.txt; echo ran"}}
    steps = [
        {"ask": asked}, create("bash", "-c", "echo made > a.txt; echo ran"), embedded("1"),
        *of_terminal("wait_for_exit", "output", "release"), ended("1", "ran"), {"end": True},
    ]  # fmt: skip
    async with scene.session(steps, approval="on_write") as opened:
        await opened.prompt("go", answers=1)
        number, answer, printed = result_of(opened)
        assert (number, answer["output"], printed) == ("1", "ran\n", "ran\n")
        assert len(opened.rx.all(ev.ApprovalRequested)) == 1
        (recorded,) = (event for event in opened.rx.all(ev.ChangesRecorded) if event.changes)
        assert recorded.call_id == "1"


async def test_a_call_that_is_told_after_its_terminal_is_shown_once(scene: Scene) -> None:
    later = call("1", "execute", "Run it", content=[{"type": "terminal", "terminalId": "TERMINAL"}])
    steps = [create("echo ran"), later, *of_terminal("wait_for_exit", "release"), ended("1", "ran"), said("Done.")]
    async with allowing(scene, steps) as opened:
        await opened.prompt("go")
        number, answer, _ = result_of(opened)
        assert (number != "1", answer["output"]) == (True, "ran\n")


async def test_another_command_than_the_allowed_one_and_other_variables_are_asked_about(scene: Scene) -> None:
    asked = RUNNING | {"rawInput": {"command": "echo ran"}}
    variables = [{"name": "LANG", "value": "C"}]
    steps = [{"ask": asked}, create("echo owned"), create("echo ran", env=variables), {"end": True}]
    async with scene.session(steps, approval="on_write") as opened:
        opened.submit(ops.SubmitPrompt(text="go"))
        await opened.answer()
        assert (await opened.answer(Denied())).request.command == "echo owned"
        question = (await opened.answer(Denied())).request
        assert (question.command, question.details) == ("echo ran", ("Variables: LANG=C",))
        await opened.rx.expect(ev.TurnEnded)
        assert [one["code"] for one in answers(opened)] == [INVALID_PARAMS] * 2
        assert not opened.rx.all(ev.ToolOutputDelta)


@pytest.mark.parametrize("method", ["kill", "release"])
async def test_a_command_is_ended_with_all_that_it_started(scene: Scene, method: str) -> None:
    steps = [
        create("sleep 1000 & setsid sleep 1000 & echo $$; wait"), UNTIL_ANSWERED, *of_terminal(method, method),
        *of_terminal("output", "release", "output", "wait_for_exit", "kill"),
    ]  # fmt: skip
    async with allowing(scene, steps) as opened:
        opened.submit(ops.SubmitPrompt(text="go"))
        shown = await opened.rx.expect(ev.ToolOutputDelta)
        left = psutil.Process(int(shown.text)).children(recursive=True)
        assert len(left) == 2
        await go_on(opened)
        await opened.rx.expect(ev.TurnEnded)
        assert not any(is_alive(one.pid) for one in left)
        _, _, first, second, *told = answers(opened)
        gone = [one.get("code") for one in told]
        if method == "kill":
            assert (first, second, told[0]["exitStatus"]["exitCode"] > 128) == ({}, {}, True)
            assert gone == [None, None, *[NOT_FOUND] * 3]
        else:
            assert (first, second["code"], gone) == ({}, NOT_FOUND, [NOT_FOUND] * 5)


@pytest.mark.parametrize(
    ("printed", "limit", "output", "is_cut"),
    [("aäö", 3, "ö", True), ("aäö", 4, "äö", True), ("aäö", 5, "aäö", False), ("aäö", 0, "", True), ("", 0, "", False)],
)
async def test_output_is_cut_at_its_beginning_between_two_characters(
    scene: Scene, printed: str, limit: int, output: str, is_cut: bool
) -> None:
    steps = [create(f"printf %s {printed}", outputByteLimit=limit), *of_terminal("wait_for_exit", "output")]
    async with allowing(scene, steps) as opened:
        await opened.prompt("go")
        told = answers(opened)[-1]
        assert (told["output"], told["truncated"]) == (output, is_cut)


async def test_of_a_flood_the_end_is_told_and_the_whole_is_kept(scene: Scene) -> None:
    steps = [create("seq 1000000"), *of_terminal("wait_for_exit", "output")]
    async with allowing(scene, steps) as opened:
        await opened.prompt("go")
        told = answers(opened)[-1]
        assert told["truncated"]
        assert told["output"].endswith("\n999999\n1000000\n")
        (finished,) = opened.rx.all(ev.ToolCallFinished)
        assert finished.result.output is not None
        assert finished.result.output.size == sum(len(f"{number}\n") for number in range(1, 1_000_001))


@pytest.mark.parametrize("is_stopped", [False, True], ids=["end", "stop"])
async def test_what_still_runs_ends_with_the_turn(scene: Scene, is_stopped: bool) -> None:
    steps = [call("1", "execute", "Serve", rawInput={"command": "echo $$; sleep 1000"}), create("echo $$; sleep 1000")]
    steps += of_terminal("wait_for_exit") if is_stopped else [embedded("1", "completed"), UNTIL_ANSWERED]
    async with allowing(scene, steps, [said("Again.")]) as opened:
        opened.submit(ops.SubmitPrompt(text="go"))
        shown = await opened.rx.expect(ev.ToolOutputDelta)
        running = psutil.Process(int(shown.text))
        if is_stopped:
            opened.submit(ops.Interrupt())
        else:
            await go_on(opened)
        end = await opened.rx.expect(ev.TurnEnded)
        assert (end.reason, running.is_running()) == ("interrupted" if is_stopped else "completed", False)
        (finished,) = (one for one in opened.rx.all(ev.ToolCallFinished) if one.call_id == "1")
        assert finished.result.metadata["exit_code"] in (143, 137)
        assert (await opened.prompt("again")).reason == "completed"


async def test_a_storm_of_terminals_is_refused_in_words(scene: Scene) -> None:
    steps = [*[create("true")] * (MOST_OPEN + 2), *of_terminal("release"), create("true")]
    async with allowing(scene, steps) as opened:
        await opened.prompt("go")
        told = answers(opened)
        assert [one.get("code") for one in told[MOST_OPEN:]] == [INVALID_REQUEST] * 2 + [None, None]
        assert told[MOST_OPEN]["message"] == "32 terminals are open. Release one first."
        started = {event.call.id for event in opened.rx.all(ev.ToolCallStarted)}
        assert {event.call_id for event in opened.rx.all(ev.ToolCallFinished)} == started


async def test_what_cannot_be_run_is_refused_in_words_and_asked_of_nobody(scene: Scene) -> None:
    refused = [
        create("ls", cwd="/"), create("ls", cwd=f"{scene.ground.workspace}/none"), create("a\0b"), create(" "),
        create("ls", env=[{"name": "BASH_ENV", "value": "x"}]), create("ls", env=[{"name": "A=B", "value": "x"}]),
        create("vim"), *of_terminal("output"),
    ]  # fmt: skip
    async with scene.session(refused, approval="always") as opened:
        await opened.prompt("go")
        assert {one["code"] for one in answers(opened)} == {INVALID_PARAMS, NOT_FOUND}
        assert not opened.rx.all(ev.ToolCallStarted)


async def test_a_command_has_the_variables_of_the_agent(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"sk-proj-{'a1B2' * 12}")
    monkeypatch.setenv("COLOUR", "green")
    steps = [create("echo $COLOUR $KIND ${OPENAI_API_KEY-none}", env=[{"name": "KIND", "value": "dark"}])]
    async with allowing(scene, [*steps, *of_terminal("wait_for_exit", "output")]) as opened:
        await opened.prompt("go")
        assert answers(opened)[-1]["output"] == "green dark none\n"


async def test_a_command_is_in_the_sandbox_of_its_agent(scene: Scene) -> None:
    """The agent and what it reads are in the folder, because it sees nothing else of the user's."""
    folder = scene.ground.workspace
    shutil.copy(PROGRAM, folder / "agent.py")
    line = f"echo made > a.txt; echo owned > {scene.folder}/owned.txt; cat .env"
    steps = [create(line), *of_terminal("wait_for_exit", "output", "release")]
    scene.ground.write("script.json", json.dumps({"prompts": [steps]}))
    scene.ground.write(".env", "KEY=secret\n")
    settings = scene.folder / "config.toml"
    words = json.dumps([str(folder / "agent.py"), str(folder / "script.json")])
    settings.write_text(
        f'[[agents]]\nname = "walled"\ncommand = {json.dumps(sys.executable)}\nargs = {words}\nsandbox = "restricted"\n'
    )
    scene.ground.live = LiveSettings.load(settings, {})
    model = ModelRef(provider="acp", model="walled")
    async with scene.ground.session([], model=model, approval="on_request") as opened:
        await opened.prompt("go", answers=1)
        exit_status, output, _ = answers(opened)[1:]
        assert exit_status["exitCode"] == 1
        assert output["output"] == "cat: .env: Permission denied\n"
        assert (scene.ground.read("a.txt"), (scene.folder / "owned.txt").exists()) == ("made\n", False)
