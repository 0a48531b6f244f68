"""`run --role`: the tools and the prompt of an agent for one kind of work."""

from pathlib import Path
from typing import Any, cast

import pytest

from tests.e2e.run.agent import AFTER, BEFORE, Agent, script
from tests.servers.script import reply, text
from tests.servers.threaded import serve

FREE = ("--approval", "on_request")


def offered(agent: Agent, workspace: Path, *more: str) -> tuple[set[str], str]:
    with serve(reply(text("Hi."))) as server:
        assert agent.run(workspace, server.url, *more).code == 0
        asked = server.messages[0].fields
    tools = cast("list[dict[str, Any]]", asked["tools"])
    return {tool["name"] for tool in tools}, str(asked["system"])


def test_a_researcher_gets_only_what_reads(agent: Agent, workspace: Path) -> None:
    tools, system = offered(agent, workspace, "--role", "researcher")

    assert {"read_file", "grep"} <= tools
    assert tools.isdisjoint({"edit_file", "create_file", "apply_patch", "run_terminal_cmd"})
    assert "Your role: researcher" in system


def test_an_orchestrator_has_every_tool_and_a_prompt_of_its_own(agent: Agent, workspace: Path) -> None:
    every, plain = offered(agent, workspace)
    tools, system = offered(agent, workspace, "--role", "orchestrator")

    assert tools == every
    assert "Your role" not in plain
    assert "Your role: orchestrator" in system


@pytest.mark.parametrize(("role", "is_refused"), [("researcher", True), ("worker", False), ("orchestrator", False)])
def test_only_an_edit_of_a_researcher_is_refused(agent: Agent, workspace: Path, role: str, is_refused: bool) -> None:
    ran = agent.answered(workspace, script(), "--role", role, *FREE)
    tools = [(tool["tool"], tool["is_error"]) for tool in ran.json["tools"]]
    assert (ran.code, tools) == (0, [("read_file", False), ("edit_file", is_refused)])
    assert (workspace / "a.py").read_bytes() == (BEFORE if is_refused else AFTER)


def test_a_role_that_is_none_is_bad_usage(agent: Agent, workspace: Path) -> None:
    with serve() as server:
        assert agent.run(workspace, server.url, "--role", "king").code == 2
