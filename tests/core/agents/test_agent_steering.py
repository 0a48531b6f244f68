"""A message into the turn of another program's agent: handed over if it takes one, else said between two calls."""

from typing import Any

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from tests.core.agents.scene import Scene, call, ended, said, texts
from tests.harness import Open

MESSAGE = "Rather in English."
STEER = "_session/steering"
WHOLE = {"type": "text", "text": MESSAGE}


def takes_messages(scene: Scene, **answer: Any) -> None:
    able: dict[str, Any] = {"protocolVersion": 1, "agentInfo": {"name": "scripted", "version": "1"}}
    able["_meta"] = {"steering": {"supported": True}}
    scene.script["answers"] = {"initialize": able, STEER: answer}


async def say_in_turn(opened: Open, after: str) -> None:
    """Send a prompt, and the message into its turn when the agent has said `after`."""
    opened.submit(ops.SubmitPrompt(text="go"))
    await opened.rx.expect(ev.TextDelta, lambda event: event.text == after)
    opened.submit(ops.Steer(text=MESSAGE))


def prompts(scene: Scene) -> list[list[str]]:
    return [[block["text"] for block in one["prompt"]] for one in scene.sent("session/prompt")]


async def test_an_agent_that_takes_messages_is_handed_it_while_it_works(scene: Scene) -> None:
    takes_messages(scene, outcome="injected")
    steps = [said("I begin."), {"await": STEER}, said("In English.")]
    async with scene.session(steps, [said("Again.")]) as opened:
        await say_in_turn(opened, "I begin.")
        end = await opened.rx.expect(ev.TurnEnded)
        assert (end.reason, texts(opened)) == ("completed", ["I begin.", "In English."])
        (steered,) = opened.rx.all(ev.Steered)
        assert (steered.turn, steered.text) == (1, MESSAGE)
        assert opened.session.transcript.turns.queued == []
        await opened.prompt("again")
    assert [one["prompt"] for one in scene.sent(STEER)] == [[WHOLE]]
    assert prompts(scene) == [["go"], ["again"]], "it is told once"
    assert not scene.sent("session/cancel")


@pytest.mark.parametrize(
    ("answer", "is_cancelled"),
    [
        ({"outcome": "promptRequired", "reason": "noRunningTurn"}, False),
        ({"outcome": "startedNewTurn"}, True),
        ({"code": -32603, "message": "Not now."}, False),
        ({"outcome": 7}, False),
    ],
    ids=["over", "another turn", "error", "nonsense"],
)
async def test_a_message_that_is_not_taken_is_the_next_prompt(
    scene: Scene, answer: dict[str, Any], is_cancelled: bool
) -> None:
    takes_messages(scene, **answer)
    ends: dict[str, Any] = {"hang": True} if is_cancelled else said("No.")
    steps = [said("I begin."), {"await": STEER}, ends]
    async with scene.session(steps, [said("In English.")]) as opened:
        await say_in_turn(opened, "I begin.")
        notice = await opened.rx.expect(ev.Notice)
        assert notice.title == "scripted does not take your message now. It waits for the end of the turn."
        await opened.rx.expect(ev.TurnEnded)
        assert (await opened.rx.expect(ev.TurnEnded)).turn == 2
        assert not opened.rx.all(ev.Steered)
        assert texts(opened)[-1] == "In English."
    assert prompts(scene) == [["go"], [MESSAGE]]
    assert bool(scene.sent("session/cancel")) is is_cancelled


async def test_another_agent_ends_its_call_is_stopped_and_goes_on_in_the_same_turn(scene: Scene) -> None:
    steps = [
        call("1", "edit", "Edit", status="in_progress", locations=[{"path": "a.txt"}]), said("I begin."),
        {"stream": "x" * 20, "piece": 1, "rate": 100}, {"write": ["a.txt", "made\n"]}, ended("1", "ok"), {"hang": True},
    ]  # fmt: skip
    async with scene.session(steps, [said("In English.")]) as opened:
        await say_in_turn(opened, "I begin.")
        end = await opened.rx.expect(ev.TurnEnded)
        assert (end.turn, end.reason) == (1, "completed")
        (finished,) = opened.rx.all(ev.ToolCallFinished)
        assert (finished.state, scene.ground.read("a.txt")) == ("completed", "made\n")
        assert [one.text for one in opened.rx.all(ev.Steered)] == [MESSAGE]
        (notice,) = opened.rx.all(ev.Notice)
        assert notice.title == "scripted was stopped to read your message, and goes on with it."
        assert texts(opened)[-1] == "In English."
    assert prompts(scene) == [["go"], [MESSAGE]]
    assert len(scene.sent("session/cancel")) == 1


async def test_the_prompt_is_said_again_with_the_message_if_the_agent_has_not_answered_it(scene: Scene) -> None:
    thinks = {"update": {"sessionUpdate": "usage_update", "used": 1, "size": 2}}
    async with scene.session([thinks, {"hang": True}], [said("In English.")]) as opened:
        opened.submit(ops.SubmitPrompt(text="go"))
        await opened.rx.expect(ev.ContextMeasured)
        opened.submit(ops.Steer(text=MESSAGE))
        await opened.rx.expect(ev.TurnEnded)
    assert prompts(scene) == [["go"], ["go", MESSAGE]]


async def test_a_message_that_is_taken_back_or_meets_a_stop_is_not_said(scene: Scene) -> None:
    steps = [call("1", "edit", "Edit", status="in_progress"), said("I begin."), {"hang": True}]
    async with scene.session(steps) as opened:
        await say_in_turn(opened, "I begin.")
        queued = await opened.rx.expect(ev.Queued)
        opened.submit(ops.Unqueue(prompt_id=queued.prompt_id))
        opened.submit(ops.Steer(text="Another."))
        await opened.rx.expect(ev.Queued)
        opened.submit(ops.Interrupt())
        assert (await opened.rx.expect(ev.TurnEnded)).reason == "interrupted"
        assert [one.text for one in opened.session.transcript.turns.queued] == ["Another."], "nothing is lost"
    assert prompts(scene) == [["go"]]


async def test_an_agent_that_does_not_stop_to_hear_is_ended_and_the_message_waits(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("desktop_agent.core.agents.connection.CANCEL_TIMEOUT_S", 0.2)
    async with scene.session([said("I begin."), {"hang": "for ever"}]) as opened:
        await say_in_turn(opened, "I begin.")
        assert (await opened.rx.expect(ev.TurnEnded)).reason == "provider_error"
        (notice,) = opened.rx.all(ev.Notice)
        assert "It did not stop when it was asked to." in notice.title
        assert [one.text for one in opened.session.transcript.turns.queued] == [MESSAGE]
