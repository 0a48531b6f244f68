"""One conversation: its ops, its events, and its requests."""

import asyncio
import json
import os
import threading
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from desktop_agent.core.base.errors import CredentialsError, ProviderError
from desktop_agent.core.capture.capture import StatCapture
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.context.history import UNANSWERED
from desktop_agent.core.context.history_fold import STOPPED
from desktop_agent.core.models.account import Account
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import (
    Aborted,
    Allowed,
    ChangeSelection,
    Denied,
    ModelRef,
    TextBlock,
    ToolResultBlock,
    UserMessage,
)
from desktop_agent.core.providers.auth.accounts import ACCOUNTS_NAME, AccountsFile
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.providers.scripted import Call, Crash, Fail, Hang, Say, ScriptedProvider, Stop, Think, in_order
from desktop_agent.core.session.spending import TurnLimits
from desktop_agent.core.session.turn import CUT_OFF
from desktop_agent.core.tools.access import CallRules
from desktop_agent.core.tools.execution.runtime import INTERRUPTED, NOT_STARTED
from desktop_agent.core.transcript import ToolEntry
from tests.harness import MODEL, PATIENCE_S, Ground, check_conversation

EDIT = Call("edit_file", {"path": "a.py", "old_str": "x = 1\n", "new_str": "x = 2\n"})
UNDO_ALL = ops.UndoChanges(selection=ChangeSelection())


def overloaded() -> ProviderError:
    return ProviderError("The model is overloaded.", fault="overloaded", hint="It usually passes.")


async def test_a_prompt_is_answered_and_everything_is_recorded_in_order(ground: Ground) -> None:
    async with ground.session([[Think("hm"), Say("Hello.")]]) as s:
        ended = await s.prompt("Hi")
    assert ended.reason == "completed"
    assert [event.type for event in s.rx.recorded] == [
        *("session_opened", "prompt_submitted", "turn_started", "message_done", "usage_reported", "turn_ended"),
    ]
    assert [event.seq for event in s.rx.recorded] == list(range(1, 7))
    assert "".join(event.text for event in s.rx.all(ev.TextDelta)) == "Hello."


async def test_who_hears_that_a_turn_has_ended_finds_the_session_at_rest(ground: Ground) -> None:
    """The window checks before closing whether an agent works, and may close right when the turn ends."""
    at_work: dict[str, bool] = {}

    def hear(event: ev.Event) -> None:
        at_work[event.type] = session.is_at_work
        if event.type == "turn_ended":
            ended.set()

    ended = asyncio.Event()
    bench = ground.bench(ScriptedProvider(in_order([[Say("Hello.")]]), clock=ground.clock))
    session = await bench.create_session(ground.workspace, sink=hear, model=MODEL)
    at_work.clear()
    task = asyncio.create_task(session.run())
    session.submit(ops.SubmitPrompt(text="Hi"))
    async with asyncio.timeout(PATIENCE_S):
        await ended.wait()
    session.submit(ops.Shutdown())
    await task
    assert at_work["message_done"]
    assert not at_work["turn_ended"]


async def test_an_edit_is_asked_written_down_and_then_applied(ground: Ground) -> None:
    """Z-64: the edit asks once, with the diff."""
    ground.write("a.py", "x = 1\n")
    async with ground.session([[EDIT], [Say("Done.")]]) as s:
        asked = await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        assert ground.read("a.py") == "x = 1\n"
        assert [change.path for change in asked.request.changes] == ["a.py"]
        await s.carry_out(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()), ev.TurnEnded)
        assert ground.read("a.py") == "x = 2\n"
        types = [event.type for event in s.rx.recorded]
        start = types.index("tool_call_started")
        assert types[start : start + 6] == [
            "tool_call_started",
            "approval_requested",
            "approval_resolved",
            "changes_prepared",
            "changes_recorded",
            "tool_call_finished",
        ]


async def test_a_denied_call_is_not_run_and_the_model_is_told_why(ground: Ground) -> None:  # E-10, Z-05
    ground.write("a.py", "x = 1\n")
    async with ground.session([[EDIT], [Say("All right.")]]) as s:
        await s.begin(Denied(message="use a constant"))
        ended = await s.rx.expect(ev.TurnEnded)
        assert ended.reason == "completed"
        assert ground.read("a.py") == "x = 1\n"
        [result] = s.results()
        assert result.is_error
        assert "use a constant" in result.content


async def test_a_command_the_person_edited_runs_as_edited_and_the_model_is_told(ground: Ground) -> None:
    run = Call("run_terminal_cmd", {"command": "echo mine > out"})
    async with ground.session([[run], [Say("Done.")]]) as s:
        await s.turn(Allowed(edited_command="echo yours > out"))
        assert ground.read("out") == "yours\n"
        assert "echo yours > out" in s.results()[0].content


async def test_calls_of_one_message_are_answered_in_order_in_one_message(ground: Ground) -> None:  # C-03, Z-61
    ground.write("a", "A")
    ground.write("b", "B")
    calls = [Call("read_file", {"path": name}) for name in ("a", "missing", "b")]
    async with ground.session([calls, [Say("ok")]]) as s:
        await s.prompt()
        check_conversation(s.last_request)
        assert [(r.content if not r.is_error else "error") for r in s.results()] == ["A", "error", "B"]


@pytest.mark.parametrize(
    "reason", ["max_tokens", "end_turn", "model_context_window_exceeded", "refusal", "stop_sequence"]
)
async def test_a_call_runs_only_when_the_model_stopped_for_it(ground: Ground, reason: ev.StopReason) -> None:  # Z-105
    ground.write("a.py", "x = 1\n")
    async with ground.session([[EDIT, Stop(reason)], [Say("ok")]], approval="never") as s:
        await s.prompt()
        assert ground.read("a.py") == "x = 1\n"
        [finished] = s.rx.all(ev.ToolCallFinished)
        assert finished.result.is_error
        await s.prompt("and now?")
        check_conversation(s.last_request)


async def test_a_reply_cut_in_a_call_goes_on_and_gives_up_after_three(ground: Ground) -> None:
    cut = [EDIT, Stop("max_tokens")]
    async with ground.session([cut, cut, cut, [Say("never asked")]]) as s:
        ended = await s.prompt()
        assert (ended.reason, ended.requests) == ("limit", 3)
        assert {event.result.content for event in s.rx.all(ev.ToolCallFinished)} == {CUT_OFF}


WHY = "cyber: It could help an attacker."


@pytest.mark.parametrize(
    ("stop", "reason", "code"),
    [
        (Stop("max_tokens"), "limit", "max_tokens"),
        (Stop("refusal", WHY), "refused", "refusal"),
        (Stop("other"), "completed", "unknown_stop"),
    ],
    ids=["at its limit", "by a refusal, with the provider's reason", "for a reason nobody knows"],
)
async def test_an_answer_that_is_cut_off_ends_the_turn_with_a_word_to_the_person(
    ground: Ground, stop: Stop, reason: str, code: str
) -> None:
    async with ground.session([[Say("half a sen"), stop]]) as s:
        assert (await s.prompt()).reason == reason
        (notice,) = s.rx.all(ev.Notice)
        assert (notice.code, notice.detail) == (code, WHY if code == "refusal" else "")


async def test_a_paused_answer_goes_on_without_a_prompt(ground: Ground) -> None:
    async with ground.session([[Say("Searching"), Stop("pause_turn")], [Say(" done.")]]) as s:
        ended = await s.prompt()
        assert (ended.reason, ended.requests) == ("completed", 2)


async def test_passing_failures_are_tried_again_and_shown(ground: Ground) -> None:
    failing = [Say("Half an ans"), Fail(overloaded())]
    async with ground.session([failing, failing, [Say("A whole answer.")]]) as s:
        ended = await s.prompt()
        assert ended.reason == "completed"
        assert [notice.code for notice in s.rx.all(ev.Notice)] == ["retrying", "retrying"]
        assert "try 2 of 5" in s.rx.all(ev.Notice)[0].hint
        assert [block for event in s.rx.all(ev.MessageDone) for block in event.content] == [
            TextBlock(text="A whole answer.")
        ]
        assert len(ground.clock.naps) == 2
        assert ground.clock.naps[0] < ground.clock.naps[1]


async def test_after_five_tries_the_turn_ends_with_the_reason(ground: Ground) -> None:
    async with ground.session([[Fail(overloaded())]] * 5 + [[Say("too late")]]) as s:
        ended = await s.prompt()
        assert (ended.reason, ended.requests) == ("provider_error", 0)
        notices = s.rx.all(ev.Notice)
        assert [notice.code for notice in notices] == ["retrying"] * 4 + ["overloaded"]
        assert len(s.provider.requests) == 5


async def test_a_refused_key_is_not_tried_again(ground: Ground) -> None:
    refused = ProviderError("The key was refused.", fault="authentication", hint="Change it in Settings.")
    async with ground.session([[Fail(refused)], [Say("ok")]]) as s:
        assert (await s.prompt()).reason == "provider_error"
        assert len(s.provider.requests) == 1
        assert (await s.prompt("again")).reason == "completed", "the conversation goes on after the key was changed"


async def test_a_missing_key_says_what_to_do_and_keeps_the_prompt(ground: Ground) -> None:
    async def no_key(_model: ModelRef) -> Provider:
        raise CredentialsError("There is no API key for Anthropic.", hint="Enter one in Settings.")

    async with ground.session([], provider_source=no_key) as s:
        assert (await s.prompt("my long question")).reason == "provider_error"
        [notice] = s.rx.all(ev.Notice)
        assert (notice.code, notice.hint) == ("no_key", "Enter one in Settings.")
        assert [event.text for event in s.rx.all(ev.PromptSubmitted)] == ["my long question"]


async def test_a_defect_in_a_provider_ends_the_turn_and_not_the_session(
    ground: Ground, expected_logs: list[str]
) -> None:
    expected_logs.append("failed unexpectedly")
    async with ground.session([[Crash(KeyError("oops"))], [Say("fine")]]) as s:
        assert (await s.prompt()).reason == "internal_error"
        assert (await s.prompt()).reason == "completed"


async def test_the_number_of_requests_can_be_limited(ground: Ground) -> None:
    look = [Call("list_files", {"path": "."})]
    async with ground.session([look] * 5, limits=TurnLimits(max_requests=3)) as s:
        ended = await s.prompt()
        assert (ended.reason, ended.requests) == ("max_turns", 3)
        await s.prompt("go on")
        check_conversation(s.last_request)


async def test_calls_that_are_refused_before_they_run_are_on_record_like_any_other(ground: Ground) -> None:
    """Z-66, Z-69, R-06, R-08, E-10: unknown, unreadable, forbidden and denied calls."""
    calls = [Call("read_fil", {"path": "a"}), Call("read_file", malformed="{"), Call("list_files", {}), EDIT]
    ground.write("a.py", "x = 1\n")
    async with ground.session([calls, [Say("ok")]], rules=CallRules(blocked_tools=("list_files",))) as s:
        await s.turn(Denied())
        finished = [event for event in s.rx.recorded if isinstance(event, ev.ToolCallFinished)]
        assert [event.call_id for event in finished] == [result.call_id for result in s.results()]
        assert all(event.result.is_error for event in finished)
        kinds = [event.result.error_type for event in finished]
        assert kinds == ["not_found", "validation", "permission", "permission"]
        assert "'read_file'" in finished[0].result.content
        assert "not valid JSON" in finished[1].result.content
        assert ground.read("a.py") == "x = 1\n"


async def test_edits_of_one_file_in_one_message_wait_for_each_other(ground: Ground) -> None:
    """Z-43: the second edit is planned on the first one's result."""
    ground.write("a.py", "x = 1\n")
    edits = [Call("edit_file", {"path": "a.py", "old_str": f"x = {n}", "new_str": f"x = {n + 1}"}) for n in (1, 2, 3)]
    async with ground.session([edits, [Say("ok")]], approval="never") as s:
        await s.prompt()
        assert [result.is_error for result in s.results()] == [False] * 3
        assert ground.read("a.py") == "x = 4\n"


async def test_a_dry_run_that_the_model_asks_for_writes_and_records_nothing(ground: Ground) -> None:  # T-07
    ground.write("a.py", "x = 1\n")
    dry = Call("edit_file", {"path": "a.py", "old_str": "1", "new_str": "2", "dry_run": True})
    async with ground.session([[dry, EDIT], [Say("ok")]], approval="on_request") as s:
        await s.prompt()
        prepared = s.rx.all(ev.ChangesPrepared)
        assert [event.call_id for event in prepared] == [s.results()[1].call_id]
        assert ground.read("a.py") == "x = 2\n"


async def test_an_edit_that_changes_nothing_leaves_nothing_to_undo(ground: Ground) -> None:
    """Z-78: the undo must not remove the file."""
    ground.write("a.py", "x = 1\n")
    same = Call("create_file", {"path": "a.py", "content": "x = 1\n", "if_exists": "overwrite"})
    async with ground.session([[same], [Say("ok")]], approval="never") as s:
        await s.prompt()
        assert not s.results()[0].is_error
        s.submit(UNDO_ALL)
        await s.rx.expect((ev.ChangesUndone, ev.Notice))
        assert ground.read("a.py") == "x = 1\n"


async def test_taking_back_a_turn_that_only_read_takes_nothing_from_the_one_before(ground: Ground) -> None:  # Z-65
    ground.write("a.py", "x = 1\n")
    look = Call("read_file", {"path": "a.py"})
    async with ground.session([[EDIT], [Say("ok")], [look], [Say("ok")]], approval="never") as s:
        await s.prompt()
        await s.prompt("and now?")
        await s.carry_out(ops.UndoChanges(selection=ChangeSelection(turn=2)), (ev.ChangesUndone, ev.Notice))
        assert ground.read("a.py") == "x = 2\n"
        assert [record.change.path for record in s.session.transcript.changed.active()] == ["a.py"]
        s.submit(ops.UndoChanges(selection=ChangeSelection(turn=1)))
        await s.rx.expect(ev.ChangesUndone, lambda undone: bool(undone.outcomes))
        assert ground.read("a.py") == "x = 1\n"


async def test_a_tool_that_is_not_permitted_is_neither_told_of_nor_run(ground: Ground) -> None:
    rules = CallRules(allowed_tools=("read_file",))
    async with ground.session([[Call("list_files", {})], [Say("ok")]], rules=rules) as s:
        await s.prompt()
        assert [tool.name for tool in s.last_request.tools] == ["read_file"]
        assert "not permitted" in s.results()[0].content


async def test_a_dry_run_answers_every_call_without_running_it(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")
    async with ground.session([[EDIT], [Say("ok")]], rules=CallRules(is_dry_run=True), approval="never") as s:
        await s.prompt()
        assert s.results()[0].content == "dry-run: execution skipped"
        assert ground.read("a.py") == "x = 1\n"


async def test_stopping_while_the_model_writes_keeps_what_was_read(ground: Ground) -> None:
    async with ground.session([[Say("As far as it got"), Hang()], [Say("ok")]]) as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.TextDelta, lambda event: event.text.endswith("got"))
        ended = await s.carry_out(ops.Interrupt(), ev.TurnEnded)
        assert ended.reason == "interrupted"
        assert s.rx.all(ev.MessageDone)[0].content == (TextBlock(text="As far as it got"),)
        await s.prompt("go on")
        check_conversation(s.last_request)
        last = s.last_request.messages[-1]
        assert isinstance(last, UserMessage)
        assert [block.text for block in last.content if isinstance(block, TextBlock)] == [STOPPED, "go on"]


async def test_stopping_a_command_ends_its_processes_and_answers_every_call(ground: Ground) -> None:  # Z-44, Z-55
    calls = [
        Call("run_terminal_cmd", {"command": "echo $$ > pid; echo started; sleep 1000"}),
        Call("edit_file", {"path": "pid", "old_str": "", "new_str": ""}),
    ]
    async with ground.session([calls, [Say("ok")]], sandbox="none") as s:  # in the sandbox a command has other pids
        await s.begin()
        await s.rx.expect(ev.ToolOutputDelta, lambda event: "started" in event.text)
        assert (await s.carry_out(ops.Interrupt(), ev.TurnEnded)).reason == "interrupted"
        stopped, skipped = [event.result.content for event in s.rx.all(ev.ToolCallFinished)]
        assert stopped.startswith(INTERRUPTED)
        assert "started" in stopped, "what it had printed is kept"
        assert skipped == NOT_STARTED
        assert [change.path for event in s.rx.all(ev.ChangesRecorded) for change in event.changes] == ["pid"]
        with pytest.raises(ProcessLookupError):
            os.kill(int(ground.read("pid")), 0)
        await s.prompt("go on")
        check_conversation(s.last_request)


async def test_stopping_while_a_question_is_open_is_a_no(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")
    async with ground.session([[EDIT], [Say("ok")]]) as s:
        asked = await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        resolved = await s.carry_out(ops.Interrupt(), ev.ApprovalResolved)
        assert isinstance(resolved.decision, Aborted)
        await s.rx.expect(ev.TurnEnded)
        s.submit(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()))
        await s.prompt("go on")
        assert ground.read("a.py") == "x = 1\n", "a late answer changes nothing"


async def test_stopping_twice_or_while_idle_does_no_harm(ground: Ground) -> None:
    async with ground.session([[Say("…"), Hang()], [Say("ok")]]) as s:
        s.submit(ops.Interrupt())
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.TextDelta)
        s.submit(ops.Interrupt())
        assert (await s.carry_out(ops.Interrupt(), ev.TurnEnded)).reason == "interrupted"
        assert (await s.prompt()).reason == "completed"


async def test_prompts_sent_meanwhile_wait_their_turn_and_can_be_taken_back(ground: Ground) -> None:
    async with ground.session([[Call("run_terminal_cmd", {"command": "touch x"})], [Say("1")], [Say("2")]]) as s:
        asked = await s.carry_out(ops.SubmitPrompt(text="first"), ev.ApprovalRequested)
        s.submit(ops.SubmitPrompt(text="second"))
        third = await s.carry_out(ops.SubmitPrompt(text="third"), ev.Queued, lambda event: event.text == "third")
        await s.carry_out(ops.Unqueue(prompt_id=third.prompt_id), ev.Unqueued)
        await s.carry_out(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()), ev.TurnEnded)
        await s.rx.expect(ev.TurnEnded)
        assert [event.text for event in s.rx.all(ev.PromptSubmitted)] == ["first", "second"]


async def test_a_prompt_sent_at_the_very_end_of_a_turn_comes_behind_those_that_wait(ground: Ground) -> None:
    async with ground.session([[Call("run_terminal_cmd", {"command": "touch x"})], *[[Say("ok")]] * 3]) as s:
        asked = await s.carry_out(ops.SubmitPrompt(text="first"), ev.ApprovalRequested)
        await s.carry_out(ops.SubmitPrompt(text="second"), ev.Queued)

        def send_third(event: ev.Event) -> None:
            if isinstance(event, ev.TurnEnded) and event.turn == 1:
                s.submit(ops.SubmitPrompt(text="third"))

        s.rx.at_once = send_third
        s.submit(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()))
        for _ in range(3):
            await s.rx.expect(ev.TurnEnded)
        assert [event.text for event in s.rx.all(ev.PromptSubmitted)] == ["first", "second", "third"]


async def test_queued_prompts_wait_when_the_turn_was_stopped(ground: Ground) -> None:
    async with ground.session([[Hang()], [Say("ok")]]) as s:
        await s.carry_out(ops.SubmitPrompt(text="first"), ev.TurnStarted)
        await s.carry_out(ops.SubmitPrompt(text="second"), ev.Queued)
        await s.carry_out(ops.Interrupt(), ev.TurnEnded)
        await s.carry_out(ops.RenameSession(title="still idle"), ev.SessionRenamed)
        assert len(s.rx.all(ev.PromptSubmitted)) == 1
        assert [prompt.text for prompt in s.session.transcript.turns.queued] == ["second"]


async def test_what_was_allowed_for_the_session_is_not_asked_again(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")
    back = Call("edit_file", {"path": "a.py", "old_str": "x = 2\n", "new_str": "x = 1\n"})
    async with ground.session([[EDIT], [back], [Say("ok")]]) as s:
        await s.turn(Allowed(scope="session"))
        assert len(s.rx.all(ev.ApprovalRequested)) == 1
        session_id = s.id
    async with ground.session([[EDIT], [Say("ok")]], resume=session_id) as s:
        await s.prompt("again")
        assert s.rx.all(ev.ApprovalRequested) == [], "the grant outlives a restart"


async def test_a_file_the_person_changed_since_is_reported_and_the_rest_is_undone(ground: Ground) -> None:  # Z-75, Z-85
    ground.write("a.py", "x = 1\n")
    create = Call("create_file", {"path": "new.py", "content": "y = 1\n"})
    async with ground.session([[EDIT, create], [Say("ok")]], approval="never") as s:
        await s.prompt()
        ground.write("a.py", "x = 2\nmine = True\n")
        s.submit(UNDO_ALL)
        undone = await s.rx.expect(ev.ChangesUndone)
        assert {outcome.path: outcome.state for outcome in undone.outcomes} == {
            "a.py": "conflict",
            "new.py": "restored",
        }
        assert ground.read("a.py") == "x = 2\nmine = True\n"
        assert not (ground.workspace / "new.py").exists()
        assert [record.change.path for record in s.session.transcript.changed.active()] == ["a.py"]


async def test_nothing_is_undone_under_a_working_agent(ground: Ground) -> None:
    async with ground.session([[Hang()]]) as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.TurnStarted)
        s.submit(UNDO_ALL)
        assert (await s.rx.expect(ev.Notice)).code == "busy"


async def test_files_are_put_back_while_a_turn_only_waits_for_an_answer(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")
    again = Call("edit_file", {"path": "a.py", "old_str": "x = 2", "new_str": "x = 3"})
    async with ground.session([[EDIT], [again], [Say("ok")]]) as s:
        await s.begin()
        second = (await s.rx.expect(ev.ApprovalRequested)).request
        undone = await s.carry_out(UNDO_ALL, ev.ChangesUndone)
        assert [outcome.state for outcome in undone.outcomes] == ["restored"]
        assert ground.read("a.py") == "x = 1\n"
        assert [request.call_id for request in s.session.transcript.pending_approvals] == [second.call_id]
        s.submit(ops.AnswerApproval(call_id=second.call_id, decision=Allowed()))
        result = (await s.rx.expect(ev.ToolCallFinished)).result
        assert result.is_error
        assert "changed on disk before the edit could be written" in result.content
        assert (await s.rx.expect(ev.TurnEnded)).reason == "completed"
        assert ground.read("a.py") == "x = 1\n", "the plan was for a file that is gone"
        blocks = [block for message in s.last_request.messages for block in message.content]
        told = [block.text for block in blocks if isinstance(block, TextBlock)]
        assert any("The user undid your changes to: a.py." in text for text in told)
        await s.carry_out(ops.RedoChanges(selection=ChangeSelection()), ev.ChangesRedone)
        assert ground.read("a.py") == "x = 2\n"
    check_conversation(s.last_request)


async def test_nothing_is_undone_between_an_answer_and_what_it_allows(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")
    again = Call("edit_file", {"path": "a.py", "old_str": "x = 2", "new_str": "x = 3"})
    async with ground.session([[EDIT], [again], [Say("ok")]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        for _ in range(2):
            await s.answer()
        s.submit(UNDO_ALL)
        assert (await s.rx.expect(ev.Notice)).code == "busy"
        await s.rx.expect(ev.TurnEnded)
        assert ground.read("a.py") == "x = 3\n"


async def test_an_edit_of_a_file_that_changed_since_it_was_read_is_refused(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")
    async with ground.session([[Call("read_file", {"path": "a.py"})], [EDIT], [Say("ok")]]) as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.ToolCallFinished)
        ground.write("a.py", "x = 1\n# the user was here\n")
        await s.rx.expect(ev.TurnEnded)
        assert "changed on disk since you last read it" in s.results()[0].content
        assert ground.read("a.py").endswith("# the user was here\n")


async def test_an_edit_made_while_its_question_is_open_is_not_overwritten(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")
    async with ground.session([[EDIT], [Say("ok")]]) as s:
        asked = await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        ground.write("a.py", "x = 1\n# meanwhile\n")
        await s.carry_out(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()), ev.TurnEnded)
        assert "changed on disk" in s.results()[0].content
        assert ground.read("a.py") == "x = 1\n# meanwhile\n"


async def test_a_call_id_that_comes_twice_is_told_apart(ground: Ground) -> None:
    ground.write("a", "A")
    ground.write("b", "B")
    async with ground.session([[Call("read_file", {"path": "a"})], [Say("ok")]]) as s:
        await s.prompt()
        session_id = s.id
    # A new provider starts its call ids at one again.
    async with ground.session([[Call("read_file", {"path": "b"})], [Say("ok")]], resume=session_id) as s:
        await s.prompt()
        check_conversation(s.last_request)
        assert [result.content for result in s.results()] == ["B"]


async def test_a_session_is_open_in_one_place_only(ground: Ground) -> None:
    from desktop_agent.core.base.errors import SessionBusyError

    async with ground.session([]) as s:
        await s.rx.expect(ev.SessionOpened)
        with pytest.raises(SessionBusyError):
            async with ground.session([], resume=s.id):
                pass


async def test_a_workspace_that_vanished_ends_the_turn_with_a_clear_word(ground: Ground) -> None:
    async with ground.session([[Say("never asked")]]) as s:
        ground.workspace.rmdir()
        assert (await s.prompt()).reason == "workspace_error"
        assert s.rx.all(ev.Notice)[0].code == "workspace"
        ground.workspace.mkdir()
        assert (await s.prompt()).reason == "completed"


async def test_a_workspace_deleted_by_a_command_ends_the_turn_before_the_next_call_makes_it_anew(
    ground: Ground,
) -> None:
    ground.write("a", "A")
    gone = Call("run_terminal_cmd", {"command": 'rm -rf "$PWD"'})
    make = Call("create_file", {"path": "b", "content": "B"})
    script = [[gone], [Call("read_file", {"path": "a"}), make], [Say("ok")]]
    async with ground.session(script, sandbox="none") as s:
        await s.begin()
        assert (await s.rx.expect(ev.TurnEnded)).reason == "workspace_error"
        assert not ground.workspace.exists()
        ground.workspace.mkdir()
        assert (await s.prompt()).reason == "completed"
        assert [result.is_error for result in s.results()] == [True, True]


async def test_closing_ends_a_running_turn_and_leaves_a_valid_journal(ground: Ground) -> None:
    async with ground.session([[Call("run_terminal_cmd", {"command": "touch x; sleep 1000"})]]) as s:
        await s.begin()
        await s.rx.expect(ev.ChangesPrepared)
        await s.close()
        session_id = s.id
    async with ground.session([[Say("ok")]], resume=session_id) as s:
        assert s.transcript.turns.last_end == "interrupted"
        await s.prompt("go on")
        check_conversation(s.last_request)


async def test_the_first_request_after_a_lost_result_tells_the_model_the_truth(ground: Ground) -> None:
    async with ground.session([[Call("run_terminal_cmd", {"command": "touch x"})], [Say("ok")]]) as s:
        await s.prompt("go", answers=1)
        session_id = s.id
    ground.cut_journal(session_id, "tool_call_finished", keeps_it=False)
    async with ground.session([[Say("ok")]], resume=session_id) as s:
        await s.prompt("what happened?")
        check_conversation(s.last_request)
        last = s.last_request.messages[-1]
        assert isinstance(last, UserMessage)
        assert last.content[0] == ToolResultBlock(call_id="toolu_scripted_0001", content=UNANSWERED, is_error=True)


async def test_a_turn_that_was_killed_says_so_and_how_long_it_worked_at_least(ground: Ground) -> None:
    commands = [Call("run_terminal_cmd", {"command": f"touch {name}"}) for name in "ab"]
    async with ground.session([commands, [Say("ok")]], approval="never") as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.TurnEnded)
        session_id = s.id
    ground.cut_journal(session_id, "tool_call_finished", keeps_it=False)
    journal = ground.journal(session_id)
    records = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    (begun,) = [record for record in records if record["type"] == "turn_started"]
    records[-1]["at"] = (datetime.fromisoformat(begun["at"]) + timedelta(seconds=61)).isoformat()
    journal.write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")

    async with ground.session([[Say("ok")]], resume=session_id) as s:
        end = await s.rx.expect(ev.TurnEnded)
        await s.prompt("what happened?")
        read = " ".join(str(message.content) for message in s.last_request.messages)
        calls = [entry for entry in s.session.transcript.entries if isinstance(entry, ToolEntry)]

    assert (end.reason, end.is_cut_off, end.duration_s, end.requests) == ("interrupted", True, 61.0, 1)
    assert "The application ended in the middle of the previous turn" in read
    assert "The user stopped" not in read
    assert [(call.state, call.duration_s) for call in calls] == [("failed", None)] * 2, "nobody knows how long"
    running, behind = [call.result for call in calls]
    assert running is not None
    assert behind is not None
    assert (running.content, running.metadata) == (UNANSWERED, {"cut_off": True})
    assert (behind.content, behind.metadata) == (NOT_STARTED, {"skipped": True, "cut_off": True})


async def test_turn_numbers_and_change_ids_go_on_after_a_restart(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")
    async with ground.session([[EDIT], [Say("ok")]], approval="never") as s:
        await s.prompt()
        session_id = s.id
    create = Call("create_file", {"path": "b", "content": "b"})
    async with ground.session([[create], [Say("ok")]], resume=session_id) as s:
        await s.prompt()
        assert list(s.session.transcript.changes) == ["1.1", "2.1"]
        seqs = [event.seq for event in s.rx.recorded]
        assert all(after == before + 1 for before, after in pairwise(seqs))


@pytest.mark.parametrize("method", ["apply", "collect"])
async def test_a_stop_while_changes_are_written_or_looked_for_waits_until_they_are_on_record(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    owner = Ledger if method == "apply" else StatCapture
    real = getattr(owner, method)

    def waiting(self: object, *arguments: object, **named: object) -> object:
        begun.set()
        go_on.wait(PATIENCE_S)
        return real(self, *arguments, **named)

    monkeypatch.setattr(owner, method, waiting)
    ground.write("a.py", "x = 1\n")
    call = EDIT if method == "apply" else Call("run_terminal_cmd", {"command": "echo x = 2 > a.py"})
    async with ground.session([[call], [Say("never")]]) as s:
        await s.begin()
        assert await asyncio.to_thread(begun.wait, PATIENCE_S)
        s.submit(ops.Interrupt())
        await s.carry_out(ops.SubmitPrompt(text="later"), ev.Queued)  # by now the stop has been served
        go_on.set()
        ended = await s.rx.expect(ev.TurnEnded)
        assert ended.reason == "interrupted"
        [recorded] = s.rx.all(ev.ChangesRecorded)
        [finished] = s.rx.all(ev.ToolCallFinished)
        assert recorded.seq < finished.seq < ended.seq
        s.submit(UNDO_ALL)
        await s.rx.expect(ev.ChangesUndone)
        assert ground.read("a.py") == "x = 1\n"


async def test_an_address_that_is_not_encrypted_is_warned_of_once_before_it_is_asked(ground: Ground) -> None:
    async with ground.session([[Say("one")], [Say("two")], [Say("three")]]) as s:
        for address in ("http://10.1.2.3:8000/v1", "http://127.0.0.1:1", "https://model.example"):
            s.submit(ops.SetMode(model=ModelRef(provider="scripted", model="m", base_url=address)))
            await s.prompt()
        s.submit(ops.SetMode(model=ModelRef(provider="scripted", model="m", base_url="http://10.1.2.3:8000/v1")))
        await s.prompt()
    (warning,) = s.rx.all(ev.Notice)
    assert (warning.level, warning.code) == ("warning", "readable_address")
    assert warning.title.startswith("http://10.1.2.3:8000 is not encrypted")
    kinds = [event.type for event in s.rx.recorded]
    assert kinds.index("notice") < kinds.index("message_done")


async def test_the_address_of_an_account_is_warned_of_as_well(ground: Ground) -> None:
    file = AccountsFile(ground.paths.config / ACCOUNTS_NAME)
    file.put(Account(provider="anthropic", name="lab", address="http://10.1.2.3:8000"))
    async with ground.session([[Say("one")]]) as s:
        s.submit(ops.SetMode(model=ModelRef(provider="anthropic", model="m", account="lab")))
        await s.prompt()
    (warning,) = s.rx.all(ev.Notice)
    assert warning.title.startswith("http://10.1.2.3:8000 is not encrypted")


async def test_a_password_in_an_address_is_not_recorded(ground: Ground) -> None:
    async with ground.session([[Say("one")]]) as s:
        s.submit(
            ops.SetMode(model=ModelRef(provider="scripted", model="m", base_url="https://me:hunter2@model.example"))
        )
        await s.prompt()
    journal = b"".join(path.read_bytes() for path in ground.paths.sessions.rglob("journal.jsonl"))
    assert b"hunter2" not in journal
    assert b"https://model.example" in journal
