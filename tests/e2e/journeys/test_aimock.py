"""The same journey at a third-party server, with addresses from the environment, in both front ends."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from desktop_agent import Agent, ModelRef
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.settings.model_choice import NamedModel
from tests.command_line import CommandLine
from tests.e2e.journeys.journey import Journey
from tests.e2e.journeys.legs import LEGS, RIGHT, Leg
from tests.servers.aimock import Aimock, aimock

PATHS = {"anthropic": "/v1/messages", "openai": "/v1/responses", "openai-chat": "/v1/chat/completions"}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Aimock]:
    fixtures = [fixture for leg in LEGS.values() for fixture in leg.fixtures]
    with aimock(*fixtures, keys=sorted({leg.key for leg in LEGS.values()}), folder=tmp_path) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        yield server


def check_requests(server: Aimock, legs: list[Leg]) -> None:
    """Check that each vendor was asked in its own format and accepted it, and that the last saw all turns."""
    requests = server.requests()
    assert [request.path for request in requests] == [PATHS[leg.provider] for leg in legs for _ in range(3)]
    assert {request.status for request in requests} == {200}
    last = json.dumps(requests[-1].body)
    assert [leg.file for leg in legs if leg.task not in last or leg.done not in last] == []
    assert [leg.file for leg in legs[:-1] if leg.explained not in last] == []


async def test_a_session_changes_the_vendor_at_a_server_of_others(
    workspace: Path, isolated_home: Path, server: Aimock
) -> None:
    legs = list(LEGS.values())
    bench = Agent(home=isolated_home).workbench

    def model_of(leg: Leg) -> ModelRef:
        return bench.model_meant(NamedModel(provider=leg.provider, model=leg.model))

    journey = Journey(workspace, isolated_home, model_of)
    await journey.travel(legs)
    journey.check(legs)
    check_requests(server, legs)
    assert journey.questions == ["edit_file"] * 3


def test_runs_without_a_window_change_the_vendor_of_one_session(
    workspace: Path, server: Aimock, capsys: pytest.CaptureFixture[str]
) -> None:
    legs = list(LEGS.values())
    run = CommandLine(capsys)
    session: list[str] = []

    def result(prompt: str, *more: str) -> JsonObject:
        ran = run("run", "--prompt", prompt, "--workspace", workspace, "--json", "--approval", "never", *session, *more)
        assert ran.code == 0, ran.err
        return ran.json

    for leg in legs:
        done = result(leg.task, "--provider", leg.provider, "--model", leg.model)
        session = ["--resume", str(done["session_id"])]
        assert done["edited_files"] == [leg.file]
        assert (workspace / leg.file).read_text(encoding="utf-8") == RIGHT
        assert result(leg.question)["final_response"] == leg.explained
    check_requests(server, legs)
    assert run("sessions", "verify", session[1]).code == 0
    shown = run("sessions", "show", session[1]).out
    assert [leg.file for leg in legs if leg.done not in shown or leg.explained not in shown] == []
