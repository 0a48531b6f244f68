"""A run whose model is overloaded continues with another vendor's, and says so."""

from pathlib import Path

import pytest

from tests.e2e.run.agent import Agent
from tests.servers import fault
from tests.servers.dialects.chat import CHAT
from tests.servers.script import reply, text, thinking, tool_use
from tests.servers.threaded import serve

BUSY = [fault.rate_limited(retry_after_ms="1")] * 5


def test_another_vendors_model_answers_one_request_of_a_run(
    agent: Agent, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[model]\nfallback = "openai-chat/gpt-5.4-mini"\n', encoding="utf-8")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-000000000000")
    look = tool_use("list_files")
    with (
        serve(reply(thinking("Hm.", signature="sig"), look), *BUSY, reply(text("I am back."))) as usual,
        serve(reply(text("I step in."), look), dialect=CHAT) as other,
    ):
        monkeypatch.setenv("OPENAI_BASE_URL", other.url)
        ran = agent.run(workspace, usual.url, "--config", str(config))
        assert (len(usual.messages), len(other.messages)) == (7, 1)
        assert (usual.violations, other.violations) == ([], [])
    assert ran.code == 0
    assert ran.json["final_response"] == "I step in.\nI am back."
    assert "is overloaded, so gpt-5.4-mini answers this request." in ran.err


@pytest.mark.parametrize("value", ["gpt-5.4-mini", "nobody/gpt", "openai/", "demo/demo"])
def test_a_fallback_that_names_no_vendors_model_lets_nothing_run(
    agent: Agent, workspace: Path, tmp_path: Path, value: str
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'[model]\nfallback = "{value}"\n', encoding="utf-8")
    with serve(reply(text("Hi."))) as server:
        ran = agent.run(workspace, server.url, "--config", str(config))
        assert (ran.code, server.messages) == (2, [])
    assert "2: model.fallback" in ran.err
