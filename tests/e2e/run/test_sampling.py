"""A server's request in a run without a user: a program answers, or the run ends and says so."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.command_line import Ran
from tests.core.mcp.conftest import PROGRAM
from tests.e2e.run.agent import Agent
from tests.servers.script import ToolUse, reply, text, tool_use
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


FORM = {
    "message": "Who are you?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
}
OLD = ("program", ["-S", str(PROGRAM)])
NEW = ("stateless", [str(PROGRAM.with_name("stateless.py"))])


@pytest.fixture(params=[OLD, NEW], ids=["handshake", "stateless"])
def server(request: pytest.FixtureRequest, agent: Agent, isolated_home: Path) -> str:
    """Return the name of a server, of either protocol era, whose tools need no approval."""
    config = isolated_home / "desktop-agent" / "config"
    config.mkdir(parents=True, exist_ok=True)
    for name, args in (OLD, NEW):
        entry = f'[[mcp.definitions]]\nname = "{name}"\ncommand = "{sys.executable}"\nargs = {json.dumps(args)}\n'
        if name == request.param[0]:
            (config / "config.toml").write_text(entry)
            (config / "rules.toml").write_text(RULE.replace("program", name))
    assert agent("mcp", "test", request.param[0], "--accept").code == 0
    return request.param[0]


def form_of(server: str) -> ToolUse:
    return tool_use("program__ask", request=FORM) if server == "program" else tool_use("stateless__ask_name")


def sampling_of(server: str) -> ToolUse:
    return tool_use("program__sample", request=ASKED) if server == "program" else tool_use("stateless__colour")


def answered(agent: Agent, workspace: Path, server: str, answer: object) -> tuple[Ran, str]:
    command = f"{shlex.quote(sys.executable)} -c {shlex.quote(f'print({json.dumps(answer)!r})')}"
    with serve(reply(form_of(server)), reply(text("ok"))) as model:
        ran = agent.run(workspace, model.url, "--approval-command", command)
        return ran, str(model.messages[-1].fields)


def test_a_program_fills_in_a_form_and_without_one_each_request_ends_the_run_with_code_3(
    agent: Agent, workspace: Path, server: str, is_nightly: bool
) -> None:
    ran, got = answered(agent, workspace, server, {"decision": "allow", "answers": {"name": "Ada"}})
    assert ran.code == 0
    assert "Ada" in got

    for asking in (form_of, sampling_of) if server == "program" or is_nightly else (sampling_of,):
        with serve(reply(asking(server)), reply(text("Red."))) as model:
            ran = agent.run(workspace, model.url)
            assert len(model.messages) == 1
        assert (ran.code, ran.json["stopped_reason"]) == (3, "approval_required")
        (problem,) = ran.json["problems"]
        assert f"{server} " in problem
        assert "No user can answer here. A program can answer it: --approval-command." in problem
        assert problem in ran.err


@pytest.mark.parametrize("server", [OLD], indirect=True, ids=["handshake"])
def test_answers_that_do_not_fit_a_form_end_the_run_in_words(agent: Agent, workspace: Path, server: str) -> None:
    wrong: list[tuple[object, str]] = [
        (None, "name: This is needed."),
        ({"name": 7}, "name: This is a text."),
        ({"nom": "Ada"}, "There is no field nom."),
    ]
    for answers, why in wrong:
        given = {"decision": "allow"} | ({} if answers is None else {"answers": answers})
        ran, _ = answered(agent, workspace, server, given)
        assert ran.code == 3
        assert why in ran.err
