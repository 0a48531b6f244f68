"""`desktop-agent agents` with its real settings file: list, add, take over from others, remove; no secret is shown."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from keyring.errors import NoKeyringError

from desktop_agent.core.base.paths import AppPaths
from tests.command_line import CommandLine, Ran
from tests.core.agents.test_definition import SECRET, program
from tests.memory_keyring import BrokenKeyring, MemoryKeyring, use_keyring


class Agents(CommandLine):
    said = ""

    def __call__(self, *arguments: str | Path) -> Ran:
        ran = super().__call__("agents", *arguments)
        self.said += ran.out + ran.err
        return ran

    @property
    def listed(self) -> dict[str, dict[str, Any]]:
        return {each["name"]: each for each in self.done("list", "--json").json["agents"]}


@pytest.fixture
def agents(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agents:
    (tmp_path / "app").mkdir()
    monkeypatch.chdir(tmp_path / "app")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return Agents(capsys)


def test_an_agent_is_added_listed_and_removed(agents: Agents) -> None:
    added = agents.done("add", "mine", "--env", "DEBUG=1", "--mode", "plan", "--", "sh", "-c", "echo 'it is'")
    assert "mine is defined. Runs outside the sandbox, as in your terminal." in added.out
    agents.done("add", "gone", "--sandbox", "restricted", "--host", "Api.Example", "--", "no-such-program")

    mine, gone = agents.listed["mine"], agents.listed["gone"]
    assert mine == {
        "name": "mine",
        "kind": "acp",
        "command": "sh -c 'echo '\"'\"'it is'\"'\"''",
        "state": "starts when needed",
        "reason": "",
        "defined_by": "user",
        "confinement": "not confined",
        "hosts": [],
        "mode": "plan",
    }
    assert (gone["state"], gone["confinement"], gone["hosts"]) == (
        "program not found",
        "sandbox: restricted",
        ["api.example"],
    )
    assert "gone: there is no program 'no-such-program'." in agents.done("list").out

    agents.done("remove", "mine")
    assert set(agents.listed) == {"gone"}
    assert agents("remove", "mine").code == 2
    assert agents("add", "gone", "--", "sh").code == 2


def test_installed_agents_are_listed_and_can_be_defined_by_name(agents: Agents, tmp_path: Path) -> None:
    nothing = agents.done("list")
    assert nothing.out.startswith("No agent is defined, and none of those known by name is installed.")
    assert "npm install -g @google/gemini-cli" in nothing.out
    program(tmp_path / "home/.local/bin" / "gemini")

    gemini = agents.listed["gemini"]
    assert (gemini["command"], gemini["state"], gemini["defined_by"]) == (
        "gemini --acp",
        "starts when needed",
        "installed",
    )
    agents.done("add", "gemini", "--sandbox", "strict")
    assert (agents.listed["gemini"]["defined_by"], agents.listed["gemini"]["confinement"]) == (
        "user",
        "sandbox: strict",
    )
    ran = agents("add", "claude")
    assert (ran.code, "npm install -g @agentclientprotocol/claude-agent-acp" in ran.err) == (2, True)


def test_the_agents_of_zed_and_of_the_registry_are_added(agents: Agents, tmp_path: Path) -> None:
    settings = tmp_path / "home/.config/zed/settings.json"
    settings.parent.mkdir(parents=True)
    zed = {"one": {"command": "sh", "args": ["-c", "x"]}, "two": {"command": "sh"}, "far": {"type": "registry"}}
    settings.write_text(f"// mine\n{json.dumps({'agent_servers': zed})}")
    agents.done("add", "--from-zed", "two")
    ran = agents("add", "--from-zed")
    assert (ran.code, "There is an agent named 'two' already." in ran.err) == (2, True)
    agents.done("remove", "two")
    assert "Left out: far: Zed installs it for itself" in agents.done("add", "--from-zed").out
    assert {name: agent["command"] for name, agent in agents.listed.items()} == {"one": "sh -c x", "two": "sh"}

    registry = tmp_path / "registry.json"
    registry.write_text(json.dumps({"agents": [{"id": "a", "distribution": {"npx": {"package": "p@1"}}}, {"id": "b"}]}))
    agents.done("add", "--from", registry, "a", "--sandbox", "restricted", "--host", "*")
    assert agents.listed["a"]["command"] == "npx -y p@1"
    assert agents("add", "--from", registry).code == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["x"], "behind --"),
        (["--", "sh"], "The agent has no name."),
        (["two words", "--", "sh"], "at most 32 letters"),
        (["x", "--host", "a.example", "--", "sh"], "'hosts' is for an agent in the sandbox"),
        (["x", "--sandbox", "strict", "--host", "http://a", "--", "sh"], "which is not a host"),
        (["x", "--env", "A", "--", "sh"], "must be KEY=VALUE"),
        (["x", "--from-zed", "--", "sh"], "one of them"),
        (["--from-zed", "--mode", "plan"], "--from-zed takes the agents as Zed has them."),
        (["--from-zed"], "There is no file"),
    ],
)
def test_what_cannot_be_defined_is_refused_and_nothing_is_written(
    agents: Agents, options: list[str], says: str
) -> None:
    ran = agents("add", *options)
    assert (ran.code, says in ran.err) == (2, True), ran.err
    assert agents.listed == {}


def test_secrets_are_asked_for_kept_in_the_keyring_and_shown_nowhere(
    agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = MemoryKeyring()
    use_keyring(monkeypatch, backend)
    monkeypatch.setattr(sys, "stdin", io.StringIO("my own password\n"))
    agents.done("add", "mine", "--secret", "PASSWORD", "--env", f"OPENAI_API_KEY={SECRET}", "--", "sh")
    agents.done("list")
    agents.done("list", "--json")

    assert sorted(backend.entries.values()) == ["my own password", SECRET]
    files = [path for root in AppPaths.from_environment().roots for path in root.rglob("*") if path.is_file()]
    written = b"".join(path.read_bytes() for path in files).decode(errors="replace")
    assert 'secrets = ["PASSWORD", "OPENAI_API_KEY"]' in written
    for hidden in (SECRET, "my own password"):
        assert hidden not in agents.said
        assert hidden not in written
    agents.done("remove", "mine")
    assert backend.entries == {}


def test_without_a_keyring_or_a_value_nothing_is_defined(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    use_keyring(monkeypatch, BrokenKeyring(NoKeyringError("none")))
    assert agents("add", "mine", "--env", f"API_KEY={SECRET}", "--", "sh").code == 1
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))
    assert agents("add", "mine", "--secret", "API_KEY", "--", "sh").code == 2
    assert agents.listed == {}
    assert SECRET not in agents.said


def test_a_projects_agents_wait_for_trust_and_start_nothing(agents: Agents, tmp_path: Path) -> None:
    project = tmp_path / "app" / ".desktop-agent" / "config.toml"
    project.parent.mkdir()
    trace = tmp_path / "started"
    project.write_text(f'[[agents]]\nname = "evil"\ncommand = "sh"\nargs = ["-c", "touch {trace}"]\n')

    shown = agents.done("list", "--json").json

    assert (shown["agents"], shown["waiting_for_trust"]) == ([], ["evil"])
    assert (
        "Not used before you trust the project's settings (`desktop-agent config trust`): evil."
        in agents.done("list").out
    )
    assert CommandLine.__call__(agents, "config", "trust").code == 0
    assert agents.listed["evil"]["defined_by"] == "project"
    assert agents("remove", "evil").code == 2
    assert not trace.exists()
