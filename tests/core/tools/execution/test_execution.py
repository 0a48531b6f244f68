"""How a decided call runs: its confinement, questions and rules."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from msgspec.structs import replace

from desktop_agent.core.approvals import RULES_NAME, RulesFile
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, ApprovalPolicy, Denied, Rule
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.sandbox.find import SandboxReport, SandboxSearch
from desktop_agent.core.settings.sections import ExecutionSettings
from desktop_agent.core.tools.execution.confiner import SandboxProbe
from tests.harness import Ground

AGAIN = "\n[Again, outside the sandbox]\n"
NO_SANDBOX = SandboxSearch(sandbox=None, reports=(SandboxReport(name="bubblewrap", is_available=False),))


def run(command: str, **more: object) -> Call:
    return Call("run_terminal_cmd", {"command": command, **more})


def without_sandbox(ground: Ground) -> None:
    ground.probe = SandboxProbe({}, lambda _: NO_SANDBOX)


@pytest.fixture
def outside() -> Iterator[Path]:
    """A missing file in a folder that the sandbox shows; `/tmp` would be the sandbox's own."""
    with TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder) / "outside.txt"


def content_of(file: Path) -> str | None:
    return file.read_text() if file.exists() else None


async def test_a_command_that_only_reads_runs_unasked_behind_walls(walled: Ground) -> None:
    walled.write("a.txt", "hello\n")
    async with walled.session([[run("cat a.txt | wc -l")], [Say("ok")]]) as s:
        await s.prompt()
        [finished] = s.rx.all(ev.ToolCallFinished)
        assert finished.result.metadata["confinement"] == "read-only sandbox"
        assert s.rx.all(ev.ApprovalRequested) == []
        assert s.rx.all(ev.ChangesPrepared) == [], "what cannot write needs no look at the workspace"


async def test_a_command_that_may_write_asks_and_then_writes_the_workspace_only(walled: Ground) -> None:
    async with walled.session([[run("echo x > in.txt; echo y > $TMPDIR/t")], [Say("ok")]]) as s:
        question = (await s.begin()).request
        assert question.confinement == "In the sandbox: may write this folder, no network"
        assert question.scopes[0].label == "Allow once"
        finished = await s.rx.expect(ev.ToolCallFinished)
        assert (finished.state, finished.result.metadata["confinement"]) == ("completed", "sandbox")
        assert [change.path for event in s.rx.all(ev.ChangesRecorded) for change in event.changes] == ["in.txt"]
    assert list(walled.paths.cache.glob("tmp/*")) == [], "the private folder is gone with the session"


async def test_what_the_sandbox_stopped_is_asked_and_run_again_outside(walled: Ground, outside: Path) -> None:
    """The first run's output stays visible, so a separator must follow it."""
    script = f"import pathlib; print('tried', flush=True); pathlib.Path({str(outside)!r}).write_text('x')"
    async with walled.session([[run(f'python3 -c "{script}"')], [Say("ok")]], approval="on_request") as s:
        question = (await s.begin()).request
        assert question.is_escalation
        assert question.title == "Run this command outside the sandbox?"
        assert "outside the folders the command may use" in question.reason
        finished = await s.rx.expect(ev.ToolCallFinished)
        assert finished.state == "completed"
        assert finished.result.metadata["escalated"] is True
        assert "The user allowed it outside the sandbox" in finished.result.content
        first, _, second = "".join(event.text for event in s.rx.all(ev.ToolOutputDelta)).partition(AGAIN)
        assert first.startswith("tried\n")
        assert "Read-only file system" in first or "Permission denied" in first
        assert second == "tried\n"
        assert content_of(outside) == "x"


async def test_a_no_to_leaving_the_sandbox_keeps_the_confined_result(walled: Ground, outside: Path) -> None:
    """S-16: the model learns of the refusal, and the turn goes on."""
    script = f"import pathlib; print('tried', flush=True); pathlib.Path({str(outside)!r}).write_text('x')"
    async with walled.session([[run(f'python3 -c "{script}"')], [Say("ok")]], approval="on_request") as s:
        await s.begin(Denied(message="stay inside"))
        finished = await s.rx.expect(ev.ToolCallFinished)
        assert finished.state == "failed"
        assert "stay inside" in finished.result.content
        assert "It was not run outside the sandbox" in finished.result.content
        assert "".join(event.text for event in s.rx.all(ev.ToolOutputDelta)).count("tried") == 1
        assert "Read-only file system" in finished.result.content
        assert (await s.rx.expect(ev.TurnEnded)).reason == "completed"
        assert content_of(outside) is None


@pytest.mark.parametrize("policy", ["on_request", "never"])
async def test_a_policy_that_does_not_ask_confines_instead(walled: Ground, policy: ApprovalPolicy) -> None:
    async with walled.session([[run("echo x > a.txt")], [Say("ok")]], approval=policy) as s:
        await s.prompt()
        assert s.rx.all(ev.ApprovalRequested) == []
        assert walled.read("a.txt") == "x\n"
        assert s.rx.all(ev.ToolCallFinished)[0].result.metadata["confinement"] == "sandbox"


async def test_in_the_strict_sandbox_no_command_writes_and_none_asks(walled: Ground) -> None:
    async with walled.session([[run("touch a.txt")], [Say("ok")]], approval="never", sandbox="strict") as s:
        await s.prompt()
        [result] = s.results()
        assert result.is_error
        assert "do not let it run outside" in result.content
        assert not (walled.workspace / "a.txt").exists()


@pytest.mark.parametrize("command", ["cat a.txt", "echo x > a.txt"])
@pytest.mark.parametrize("policy", ["always", "on_write", "on_request"])
async def test_without_a_sandbox_every_command_asks(ground: Ground, policy: ApprovalPolicy, command: str) -> None:
    without_sandbox(ground)
    ground.write("a.txt", "hello\n")
    async with ground.session([[run(command)], [Say("ok")]], approval=policy) as s:
        question = (await s.begin(Denied())).request
        assert "no sandbox is available" in question.reason or policy == "always"
        assert "Not sandboxed" in question.confinement
        await s.rx.expect(ev.TurnEnded)
    assert ground.read("a.txt") == "hello\n"


async def test_without_a_sandbox_the_policy_never_refuses(ground: Ground) -> None:
    without_sandbox(ground)
    async with ground.session([[run("touch a.txt")], [Say("ok")]], approval="never") as s:
        await s.prompt()
        assert s.results()[0].is_error
        assert not (ground.workspace / "a.txt").exists()


async def test_a_rule_for_the_session_answers_the_next_question_until_it_is_taken_back(walled: Ground) -> None:
    calls = [[run(f"touch {name}.txt")] for name in "abc"]
    async with walled.session([*calls[:2], [Say("ok")], calls[2], [Say("ok")]]) as s:
        rule = Rule(
            id="r-1", effect="allow", kind="command", pattern="touch", scope="session", created_at=walled.clock.now()
        )
        await s.turn(Allowed(scope="session", rules=(rule,)))
        assert len(s.rx.all(ev.ApprovalRequested)) == 1
        assert s.rx.all(ev.RulesReported)[-1].rules == (rule,)
        await s.carry_out(ops.RevokeRule(rule_id="r-1"), ev.RuleRevoked)
        s.submit(ops.SubmitPrompt(text="again"))
        await s.answer(Denied())
        await s.rx.expect(ev.TurnEnded)
        assert s.rx.all(ev.RulesReported)[-1].rules == ()
    assert not (walled.workspace / "c.txt").exists()


async def test_a_rule_of_a_session_holds_after_it_was_opened_again(walled: Ground) -> None:
    async with walled.session([[run("touch a.txt")], [Say("ok")]]) as s:
        await s.turn(Allowed(scope="session"))
        session_id = s.id
    async with walled.session([[run("touch a.txt")], [Say("ok")]], resume=session_id) as s:
        await s.prompt()
        assert s.rx.all(ev.ApprovalRequested) == []


async def test_a_lasting_rule_is_kept_in_the_file_and_holds_in_the_next_session(walled: Ground) -> None:
    async with walled.session([[run("touch a.txt")], [Say("ok")]]) as s:
        await s.turn(Allowed(scope="project"))
    [kept] = RulesFile(walled.paths.config / RULES_NAME).load().rules
    assert (kept.scope, kept.workspace) == ("project", str(walled.workspace))
    async with walled.session([[run("touch a.txt")], [Say("ok")]]) as s:
        await s.prompt()
        assert s.rx.all(ev.ApprovalRequested) == []
        await s.carry_out(ops.RevokeRule(rule_id=kept.id), ev.RulesReported, lambda event: event.rules == ())
    assert RulesFile(walled.paths.config / RULES_NAME).load().rules == ()


async def test_a_rules_file_with_mistakes_is_told_and_does_not_allow(walled: Ground) -> None:
    walled.paths.config.mkdir(parents=True)
    (walled.paths.config / RULES_NAME).write_text('[[rule]]\neffect = "allow"\nkind = "command"\npattern = "touch"\n')
    async with walled.session([[run("touch a.txt")], [Say("ok")]]) as s:
        notice = await s.carry_out(ops.SubmitPrompt(text="go"), ev.Notice)
        assert "the rules file has mistakes" in notice.title
        await s.answer(Denied())
        await s.rx.expect(ev.TurnEnded)


async def test_an_edited_command_is_held_to_the_rules_and_settings_too(walled: Ground) -> None:
    execution = ExecutionSettings(blocked_commands=("rm",))
    walled.settings = replace(walled.settings, execution=execution)
    walled.write("a.txt", "kept\n")
    async with walled.session([[run("touch b.txt")], [Say("ok")]]) as s:
        await s.begin(Allowed(edited_command="env rm -f a.txt"))
        finished = await s.rx.expect(ev.ToolCallFinished)
        assert finished.result.error_type == "permission"
        assert "blocked pattern: rm" in finished.result.content
    assert walled.read("a.txt") == "kept\n"


async def test_a_file_that_often_holds_secrets_is_read_only_after_a_yes(ground: Ground) -> None:
    ground.write(".env", "TOKEN=1\n")
    read = Call("read_file", {"path": ".env"})
    async with ground.session([[read], [read], [Say("ok")]], approval="on_request") as s:
        question = (await s.begin(Denied())).request
        assert "often holds secrets" in question.reason
        assert question.cause == ".env"
        await s.answer()
        await s.rx.expect(ev.TurnEnded)
        first, second = (event.result for event in s.rx.all(ev.ToolCallFinished))
        assert "TOKEN" not in first.content
        assert second.content == "TOKEN=1\n"


async def test_a_background_command_is_reported_and_stopped_from_the_front(ground: Ground) -> None:
    async with ground.session([[run("echo ready; sleep 1000", is_background=True)], [Say("ok")]]) as s:
        await s.turn()
        running = await s.rx.expect(ev.JobsReported, lambda event: event.jobs[0].last_line == "ready")
        assert running.jobs[0].state == "running"
        s.submit(ops.StopJob(job_id="job-unknown"))
        s.submit(ops.StopJob(job_id=running.jobs[0].id))
        stopped = await s.rx.expect(ev.JobsReported, lambda event: event.jobs[0].state != "running")
        assert stopped.jobs[0].state == "stopped"


@pytest.mark.parametrize("command", ["cat .e*", "grep -r TOKEN .", "cat deep/er/x.pem | head"])
async def test_a_command_that_runs_unasked_reads_no_secret_of_the_workspace(walled: Ground, command: str) -> None:
    search = await walled.probe.search() if walled.probe else NO_SANDBOX
    if search.sandbox is None or search.sandbox.name != "bubblewrap":
        pytest.skip("only bubblewrap hides single files")
    walled.write(".env", "TOKEN=hunter2\n")
    walled.write("deep/er/x.pem", "TOKEN=hunter2\n")
    async with walled.session([[run(command)], [Say("ok")]], approval="on_request") as s:
        event = await s.carry_out(ops.SubmitPrompt(text="go"), (ev.ApprovalRequested, ev.ToolCallFinished))
        if isinstance(event, ev.ApprovalRequested):
            assert "often hold" in event.request.reason or event.request.is_escalation
            s.submit(ops.AnswerApproval(call_id=event.request.call_id, decision=Denied()))
        await s.rx.expect(ev.TurnEnded)
        assert all("hunter2" not in result.content for result in s.results())


async def test_the_logs_of_a_sessions_jobs_are_in_a_folder_of_its_own(walled: Ground) -> None:
    """Commands may read that folder, and must not see the output of other sessions' jobs."""
    job = run("echo mine; sleep 30", is_background=True)
    look = run(f"until grep -h mine {walled.paths.logs}/jobs/*/*.log; do sleep 0.01; done")
    async with walled.session([[job], [look], [Say("ok")]], approval="on_request") as s:
        await s.prompt()
        started, looked = (event.result for event in s.rx.all(ev.ToolCallFinished))
        log = started.metadata["log"]
        assert isinstance(log, str)
        assert Path(log).parent == walled.paths.logs / "jobs" / s.id
        assert "mine" in looked.content


async def test_a_sandbox_that_a_workspace_brings_along_is_not_tried(ground: Ground) -> None:
    fake, witness = ground.workspace / ".venv" / "bin" / "bwrap", ground.workspace / "ran"
    fake.parent.mkdir(parents=True)
    fake.write_text(f"#!/bin/sh\ntouch '{witness}'\n")
    fake.chmod(0o755)
    ground.probe = SandboxProbe({**os.environ, "PATH": f"{fake.parent}{os.pathsep}{os.environ['PATH']}"})
    async with ground.session([[run("echo hello")], [Say("Done.")]], approval="never") as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.TurnEnded)
    assert not witness.exists()
