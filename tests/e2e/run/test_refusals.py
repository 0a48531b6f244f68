"""A refused run names the reason and the way out, and touches nothing."""

from pathlib import Path

import pytest

from desktop_agent.core.providers.provider import RetryPolicy
from tests.e2e.run.agent import Agent


def test_nobody_listening_is_said_in_words(agent: Agent, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "desktop_agent.composition.application.RetryPolicy", lambda: RetryPolicy(max_tries=2, base_s=0.001)
    )
    ran = agent.run(workspace, "http://127.0.0.1:9")
    assert (ran.code, ran.json["stopped_reason"]) == (1, "provider_error")
    assert "could not be reached" in ran.err


def test_a_missing_key_says_where_to_put_one(agent: Agent, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    ran = agent.run(workspace, "http://127.0.0.1:9")
    assert ran.code == 1
    assert "no API key" in ran.err
    assert "auth set anthropic" in ran.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "no prompt"),
        (["run", "--prompt", "   "], "empty"),
        (["run", "--prompt-file", "/nowhere/prompt"], "cannot be read"),
        (["run", "--prompt", "x", "--resume", "nope"], "no session"),
        (["run", "--prompt", "x", "--max-turns", "0"], "1 or more"),
        (["run", "--prompt", "x", "--max-turns", "x"], "1 or more"),
        (["run", "--prompt", "x", "--config", "/nowhere/config.toml"], "does not exist"),
        (["run", "--prompt", "x", "--audit-log", "/proc/nope/log"], "cannot be written"),
        (["run", "--prompt", "x", "--provider", "nope"], "no provider"),
        (["run", "--prompt", "x", "--provider", "demo", "--model", "nope"], "no model 'nope'"),
        (["run", "--prompt", "x", "--allowed-tools", "read_fil"], "Did you mean read_file?"),
        (["run", "--prompt", "x", "--blocked-tools", "read_file,zzz"], "names no tool: 'zzz'"),
        (["run", "--input-format", "stream", "--stream", "--prompt", "x"], "prompts come from standard input"),
        (
            ["run", "--input-format", "stream", "--stream", "--output-schema", "SCHEMA"],
            "does not go with --input-format",
        ),
        (
            ["run", "--input-format", "stream", "--stream", "--approval-command", "true"],
            "does not go with --input-format",
        ),
        (["run", "--input-format", "stream", "--stream", "--include", "a.py"], '"include": ["FILE"]'),
        (["sessions", "list", "--workspace", "/nope"], "no folder /nope"),
        (["run", "--prompt", "x", "--config", "BAD"], "The setting runner.blocked_tools names no tool: 'bogus'"),
        (["frobnicate"], "neither a command nor a folder"),
        (["sesions", "list"], "Did you mean `sessions`?"),
        (["a.py"], "is a file, not a folder"),
        (["--demo", "frobnicate"], "neither a command nor a folder"),
        (["--continue", "sesions"], "Did you mean `sessions`?"),
        (["--resume", "x", "--provider=demo", "--model", "m", "frobnicate"], "neither a command nor a folder"),
        ([".", "--provider", "nope"], "no provider 'nope'"),
        (["sessions", "show", "../../etc"], "no session"),
        (["changes", "undo", "nope"], "no session"),
        (["tools", "describe", "nope"], "no tool"),
        (["auth", "set", "nope"], "no provider"),
        (["config", "get", "nope"], "no setting"),
        (["config", "set", "nope", "1"], "no setting"),
        (["config", "set", "ui.theme", "pink"], "system, light, dark"),
        (["nope-command", "--json"], ""),
    ],
)
def test_bad_usage_gets_a_clear_word_and_code_2(
    agent: Agent, workspace: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(workspace)
    monkeypatch.delenv("DISPLAY", raising=False)
    (workspace / "SCHEMA").write_text('{"type": "object"}')
    (workspace / "BAD").write_text('[runner]\nblocked_tools = ["bogus"]\n')
    ran = agent(*arguments)
    assert ran.code == 2
    assert says in ran.err
    assert "Traceback" not in ran.err
