"""`desktop-agent config` shows settings with their origins, and changes them."""

import json
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.values import declared_settings, setting_values
from tests.cli.conftest import Command
from tests.command_line import CommandLine


@pytest.fixture
def config(run: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    (tmp_path / "app").mkdir()
    monkeypatch.chdir(tmp_path / "app")
    return partial(run, "config")


@pytest.fixture
def file(isolated_home: Path) -> Path:
    path = isolated_home / "desktop-agent" / "config" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "app" / ".desktop-agent" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text('[execution]\napproval = "always"\nsandbox = "none"\n')
    return path


def test_what_it_shows_can_be_read_as_a_settings_file(config: Command) -> None:
    shown = tomllib.loads(config("show").out)
    told = json.loads(json.dumps(setting_values(Settings())))
    for key, value in told.items():
        *sections, name = key.split(".")
        section: dict[str, Any] = shown
        for part in sections:
            section = section[part]
        assert section.get(name) == value, key


def test_every_value_says_where_it_comes_from(
    config: Command, file: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('[ui]\ntheme = "dark"\n')
    monkeypatch.setenv("ANTHROPIC_MODEL", "of the shell")
    assert config("trust").code == 0
    details = {detail["key"]: detail for detail in config("show", "--json").json["details"]}
    assert list(details) == list(declared_settings())
    assert [(details[key]["source"], details[key]["place"]) for key in ("ui.theme", "model.name")] == [
        ("file", f"{file}:2"),
        ("environment", "ANTHROPIC_MODEL"),
    ]
    approval = details["execution.approval"]
    assert (approval["source"], approval["place"], approval["value"]) == ("project", f"{project}:2", "always")
    assert (details["runner.max_turns"]["source"], details["runner.max_turns"]["place"]) == ("default", None)
    text = config("show").out
    assert f'theme = "dark"  # {file}:2' in text
    assert "max_turns = 8  # default" in text


def test_one_section_can_be_shown(config: Command) -> None:
    ran = config("show", "tools.limits", "--json")
    assert ran.json["settings"] == {
        "tools": {"limits": {"max_tool_tokens": 4000, "max_stdout_bytes": 131072, "max_lines": 800}}
    }
    refused = config("show", "looks")
    assert refused.code == 2
    assert "tools.limits" in refused.err


def test_one_setting_is_told_plainly_and_with_everything_known_of_it(config: Command) -> None:
    assert config("get", "execution.approval").out == "on_write\n"
    told = config("get", "execution.approval", "--json").json
    assert told["allowed"] == "one of always, on_write, on_request, never"
    assert told["description"].startswith("What the agent does without asking")
    assert (told["value"], told["default"], told["holds_from"]) == ("on_write", "on_write", "next session")


def test_a_setting_that_is_reset_is_the_default_again_and_its_comments_stay(config: Command, file: Path) -> None:
    file.write_text('# mine\n[ui]\ntheme = "dark"\nchat_font_px = 15  # for the beamer\n')
    ran = config("reset", "ui.theme")
    assert ran.code == 0
    assert file.read_text() == "# mine\n[ui]\nchat_font_px = 15  # for the beamer\n"
    assert config("reset", "nope").code == 2


def test_a_variable_that_goes_before_the_file_is_named(config: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_MODEL", "of the shell")
    ran = config("set", "model.name", "of the file")
    assert "ANTHROPIC_MODEL takes precedence over the settings file" in ran.err
    assert 'in force is "of the shell"' in ran.out


def test_a_projects_settings_are_shown_before_they_are_trusted(config: Command, project: Path) -> None:
    shown = config("trust", "--dry-run", "--json").json
    assert (shown["answer"], [change["key"] for change in shown["changes"]]) == (None, ["execution.approval"])
    assert "not trusted" in config("get", "execution.approval").err
    ran = config("trust")
    assert 'execution.approval: "on_write" -> "always"' in ran.out
    assert f'{project}:3: execution.sandbox: refused: "none" is not stricter' in ran.err
    after = config("get", "execution.approval")
    assert (after.out, after.err) == ("always\n", "")


def test_what_trust_would_start_is_named_with_its_whole_command_line(config: Command, project: Path) -> None:
    project.write_text(
        '[[mcp.definitions]]\nname = "a"\ncommand = "sh"\nargs = ["-c", "rm -rf ~"]\n'
        '[[mcp.definitions]]\nname = "b"\nenabled = false\nurl = "https://mcp.example/?x=1"\n'
        '[[mcp.definitions]]\nname = "c"\n'
        '[[agents]]\nname = "d"\ncommand = "sh"\nargs = ["-c", "rm -rf /"]\n'
    )
    ran = config("trust", "--dry-run")
    assert "  would let the MCP server a start: sh -c 'rm -rf ~'\n" in ran.out
    assert "b start: https://mcp.example/?x=1 (switched off)" in ran.out
    assert f"{project}:9: mcp.definitions 3: " in ran.err
    assert "  would offer the agent d: sh -c 'rm -rf /'\n" in ran.out
    shown = config("trust", "--dry-run", "--json").json
    assert shown["servers"][0] == {"name": "a", "runs": "sh -c 'rm -rf ~'", "enabled": True}
    assert shown["agents"] == [{"name": "d", "runs": "sh -c 'rm -rf /'"}]


def test_a_file_outside_that_would_be_imported_is_named_also_where_there_are_no_settings(
    config: Command, project: Path
) -> None:
    project.unlink()
    (Path.home() / "notes.md").write_text("mine\n")
    (project.parent.parent / "CLAUDE.md").write_text("See @~/notes.md.\n")
    assert "  would give the model the file ~/notes.md, which " in config("trust", "--dry-run").out
    assert "  give the model the file ~/notes.md, which " in config("trust").out
    shown = config("trust", "--dry-run", "--json").json
    assert (shown["answer"], [item["kind"] for item in shown["items"]]) == ("trusted", ["import"])


def test_what_is_ignored_does_not_hold_and_is_not_warned_about(config: Command, project: Path) -> None:
    assert config("trust", str(project.parent.parent), "--ignore").code == 0
    after = config("get", "execution.approval")
    assert (after.out, after.err) == ("on_write\n", "")


def test_a_server_is_trusted_with_the_files_that_it_runs(config: Command, project: Path) -> None:
    script = project.parent.parent / "tools" / "server.py"
    script.parent.mkdir()
    script.write_text("one")
    project.write_text('[[mcp.definitions]]\nname = "a"\ncommand = "python3"\nargs = ["tools/server.py"]\n')
    [item] = config("trust", "--json").json["items"]
    assert (item["kind"], item["detail"], item["changed"]) == ("MCP server", "tools/server.py", False)
    line = f"  lets the MCP server a start: python3 tools/server.py (sha256 {item['digest']} with tools/server.py)"
    assert line in config("trust").out.splitlines()
    script.write_text("two")
    shown = config("trust", "--dry-run").out
    assert shown.rstrip().endswith(" with tools/server.py, changed since your last answer)")


def test_without_a_file_there_is_nothing_to_trust(config: Command) -> None:
    ran = config("trust")
    assert ran.code == 2
    assert "nothing to trust" in ran.err


def test_a_file_that_cannot_be_read_cannot_be_trusted(config: Command, project: Path) -> None:
    project.write_text("[execution\n")
    ran = config("trust")
    assert ran.code == 2
    assert f"{project}:1: is not valid TOML" in ran.err
