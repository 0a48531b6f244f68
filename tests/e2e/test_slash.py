"""Slash commands without a window, in a process of their own: no key, no provider, no request."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


class Machine:
    """A user's machine without any key, and without a network that could be asked."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "app"
        self.workspace.mkdir()
        self.home = folder / "home"
        kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        self.environ = {**kept, "DESKTOP_AGENT_HOME": str(self.home), "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "desktop_agent", "run", "--workspace", str(self.workspace), *arguments]
        return subprocess.run(  # noqa: TID251 - a test is not the product
            command,
            check=False,
            env=self.environ,
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_status_is_printed(machine: Machine) -> None:
    ran = machine.run("--prompt", "/status")
    assert ran.returncode == 0, ran.stderr
    assert "Tokens:" in ran.stdout
    assert "Auto-compaction: on" in ran.stdout
    assert "Stopped reason" not in ran.stdout


def test_a_command_comes_from_standard_input(machine: Machine) -> None:
    ran = machine.run("-", stdin="/help\n")
    assert ran.returncode == 0, ran.stderr
    assert "/status" in ran.stdout


def test_pins_stay_in_the_session_that_goes_on(machine: Machine) -> None:
    pinned = machine.run("--prompt", "/pin add --ttl=600 keep it short", "--json")
    assert pinned.returncode == 0, pinned.stderr
    result = json.loads(pinned.stdout)
    assert result["final_response"].startswith("Pinned")
    assert result["stopped_reason"] == "completed"
    assert result["turns_used"] == 0
    status = machine.run("--prompt", "/status", "--continue", "--json")
    document = json.loads(status.stdout)
    assert document["session_id"] == result["session_id"]
    assert "keep it short" in document["final_response"]


def test_a_command_that_does_not_exist_is_bad_usage(machine: Machine) -> None:
    ran = machine.run("--prompt", "/statsu")
    assert ran.returncode == 2
    assert "/status" in ran.stderr
    assert ran.stdout == ""
    as_json = machine.run("--prompt", "/statsu", "--json")
    assert as_json.returncode == 2
    assert "statsu" in json.loads(as_json.stdout)["error"]["title"]


def test_nothing_to_compact_is_said_without_a_request(machine: Machine) -> None:
    ran = machine.run("--prompt", "/compact")
    assert ran.returncode == 2
    assert "Compaction" in ran.stderr


def test_verbose_tells_of_the_command_as_one(machine: Machine) -> None:
    assert "COMMAND: - Tokens:" in machine.run("--prompt", "/status", "--verbose").stderr


@pytest.mark.parametrize(("prompt", "sent"), [("//status please", "/status please"), (" /status", "/status")])
def test_a_prompt_may_begin_with_a_slash(machine: Machine, prompt: str, sent: str) -> None:
    ran = machine.run("--prompt", prompt, "--provider", "demo", "--stream")
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    submitted = [event for event in events if event["type"] == "prompt_submitted"]
    assert submitted[0]["text"].strip() == sent


def test_a_command_from_a_file_asks_the_model(machine: Machine) -> None:
    folder = machine.home / "config" / "commands"
    folder.mkdir(parents=True)
    (folder / "hello.md").write_text("Say hello to $1.")
    ran = machine.run("--prompt", "/hello Ada", "--provider", "demo", "--stream")
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [event["text"] for event in events if event["type"] == "prompt_submitted"] == ["Say hello to Ada."]
    assert [event["type"] for event in events if event["type"] == "command_run"] == []
