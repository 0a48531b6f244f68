"""A run without a user calls a server's tool only as it was allowed."""

import sys
from pathlib import Path

from desktop_agent.core.base.paths import AppPaths
from tests.core.mcp.conftest import PROGRAM
from tests.e2e.run.agent import Agent
from tests.servers.script import Reply, reply, text, tool_use
from tests.servers.threaded import serve

RULE = '[[rule]]\nid = "by-hand"\neffect = "allow"\nkind = "tool"\npattern = "mine__*"\nscope = "always"\n'


def answers() -> tuple[Reply, ...]:
    return reply(tool_use("mine__echo", text="hello")), reply(text("Done."))


def test_a_tool_that_is_not_what_was_allowed_needs_an_approval(
    agent: Agent, workspace: Path, isolated_home: Path
) -> None:
    def run() -> tuple[int, str]:
        with serve(*answers()) as server:
            ran = agent.run(workspace, server.url, prompt="say hello")
        return ran.code, str(ran.json["stopped_reason"])

    assert agent("mcp", "add", "mine", "--", sys.executable, "-S", PROGRAM).code == 0
    rules = AppPaths.from_environment().config / "rules.toml"
    rules.write_text(RULE)
    assert run() == (3, "approval_required")  # this definition of the tool was never allowed

    assert agent("mcp", "test", "mine", "--accept", "--workspace", workspace).code == 0
    assert run() == (0, "completed")

    (workspace / "tools.json").write_text('{"echo": {"description": "Pass all keys."}}')
    assert run() == (3, "approval_required")
