"""A question to the user survives the process that asked it, and its answer goes on with the turn."""

import asyncio

from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import (
    Allowed,
    ApprovalPolicy,
    ApprovalRequest,
    ChangeSelection,
    Decision,
    Denied,
    ModelRef,
    ToolResultBlock,
    UserMessage,
)
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.providers.scripted import Call, Reply, Say, ScriptedProvider, in_order
from desktop_agent.core.tools.execution.runtime import NOT_STARTED
from tests.harness import Ground, Open, check_conversation

EDIT = Call("edit_file", {"path": "a.py", "old_str": "x = 1", "new_str": "x = 2"})
CREATE = Call("create_file", {"path": "b.py", "content": "b\n"})
RUN = Call("run_terminal_cmd", {"command": "echo mine > out"})
READ = Call("read_file", {"path": "a.py"})
BOTH = [READ, Call("list_files", {"path": "."})]
"""Parallel calls that ask when everything does."""
DONE: Reply = [Say("Done.")]


async def killed_while_asking(
    ground: Ground, first: Reply, *, questions: int = 1, then: str = "", approval: ApprovalPolicy = "on_write"
) -> str:
    """Begin a turn and end as SIGKILL would while it asks; return the session."""
    ground.write("a.py", "x = 1\n")
    async with ground.session([first], approval=approval) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        for _ in range(questions):
            await s.rx.expect(ev.ApprovalRequested)
        if then:
            await s.carry_out(ops.SubmitPrompt(text=then), ev.Queued)
        left = await asyncio.to_thread(ground.journal(s.id).read_bytes)
        session_id = s.id
    ground.journal(session_id).write_bytes(left)
    return session_id


def answer_left(s: Open, decision: Decision) -> ApprovalRequest:
    [request] = s.transcript.pending_approvals
    s.submit(ops.AnswerApproval(call_id=request.call_id, decision=decision))
    return request


def in_order_of_calls(s: Open) -> list[ApprovalRequest]:
    """The pending questions in the order of the calls: parallel calls may ask in any order."""
    return sorted(s.transcript.pending_approvals, key=lambda request: request.call_id)


def answers(s: Open) -> list[ToolResultBlock]:
    return [
        block
        for message in s.last_request.messages
        if isinstance(message, UserMessage)
        for block in message.content
        if isinstance(block, ToolResultBlock)
    ]


async def test_the_question_is_there_again_and_nothing_runs_by_itself(ground: Ground) -> None:
    session_id = await killed_while_asking(ground, [EDIT])
    before = ground.journal(session_id).read_bytes()
    async with ground.session([DONE], resume=session_id) as s:
        assert s.transcript.turns.status == "waiting"
        [request] = s.transcript.pending_approvals
        assert [change.path for change in request.changes] == ["a.py"]
    assert s.provider.requests == []
    assert s.rx.recorded == []
    assert ground.read("a.py") == "x = 1\n"
    assert ground.journal(session_id).read_bytes() == before, "and so it is after the next restart"


async def test_the_answer_goes_on_with_the_turn(ground: Ground) -> None:
    session_id = await killed_while_asking(ground, [Say("Now."), EDIT, CREATE, READ])
    async with ground.session([DONE], resume=session_id) as s:
        answer_left(s, Allowed())
        await s.answer()
        ended = await s.rx.expect(ev.TurnEnded)
        assert (ended.turn, ended.reason, ended.requests) == (1, "completed", 2)
        check_conversation(s.last_request)
        assert [result.is_error for result in s.results()] == [False, False, False]
        assert s.results()[2].content == "x = 2\n"
        assert ground.read("a.py") == "x = 2\n"
        assert ground.read("b.py") == "b\n"
        started = [event.call.name for event in s.rx.all(ev.ToolCallStarted)]
        assert started == ["create_file", "read_file"], "the first was taken up before"
        assert [event.request.tool for event in s.rx.all(ev.ApprovalRequested)] == ["create_file"]


async def test_a_no_is_a_no_whatever_has_changed(ground: Ground) -> None:
    session_id = await killed_while_asking(ground, [EDIT])
    ground.write("a.py", "x = 1  # mine\n")
    async with ground.session([DONE], resume=session_id) as s:
        s.submit(ops.SetMode(approval="never"))
        answer_left(s, Denied(message="not like this"))
        await s.rx.expect(ev.TurnEnded)
        assert "not like this" in s.results()[0].content
        assert ground.read("a.py") == "x = 1  # mine\n"


async def test_a_yes_to_what_has_changed_since_asks_again(ground: Ground) -> None:
    session_id = await killed_while_asking(ground, [EDIT])
    ground.write("a.py", "x = 1  # mine\n")
    async with ground.session([DONE], resume=session_id) as s:
        request = answer_left(s, Allowed())
        resolved = await s.rx.expect(ev.ApprovalResolved)
        assert resolved.decision.outcome == "aborted"
        again = await s.answer()
        assert again.request.call_id == request.call_id
        assert again.request.changes != request.changes
        await s.rx.expect(ev.TurnEnded)
        assert ground.read("a.py") == "x = 2  # mine\n"


async def test_a_file_that_the_model_had_read_and_that_changed_since_is_not_written(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")
    async with ground.session([[READ], [EDIT]]) as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        left = await asyncio.to_thread(ground.journal(s.id).read_bytes)
    ground.journal(s.id).write_bytes(left)
    ground.write("a.py", "x = 1  # mine\n")
    async with ground.session([DONE], resume=s.id) as s:
        answer_left(s, Allowed())
        resolved = await s.rx.expect(ev.ApprovalResolved)
        assert resolved.decision.outcome == "aborted"
        await s.rx.expect(ev.TurnEnded)
        assert "changed on disk since you last read it" in s.results()[0].content
        assert ground.read("a.py") == "x = 1  # mine\n"


async def test_the_person_may_still_change_the_command(ground: Ground) -> None:
    for policy in ("on_write", "never"):
        session_id = await killed_while_asking(ground, [RUN])
        async with ground.session([DONE], resume=session_id) as s:
            s.submit(ops.SetMode(approval=policy, sandbox="none" if policy == "on_write" else "restricted"))
            edited = Allowed(edited_command=f"echo {policy} > out")
            answer_left(s, edited)
            event = await s.rx.expect((ev.ApprovalRequested, ev.TurnEnded))
            if isinstance(event, ev.ApprovalRequested):  # without a sandbox it is another question
                answer_left(s, edited)
                await s.rx.expect(ev.TurnEnded)
            assert ground.read("out") == f"{policy}\n"
            assert f"echo {policy} > out" in s.results()[0].content


async def test_several_questions_wait_each_for_its_own_answer(ground: Ground) -> None:
    session_id = await killed_while_asking(ground, BOTH, questions=2, approval="always")
    async with ground.session([DONE], resume=session_id) as s:
        first, second = in_order_of_calls(s)
        s.submit(ops.AnswerApproval(call_id=second.call_id, decision=Denied(message="the second")))
        await s.rx.expect(ev.ToolCallFinished, lambda event: event.call_id == second.call_id)
        assert s.session.transcript.pending_approvals == [first]
        await s.carry_out(ops.AnswerApproval(call_id=first.call_id, decision=Denied(message="the first")), ev.TurnEnded)
        assert ["the first" in s.results()[0].content, "the second" in s.results()[1].content] == [True, True]
        assert s.rx.all(ev.ApprovalRequested) == []


async def test_stopping_settles_the_turn(ground: Ground) -> None:
    session_id = await killed_while_asking(ground, [EDIT, CREATE])
    async with ground.session([DONE], resume=session_id) as s:
        ended = await s.carry_out(ops.Interrupt(), ev.TurnEnded)
        assert ended.reason == "interrupted"
        assert s.session.transcript.turns.status == "idle"
        await s.prompt("go on")
        check_conversation(s.last_request)
        assert [result.content for result in answers(s)] == [NOT_STARTED, NOT_STARTED], (
            "none of them was allowed to act"
        )
        assert not ended.is_cut_off, "it was the user who stopped it"
        assert ground.read("a.py") == "x = 1\n"


async def test_stopping_after_an_answer_settles_the_other_question(ground: Ground) -> None:
    session_id = await killed_while_asking(ground, BOTH, questions=2, approval="always")
    async with ground.session([DONE], resume=session_id) as s:
        first, second = in_order_of_calls(s)
        s.submit(ops.AnswerApproval(call_id=first.call_id, decision=Denied()))
        await s.rx.expect(ev.ToolCallFinished, lambda event: event.call_id == first.call_id)
        ended = await s.carry_out(ops.Interrupt(), ev.TurnEnded)
        assert ended.reason == "interrupted"
        assert s.session.transcript.pending_approvals == []
        resolved = {event.call_id: event.decision.outcome for event in s.rx.all(ev.ApprovalResolved)}
        assert resolved == {first.call_id: "denied", second.call_id: "aborted"}


async def test_a_new_prompt_waits_for_the_turn_that_waits(ground: Ground) -> None:
    session_id = await killed_while_asking(ground, [EDIT], then="queued before")
    async with ground.session([DONE, DONE, DONE], resume=session_id) as s:
        await s.carry_out(ops.SubmitPrompt(text="queued after"), ev.Queued)
        nothing = await s.carry_out(ops.UndoChanges(selection=ChangeSelection()), ev.Notice)
        assert nothing.code == "nothing_selected"
        answer_left(s, Allowed())
        for turn in (1, 2, 3):
            ended = await s.rx.expect(ev.TurnEnded)
            assert (ended.turn, ended.reason) == (turn, "completed")
        assert [event.text for event in s.rx.all(ev.PromptSubmitted)] == ["queued before", "queued after"]


async def test_what_the_turn_had_changed_is_put_back_before_its_question_is_answered(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")
    async with ground.session([[EDIT], [CREATE]]) as s:
        await s.begin()
        await s.rx.expect(ev.ApprovalRequested)
        left, session_id = await asyncio.to_thread(ground.journal(s.id).read_bytes), s.id
    ground.journal(session_id).write_bytes(left)
    for _ in range(2):  # the undo survives the process, and the question survives the undo
        async with ground.session([DONE], resume=session_id) as s:
            if ground.read("a.py") == "x = 2\n":
                await s.carry_out(ops.UndoChanges(selection=ChangeSelection()), ev.ChangesUndone)
            assert ground.read("a.py") == "x = 1\n"
            [request] = s.session.transcript.pending_approvals
            left = await asyncio.to_thread(ground.journal(session_id).read_bytes)
            s.submit(ops.AnswerApproval(call_id=request.call_id, decision=Allowed()))
            assert (await s.rx.expect(ev.TurnEnded)).reason == "completed"
            assert ground.read("b.py") == "b\n"
            check_conversation(s.last_request)
        ground.journal(session_id).write_bytes(left)
        (ground.workspace / "b.py").unlink()


async def test_late_and_wrong_answers_start_nothing(ground: Ground) -> None:
    session_id = await killed_while_asking(ground, [EDIT])
    async with ground.session([DONE], resume=session_id) as s:
        s.submit(ops.AnswerApproval(call_id="another", decision=Allowed()))
        await s.carry_out(ops.RenameSession(title="still waiting"), ev.SessionRenamed)
        assert s.session.transcript.turns.status == "waiting"
        [request] = s.transcript.pending_approvals
        for _ in range(3):
            s.submit(ops.AnswerApproval(call_id=request.call_id, decision=Allowed()))
        await s.rx.expect(ev.TurnEnded)
        assert len(s.rx.all(ev.ApprovalResolved)) == 1
        assert len(s.rx.all(ev.ChangesRecorded)) == 1


async def test_a_command_that_ran_and_then_asked_to_leave_the_sandbox_is_not_run_again(ground: Ground) -> None:
    """A new question could lead to a second run, and the effects of the first run are unknown."""
    session_id = await killed_while_asking(ground, [RUN])
    lines = ground.journal(session_id).read_bytes().splitlines(keepends=True)
    asked = next(line for line in lines if b'"approval_requested"' in line)
    resolved = (
        b'{"v":1,"seq":%d,"at":"2026-11-21T21:37:00Z","type":"approval_resolved","turn":1,"call_id":"%s",'
        b'"decision":{"scope":"once","edited_command":null,"rules":[],"outcome":"allowed"}}\n'
    )
    number = len(lines) + 1
    again = asked.replace(b'"seq":%d,' % (number - 1), b'"seq":%d,' % (number + 1))
    ground.journal(session_id).write_bytes(
        b"".join(lines) + resolved % (number, b"toolu_scripted_0001") + again,
    )
    async with ground.session([DONE], resume=session_id) as s:
        ended = await s.rx.expect(ev.TurnEnded)
        assert ended.reason == "interrupted"


async def test_what_is_not_asked_about_any_more_runs_with_the_others(ground: Ground) -> None:
    session_id = await killed_while_asking(ground, [EDIT])
    async with ground.session([DONE], resume=session_id) as s:
        s.submit(ops.SetMode(approval="on_request"))
        [request] = s.transcript.pending_approvals
        await s.carry_out(ops.AnswerApproval(call_id=request.call_id, decision=Allowed()), ev.TurnEnded)
        [resolved] = s.rx.all(ev.ApprovalResolved)
        assert resolved.decision.outcome == "allowed"
        assert ground.read("a.py") == "x = 2\n"


async def test_without_its_model_the_question_waits_on(ground: Ground) -> None:
    session_id = await killed_while_asking(ground, [EDIT])
    fails = [True]
    working = ScriptedProvider(in_order([DONE]))

    async def source(_model: ModelRef) -> Provider:
        if fails:
            raise CredentialsError("There is no key.")
        return working

    async with ground.session([], resume=session_id, provider_source=source) as s:
        [request] = s.transcript.pending_approvals
        answer = ops.AnswerApproval(call_id=request.call_id, decision=Allowed())
        notice = await s.carry_out(answer, ev.Notice)
        assert notice.code == "no_key"
        assert s.session.transcript.turns.status == "waiting"
        assert not s.session.is_at_work
        fails.clear()
        ended = await s.carry_out(answer, ev.TurnEnded)
        assert ended.reason == "completed"
        assert ground.read("a.py") == "x = 2\n"


async def test_closing_keeps_the_question(ground: Ground) -> None:
    session_id = await killed_while_asking(ground, [EDIT])
    for _ in range(2):
        async with ground.session([], resume=session_id) as s:
            await s.carry_out(ops.RenameSession(title="looked at"), ev.SessionRenamed)
            assert len(s.session.transcript.pending_approvals) == 1


async def test_a_question_that_waits_when_the_window_is_closed_waits_in_the_next(ground: Ground) -> None:
    """Closing the window is no answer, and no finished call is lost."""
    ground.write("a.py", "x = 1\n")
    async with ground.session([[READ, EDIT]]) as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)
        assert not s.session.is_at_work, "quitting stops nothing"
        session_id = s.id
        s.submit(ops.Shutdown(keeps_questions=True))
        await s.task
    async with ground.session([DONE], resume=session_id) as s:
        [request] = s.transcript.pending_approvals
        ended = await s.carry_out(ops.AnswerApproval(call_id=request.call_id, decision=Allowed()), ev.TurnEnded)
        assert ended.reason == "completed"
        assert [result.is_error for result in s.results()] == [False, False]
        assert ground.read("a.py") == "x = 2\n"
        check_conversation(s.last_request)


async def test_an_answer_that_comes_while_the_call_is_planned_anew_counts(ground: Ground) -> None:
    """An answer cannot get lost between two processes."""
    session_id = await killed_while_asking(ground, BOTH, questions=2, approval="always")
    for eagerness in range(12):
        async with ground.session([DONE], resume=session_id) as s:
            first, second = in_order_of_calls(s)
            s.submit(ops.AnswerApproval(call_id=first.call_id, decision=Allowed()))
            for _ in range(eagerness):
                await asyncio.sleep(0)
            ended = await s.carry_out(ops.AnswerApproval(call_id=second.call_id, decision=Denied()), ev.TurnEnded)
            assert ended.reason == "completed"
            assert [result.is_error for result in s.results()] == [False, True]
            left = await asyncio.to_thread(ground.journal(session_id).read_bytes)
        lines = left.splitlines(keepends=True)
        asked = max(i for i, line in enumerate(lines) if b'"approval_requested"' in line)
        await asyncio.to_thread(ground.journal(session_id).write_bytes, b"".join(lines[: asked + 1]))
