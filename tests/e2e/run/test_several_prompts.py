from pathlib import Path

import pytest

from tests.e2e.run.agent import AFTER, BEFORE, Agent, edit, prompts_in
from tests.servers.dialects.chat import OPENROUTER
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve

FREE = ("--approval", "on_request")


def test_each_prompt_is_a_turn_of_the_same_session(agent: Agent, workspace: Path) -> None:
    with serve(reply(text("One.")), edit(), reply(text("Two."))) as server:
        ran = agent.run(workspace, server.url, "--prompt", "second", *FREE, prompt="first")
        assert server.violations == []
        asked = prompts_in(server.messages[-1])
    assert ran.code == 0
    assert asked == ["first", "second"]
    assert ran.json["final_response"] == "One.\nI'll change it.\nTwo."
    assert ran.json["turns_used"] == 3
    assert {event["turn"] for event in ran.json["tools"]} == {2}
    assert (workspace / "a.py").read_bytes() == AFTER


def test_the_first_that_does_not_complete_ends_the_run(agent: Agent, workspace: Path) -> None:
    with serve(edit(), reply(text("Never asked."))) as server:
        ran = agent.run(workspace, server.url, "--prompt", "second", prompt="first")
        assert len(server.messages) == 1
    assert (ran.code, ran.json["stopped_reason"]) == (3, "approval_required")


def test_a_limit_of_costs_is_of_all_turns_together(
    agent: Agent, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-test-000000000000")
    answers = [reply(text("One."), cost=0.3), reply(tool_use("list_files"), cost=0.3), reply(text("No."), cost=0.3)]
    with serve(*answers, dialect=OPENROUTER) as server:
        ran = agent.run(
            workspace, server.url, "--provider", "openrouter", "--prompt", "second", "--max-cost", "0.5", prompt="first"
        )
        assert len(server.messages) == 2
    assert (ran.code, ran.json["limit"]) == (4, "max_cost")


def test_undoing_at_the_end_takes_back_the_changes_of_all_turns(agent: Agent, workspace: Path) -> None:
    replies = edit(), reply(text("Done.")), reply(text("Fine."))
    ran = agent.answered(workspace, replies, "--prompt", "look at it", "--undo-last-turn", *FREE)
    assert ran.code == 0
    assert ran.json["edited_files"] == []
    assert len(ran.json["undo_operations"]) == 1
    assert (workspace / "a.py").read_bytes() == BEFORE


def test_commands_may_stand_between_prompts(agent: Agent, workspace: Path) -> None:
    with serve(reply(text("One."))) as server:
        ran = agent.run(workspace, server.url, "--prompt", "/pin add keep it short", "--prompt", "go", prompt="/status")
        assert "keep it short" in str(server.messages[0].body)
    assert (ran.code, ran.json["final_response"]) == (0, "One.")
