import pytest

from tests.e2e.agents.real_agents import AGENTS, PATIENCE_S, RealAgent


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> RealAgent:
    monkeypatch.setattr("tests.harness.PATIENCE_S", PATIENCE_S)
    return AGENTS[request.param]
