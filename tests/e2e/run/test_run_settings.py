"""A run's command line goes before the settings, and useless settings are named."""

import json
from pathlib import Path

import pytest

from tests.e2e.run.agent import Agent
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("ui.theme", "dark", "dark"),
        ("execution.timeout_seconds", "90", 90.0),
        ("model.name", "claude-2 # not a comment", "claude-2 # not a comment"),
        ("ui.colour_blind_safe_diff", "true", True),
    ],
)
def test_a_setting_that_is_set_is_read_back(
    agent: Agent, isolated_home: Path, key: str, text: str, value: object
) -> None:
    """Z-96: the text is converted to the setting's type."""
    file = isolated_home / "desktop-agent" / "config" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("# mine\n")
    assert agent("config", "set", key, text).code == 0
    assert json.loads(agent("config", "get", key, "--json").out)["value"] == value
    assert file.read_text().startswith("# mine\n")


def test_a_bad_setting_that_safety_does_not_need_is_named_and_the_rest_of_the_file_holds(
    agent: Agent, workspace: Path, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[model]\nname = "claude-test"\n[ui]\ntheme = "pink"\n')
    with serve(reply(text("ok"))) as server:
        ran = agent.run(workspace, server.url, "--config", str(config))
        assert server.messages[0].fields["model"] == "claude-test"
    assert ran.code == 0
    assert f"{config}:4: ui.theme: 'pink' is not one of system, light, dark" in ran.err


def test_what_the_command_line_leaves_open_is_as_the_settings_say(
    agent: Agent, workspace: Path, tmp_path: Path
) -> None:
    """G-13: paths are relative to the settings file; the command line overrides it."""
    config = tmp_path / "ci" / "agent.toml"
    config.parent.mkdir()
    config.write_text(
        '[runner]\ndry_run = true\nblocked_tools = "grep, web_search"\naudit_log = "audit.jsonl"\nmax_turns = 1\n'
    )
    call = tool_use("edit_file", path="notes.txt", old_str="a", new_str="b")
    with serve(reply(call), reply(text("ok"))) as server:
        first = agent.run(workspace, server.url, "--config", str(config))
        tools = json.dumps(server.messages[0].fields["tools"])
    with serve(reply(call), reply(text("ok"))) as server:
        second = agent.run(
            workspace, server.url, "--config", str(config), "--max-turns", "5", "--blocked-tools", "web_fetch"
        )
        assert '"name": "grep"' in json.dumps(server.messages[0].fields["tools"])
    assert first.code == 4, "one request was all it may send"
    assert second.code == 0
    assert '"name": "grep"' not in tools
    audit = [json.loads(line) for line in (config.parent / "audit.jsonl").read_text().splitlines()]
    assert [record["tool"] for record in audit] == ["edit_file", "edit_file"]
    assert "dry-run" in json.dumps(audit)


def test_a_projects_settings_that_nobody_trusted_are_named_and_do_not_hold(agent: Agent, workspace: Path) -> None:
    (workspace / ".desktop-agent").mkdir()
    (workspace / ".desktop-agent" / "config.toml").write_text('[execution]\nsandbox = "strict"\n')
    ran = agent.answered(workspace, [reply(text("ok"))])
    assert ran.code == 0
    assert "the project's settings are not trusted" in ran.err
