"""Limits of a run on cost and time. It ends with code 4 and names the limit."""

from pathlib import Path

import pytest

from tests.command_line import Ran
from tests.e2e.run.agent import Agent
from tests.servers import fault
from tests.servers.dialects.chat import OPENROUTER
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve

LOOK = tool_use("list_files")


@pytest.fixture(autouse=True)
def router_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-test-000000000000")


def run(agent: Agent, workspace: Path, url: str, *more: str) -> Ran:
    return agent.run(workspace, url, "--provider", "openrouter", *more)


def test_a_run_stops_before_the_request_that_it_may_not_pay(agent: Agent, workspace: Path) -> None:
    with serve(*[reply(LOOK, cost=0.3)] * 5, dialect=OPENROUTER) as server:
        ran = run(agent, workspace, server.url, "--max-cost", "0.5")
        assert len(server.messages) == 2
        assert server.violations == []
    assert ran.code == 4
    assert (ran.json["stopped_reason"], ran.json["limit"]) == ("limit", "max_cost")
    assert ran.json["usage"]["cost_usd"] == pytest.approx(0.6)
    assert ran.json["problems"][0].startswith("The run has cost $0.60, and its limit is $0.50.")
    assert ran.err.count("The run has cost $0.60") == 1


def test_a_run_that_stays_below_its_limits_names_none(agent: Agent, workspace: Path) -> None:
    with serve(reply(text("Done."), cost=0.3), dialect=OPENROUTER) as server:
        ran = run(agent, workspace, server.url, "--max-cost", "0.5", "--max-time", "600")
    assert (ran.code, ran.json["stopped_reason"]) == (0, "completed")
    assert "limit" not in ran.json


def test_a_run_is_stopped_in_the_middle_of_a_request_and_can_go_on(agent: Agent, workspace: Path) -> None:
    with serve(reply(text("Half an answer"), fault.stall_after(events=3)), dialect=OPENROUTER) as server:
        ran = run(agent, workspace, server.url, "--max-time", "0.5")
    assert ran.code == 4
    assert (ran.json["stopped_reason"], ran.json["limit"]) == ("limit", "max_time")
    assert ran.json["problems"][0].startswith("The run was stopped after 0.5 seconds")
    assert agent("sessions", "verify", ran.json["session_id"]).code == 0
    with serve(reply(text("All of it.")), dialect=OPENROUTER) as server:
        again = agent.run(workspace, server.url, "--resume", ran.json["session_id"])
        assert server.violations == []
    assert (again.code, again.json["final_response"]) == (0, "All of it.")


def test_a_run_is_stopped_in_the_middle_of_a_command(agent: Agent, workspace: Path) -> None:
    wait = tool_use("run_terminal_cmd", command="sleep 600", explanation="Wait")
    with serve(reply(wait), dialect=OPENROUTER) as server:
        ran = run(agent, workspace, server.url, "--max-time", "2", "--approval", "never")
    assert (ran.code, ran.json["limit"]) == (4, "max_time")
    assert [(tool["tool"], tool["is_error"]) for tool in ran.json["tools"]] == [("run_terminal_cmd", True)]
    assert agent("sessions", "verify", ran.json["session_id"]).code == 0


def test_an_unknown_price_is_said_where_the_cost_is_limited(agent: Agent, workspace: Path) -> None:
    ran = agent.answered(workspace, [reply(text("Done."))], "--max-cost", "0.5")
    assert ran.code == 0
    assert "is not known, so cost limits do not apply to it." in ran.err


@pytest.mark.parametrize(("setting", "is_second_free"), [("session_usd", True), ("day_usd", False)])
def test_a_limit_of_the_settings_ends_a_run(
    agent: Agent, workspace: Path, tmp_path: Path, setting: str, is_second_free: bool
) -> None:
    config = tmp_path / "limited.toml"
    config.write_text(f"[spending]\n{setting} = 0.5\n", encoding="utf-8")
    with serve(*[reply(LOOK, cost=0.3)] * 2, reply(text("Hi."), cost=0.1), dialect=OPENROUTER) as server:
        ran = run(agent, workspace, server.url, "--config", str(config))
        assert ran.code == 4
        assert (ran.json["stopped_reason"], ran.json["limit"]) == ("limit", setting)
        assert "have cost $0.60" in ran.json["problems"][0] or "has cost $0.60" in ran.json["problems"][0]
        again = run(agent, workspace, server.url, "--config", str(config), "--resume", ran.json["session_id"])
        assert (again.code, again.json["limit"], again.json["turns_used"]) == (4, setting, 0)
        other = run(agent, workspace, server.url, "--config", str(config))
        assert other.code == (0 if is_second_free else 4)


@pytest.mark.parametrize("value", ["0", "-1", '"much"', "nan", "[]"])
def test_a_bad_limit_in_the_settings_lets_nothing_run(
    agent: Agent, workspace: Path, tmp_path: Path, value: str
) -> None:
    config = tmp_path / "limited.toml"
    config.write_text(f"[spending]\nday_usd = {value}\n", encoding="utf-8")
    with serve(reply(text("Hi."), cost=0.1), dialect=OPENROUTER) as server:
        ran = run(agent, workspace, server.url, "--config", str(config))
        assert (ran.code, server.messages) == (2, [])
    assert "2: spending.day_usd" in ran.err


@pytest.mark.parametrize("option", ["--max-cost", "--max-time"])
@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "much", ""])
def test_nonsense_as_a_limit_is_bad_usage(agent: Agent, workspace: Path, option: str, value: str) -> None:
    ran = agent("run", "--prompt", "go", "--workspace", workspace, f"{option}={value}")
    assert ran.code == 2
    assert "is not a number greater than 0" in ran.err
