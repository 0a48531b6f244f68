"""Only what was judged runs: edited commands, and scripts named by a command."""

import asyncio

import pytest
from msgspec.structs import replace

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Aborted, Allowed, ApprovalRequest
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.tools.gate import is_worse
from desktop_agent.core.transcript import ToolEntry, Transcript
from tests.core.tools.execution.test_execution import run
from tests.harness import Ground, Open


async def asked(s: Open) -> ev.ApprovalRequested:
    return await s.carry_out(ops.SubmitPrompt(text="go"), ev.ApprovalRequested)


async def judged(s: Open, command: str) -> ev.CommandJudged:
    s.submit(ops.JudgeCommand(call_id=s.rx.all(ev.ApprovalRequested)[-1].request.call_id, command=command))
    while True:
        judgement = await s.rx.expect(ev.CommandJudged)
        if judgement.command == command and (judgement.digest is not None or judgement.obstacle):
            return judgement


def shown(s: Open) -> ToolEntry:
    transcript = Transcript()
    for event in s.rx.events:
        transcript.apply(event)
    [entry] = [entry for entry in transcript.entries if isinstance(entry, ToolEntry)]
    return entry


def answer(s: Open, decision: Allowed) -> None:
    call_id = s.rx.all(ev.ApprovalRequested)[-1].request.call_id
    s.submit(ops.AnswerApproval(call_id=call_id, decision=decision))


async def test_an_edited_command_is_judged_while_it_is_edited(walled: Ground) -> None:
    async with walled.session([[run("touch a.txt")], [Say("ok")]]) as s:
        await asked(s)
        judgement = await judged(s, "rm -rf build && git push")
        assert judgement.request is not None
        assert judgement.request.is_escalation
        assert judgement.request.confinement.startswith("Not sandboxed")
        assert "Deletes folders with everything in them." in judgement.request.risks
        assert "Uses the network." in judgement.request.risks
        assert judgement.request.safety != ()
        assert (await judged(s, "ls")).request is not None
        answer(s, Allowed())
        await s.rx.expect(ev.TurnEnded)
    assert walled.read("a.txt") == "", "what was not edited after all runs as it was"


async def test_only_the_latest_text_is_judged_to_the_end(walled: Ground) -> None:
    async with walled.session([[run("touch a.txt")], [Say("ok")]]) as s:
        question = await asked(s)
        for length in range(1, 30):
            s.submit(ops.JudgeCommand(call_id=question.request.call_id, command="rm -rf " + "b" * length))
        judgement = await judged(s, "rm -rf " + "b" * 29)
        whole = [event for event in s.rx.all(ev.CommandJudged) if event.digest is not None]
        assert judgement.digest == whole[-1].digest
        assert len(whole) < 29
        answer(s, Allowed())
        await s.rx.expect(ev.TurnEnded)


async def test_an_edited_command_that_is_worse_than_what_was_shown_is_asked_about(walled: Ground) -> None:
    walled.write("kept.txt", "kept\n")
    async with walled.session([[run("touch a.txt")], [Say("ok")]]) as s:
        await asked(s)
        answer(s, Allowed(edited_command="rm -rf kept.txt"))
        resolved = await s.rx.expect(ev.ApprovalResolved)
        assert isinstance(resolved.decision, Aborted)
        again = (await s.rx.expect(ev.ApprovalRequested)).request
        assert again.command == "rm -rf kept.txt"
        assert "Deletes folders with everything in them." in again.risks
        assert walled.read("kept.txt") == "kept\n"
        answer(s, Allowed())
        await s.rx.expect(ev.TurnEnded)
        assert "The user changed the command" in s.results()[0].content
        entry = shown(s)
        assert entry.edited_command == "rm -rf kept.txt"
    assert not (walled.workspace / "kept.txt").exists()


async def test_an_edited_command_runs_as_it_was_judged_not_as_the_old_one(walled: Ground) -> None:
    """The command asked for the network. Edited to need none, it stays in the sandbox."""
    async with walled.session([[run("curl https://example.org")], [Say("ok")]]) as s:
        question = await asked(s)
        assert question.request.is_escalation
        judgement = await judged(s, "touch a.txt")
        assert judgement.request is not None
        assert judgement.request.confinement.startswith("In the sandbox")
        answer(s, Allowed(edited_command="touch a.txt", judged=judgement.digest))
        finished = await s.rx.expect(ev.ToolCallFinished)
        assert finished.result.metadata["confinement"] == "sandbox"


async def test_an_answer_to_an_older_judgement_is_asked_again(walled: Ground) -> None:
    script = walled.write("run.sh", "echo one > out.txt\n")
    async with walled.session([[run("true")], [Say("ok")]], approval="always") as s:
        await asked(s)
        judgement = await judged(s, "sh run.sh")
        script.write_text("echo two > out.txt\n")
        answer(s, Allowed(edited_command="sh run.sh", judged=judgement.digest))
        again = (await s.rx.expect(ev.ApprovalRequested)).request
        assert again.command == "sh run.sh"
        assert not (walled.workspace / "out.txt").exists()
        answer(s, Allowed())
        await s.rx.expect(ev.TurnEnded)
    assert walled.read("out.txt") == "two\n"


async def test_what_must_not_run_says_so_while_it_is_typed(walled: Ground) -> None:
    async with walled.session([[run("touch a.txt")], [Say("ok")]]) as s:
        await asked(s)
        judgement = await judged(s, "")
        assert (judgement.request, judgement.obstacle) == (None, "Command must not be empty")
        answer(s, Allowed())
        await s.rx.expect(ev.TurnEnded)


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("./build.sh", "build.sh"),
        ("sh tools/build.sh x", "tools/build.sh"),
        ("env A=1 python3 build.py", "build.py"),
        ("true && . ./env.sh", "env.sh"),
        ("sh < build.sh", "build.sh"),
        ("python3 -m builder", "builder.py"),
        ("make all", "Makefile"),
        ("sh later.sh", "later.sh"),  # it appears while the question waits
    ],
)
async def test_a_script_that_changes_while_the_question_waits_brings_it_back(
    walled: Ground, command: str, script: str
) -> None:
    file = walled.workspace / script
    if script != "later.sh":
        await asyncio.to_thread(walled.write(script, "#!/bin/sh\nexit 0\n").chmod, 0o755)
    async with walled.session([[run(command)], [Say("ok")]]) as s:
        await asked(s)
        file.write_text("#!/bin/sh\ntouch owned.txt\n")
        answer(s, Allowed())
        again = (await s.rx.expect(ev.ApprovalRequested)).request
        assert script in again.reason
        assert "changed after you were asked" in again.reason
        answer(s, Allowed())
        await s.rx.expect(ev.TurnEnded)
        assert len(s.rx.all(ev.ApprovalRequested)) == 2, "the second answer was to what it is now"


async def test_a_command_that_is_stopped_or_fails_says_how_it_was_confined(walled: Ground) -> None:
    waits = Call("run_terminal_cmd", {"command": "echo begun; read line < fifo || sleep 1000"})
    async with walled.session([[waits], [Say("ok")]], approval="on_request") as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.ToolOutputDelta)
        finished = await s.carry_out(ops.Interrupt(), ev.ToolCallFinished)
        assert finished.state == "failed"
        assert finished.result.metadata["confinement"] == "sandbox"


async def test_waiting_for_an_answer_is_no_running_time(walled: Ground) -> None:
    async with walled.session([[run("touch a.txt")], [Say("ok")]]) as s:
        question = await asked(s)
        answer(s, Allowed())
        resolved = await s.rx.expect(ev.ApprovalResolved)
        await s.rx.expect(ev.TurnEnded)
        entry = shown(s)
        assert entry.waited_s == (resolved.at - question.at).total_seconds() > 0


def test_to_destroy_what_no_copy_holds_is_worse_than_to_destroy_nothing() -> None:
    """Where nothing is copied, the gap in the safety copy is told first."""
    shown_request = ApprovalRequest(
        call_id="c1", tool="run_terminal_cmd", title="Run?", reason="It writes.", arguments_digest="0" * 64
    )
    gap = replace(shown_request, safety=("Not in the safety copy: big.bin. It is too large.",))
    assert is_worse(gap, shown_request)
    assert not is_worse(shown_request, gap)
