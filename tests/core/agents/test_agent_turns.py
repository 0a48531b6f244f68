"""Turns of another program's agent: what it tells, asks, changes by itself, and how its changes are undone."""

import sys

import pytest

from desktop_agent.core.changes.net import net_changes
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.diff.hunks import review_hunks
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import (
    Allowed,
    ChangeSelection,
    ContextUse,
    Denied,
    ModelRef,
    ToolUseBlock,
)
from desktop_agent.core.providers.scripted import Say
from tests.core.agents.scene import POEM, Scene, call, ended, said, texts
from tests.harness import MODEL


async def test_what_the_agent_says_and_does_is_recorded_and_its_calls_are_answered(scene: Scene) -> None:
    steps = [
        said("I look "), said("first. "), call("1", "read", "Read poem.txt"), ended("1", "line 1"), said("Done.")
    ]  # fmt: skip
    async with scene.session(steps) as opened:
        end = await opened.prompt("go")
        assert end.reason == "completed"
        assert texts(opened) == ["I look first. ", "Done."]
        (started,), (finished,) = opened.rx.all(ev.ToolCallStarted), opened.rx.all(ev.ToolCallFinished)
        assert (started.title, started.is_read_only, started.source) == ("Read poem.txt", True, "external")
        assert (finished.result.content, finished.state) == ("line 1", "completed")
        calls = [block for one in opened.rx.all(ev.MessageDone) for block in one.content]
        assert [block.id for block in calls if isinstance(block, ToolUseBlock)] == ["1"]
    assert scene.sent("session/prompt")[0]["prompt"] == [{"type": "text", "text": "go"}]


async def test_hunks_that_the_agent_wrote_by_itself_are_undone_out_of_order_and_redone(scene: Scene) -> None:
    both = POEM.replace("line 2\n", "LINE 2\n").replace("line 39\n", "LINE 39\n")
    scene.ground.write("poem.txt", POEM)
    steps = [
        call("1", "edit", "Edit", locations=[{"path": "poem.txt"}]), {"write": ["poem.txt", both]}, ended("1"),
        call("2", "execute", "Run", rawInput={"command": "echo made > shell.txt"}),
        {"run": "echo made > shell.txt"}, ended("2", "ran"), said("Done."),
    ]  # fmt: skip
    async with scene.session(steps) as opened:
        await opened.prompt("go")
        recorded = [change for one in opened.rx.all(ev.ChangesRecorded) for change in one.changes]
        assert {change.path for change in recorded} == {"poem.txt", "shell.txt"}, "perhaps in several steps"
        assert {change.author for change in recorded} == {"agent"}
        (row,) = (one for one in net_changes(opened.session.transcript.changes.values()) if one.path == "poem.txt")
        blobs = [scene.ground.blob(image) for image in (row.change.before, row.change.after)]
        first, _ = (named.key for named in review_hunks(diff_change(row.change, *blobs)))
        undone = await opened.undo(ChangeSelection(path="poem.txt", hunks=(first,)))
        assert [one.state for one in undone.outcomes] == ["restored"]
        assert scene.ground.read("poem.txt") == POEM.replace("line 39\n", "LINE 39\n")
        await opened.redo_step()
        assert scene.ground.read("poem.txt") == both
        await opened.undo()
        assert scene.ground.read("poem.txt") == POEM
        assert not (scene.ground.workspace / "shell.txt").exists()


async def test_a_command_is_asked_about_as_one_outside_the_sandbox_and_is_not_run_when_denied(scene: Scene) -> None:
    asked = {"toolCallId": "1", "title": "rm it", "kind": "execute", "rawInput": {"command": "rm poem.txt"}}
    steps = [{"ask": asked}, {"run": "rm poem.txt"}, {"end": True}, ended("1", status="failed"), said("Done.")]
    scene.ground.write("poem.txt", POEM)
    async with scene.session(steps, approval="on_write", sandbox="restricted") as opened:
        opened.submit(ops.SubmitPrompt(text="go"))
        question = await opened.answer(Denied(message="Rather not."))
        request = question.request
        assert (request.command, request.is_fixed) == ("rm poem.txt", True)
        assert "outside the sandbox" in request.reason
        assert request.safety
        await opened.rx.expect(ev.TurnEnded)
        assert scene.ground.read("poem.txt") == POEM
        second = await opened.rx.expect(ev.PromptSubmitted)
        assert second.text == "Rather not."


async def test_the_agents_session_is_opened_again_after_it_was_killed(scene: Scene) -> None:
    scene.script["answers"] = {
        "initialize": {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"resume": {}}}},
        "session/resume": {},
    }
    async with scene.session([said("One."), {"exit": 3}]) as opened:
        end = await opened.prompt("first")
        assert end.reason == "provider_error"
        (notice,) = opened.rx.all(ev.Notice)
        assert "broke off. It ended with exit code 3." in notice.title
        assert texts(opened) == ["One."]
        scene.script["prompts"] = [[said("Two.")]]
        _ = scene.model
        end = await opened.prompt("second")
        assert (end.reason, texts(opened)) == ("completed", ["One.", "Two."])
    (new,) = scene.sent("session/new")
    (again,) = scene.sent("session/resume")
    assert new["cwd"] == again["cwd"] == str(scene.ground.workspace)
    assert [one["prompt"][-1]["text"] for one in scene.sent("session/prompt")] == ["first", "second"]


async def test_another_model_goes_on_with_the_conversation_and_the_agent_hears_of_it(scene: Scene) -> None:
    scene.script["prompts"] = [[said("From the agent.")], [said("Again.")]]
    async with scene.ground.session([[Say("From the model.")]], model=scene.model) as opened:
        await opened.prompt("first")
        opened.submit(ops.SetMode(model=MODEL))
        await opened.prompt("second")
        (request,) = opened.provider.requests
        assert [message.role for message in request.messages] == ["user", "assistant", "user"]
        opened.submit(ops.SetMode(model=scene.model))
        await opened.prompt("third")
        assert texts(opened) == ["From the agent.", "From the model.", "Again."]
    told = [one["text"] for one in scene.sent("session/prompt")[1]["prompt"]]
    assert told[-1] == "third"
    assert any("From the model." in one for one in told)
    assert not any("From the agent." in one for one in told)


async def test_what_is_pinned_is_told_with_each_prompt_but_with_no_command_of_the_agents(scene: Scene) -> None:
    async with scene.session([said("One.")], [said("Two.")], [said("Three.")]) as opened:
        opened.submit(ops.AddPin(text="Tabs, not spaces."))
        await opened.rx.expect(ev.Pinned)
        for prompt in ("first", "/review it", "/etc/hosts is wrong"):
            await opened.prompt(prompt)
    told = [[block["text"] for block in one["prompt"]] for one in scene.sent("session/prompt")]
    pinned = "[The user pinned this. Keep to it:]\n- Tabs, not spaces."
    assert told == [["first", pinned], ["/review it"], ["/etc/hosts is wrong", pinned]]


async def test_a_stop_ends_the_agents_turn_and_keeps_what_it_wrote(scene: Scene) -> None:
    scene.ground.write("poem.txt", POEM)
    steps = [
        said("I begin."), call("1", "edit", "Edit", rawInput={"path": "poem.txt"}), {"write": ["poem.txt", "mine\n"]},
        said("!"), {"hang": True},
    ]  # fmt: skip
    async with scene.session(steps, [said("Again.")]) as opened:
        opened.submit(ops.SubmitPrompt(text="go"))
        await opened.rx.expect(ev.TextDelta, lambda event: event.text == "!")
        opened.submit(ops.Interrupt())
        end = await opened.rx.expect(ev.TurnEnded)
        assert end.reason == "interrupted"
        (finished,) = opened.rx.all(ev.ToolCallFinished)
        assert finished.state == "failed"
        await opened.undo()
        assert scene.ground.read("poem.txt") == POEM
        end = await opened.prompt("again")
        assert end.reason == "completed"
    assert scene.sent("session/cancel")


async def test_an_edit_is_shown_before_it_is_allowed_and_what_the_user_writes_meanwhile_is_theirs(scene: Scene) -> None:
    scene.ground.write("poem.txt", POEM.replace("\n", "\r\n"))
    diff = {"type": "diff", "path": str(scene.ground.workspace / "poem.txt"), "oldText": "line 2\n", "newText": "two\n"}
    asked = {"toolCallId": "1", "title": "Edit poem.txt", "kind": "edit", "content": [diff]}
    new = POEM.replace("line 2\n", "two\n").replace("\n", "\r\n")
    steps = [{"ask": asked}, {"write": ["poem.txt", new]}, {"end": True}, ended("1", "done")]
    async with scene.session(steps, approval="on_write") as opened:
        opened.submit(ops.SubmitPrompt(text="go"))
        question = (await opened.rx.expect(ev.ApprovalRequested)).request
        (change,) = question.changes
        assert scene.ground.blob(change.after).decode() == new
        scene.ground.write("mine.txt", "mine\n")
        opened.submit(ops.AnswerApproval(call_id=question.call_id, decision=Allowed()))
        await opened.rx.expect(ev.TurnEnded)
        made = [change for one in opened.rx.all(ev.ChangesRecorded) for change in one.changes]
        assert {change.path for change in made if change.author == "agent"} == {"poem.txt"}
        await opened.undo()
        assert scene.ground.read("poem.txt") == POEM.replace("\n", "\r\n")
        assert scene.ground.read("mine.txt") == "mine\n"


async def test_a_question_that_the_agent_does_not_wait_for_is_over_with_its_turn(scene: Scene) -> None:
    asked = {"toolCallId": "1", "title": "Fetch", "kind": "fetch"}
    steps = [{"ask": asked, "waits": False, "then": call("2", "think")["update"]}, {"hang": True}]
    async with scene.session(steps) as opened:
        opened.submit(ops.SubmitPrompt(text="go"))
        await opened.rx.expect(ev.ApprovalRequested)
        opened.submit(ops.Interrupt())
        await opened.rx.expect(ev.TurnEnded)
        assert not opened.session.transcript.turns.waiting
        assert [one.state for one in opened.rx.all(ev.ToolCallFinished)] == ["failed"]


async def test_the_agents_plan_is_the_to_do_list_and_its_title_and_usage_are_taken(scene: Scene) -> None:
    entries = [{"content": "Look", "priority": "high", "status": "completed"}]
    entries.append({"content": "Write", "priority": "low", "status": "pending"})
    cost = {"amount": 0.5, "currency": "USD"}
    steps = [
        {"update": {"sessionUpdate": "plan", "entries": entries}},
        {"update": {"sessionUpdate": "session_info_update", "title": "A poem"}},
        {"update": {"sessionUpdate": "usage_update", "used": 70, "size": 100, "cost": cost}},
        {"update": {"sessionUpdate": "notice", "severity": "warning", "title": "Careful"}},
        said("Done."),
    ]  # fmt: skip
    async with scene.session(steps) as opened:
        await opened.prompt("go")
        assert [(one.content, one.status) for one in opened.session.transcript.turns.todos] == [
            ("Look", "completed"), ("Write", "pending")
        ]  # fmt: skip
        assert opened.session.transcript.session.title == "A poem"
        (use,) = opened.rx.all(ev.ContextMeasured)
        assert use.use == ContextUse(tokens=70, window=100, source="reported")
        assert opened.session.transcript.turns.usage.cost_usd == 0.5
        assert "Careful" in [one.title for one in opened.rx.all(ev.Notice)]


async def test_a_conversation_that_goes_back_is_another_session_of_the_agent(scene: Scene) -> None:
    async with scene.session([said("One.")], [said("Two.")], [said("Three.")]) as opened:
        await opened.prompt("first")
        await opened.prompt("second")
        await opened.carry_out(ops.RewindTo(turn=2, scope="conversation"), ev.Rewound)
        await opened.prompt("third")
    assert len(scene.sent("session/new")) == 2
    told = [one["text"] for one in scene.sent("session/prompt")[2]["prompt"]]
    assert told[-1] == "third"
    assert any("One." in one for one in told)
    assert not any("Two." in one or "second" in one for one in told)


async def test_an_agent_gets_no_credentials_but_those_of_its_own_account(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"sk-proj-{'a1B2' * 12}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", f"sk-ant-api03-{'c3D4' * 12}")
    program = scene.folder / "claude-agent-acp"
    script = scene.model.model.split(" ", 1)[1]
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {script}\n", encoding="utf-8")
    program.chmod(0o755)
    steps = [{"run": "env > variables.txt"}]
    scene.script["prompts"] = [steps, steps]
    for command, has_own in ((str(program), True), (f"sh {program}", False)):
        _ = scene.model
        model = ModelRef(provider="acp", model=command)
        async with scene.ground.session([], model=model) as opened:
            assert (await opened.prompt("go")).reason == "completed"
        variables = scene.ground.read("variables.txt")
        assert ("ANTHROPIC_API_KEY" in variables) is has_own
        assert "OPENAI_API_KEY" not in variables
        assert "PATH=" in variables
