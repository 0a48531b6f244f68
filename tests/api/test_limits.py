"""Limits of spending and time for programs, over a real socket: they end the turn, and nobody is asked."""

from pathlib import Path

import pytest

from desktop_agent import Agent, ApprovalRequest, Settings, TurnLimits
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.settings.sections import SpendingSettings
from tests.servers import fault
from tests.servers.dialects.chat import OPENROUTER
from tests.servers.model_server import ModelServer
from tests.servers.script import reply, text, tool_use

LOOK = reply(tool_use("list_files"), cost=0.3)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-test-000000000000")


def agent_at(server: ModelServer, folder: Path, home: Path, settings: Settings, limits: TurnLimits | None) -> Agent:
    model = ModelRef(provider="openrouter", model="anthropic/claude-sonnet-5.5", base_url=server.url)

    def never(request: ApprovalRequest) -> bool:
        raise AssertionError(f"a program is not asked: {request.title}")

    return Agent(folder, model=model, home=home, settings=settings, limits=limits, approve=never)


@pytest.mark.parametrize(
    ("spending", "limits", "code"),
    [
        (SpendingSettings(session_usd=0.5), None, "session_usd"),
        (SpendingSettings(day_usd=0.5), None, "day_usd"),
        (SpendingSettings(), TurnLimits(max_cost_usd=0.5), "max_cost"),
    ],
)
async def test_what_was_spent_ends_a_turn(
    poem: Path, tmp_path: Path, spending: SpendingSettings, limits: TurnLimits | None, code: str
) -> None:
    async with ModelServer(LOOK, LOOK, LOOK, dialect=OPENROUTER) as server:
        async with agent_at(server, poem.parent, tmp_path / "home", Settings(spending=spending), limits) as agent:
            result = await agent.run("Look around.")
        assert (result.reason, result.requests) == ("limit", 2)
        assert [notice.code for notice in result.problems] == [code]
        assert len(server.messages) == 2


async def test_time_ends_a_turn_in_the_middle_of_an_answer(poem: Path, tmp_path: Path) -> None:
    stalled = reply(text("Half an answer"), fault.stall_after(events=3))
    async with ModelServer(stalled, reply(text("Whole.")), dialect=OPENROUTER) as server:
        home, limits = tmp_path / "home", TurnLimits(max_time_s=0.5)
        async with agent_at(server, poem.parent, home, Settings(), limits) as agent:
            result = await agent.run("Look around.")
            assert (result.reason, [notice.code for notice in result.problems]) == ("limit", ["max_time"])
            server.release()
            assert (await agent.run("Again.")).text == "Whole."
        assert server.violations == []
