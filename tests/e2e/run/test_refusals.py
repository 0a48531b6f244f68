"""Why a run cannot begin or go on is said in words, with the way out, and nothing is touched."""

import os
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.core.providers.provider import RetryPolicy
from tests.e2e.run.agent import BEFORE, Agent, script
from tests.full_disk import FullDisk
from tests.servers import fault
from tests.servers.threaded import serve

MAY_READ_ALL = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.mark.parametrize(
    ("answer", "says", "do"),
    [
        (fault.unauthorized(), "key", "Settings"),
        (fault.not_found("claude-nope"), "model", ""),
    ],
)
def test_what_the_provider_refuses_is_said_in_words_with_the_way_out(
    agent: Agent, workspace: Path, answer: Any, says: str, do: str
) -> None:
    with serve(answer) as server:
        ran = agent.run(workspace, server.url)
        assert len(server.messages) == 1, "it is not tried again"
    assert (ran.code, ran.json["stopped_reason"]) == (1, "provider_error")
    assert says in ran.err
    assert do in ran.err
    assert "sk-ant-test" not in ran.out + ran.err


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


def test_a_full_disk_is_said_once_and_nothing_is_touched(agent: Agent, workspace: Path, full_disk: FullDisk) -> None:
    full_disk.fill()
    with serve(*script()) as server:
        ran = agent.run(workspace, server.url)
        assert len(server.messages) == 0
    assert (ran.code, ran.json["stopped_reason"]) == (1, "storage_error")
    assert ran.err.count("could not be written") == 1
    assert "Free some disk space" in ran.err
    assert (workspace / "a.py").read_bytes() == BEFORE
    full_disk.make_room()
    with serve(*script()) as server:
        assert agent.run(workspace, server.url, "--approval", "on_request").code == 0


@pytest.mark.parametrize(
    "make",
    [
        "missing",
        "file",
        pytest.param(
            "unreadable", marks=pytest.mark.skipif(MAY_READ_ALL, reason="the administrator may read everything")
        ),
    ],
)
def test_a_workspace_that_cannot_be_used_is_named_and_nothing_is_created(
    agent: Agent, tmp_path: Path, make: str, isolated_home: Path
) -> None:
    folder = tmp_path / "there"
    if make == "file":
        folder.write_text("x")
    elif make == "unreadable":
        folder.mkdir(mode=0)
    ran = agent("run", "--prompt", "x", "--workspace", folder, "--json")
    assert ran.code == 2
    assert str(folder) in ran.err
    assert not (isolated_home / "desktop-agent" / "data" / "sessions").exists()


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
    (workspace / "BAD").write_text('[runner]\nblocked_tools = ["bogus"]\n')
    ran = agent(*arguments)
    assert ran.code == 2
    assert says in ran.err
    assert "Traceback" not in ran.err
