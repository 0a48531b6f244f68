"""One session asks Claude at Anthropic, Bedrock and Vertex in turn, in a new run each time."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from desktop_agent.core.protocol.model import JsonObject
from tests.command_line import CommandLine
from tests.e2e.journeys.legs import LEGS, RIGHT, WRONG, Leg
from tests.e2e.run.test_approval_command import answering
from tests.servers.dialects.clouds import PROJECT, REGION, bedrock, vertex
from tests.servers.threaded import in_thread, serve
from tests.servers.token_servers import GoogleTokens

AWS_ID, SECRET = "AKIATESTTESTTEST1234", "a-secret-of-the-test-0123456789"
TOKEN = "access-token-of-the-test-0123456789"
ON_AWS = "global.anthropic.claude-sonnet-5-5"
JOURNEY = {
    "ANTHROPIC_BASE_URL": LEGS["anthropic"],
    "ANTHROPIC_BEDROCK_BASE_URL": Leg("bedrock", ON_AWS, bedrock(ON_AWS, **{AWS_ID: SECRET}), "", ""),
    "ANTHROPIC_VERTEX_BASE_URL": Leg("vertex", "claude-sonnet-5-5", vertex("claude-sonnet-5-5"), "", TOKEN),
}


def test_runs_without_a_window_change_the_cloud_of_one_session(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session, run = list[str](), CommandLine(capsys)
    log = tmp_path / "asked"
    allow = f"print(asked['tool'], file=open({str(log)!r}, 'a')); print(json.dumps({{'decision': 'allow'}}))"
    always = ["--workspace", str(workspace), "--json", "--approval-command", answering(tmp_path, allow)]

    def result(prompt: str, *more: str) -> JsonObject:
        ran = run("run", "--prompt", prompt, *always, *session, *more)
        assert (ran.code, ran.err) == (0, "")
        return ran.json

    with ExitStack() as running:
        tokens, _ = running.enter_context(in_thread(GoogleTokens(TOKEN)))
        given = {"AWS_REGION": REGION, "AWS_ACCESS_KEY_ID": AWS_ID, "AWS_SECRET_ACCESS_KEY": SECRET}
        given |= {"CLOUD_ML_REGION": "global", "ANTHROPIC_VERTEX_PROJECT_ID": PROJECT}
        given |= {"GOOGLE_APPLICATION_CREDENTIALS": str(tokens.write_key(tmp_path / "google.json"))}
        servers = [
            running.enter_context(serve(*leg.script, dialect=leg.dialect, key=leg.key or None))
            for leg in JOURNEY.values()
        ]
        given |= {variable: server.url for variable, server in zip(JOURNEY, servers, strict=True)}
        for variable, value in given.items():
            monkeypatch.setenv(variable, value)
        for leg in JOURNEY.values():
            (workspace / leg.file).write_text(WRONG, encoding="utf-8")
            done = result(leg.task, "--provider", leg.provider, "--model", leg.model)
            session = ["--resume", str(done["session_id"])]
            assert (workspace / leg.file).read_text(encoding="utf-8") == RIGHT
            assert result(leg.question)["final_response"] == leg.explained
        assert [(server.violations, len(server.messages)) for server in servers] == [([], 4)] * 3
        last = json.dumps(servers[-1].messages[-1].body)
    assert [leg.file for leg in JOURNEY.values() if leg.task not in last or leg.done not in last] == []
    assert log.read_text(encoding="utf-8").split() == ["edit_file"] * 3
