"""A server that asks the model in a run without a user: the run ends with an exit code of its own."""

import sys
from pathlib import Path

from tests.core.mcp.conftest import PROGRAM
from tests.e2e.run.agent import Agent
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve

ASKED = {"messages": [{"role": "user", "content": {"type": "text", "text": "Name a colour."}}], "maxTokens": 50}
RULE = """\
[[rule]]
id = "r-k3f9qx"
effect = "allow"
kind = "tool"
pattern = "program__*"
scope = "always"
created_at = 2026-11-21T21:37:00Z
"""


def test_what_a_server_asks_the_model_ends_the_run_with_code_3(
    agent: Agent, workspace: Path, isolated_home: Path
) -> None:
    config = isolated_home / "desktop-agent" / "config"
    config.mkdir(parents=True, exist_ok=True)
    server = f'name = "program"\ncommand = "{sys.executable}"\nargs = ["-S", "{PROGRAM}"]\n'
    (config / "config.toml").write_text(f"[[mcp.definitions]]\n{server}")
    (config / "rules.toml").write_text(RULE)

    with serve(reply(tool_use("program__sample", request=ASKED)), reply(text("Red."))) as model:
        ran = agent.run(workspace, model.url)
        requests = len(model.messages)

    assert ran.code == 3
    assert ran.json["stopped_reason"] == "approval_required"
    assert requests == 1
