import asyncio
from collections.abc import AsyncGenerator

import pytest

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, ModelRequest, TextBlock, UserMessage
from desktop_agent.core.providers.provider import Completion, StreamPiece
from desktop_agent.core.providers.scripted import Call, Fail, Hang, Reply, Say, ScriptedProvider, Stop, in_order
from desktop_agent.core.session.spending import TurnLimits
from tests.harness import Ground, ImpatientClock, Open, check_conversation

READ = Call("read_file", {"path": "a.py"})
BOTH: Reply = [Say("Looking."), READ, Call("list_files", {"path": "."})]
"""Parallel calls that ask when everything does."""
EDIT: Reply = [Call("edit_file", {"path": "a.py", "old_str": "x = 1", "new_str": "x = 2"})]
DONE: Reply = [Say("Done.")]


class HeldBack(ScriptedProvider):
    def __init__(self, *replies: Reply) -> None:
        super().__init__(in_order(replies))
        self.may_end = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamPiece]:
        async for piece in super().stream(request):
            if isinstance(piece, Completion):
                await self.may_end.wait()
            yield piece


class HeldClock(ImpatientClock):
    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        await self.may_go_on.wait()


@pytest.fixture(autouse=True)
def source(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")


async def steer(s: Open, text: str) -> str:
    queued = await s.carry_out(ops.Steer(text=text), ev.Queued, lambda event: event.text == text)
    assert queued.is_steering
    return queued.prompt_id


def said(request: ModelRequest) -> list[str]:
    message = request.messages[-1]
    assert isinstance(message, UserMessage)
    return [block.text if isinstance(block, TextBlock) else block.type for block in message.content]


def kinds(s: Open) -> list[str]:
    wanted = {"prompt_submitted", "message_done", "tool_call_finished", "steered", "turn_ended"}
    return [event.type for event in s.rx.recorded if event.type in wanted]


async def test_it_stands_behind_the_results_of_all_calls_that_ran_side_by_side(ground: Ground) -> None:
    async with ground.session([BOTH, DONE], approval="always") as s:
        s.submit(ops.SubmitPrompt(text="go"))
        asked = [(await s.rx.expect(ev.ApprovalRequested)).request.call_id for _ in range(2)]
        await steer(s, "And mind the tests.")
        await s.carry_out(ops.AnswerApproval(call_id=asked[0], decision=Allowed()), ev.ToolCallFinished)
        assert s.rx.all(ev.Steered) == []  # a call still has no result
        s.submit(ops.AnswerApproval(call_id=asked[1], decision=Allowed()))
        assert (await s.rx.expect(ev.TurnEnded)).reason == "completed"
        assert said(s.last_request) == ["tool_result", "tool_result", "And mind the tests."]
        check_conversation(s.last_request)
        assert kinds(s) == [
            "prompt_submitted", "message_done", *["tool_call_finished"] * 2, "steered", "message_done", "turn_ended",
        ]  # fmt: skip
        assert s.transcript.turns.queued == []


async def test_a_question_goes_on_waiting_for_its_answer(ground: Ground) -> None:
    async with ground.session([EDIT, DONE]) as s:
        asked = await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        await steer(s, "Hurry.")
        assert [request.call_id for request in s.session.transcript.pending_approvals] == [asked.request.call_id]
        await s.carry_out(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()), ev.TurnEnded)
        assert said(s.last_request) == ["tool_result", "Hurry."]
    assert ground.read("a.py") == "x = 2\n"


async def test_several_come_in_their_order_and_before_what_only_waits_for_the_end(ground: Ground) -> None:
    async with ground.session([EDIT, DONE, DONE]) as s:
        asked = await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        s.submit(ops.SubmitPrompt(text="later"))
        await steer(s, "first")
        await steer(s, "second")
        assert [prompt.text for prompt in s.session.transcript.turns.queued] == ["first", "second", "later"]
        await s.carry_out(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()), ev.TurnEnded)
        assert said(s.last_request) == ["tool_result", "first", "second"]
        assert (await s.rx.expect(ev.PromptSubmitted, lambda event: event.turn == 2)).text == "later"
        await s.rx.expect(ev.TurnEnded)


async def test_a_waiting_prompt_is_sent_into_the_turn(ground: Ground) -> None:
    async with ground.session([EDIT, DONE]) as s:
        asked = await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        queued = await s.carry_out(ops.SubmitPrompt(text="now, please"), ev.Queued)
        await s.carry_out(ops.SteerQueued(prompt_id=queued.prompt_id), ev.Queued, lambda event: event.is_steering)
        await s.carry_out(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()), ev.TurnEnded)
        assert said(s.last_request) == ["tool_result", "now, please"]
        assert [event.prompt_id for event in s.rx.all(ev.Steered)] == [queued.prompt_id]


async def test_one_that_was_taken_back_reaches_nobody(ground: Ground) -> None:
    async with ground.session([EDIT, DONE]) as s:
        asked = await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        await s.carry_out(ops.Unqueue(prompt_id=await steer(s, "no, never mind")), ev.Unqueued)
        await s.carry_out(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()), ev.TurnEnded)
        assert said(s.last_request) == ["tool_result"]


async def test_when_the_turn_ends_before_it_is_the_next_prompt(ground: Ground) -> None:
    model = HeldBack(DONE, DONE, DONE)
    async with ground.session([], provider=model) as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.TextDelta)
        s.submit(ops.SubmitPrompt(text="later"))
        await steer(s, "One more thing.")
        model.may_end.set()
        for _ in range(3):
            await s.rx.expect(ev.TurnEnded)
        assert [event.text for event in s.rx.all(ev.PromptSubmitted)] == ["go", "One more thing.", "later"]
        assert s.rx.all(ev.Steered) == []


async def test_the_limit_on_requests_makes_it_the_next_prompt(ground: Ground) -> None:
    async with ground.session([EDIT, DONE], limits=TurnLimits(max_requests=1)) as s:
        asked = await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        await steer(s, "And this.")
        s.submit(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()))
        assert (await s.rx.expect(ev.TurnEnded)).reason == "max_turns"
        assert (await s.rx.expect(ev.PromptSubmitted, lambda event: event.turn == 2)).text == "And this."
        await s.rx.expect(ev.TurnEnded)
        assert s.rx.all(ev.Steered) == []


async def test_a_stop_leaves_it_waiting_and_it_steers_no_later_turn(ground: Ground) -> None:
    async with ground.session([EDIT, DONE, DONE]) as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        await steer(s, "left over")
        assert (await s.carry_out(ops.Interrupt(), ev.TurnEnded)).reason == "interrupted"
        assert [prompt.text for prompt in s.session.transcript.turns.queued] == ["left over"]
        await s.carry_out(ops.SubmitPrompt(text="something else"), ev.TurnEnded)
        assert "left over" not in said(s.provider.requests[1])
        assert (await s.rx.expect(ev.PromptSubmitted, lambda event: event.turn == 3)).text == "left over"
        await s.rx.expect(ev.TurnEnded)


async def test_without_a_turn_it_is_a_prompt(ground: Ground) -> None:
    async with ground.session([DONE]) as s:
        assert (await s.carry_out(ops.Steer(text="go"), ev.PromptSubmitted)).text == "go"
        await s.rx.expect(ev.TurnEnded)
        assert s.rx.all(ev.Queued) == []


async def test_a_paused_answer_and_its_continuation_stay_together(ground: Ground) -> None:
    model = HeldBack([Say("Searching"), Stop("pause_turn")], [Say(" on."), *EDIT], DONE)
    async with ground.session([], provider=model) as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.TextDelta)
        await steer(s, "Wait.")
        model.may_end.set()
        await s.answer()
        await s.rx.expect(ev.TurnEnded)
        assert [request.messages[-1].role for request in model.requests] == ["user", "assistant", "user"]
        assert said(model.requests[-1]) == ["tool_result", "Wait."]


async def test_a_request_that_is_tried_again_has_what_came_meanwhile(ground: Ground) -> None:
    clock = ground.clock = HeldClock()
    failing = Fail(ProviderError("Busy.", fault="overloaded"))
    async with ground.session([[failing], DONE]) as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.RetryWaitReported)
        await steer(s, "Meanwhile.")
        clock.may_go_on.set()
        await s.rx.expect(ev.TurnEnded)
        assert said(s.last_request) == ["go", "Meanwhile."]


async def test_after_a_crash_it_goes_on_with_the_turn_that_waited_for_an_answer(ground: Ground) -> None:
    async with ground.session([EDIT]) as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        await steer(s, "And then stop.")
        journal = ground.journal(s.id)
        left = await asyncio.to_thread(journal.read_bytes)
    await asyncio.to_thread(journal.write_bytes, left)
    async with ground.session([DONE], resume=s.id) as again:
        [request] = again.transcript.pending_approvals
        await again.carry_out(ops.AnswerApproval(call_id=request.call_id, decision=Allowed()), ev.TurnEnded)
        assert said(again.last_request) == ["tool_result", "And then stop."]
        check_conversation(again.last_request)


async def test_a_crash_between_record_and_request_leaves_it_in_the_conversation(ground: Ground) -> None:
    async with ground.session([EDIT, DONE]) as s:
        asked = await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        await steer(s, "And this.")
        await s.carry_out(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()), ev.TurnEnded)
    ground.cut_journal(s.id, "steered", keeps_it=True)
    async with ground.session([DONE], resume=s.id) as again:
        assert again.transcript.turns.queued == []
        await again.prompt("go on")
        assert said(again.last_request)[:2] == ["tool_result", "And this."]
        assert said(again.last_request)[-1] == "go on"
        check_conversation(again.last_request)


async def test_a_rewind_to_before_the_turn_takes_it_along(ground: Ground) -> None:
    async with ground.session([EDIT, DONE, DONE]) as s:
        asked = await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        await steer(s, "And this.")
        await s.carry_out(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()), ev.TurnEnded)
        await s.carry_out(ops.RewindTo(turn=1, scope="both"), ev.Rewound)
        await s.prompt("anew")
        assert len(s.last_request.messages) == 1
        assert "And this." not in said(s.last_request)
    assert ground.read("a.py") == "x = 1\n"


async def left_waiting(ground: Ground, turns_before: int = 0) -> str:
    async with ground.session([*[[Say("ok")]] * turns_before, [Say("Working."), Hang()]]) as s:
        for _ in range(turns_before):
            await s.prompt("before")
        await s.carry_out(ops.SubmitPrompt(text="first"), ev.TextDelta)
        for text in ("second", "third"):
            await s.carry_out(ops.SubmitPrompt(text=text), ev.Queued)
        journal = ground.journal(s.id)
        left = await asyncio.to_thread(journal.read_bytes)
    await asyncio.to_thread(journal.write_bytes, left)
    return s.id


async def test_after_a_crash_waiting_prompts_are_there_and_do_not_start_by_themselves(ground: Ground) -> None:
    session_id = await left_waiting(ground)
    async with ground.session([[Say("no")]], resume=session_id) as s:
        assert [prompt.text for prompt in s.transcript.turns.queued] == ["second", "third"]
        ended = await s.rx.expect(ev.TurnEnded)
        assert ended.reason == "interrupted"
        await s.carry_out(ops.RenameSession(title="still here"), ev.SessionRenamed)
    assert s.provider.requests == []


async def test_nor_do_they_start_after_a_summary(ground: Ground) -> None:
    session_id = await left_waiting(ground, turns_before=1)
    async with ground.session([[Say("A summary.")], [Say("no")]], resume=session_id) as s:
        await s.carry_out(ops.Compact(), ev.Compacted)
        for title in ("summarised", "still here"):
            await s.carry_out(ops.RenameSession(title=title), ev.SessionRenamed)
        assert s.rx.all(ev.PromptSubmitted) == []
        assert [prompt.text for prompt in s.session.transcript.turns.queued] == ["second", "third"]


async def test_a_session_is_not_at_rest_between_a_summary_and_what_waited_for_it(ground: Ground) -> None:
    session_id = await left_waiting(ground, turns_before=1)
    rests: list[bool] = []

    async def watch() -> None:
        while not s.rx.all(ev.PromptSubmitted):
            rests.append(s.session.is_at_rest)
            await asyncio.sleep(0)

    async with ground.session([[Hang()], *[[Say("ok")]] * 3], resume=session_id) as s:
        await s.carry_out(ops.Compact(), ev.ToolProgress)
        await s.carry_out(ops.SubmitPrompt(text="new"), ev.Queued)
        s.submit(ops.Interrupt())
        await watch()
        assert len(rests) > 1
        assert not any(rests[:-1])
        for _ in range(3):
            await s.rx.expect(ev.TurnEnded)
        assert [event.text for event in s.rx.all(ev.PromptSubmitted)] == ["new", "second", "third"]


async def test_sending_one_goes_on_with_the_others(ground: Ground) -> None:
    session_id = await left_waiting(ground)
    async with ground.session([[Say("ok")], [Say("ok")]], resume=session_id) as s:
        queued = [prompt.prompt_id for prompt in s.transcript.turns.queued]
        s.submit(ops.SendQueued(prompt_id=queued[1]))
        for prompt_id, text in zip(reversed(queued), ("third", "second"), strict=True):
            submitted = await s.rx.expect(ev.PromptSubmitted)
            assert (submitted.prompt_id, submitted.text) == (prompt_id, text)
            await s.rx.expect(ev.TurnEnded, lambda event: event.reason == "completed")
        assert s.session.transcript.turns.queued == []


async def test_one_that_was_moved_keeps_its_place_and_starts_in_it(ground: Ground) -> None:
    session_id = await left_waiting(ground)
    async with ground.session([], resume=session_id) as s:
        second, third = (prompt.prompt_id for prompt in s.transcript.turns.queued)
        for prompt_id, before in ((third, second), (third, third), (second, "gone"), ("gone", second)):
            s.submit(ops.MoveQueued(prompt_id=prompt_id, before=before))
        await s.carry_out(ops.RenameSession(title="looked through"), ev.SessionRenamed)
        assert len(s.rx.all(ev.Queued)) == 1
    async with ground.session([[Say("ok")], [Say("ok")]], resume=session_id) as s:
        assert [prompt.text for prompt in s.transcript.turns.queued] == ["third", "second"]
        await s.carry_out(ops.MoveQueued(prompt_id=third), ev.Queued)
        assert [prompt.text for prompt in s.session.transcript.turns.queued] == ["second", "third"]


async def test_one_that_was_taken_back_stays_so(ground: Ground) -> None:
    session_id = await left_waiting(ground)
    async with ground.session([], resume=session_id) as s:
        await s.carry_out(ops.Unqueue(prompt_id=s.transcript.turns.queued[0].prompt_id), ev.Unqueued)
    async with ground.session([], resume=session_id) as s:
        assert [prompt.text for prompt in s.transcript.turns.queued] == ["third"]


async def test_nothing_is_sent_now_while_a_turn_runs_and_nothing_twice(ground: Ground) -> None:
    async with ground.session([[Say("Working."), Hang()], [Say("ok")]]) as s:
        s.submit(ops.SubmitPrompt(text="first"))
        await s.rx.expect(ev.TextDelta)  # by now the model has been asked, and the next reply is for the next turn
        queued = await s.carry_out(ops.SubmitPrompt(text="second"), ev.Queued)
        s.submit(ops.SendQueued(prompt_id=queued.prompt_id))
        await s.carry_out(ops.RenameSession(title="busy"), ev.SessionRenamed)
        assert len(s.rx.all(ev.PromptSubmitted)) == 1
        await s.carry_out(ops.Interrupt(), ev.TurnEnded)
        for _ in range(2):
            s.submit(ops.SendQueued(prompt_id=queued.prompt_id))
        await s.rx.expect(ev.TurnEnded)
        assert [event.text for event in s.rx.all(ev.PromptSubmitted)] == ["first", "second"]
