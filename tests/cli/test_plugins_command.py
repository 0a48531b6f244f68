"""`desktop-agent plugins`: what a plugin brings is shown first; then it is added, switched and removed."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import CommandLine
from tests.core.extensions.plugin_folders import claude_plugin, put


@pytest.fixture
def line(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    (tmp_path / "app").mkdir()
    monkeypatch.chdir(tmp_path / "app")
    return CommandLine(capsys)


@pytest.fixture
def source(tmp_path: Path) -> str:
    return str(claude_plugin(tmp_path / "source"))


def states(line: CommandLine) -> dict[str, str]:
    plugins: list[dict[str, Any]] = line.done("plugins", "list", "--json").json["plugins"]
    return {plugin["name"]: plugin["state"] for plugin in plugins}


def test_what_a_plugin_starts_is_shown_and_nothing_is_added_without_a_yes(line: CommandLine, source: str) -> None:
    shown = line.done("plugins", "add", source, "--dry-run").out
    assert '"${CLAUDE_PLUGIN_ROOT}"/check.sh' in shown
    assert "server notes: python3 '${CLAUDE_PLUGIN_ROOT}/server.py'" in shown
    assert "skills: demo:review" in shown
    asked = line("plugins", "add", source)
    assert (asked.code, states(line)) == (2, {})
    assert '"${CLAUDE_PLUGIN_ROOT}"/check.sh' in asked.err


def test_only_language_servers_are_said_to_run_in_the_sandbox(line: CommandLine, tmp_path: Path) -> None:
    server = {"command": "check", "args": ["--stdio"], "extensionToLanguage": {".x": "x"}}
    shown = line.done(
        "plugins", "add", str(claude_plugin(tmp_path / "p", {".lsp.json": {"x": server}})), "--dry-run"
    ).out
    assert "  runs language server x, in the sandbox: check --stdio" in shown
    assert "outside the sandbox: server notes" in shown
    assert "outside the sandbox: language server" not in shown


def test_an_added_plugin_is_listed_switched_and_removed(line: CommandLine, source: str) -> None:
    added = line.done("plugins", "add", source, "--yes", "--json").json
    assert (added["added"], added["brings"]["agents"], added["source"]) == (True, ["demo:helper"], source)
    assert states(line) == {"demo": "on"}
    assert "demo:review" in line.done("skills", "list").out
    assert "demo:helper" in line.done("agents", "list").out
    assert "demo-notes" in line.done("mcp", "list").out
    assert "in force" in line.done("hooks", "list").out
    line.done("plugins", "disable", "demo")
    assert states(line) == {"demo": "off"}
    assert "demo-notes" not in line.done("mcp", "list").out
    line.done("plugins", "enable", "demo")
    assert states(line) == {"demo": "on"}
    line.done("plugins", "disable", "demo")
    line.done("plugins", "remove", "demo")
    assert states(line) == {}
    line.done("plugins", "add", source, "--yes")
    assert states(line) == {"demo": "on"}


def test_a_plugin_that_changed_is_let_in_again_as_it_is_shown(line: CommandLine, source: str) -> None:
    line.done("plugins", "add", source, "--yes")
    [plugin] = line.done("plugins", "list", "--json").json["plugins"]
    put(Path(plugin["path"]), {".mcp.json": {"mcpServers": {"new": {"command": "new-server"}}}})
    assert states(line) == {"demo": "changed"}
    assert "plugins enable demo" in line.done("plugins", "list").out
    asked = line("plugins", "enable", "demo")
    assert asked.code == 2
    assert "server new: new-server" in asked.err
    assert states(line) == {"demo": "changed"}
    line.done("plugins", "enable", "demo", "--yes")
    assert states(line) == {"demo": "on"}


def test_adding_a_plugin_again_updates_it_and_keeps_what_it_stored(line: CommandLine, source: str) -> None:
    line.done("plugins", "add", source, "--yes")
    [plugin] = line.done("plugins", "list", "--json").json["plugins"]
    stored = put(Path(plugin["path"]).parent / "data", {"notes.txt": "kept"}) / "notes.txt"
    assert "demo is up to date." in line.done("plugins", "add", source).out
    put(Path(source), {".mcp.json": {"mcpServers": {"new": {"command": "new-server"}}}})
    asked = line("plugins", "add", source)
    assert (asked.code, "server new: new-server" in asked.err) == (2, True)
    assert "demo is updated. It brings:" in line.done("plugins", "add", source, "--yes").out
    [plugin] = line.done("plugins", "list", "--json").json["plugins"]
    assert plugin["state"] == "on"
    assert plugin["brings"]["servers"] == ["new: new-server"]
    shutil.rmtree(plugin["path"])  # as an update that was cut off leaves it
    assert states(line) == {"demo": "unusable"}
    line.done("plugins", "add", source, "--yes")
    assert (states(line), stored.read_text()) == ({"demo": "on"}, "kept")


def test_a_plugin_from_elsewhere_does_not_take_the_place_of_another(line: CommandLine, source: str) -> None:
    line.done("plugins", "add", source, "--yes")
    other = claude_plugin(Path(source).with_name("other"), {"check.sh": "true\n"})
    refused = line("plugins", "add", str(other), "--yes")
    assert (refused.code, "There is a plugin named demo already." in refused.err) == (2, True)
    assert states(line) == {"demo": "on"}


def test_a_projects_plugin_is_in_the_one_question_about_the_project(line: CommandLine, tmp_path: Path) -> None:
    claude_plugin(tmp_path / "app" / ".agents" / "plugins" / "demo")
    assert states(line) == {"demo": "waiting"}
    shown = line.done("config", "trust", "--dry-run").out
    assert '"${CLAUDE_PLUGIN_ROOT}"/check.sh; server notes: python3' in shown
    assert "skills: demo:review; commands: demo:git:commit; sub-agents: demo:helper" in shown
    assert "demo" not in line.done("skills", "list").out
    line.done("config", "trust")
    assert states(line) == {"demo": "on"}
    assert "demo:review" in line.done("skills", "list").out
    line.done("plugins", "disable", "demo")
    assert states(line) == {"demo": "off"}
    line.done("plugins", "enable", "demo")
    assert states(line) == {"demo": "on"}
    put(tmp_path / "app" / ".agents" / "plugins" / "demo", {"check.sh": "true\n"})
    assert states(line) == {"demo": "waiting"}


@pytest.mark.parametrize("words", [("remove", "none"), ("enable", "none"), ("disable", "none"), ("add", "/nowhere")])
def test_what_is_not_there_is_said(line: CommandLine, words: tuple[str, ...]) -> None:
    assert line("plugins", *words).code == 2
