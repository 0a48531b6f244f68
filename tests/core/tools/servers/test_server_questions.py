"""Servers ask the user during calls, in whole turns. On real processes, in both eras."""

import json
import sys

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Aborted, Allowed, Answer, Decision, Denied, JsonObject
from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.store.unfinished import Unfinished
from tests.core.mcp.conftest import PROGRAM
from tests.core.tools.servers.conftest import with_servers
from tests.harness import Ground, Open

FORM: JsonObject = {
    "message": "Who are you?",
    "requestedSchema": {
        "type": "object",
        "properties": {"name": {"type": "string", "minLength": 2}, "age": {"type": "integer", "minimum": 0}},
        "required": ["name"],
    },
}
STATELESS = f'name = "stateless"\ncommand = "{sys.executable}"\nargs = ["{PROGRAM.with_name("stateless.py")}"]\n'


def asking(request: JsonObject) -> list[Reply]:
    return [[Call("program__ask", {"request": request})], [Say("ok")]]


async def begin(s: Open) -> ev.ApprovalRequested:
    await s.begin()
    return await s.rx.expect(ev.ApprovalRequested)


async def reply_to(s: Open, asked: ev.ApprovalRequested, decision: Decision) -> str:
    s.submit(ops.AnswerApproval(call_id=asked.request.call_id, decision=decision))
    return (await s.rx.expect(ev.ToolCallFinished)).result.content


async def test_a_form_is_asked_on_record_and_its_answers_reach_the_server(ground: Ground) -> None:
    answers: dict[str, Answer] = {"name": "Ada", "age": 36}

    async with ground.session(asking(FORM)) as s:
        asked = await begin(s)
        reply = await reply_to(s, asked, Allowed(answers=answers))
        await s.rx.expect(ev.TurnEnded)

    question = asked.request.question
    assert question is not None
    assert (question.server, question.message) == ("program", "Who are you?")
    assert [(field.name, field.kind, field.is_required) for field in question.fields] == [
        ("name", "text", True),
        ("age", "integer", False),
    ]
    assert '"action": "accept"' in reply
    assert '"content": {"name": "Ada", "age": 36}' in reply
    assert [event.decision for event in s.rx.all(ev.ApprovalResolved)][1] == Allowed(answers=answers)


async def test_hooks_are_told_that_a_server_asks(ground: Ground) -> None:
    path = ground.paths.config / "config.toml"
    hook = 'event = "Notification"\nmatcher = "elicitation_dialog"\ncommand = "cat > told.json"\n'
    path.write_text(f"{path.read_text()}\n[[hooks.definitions]]\n{hook}")
    ground.live = LiveSettings.load(path, {})
    async with ground.session(asking(FORM)) as s:
        asked = await begin(s)
        await s.rx.expect(ev.HookRan)
        await reply_to(s, asked, Denied())
        await s.rx.expect(ev.TurnEnded)
    assert json.loads(ground.read("told.json"))["message"] == asked.request.title


@pytest.mark.parametrize(
    ("decision", "action"),
    [(Denied(), "decline"), (Aborted(reason="x"), "cancel"), (Allowed(answers={"name": "A"}), "cancel")],
)
async def test_what_is_no_answer_is_not_sent_as_one(ground: Ground, decision: Decision, action: str) -> None:
    async with ground.session(asking(FORM)) as s:
        reply = await reply_to(s, await begin(s), decision)
        ended = await s.rx.expect(ev.TurnEnded)

    assert f'"action": "{action}"' in reply
    assert ended.reason == ("approval_required" if action == "cancel" else "completed")


async def test_stopping_the_turn_ends_the_question_before_the_call(ground: Ground) -> None:
    async with ground.session(asking(FORM)) as s:
        await begin(s)
        await s.carry_out(ops.Interrupt(), ev.TurnEnded)
        names = [event.type for event in s.rx.events if isinstance(event, ev.ApprovalResolved | ev.ToolCallFinished)]

    assert names == ["approval_resolved", "approval_resolved", "tool_call_finished"]


async def test_a_question_that_a_killed_process_left_is_over_and_its_call_does_not_run_again(ground: Ground) -> None:
    unfinished = Unfinished()

    async with ground.session(asking(FORM)) as s:
        await begin(s)
        for event in s.rx.recorded:
            unfinished.apply(event)

    assert unfinished.asked
    assert not unfinished.is_waiting


async def test_where_nobody_may_be_asked_the_server_gets_a_no(ground: Ground) -> None:
    async with ground.session(asking(FORM)) as s:
        first = await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        await s.carry_out(ops.SetMode(approval="never"), ev.ModeSet)
        reply = await reply_to(s, first, Allowed())
        await s.rx.expect(ev.TurnEnded)

    assert '"action": "decline"' in reply
    assert len(s.rx.all(ev.ApprovalRequested)) == 1


@pytest.mark.parametrize(
    "url",
    ["http://example.org/", "file:///etc/passwd", "https://user@example.org/", "https://exämple.org/", "javascript:1"],
)
async def test_an_address_that_must_not_be_opened_is_never_shown(ground: Ground, url: str) -> None:
    request: JsonObject = {"mode": "url", "message": "Go", "url": url, "elicitationId": "1"}

    async with ground.session(asking(request)) as s:
        await s.begin()
        reply = (await s.rx.expect(ev.ToolCallFinished)).result.content
        await s.rx.expect(ev.TurnEnded)

    assert '"action": "decline"' in reply


async def test_a_stateless_server_asks_several_things_within_one_call(ground: Ground) -> None:
    with_servers(ground, STATELESS)

    async with ground.session([[Call("stateless__book", {})], [Say("ok")]]) as s:
        first = await begin(s)
        answers: dict[str, Answer] = {"guests": 3}
        s.submit(ops.AnswerApproval(call_id=first.request.call_id, decision=Allowed(answers=answers)))
        second = await s.rx.expect(ev.ApprovalRequested)
        reply = await reply_to(s, second, Allowed())
        await s.rx.expect(ev.TurnEnded)

    asked = [request.question for request in (first.request, second.request)]
    assert {question.address for question in asked if question} == {"", "https://pay.example.org/cart?id=7"}
    assert reply.splitlines()[0] == "['accept None', \"accept {'guests': 3}\"] True"


async def test_a_server_that_only_asks_is_ended_in_words(ground: Ground) -> None:
    with_servers(ground, STATELESS)

    async with ground.session([[Call("stateless__nag", {})], [Say("ok")]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        for _ in range(11):
            await s.answer()
        reply = (await s.rx.expect(ev.ToolCallFinished)).result.content
        await s.rx.expect(ev.TurnEnded)

    assert "The server asked again and again instead of answering." in reply
