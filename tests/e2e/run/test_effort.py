"""The effort of a run's model: sent in the vendor's form, saved with the session, refused if unknown."""

from pathlib import Path

from tests.e2e.run.agent import Agent
from tests.servers.script import reply, text
from tests.servers.threaded import serve


def test_the_level_of_a_run_is_sent_and_stays_with_the_session(agent: Agent, workspace: Path) -> None:
    with serve(reply(text("Done.")), reply(text("Again."))) as server:
        first = agent.run(workspace, server.url, "--effort", "HIGH")
        again = agent.run(workspace, server.url, "--resume", first.json["session_id"])
        assert [exchange.fields["output_config"] for exchange in server.messages] == [{"effort": "high"}] * 2
        assert server.violations == []
    assert (first.code, again.code) == (0, 0)


def test_a_level_that_is_not_known_asks_nothing(agent: Agent, workspace: Path) -> None:
    with serve() as server:
        ran = agent.run(workspace, server.url, "--effort", "none")
        assert server.messages == []
    assert ran.code == 2
    assert "Available: default, low, medium, high, xhigh, max." in ran.err


def test_the_demo_has_no_effort(agent: Agent, workspace: Path) -> None:
    ran = agent.answered(workspace, [], "--provider", "demo", "--effort", "low")
    assert ran.code == 2
    assert "The effort of demo/demo cannot be set." in ran.err
