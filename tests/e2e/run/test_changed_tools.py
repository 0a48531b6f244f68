"""A run without a user calls a server's tool, and starts a project's server, only as it was allowed."""

import json
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


def test_a_projects_server_whose_script_the_agent_changed_is_not_started_in_the_next_run(
    agent: Agent, workspace: Path
) -> None:
    script = workspace / "server.py"
    script.write_text(f"from runpy import run_path\nrun_path({str(PROGRAM)!r}, run_name='__main__')\n")
    (workspace / ".desktop-agent").mkdir()
    (workspace / ".desktop-agent" / "config.toml").write_text(
        f'[[mcp.definitions]]\nname = "mine"\ncommand = "{sys.executable}"\nargs = ["server.py"]\n'
    )
    look = tool_use("read_file", path="server.py")
    change = tool_use("edit_file", path="server.py", old_str="from runpy", new_str="open('ran', 'w')\nfrom runpy")

    assert agent("config", "trust", "--workspace", workspace).code == 0
    with serve(reply(look, change), reply(text("Done."))) as server:
        ran = agent.run(workspace, server.url, "--approval", "never")
        assert "mine__echo" in json.dumps(server.messages[0].fields["tools"])
    assert ran.code == 0
    assert script.read_text().startswith("open('ran', 'w')")
    with serve(reply(text("Done."))) as server:
        ran = agent.run(workspace, server.url)
        assert "mine__echo" not in json.dumps(server.messages[0].fields["tools"])
    assert "the project's settings and MCP servers are not trusted" in ran.err
    assert "not as you trusted them" in ran.err
    assert not (workspace / "ran").exists()
