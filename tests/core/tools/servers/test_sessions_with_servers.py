"""Servers in the life of sessions: resumed during a question, two in one folder, changed settings."""

import psutil

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, Denied
from desktop_agent.core.providers.scripted import Call, Reply, Say
from tests.core.approvals.test_pending import answers, killed_while_asking
from tests.core.mcp.conftest import PROGRAM
from tests.core.tools.servers.conftest import program, with_servers
from tests.harness import Ground, check_conversation
from tests.system_processes import descendants, running_with

WRITE = Call("program__write", {"path": "notes.txt", "text": "theirs\n"})
DONE: Reply = [Say("Done.")]


def running_servers() -> list[psutil.Process]:
    return running_with(str(PROGRAM), descendants())


async def test_no_server_is_started_before_a_turn_needs_it(ground: Ground) -> None:
    with_servers(ground, program(name="a"), program(name="b"))

    async with ground.session([DONE]) as s:
        assert running_servers() == []
        await s.prompt()
        assert len(running_servers()) == 2


async def test_a_question_about_a_call_outlives_the_application_and_its_yes_calls_the_server(ground: Ground) -> None:
    session_id = await killed_while_asking(ground, [WRITE])

    async with ground.session([DONE], resume=session_id) as s:
        (request,) = s.transcript.pending_approvals
        assert request.title == "Let program run write?"
        assert not (ground.workspace / "notes.txt").exists()
        s.submit(ops.AnswerApproval(call_id=request.call_id, decision=Allowed()))
        recorded = await s.rx.expect(ev.ChangesRecorded)
        ended = await s.rx.expect(ev.TurnEnded)
        (answer,) = answers(s)
        check_conversation(s.last_request)

    assert ended.reason == "completed"
    assert not answer.is_error
    assert [(change.path, change.author) for change in recorded.changes] == [("notes.txt", "mcp")]
    assert ground.read("notes.txt") == "theirs\n"


async def test_a_no_to_a_question_of_before_calls_nothing(ground: Ground) -> None:
    session_id = await killed_while_asking(ground, [WRITE])

    async with ground.session([DONE], resume=session_id) as s:
        (request,) = s.transcript.pending_approvals
        await s.carry_out(ops.AnswerApproval(call_id=request.call_id, decision=Denied()), ev.TurnEnded)
        (answer,) = answers(s)

    assert answer.is_error
    assert not (ground.workspace / "notes.txt").exists()


async def test_a_question_about_a_server_that_is_gone_by_now_is_answered_for_the_model(ground: Ground) -> None:
    session_id = await killed_while_asking(ground, [WRITE])
    with_servers(ground)

    async with ground.session([DONE], resume=session_id) as s:
        (request,) = s.transcript.pending_approvals
        ended = await s.carry_out(ops.AnswerApproval(call_id=request.call_id, decision=Allowed()), ev.TurnEnded)
        (answer,) = answers(s)

    assert ended.reason == "completed"
    assert answer.is_error
    assert not (ground.workspace / "notes.txt").exists()


async def test_settings_that_change_between_two_turns_are_those_of_the_next(ground: Ground) -> None:
    with_servers(ground, program(), program(name="other"))
    assert ground.live is not None
    path = ground.paths.config / "config.toml"

    async with ground.session([DONE, DONE, DONE]) as s:
        await s.prompt()
        both = {tool.name for tool in s.last_request.tools}
        less = program(more='disabled_tools = ["die"]')
        path.write_text(f"[[mcp.definitions]]\n{less}")
        await ground.live.refresh()
        await s.prompt()
        one = {tool.name for tool in s.last_request.tools}
        path.write_text("")
        await ground.live.refresh()
        await s.prompt()
        none = {tool.name for tool in s.last_request.tools}

    assert {"program__die", "other__die"} <= both
    assert "program__echo" in one
    assert not {"program__die", "other__die"} & one
    assert not [name for name in none if "__" in name]
