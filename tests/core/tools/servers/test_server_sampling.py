"""Servers ask the model during calls, in whole turns. On a real process."""

import json

import pytest

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.mcp.sdk.asked_back import LONGEST_TEXT, MOST_MESSAGES, MOST_TOKENS
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import (
    Aborted,
    Allowed,
    Decision,
    Denied,
    JsonObject,
    SampledText,
    SamplingQuestion,
)
from desktop_agent.core.providers.scripted import Call, Cost, Fail, Hang, Reply, Say
from desktop_agent.core.session.aside_requests import MOST_IN_A_CALL, SAMPLING
from desktop_agent.core.session.spending import TurnLimits
from tests.core.tools.servers.conftest import with_servers
from tests.core.tools.servers.test_server_questions import STATELESS
from tests.harness import Ground, ImpatientClock, Open, check_conversation

HELLO: JsonObject = {"role": "user", "content": {"type": "text", "text": "Name a colour."}}
COLOUR: JsonObject = {"messages": [HELLO], "systemPrompt": "Be brief.", "maxTokens": 50}


def sampling(request: JsonObject, *answers: Reply, times: int = 1) -> list[Reply]:
    return [[Call("program__sample", {"request": request, "times": times})], *answers, [Say("ok")]]


async def begin(s: Open) -> SamplingQuestion:
    await s.begin()
    asked = await s.rx.expect(ev.ApprovalRequested)
    assert asked.request.question is not None
    assert asked.request.question.sampling is not None
    return asked.request.question.sampling


async def reply_to(s: Open, decision: Decision) -> str:
    asked = s.rx.all(ev.ApprovalRequested)[-1]
    s.submit(ops.AnswerApproval(call_id=asked.request.call_id, decision=decision))
    return await end(s)


async def end(s: Open) -> str:
    result = (await s.rx.expect(ev.ToolCallFinished)).result.content
    await s.rx.expect(ev.TurnEnded)
    return result


async def refused(ground: Ground, request: JsonObject) -> str:
    """Return the error message that the server gets when the user is not asked."""
    async with ground.session(sampling(request)) as s:
        await s.begin()
        reply = await end(s)
        assert len(s.rx.all(ev.ApprovalRequested)) == 1
    return str(json.loads(reply)["message"])


async def test_the_user_sees_all_that_is_asked_and_the_server_gets_the_answer(ground: Ground) -> None:
    async with ground.session(sampling(COLOUR, [Say("Red."), Cost(0.25)])) as s:
        question = await begin(s)
        reply = json.loads(await reply_to(s, Allowed()))
        sent, last = s.provider.requests[1:]
        recorded = s.rx.recorded

    texts = (SampledText(role="system", text="Be brief."), SampledText(role="user", text="Name a colour."))
    assert question == SamplingQuestion(texts=texts, max_tokens=50, model="scripted")
    assert (sent.system, sent.max_tokens, sent.tools, len(sent.messages)) == ("Be brief.", 50, (), 1)
    assert reply == {
        "role": "assistant",
        "content": {"type": "text", "text": "Red."},
        "model": "scripted",
        "stopReason": "endTurn",
    }
    check_conversation(last)
    assert len(last.messages) == 3  # the prompt, the call and its result: what the server asked is beside them
    kinds = [event.type for event in recorded]
    notice = next(event for event in recorded if isinstance(event, ev.Notice) and event.code == SAMPLING)
    usage = next(event for event in recorded if isinstance(event, ev.UsageReported) and event.is_aside)
    assert "Name a colour." in notice.detail
    assert notice.detail.endswith("Answer: Red.")
    assert (usage.usage.cost_usd, usage.turn) == (0.25, 1)
    assert recorded.index(usage) < recorded.index(notice) < kinds.index("tool_call_finished")


@pytest.mark.parametrize("decision", [Denied(), Aborted(reason="x")])
async def test_without_a_yes_the_model_is_not_asked_and_the_server_gets_the_error_of_a_no(
    ground: Ground, decision: Decision
) -> None:
    async with ground.session(sampling(COLOUR)) as s:
        await begin(s)
        reply = json.loads(await reply_to(s, decision))
        reason = s.rx.all(ev.TurnEnded)[-1].reason

    assert reply["code"] == -1
    assert reason == ("approval_required" if isinstance(decision, Aborted) else "completed")
    assert not [notice for notice in s.rx.all(ev.Notice) if notice.code == SAMPLING]


async def test_a_yes_for_the_session_asks_no_more_and_every_answer_is_on_record(ground: Ground) -> None:
    async with ground.session(sampling(COLOUR, [Say("Red.")], [Say("Blue.")], times=2)) as s:
        await begin(s)
        reply = await reply_to(s, Allowed(scope="session"))

    assert "Blue." in reply
    assert len(s.rx.all(ev.ApprovalRequested)) == 2
    assert [notice.code for notice in s.rx.all(ev.Notice)].count(SAMPLING) == 2


async def test_a_yes_once_is_asked_about_again(ground: Ground) -> None:
    async with ground.session(sampling(COLOUR, [Say("Red.")], times=2)) as s:
        await begin(s)
        s.submit(ops.AnswerApproval(call_id=s.rx.all(ev.ApprovalRequested)[-1].request.call_id, decision=Allowed()))
        await s.rx.expect(ev.ApprovalRequested)
        assert '"code": -1' in await reply_to(s, Denied())


async def test_where_nobody_may_be_asked_the_server_gets_a_no_also_after_a_yes_for_the_session(ground: Ground) -> None:
    script = [*sampling(COLOUR, [Say("Red.")]), *sampling(COLOUR)]
    async with ground.session(script) as s:
        await begin(s)
        await reply_to(s, Allowed(scope="session"))
        again = await s.carry_out(ops.SubmitPrompt(text="again"), ev.ApprovalRequested)
        await s.carry_out(ops.SetMode(approval="never"), ev.ModeSet)
        s.submit(ops.AnswerApproval(call_id=again.request.call_id, decision=Allowed()))
        reply = json.loads(await end(s))

    assert reply == {"code": -1, "message": "The user's settings let no server ask the model."}


async def test_one_call_may_ask_the_model_only_so_often(ground: Ground) -> None:
    answers: list[Reply] = [[Say("Red.")]] * MOST_IN_A_CALL
    async with ground.session(sampling(COLOUR, *answers, times=MOST_IN_A_CALL + 1)) as s:
        await begin(s)
        reply = await reply_to(s, Allowed(scope="session"))

    assert f"asked {MOST_IN_A_CALL} times in this call" in reply


async def test_stopping_the_turn_stops_the_models_answer(ground: Ground) -> None:
    async with ground.session(sampling(COLOUR, [Hang()])) as s:
        await begin(s)
        s.submit(ops.AnswerApproval(call_id=s.rx.all(ev.ApprovalRequested)[-1].request.call_id, decision=Allowed()))
        await s.rx.expect(ev.ApprovalResolved)
        ended = await s.carry_out(ops.Interrupt(), ev.TurnEnded)

    assert ended.reason == "interrupted"


async def test_what_passes_by_itself_is_tried_again_and_what_does_not_is_said_to_the_server(ground: Ground) -> None:
    ground.clock = ImpatientClock()
    busy, broken = ProviderError("Busy.", fault="overloaded"), ProviderError("No key.", fault="authentication")
    async with ground.session(sampling(COLOUR, [Fail(busy)], [Say("Red.")], [Fail(broken)], times=2)) as s:
        await begin(s)
        reply = await reply_to(s, Allowed(scope="session"))
        requests = len(s.provider.requests)

    assert "The model could not be asked: No key." in reply
    assert requests == 5


async def test_a_limit_of_costs_holds_for_what_servers_ask(ground: Ground) -> None:
    limits = TurnLimits(max_cost_usd=0.1)
    async with ground.session(sampling(COLOUR, [Say("Red."), Cost(0.25)], times=2), limits=limits) as s:
        await begin(s)
        reply = await reply_to(s, Allowed(scope="session"))
        reason = s.rx.all(ev.TurnEnded)[-1].reason

    assert "has reached its spending limit" in reply
    assert reason == "limit"


async def test_what_the_server_wants_besides_is_named_and_not_given(ground: Ground) -> None:
    request = COLOUR | {"includeContext": "allServers", "maxTokens": 10**6, "temperature": 1.0}
    async with ground.session(sampling(request, [Say("Red.")])) as s:
        question = await begin(s)
        await reply_to(s, Allowed())

    assert question.max_tokens == MOST_TOKENS
    assert [note.partition(",")[0] for note in question.notes] == [
        "It asks for the conversation as well",
        "It wants up to 1",
        "It sets a temperature or stop sequences",
    ]


async def test_what_hides_in_the_servers_text_is_named_to_the_user(ground: Ground) -> None:
    hiding: JsonObject = {"role": "user", "content": {"type": "text", "text": "a\u202eb"}}
    async with ground.session(sampling({"messages": [hiding], "maxTokens": 5}, [Say("x\u202e")])) as s:
        question = await begin(s)
        await reply_to(s, Allowed())

    assert question.texts[0].text == "a⟨U+202E⟩b"
    assert "Answer: x⟨U+202E⟩" in next(n.detail for n in s.rx.all(ev.Notice) if n.code == SAMPLING)


async def test_a_stateless_server_asks_within_its_answer(ground: Ground) -> None:
    with_servers(ground, STATELESS)

    async with ground.session([[Call("stateless__colour", {})], [Say("Red.")], [Say("ok")]]) as s:
        await begin(s)
        reply = await reply_to(s, Allowed())

    assert "Red." in reply


async def test_a_stateless_servers_call_that_gets_no_answer_says_why_it_fails(ground: Ground) -> None:
    with_servers(ground, STATELESS)

    async with ground.session([[Call("stateless__colour", {})], [Say("ok")]]) as s:
        await begin(s)
        reply = await reply_to(s, Denied())

    assert "It needs an answer of the model, which it does not get: The user did not allow it." in reply


PICTURE: JsonObject = {"role": "user", "content": {"type": "image", "data": "AA==", "mimeType": "image/png"}}
LONG: JsonObject = {"role": "user", "content": {"type": "text", "text": "x" * (LONGEST_TEXT + 1)}}
SAID: JsonObject = {"role": "assistant", "content": {"type": "text", "text": "Red."}}
TOOL: JsonObject = {"name": "t", "inputSchema": {"type": "object"}}


REFUSED: list[tuple[JsonObject, str]] = [
    (COLOUR | {"tools": [TOOL]}, "no tools"),
    (COLOUR | {"messages": [PICTURE]}, "text only, not with 'image'"),
    (COLOUR | {"messages": [LONG]}, "at most 40,000 characters"),
    (COLOUR | {"messages": [HELLO] * (MOST_MESSAGES + 1)}, "at most 50 messages"),
    (COLOUR | {"messages": []}, "no message"),
    (COLOUR | {"messages": [HELLO, SAID]}, "begin and end with one of the user"),
    (COLOUR | {"maxTokens": 0}, "no token"),
]


@pytest.mark.parametrize(("request_", "why"), REFUSED)
async def test_what_cannot_be_asked_is_refused_in_words(ground: Ground, request_: JsonObject, why: str) -> None:
    assert why in await refused(ground, request_)


async def test_a_yes_for_the_session_ends_when_the_session_is_closed(ground: Ground) -> None:
    script = [*sampling(COLOUR, [Say("Red.")], [Say("Blue.")], times=2), *sampling(COLOUR, [Say("Green.")])]
    async with ground.session(script[:4]) as s:
        await begin(s)
        await reply_to(s, Allowed(scope="session"))
        asked = len(s.rx.all(ev.ApprovalRequested))
    async with ground.session(sampling(COLOUR, [Say("Green.")]), resume=s.id) as again:
        question = await begin(again)
        await reply_to(again, Allowed())

    assert asked == 2, "the call, and the first of what it asked the model"
    assert question.texts[-1].text == "Name a colour."
