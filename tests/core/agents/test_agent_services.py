"""What an agent has us do: files are read and written by our rules, and the user is asked its forms."""

from typing import Any

from desktop_agent.core.agents.peer import INVALID_PARAMS, NOT_FOUND
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, Denied
from tests.core.agents.scene import POEM, Scene, answers, call, ended, request

CHANGED = POEM.replace("line 2\n", "LINE 2\n")
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def reading(path: str, **more: Any) -> dict[str, Any]:
    return request("fs/read_text_file", path=path, **more)


def writing(content: str, path: str = "poem.txt") -> dict[str, Any]:
    return request("fs/write_text_file", path=path, content=content)


async def test_files_are_read_in_the_folder_only_and_no_secrets(scene: Scene) -> None:
    scene.ground.write("poem.txt", "one\r\ntwo\r\nthree")
    scene.ground.write(".env", "KEY=secret\n")
    asked = [reading("poem.txt"), reading("poem.txt", line=2, limit=1)]
    refused = [reading(".env"), reading("/etc/passwd"), reading("."), reading("none.txt"), reading("\0")]
    async with scene.session([*asked, *refused]) as opened:
        await opened.prompt("go")
        told = answers(opened)
        assert [one["content"] for one in told[:2]] == ["one\r\ntwo\r\nthree", "two\r\n"]
        assert [one["code"] for one in told[2:]] == [INVALID_PARAMS] * 3 + [NOT_FOUND, INVALID_PARAMS]


async def test_a_file_is_written_when_the_user_allows_it_and_undone(scene: Scene) -> None:
    scene.ground.write("poem.txt", POEM)
    async with scene.session([writing(CHANGED), writing("new\n", "new.txt")], approval="on_write") as opened:
        opened.submit(ops.SubmitPrompt(text="go"))
        asked = await opened.answer()
        assert [change.path for change in asked.request.changes] == ["poem.txt"]
        await opened.answer(Denied())
        await opened.rx.expect(ev.TurnEnded)
        first, second = answers(opened)
        assert (first, second["code"]) == ({}, INVALID_PARAMS)
        assert (scene.ground.read("poem.txt"), (scene.ground.workspace / "new.txt").exists()) == (CHANGED, False)
        await opened.undo()
        assert scene.ground.read("poem.txt") == POEM


async def test_what_the_agent_wrote_by_itself_before_is_counted_once(scene: Scene) -> None:
    scene.ground.write("poem.txt", POEM)
    steps = [
        call("1", "edit", status="in_progress", locations=[{"path": "poem.txt"}]), {"write": ["poem.txt", CHANGED]},
        writing(CHANGED), ended("1"),
    ]  # fmt: skip
    async with scene.session(steps) as opened:
        await opened.prompt("go")
        made = [change for event in opened.rx.all(ev.ChangesRecorded) for change in event.changes]
        assert {(change.path, change.author) for change in made} == {("poem.txt", "agent")}, "perhaps in several steps"
        assert [one.call.id for one in opened.rx.all(ev.ToolCallStarted)] == ["1"], "no call of ours writes it again"


async def test_a_call_that_was_allowed_writes_without_a_second_question_and_the_change_is_its_own(scene: Scene) -> None:
    scene.ground.write("poem.txt", POEM)
    asked = {"toolCallId": "1", "title": "Edit", "kind": "edit", "locations": [{"path": "poem.txt"}]}
    steps = [{"ask": asked}, writing(CHANGED), {"end": True}, ended("1")]
    async with scene.session(steps, approval="always") as opened:
        await opened.prompt("go", answers=1)
        (recorded,) = [event for event in opened.rx.all(ev.ChangesRecorded) if event.changes]
        assert (recorded.call_id, scene.ground.read("poem.txt")) == ("1", CHANGED)
        assert len(opened.rx.all(ev.ApprovalRequested)) == 1


async def test_a_file_that_changed_since_the_agent_read_it_is_not_written(scene: Scene) -> None:
    scene.ground.write("poem.txt", POEM)
    steps = [reading("poem.txt"), {"run": "echo more >> poem.txt"}, writing(CHANGED)]
    async with scene.session(steps, approval="never") as opened:
        await opened.prompt("go")
        assert answers(opened)[-1]["code"] == INVALID_PARAMS
        assert scene.ground.read("poem.txt") == f"{POEM}more\n"


async def test_a_form_and_a_page_are_questions_to_the_user(scene: Scene) -> None:
    form = request("elicitation/create", mode="form", message="Who are you?", requestedSchema=FORM)
    page = request("elicitation/create", mode="url", message="Sign in", url="https://a.example/x", elicitationId="1")
    bad = request("elicitation/create", mode="url", message="Sign in", url="javascript:1", elicitationId="2")
    async with scene.session([form, form, page, bad]) as opened:
        opened.submit(ops.SubmitPrompt(text="go"))
        asked = await opened.answer(Allowed(answers={"name": "Ada"}))
        assert asked.request.question is not None
        assert (asked.request.question.server, asked.request.question.message) == ("scripted", "Who are you?")
        await opened.answer(Denied())
        await opened.answer()
        await opened.rx.expect(ev.TurnEnded)
        *told, refused = answers(opened)
        assert told == [
            {"action": "accept", "content": {"name": "Ada"}}, {"action": "decline"}, {"action": "accept"}
        ]  # fmt: skip
        assert refused["code"] == INVALID_PARAMS


async def test_a_question_is_cancelled_with_its_turn(scene: Scene) -> None:
    form = request("elicitation/create", mode="form", message="Who are you?", requestedSchema=FORM)
    async with scene.session([form]) as opened:
        opened.submit(ops.SubmitPrompt(text="go"))
        await opened.rx.expect(ev.ApprovalRequested)
        opened.submit(ops.Interrupt())
        assert (await opened.rx.expect(ev.TurnEnded)).reason == "interrupted"
        started, finished = opened.rx.all(ev.ToolCallStarted), opened.rx.all(ev.ToolCallFinished)
        assert [one.call.id for one in started] == [one.call_id for one in finished]
