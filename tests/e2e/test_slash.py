import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import CommandLine, Ran


class Machine:
    def __init__(self, run: CommandLine, workspace: Path) -> None:
        self._run = run
        self._workspace = workspace

    def run(self, *arguments: str) -> Ran:
        return self._run("run", "--workspace", self._workspace, *arguments)

    def events(self, prompt: str, kind: str) -> list[dict[str, Any]]:
        ran = self.run("--prompt", prompt, "--provider", "demo", "--stream")
        return [event for event in map(json.loads, ran.out.splitlines()) if event["type"] == kind]


@pytest.fixture
def machine(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    (tmp_path / "app").mkdir()
    return Machine(CommandLine(capsys), tmp_path / "app")


def test_status_is_printed_and_told_of_as_a_command(machine: Machine) -> None:
    ran = machine.run("--prompt", "/status", "--verbose")
    assert ran.code == 0, ran.err
    assert "Tokens:" in ran.out
    assert "Auto-compaction: on" in ran.out
    assert "Stopped reason" not in ran.out
    assert "COMMAND: - Tokens:" in ran.err


def test_a_command_comes_from_standard_input(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"/help\n"), encoding="utf-8"))
    ran = machine.run("-")
    assert ran.code == 0, ran.err
    assert "/status" in ran.out


def test_pins_stay_in_the_session_that_goes_on(machine: Machine) -> None:
    result = machine.run("--prompt", "/pin add --ttl=600 keep it short", "--json").json
    assert result["final_response"].startswith("Pinned")
    assert (result["stopped_reason"], result["turns_used"]) == ("completed", 0)
    document = machine.run("--prompt", "/status", "--continue", "--json").json
    assert document["session_id"] == result["session_id"]
    assert "keep it short" in document["final_response"]


@pytest.mark.parametrize(("prompt", "says"), [("/statsu", "/status"), ("/compact", "Compaction")])
def test_what_cannot_be_carried_out_is_bad_usage_and_says_why(machine: Machine, prompt: str, says: str) -> None:
    ran = machine.run("--prompt", prompt)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    as_json = machine.run("--prompt", prompt, "--json")
    assert (as_json.code, says in json.dumps(as_json.json["error"])) == (2, True)


@pytest.mark.parametrize(("prompt", "sent"), [("//status please", "/status please"), (" /status", "/status")])
def test_a_prompt_may_begin_with_a_slash(machine: Machine, prompt: str, sent: str) -> None:
    assert machine.events(prompt, "prompt_submitted")[0]["text"].strip() == sent


def test_a_command_from_a_file_asks_the_model(machine: Machine, isolated_home: Path) -> None:
    folder = isolated_home / "desktop-agent" / "config" / "commands"
    folder.mkdir(parents=True)
    (folder / "hello.md").write_text("Say hello to $1.")
    assert [event["text"] for event in machine.events("/hello Ada", "prompt_submitted")] == ["Say hello to Ada."]
    assert machine.events("/hello Ada", "command_run") == []
