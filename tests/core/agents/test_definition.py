"""Agents in the settings file: mistakes are named, round trips are exact, secrets stay out, projects wait for trust."""

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.core.agents.definition import (
    AgentDefinition,
    AgentDefinitions,
    add_agents,
    agent_in,
    agent_meant,
    read_agent_secrets,
    read_agents,
    remove_agent,
    replace_agent,
)
from desktop_agent.core.base.errors import CredentialsError, UsageError
from desktop_agent.core.protocol.model import SandboxMode
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.server_sign_ins import ServerKeyring
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.loading import load_settings
from desktop_agent.core.settings.workspace_settings import PROJECT_FILE, PROJECT_FOLDER, ProjectTrust, WorkspaceSettings
from tests.memory_keyring import BrokenKeyring, MemoryKeyring

SECRET = "sk-ant-test-0123456789abcdef"


def keyring(backend: MemoryKeyring | None = None) -> ServerKeyring:
    return ServerKeyring(SystemKeyStore(backend or MemoryKeyring()))


def defined_in(path: Path) -> AgentDefinitions:
    return read_agents(load_settings(path, {}).tables)


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\nexit 3\n")
    path.chmod(0o755)
    return path


def test_everything_that_an_agent_may_say_is_read() -> None:
    entry = {
        "name": "claude.work",
        "command": "claude-agent-acp",
        "args": "--one 'two words'",
        "env": {"DEBUG": "1"},
        "secrets": ["ANTHROPIC_API_KEY"],
        "sandbox": "restricted",
        "hosts": ["API.anthropic.com"],
        "mode": "plan",
    }

    assert agent_in(entry) == AgentDefinition(
        name="claude.work",
        command="claude-agent-acp",
        args=("--one", "two words"),
        env={"DEBUG": "1"},
        secrets=("ANTHROPIC_API_KEY",),
        sandbox="restricted",
        hosts=("api.anthropic.com",),
        mode="plan",
    )


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (3, "it is not a table"),
        ({"command": "x"}, "name must be a text that is not empty"),
        ({"name": "two words", "command": "x"}, "name may have at most 32 letters"),
        ({"name": "-a", "command": "x"}, "name may have at most 32 letters"),
        ({"name": "a" * 33, "command": "x"}, "name may have at most 32 letters"),
        ({"name": "a"}, "command must be a text that is not empty"),
        ({"name": "a", "command": "x", "args": 3}, "args must be a list or string"),
        ({"name": "a", "command": "x", "env": {"A": 3}}, "the value of A must be a text"),
        ({"name": "a", "command": "x", "env": {"A=B": "c"}}, "cannot be the name of a variable"),
        ({"name": "a", "command": "x", "secrets": [""]}, "cannot be the name of a variable"),
        ({"name": "a", "command": "x", "sandbox": True}, "sandbox must be one of restricted, strict, none"),
        ({"name": "a", "command": "x", "hosts": ["x.org"]}, "'hosts' is for an agent in the sandbox"),
        ({"name": "a", "command": "x", "sandbox": "strict", "hosts": ["http://x"]}, "which is not a host"),
        ({"name": "a", "command": "x", "url": "https://x"}, "'url' is not known"),
    ],
)
def test_every_mistake_is_named(entry: object, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        agent_in(entry)


def test_a_mistake_has_its_place_and_the_other_agents_count(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        '[[agents]]\nname = "a"\n[[agents]]\nname = "b"\ncommand = "x"\n[[agents]]\nname="b"\ncommand="y"\n'
    )

    found = defined_in(path)

    assert [str(problem) for problem in found.problems] == [
        f"{path}:1: agents 1: command must be a text that is not empty",
        f"{path}:6: agents 3: there is another agent named 'b'; only the first counts",
    ]
    assert [agent.command for agent in found.agents] == ["x"]


NAMES = st.from_regex(r"\A[a-z0-9]([a-z0-9._-]{0,10}[a-z0-9])?\Z")
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="="), min_size=1, max_size=12)
HOSTS = st.from_regex(r"\A[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?\Z")
WORDS = TEXTS.filter(str.strip)
VARIABLES = st.from_regex(r"\A[A-Z]{1,8}_X\Z")
SANDBOXES: tuple[SandboxMode | None, ...] = (None, "restricted", "strict")


@st.composite
def agents(draw: st.DrawFn) -> AgentDefinition:
    sandbox = draw(st.sampled_from(SANDBOXES))
    return AgentDefinition(
        name=draw(NAMES),
        command=draw(WORDS),
        args=tuple(draw(st.lists(TEXTS, max_size=3))),
        env=draw(st.dictionaries(VARIABLES, TEXTS, max_size=2)),
        secrets=tuple(draw(st.lists(VARIABLES.map(lambda name: f"{name}_TOKEN"), max_size=2, unique=True))),
        sandbox=sandbox,
        hosts=tuple(draw(st.lists(HOSTS, max_size=2, unique=True))) if sandbox else (),
        mode=draw(st.just("") | WORDS),
    )


@given(st.lists(agents(), max_size=4, unique_by=lambda agent: agent.name))
def test_what_is_written_is_read_back_the_same(each: list[AgentDefinition]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.toml"
        path.write_text("# mine\n[ui]\ntheme = 'dark'\n")
        for agent in each:
            add_agents(path, (agent,), keyring())

        found = defined_in(path)

        assert found.agents == tuple(each)
        assert not found.problems
        assert path.read_text().startswith("# mine\n[ui]\ntheme = 'dark'\n")


def test_secrets_go_to_the_keyring_and_leave_with_the_agent(tmp_path: Path) -> None:
    path, backend = tmp_path / "config.toml", MemoryKeyring()
    given_env = {"ANTHROPIC_API_KEY": SECRET, "FOLDER": "~/x", "PLAIN": "1", "MINE": "a word"}
    agent = AgentDefinition(name="claude", command="x", env=given_env, secrets=("MINE",))

    add_agents(path, (agent,), keyring(backend))

    (read,) = defined_in(path).agents
    assert read.env == {"FOLDER": "~/x", "PLAIN": "1"}
    assert read.secrets == ("MINE", "ANTHROPIC_API_KEY")
    assert SECRET not in path.read_text()
    assert "a word" not in path.read_text()
    assert read_agent_secrets(keyring(backend), read) == {"MINE": "a word", "ANTHROPIC_API_KEY": SECRET}

    remove_agent(path, "claude", keyring(backend))

    assert defined_in(path).agents == ()
    assert backend.entries == {}


def test_a_keyring_that_refuses_defines_nothing_and_a_missing_value_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    agent = AgentDefinition(name="claude", command="x", env={"API_KEY": SECRET})
    with pytest.raises(CredentialsError):
        add_agents(path, (agent,), keyring(BrokenKeyring(OSError("locked"))))
    assert defined_in(path).agents == ()

    with pytest.raises(CredentialsError, match="no value for API_KEY of the agent claude") as caught:
        read_agent_secrets(keyring(), replace(agent, env={}, secrets=("API_KEY",)))
    assert "--secret API_KEY" in caught.value.hint


def test_a_name_that_is_taken_or_unknown_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    agent = AgentDefinition(name="codex", command="x")
    add_agents(path, (agent,), keyring())
    before = path.read_bytes()

    with pytest.raises(UsageError, match="There is an agent named 'codex' already"):
        add_agents(path, (replace(agent, name="new"), agent), keyring())
    with pytest.raises(UsageError, match="Available: codex"):
        remove_agent(path, "codx", keyring())

    assert path.read_bytes() == before


def test_an_agent_is_replaced_and_keeps_the_secrets_that_it_still_names(tmp_path: Path) -> None:
    path, backend = tmp_path / "config.toml", MemoryKeyring()
    before = AgentDefinition(name="codex", command="x", mode="plan", env={"A_KEY": SECRET, "B_KEY": f"{SECRET}2"})
    add_agents(path, (before,), keyring(backend))

    after = AgentDefinition(name="codex", command="y", sandbox="strict", hosts=("a.org",), secrets=("A_KEY",))
    replace_agent(path, replace(after, env={"C_KEY": f"{SECRET}3"}), keyring(backend))

    (read,) = defined_in(path).agents
    assert read == replace(after, secrets=("A_KEY", "C_KEY"))
    assert sorted(backend.entries.values()) == [SECRET, f"{SECRET}3"]
    with pytest.raises(UsageError, match="There is no agent named 'none'"):
        replace_agent(path, replace(after, name="none"), keyring(backend))


def test_what_confines_an_agent_is_said_in_words() -> None:
    free = AgentDefinition(name="a", command="x", args=("two words",), env={"B": "c d"}, secrets=("KEY",))
    confined = replace(free, sandbox="restricted", hosts=("api.example",))

    assert free.confinement == "Runs outside the sandbox, as in your terminal."
    assert free.in_full == "B='c d' KEY=(from your keyring) x 'two words'"
    assert confined.confinement == "Confined: it writes the open folder and reaches api.example."
    assert confined.in_full.endswith("(confined: it writes the open folder and reaches api.example)")
    assert "none of your files" in replace(confined, sandbox="strict").confinement


async def test_a_projects_agents_do_not_exist_before_the_user_trusts_its_file(tmp_path: Path) -> None:
    root, user = tmp_path / "app", tmp_path / "config.toml"
    project = root / PROJECT_FOLDER / PROJECT_FILE
    project.parent.mkdir(parents=True)
    evil = '[[agents]]\nname = "claude"\ncommand = "./evil"\n[[agents]]\nname = "mine"\ncommand = "./evil"\n'
    project.write_text(evil + '[[agents]]\nname = "thief"\ncommand = "./evil"\nsecrets = ["API_KEY"]\n')
    user.write_text('[[agents]]\nname = "mine"\ncommand = "good"\n')
    settings = WorkspaceSettings(LiveSettings.load(user, {}), root, ProjectTrust(tmp_path / "trust"))
    await settings.refresh()

    assert [agent.command for agent in read_agents(settings.loaded.tables).agents] == ["good"]
    assert settings.is_waiting

    settings.remember("trusted", project.read_text())
    found = read_agents(settings.loaded.tables)

    assert [(agent.name, agent.command, agent.defined_by) for agent in found.agents] == [
        ("mine", "good", "user"),
        ("claude", "./evil", "project"),
    ]
    assert any("gets no secrets from your keyring" in str(problem) for problem in found.problems)


def test_a_reference_is_a_configured_name_then_an_installed_agent_then_a_command_line(tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home")}
    program(tmp_path / "bin" / "opencode")
    mine = AgentDefinition(name="opencode", command=str(program(tmp_path / "other")))
    far = AgentDefinition(name="far", command=program(tmp_path / "home/.local/bin/far").name, env={"PATH": "/mine"})

    assert agent_meant([mine], "opencode", environ) == mine
    assert agent_meant([far], "far", environ).command == str(tmp_path / "home/.local/bin/far")
    assert agent_meant([far], "far", environ).env == {"PATH": "/mine"}
    with pytest.raises(UsageError, match="The agent gone needs the program nothing"):
        agent_meant([AgentDefinition(name="gone", command="nothing")], "gone", environ)
    asking = agent_meant([], "opencode", environ)
    assert asking.env == {"OPENCODE_PERMISSION": '{"edit":"ask","bash":"ask","webfetch":"ask"}'}
    own = environ | {"OPENCODE_PERMISSION": "{}"}
    assert agent_meant([], "opencode", own) == replace(asking, env={})
    assert replace(asking, env={}) == AgentDefinition(name="opencode", command="opencode", args=("acp",))
    assert agent_meant([], "opencode acp --cwd 'a b'", environ) == AgentDefinition(
        name="opencode", command="opencode", args=("acp", "--cwd", "a b")
    )
    own = program(tmp_path / "ws" / "agent.sh")
    assert agent_meant([], "./agent.sh --x", environ, tmp_path / "ws").name == "agent"
    assert agent_meant([], str(own), environ).command == str(own)


@pytest.mark.parametrize(
    ("reference", "title", "hint"),
    [
        ("claude", "Claude Code is not installed.", "npm install -g @agentclientprotocol/claude-agent-acp"),
        ("cluade", "There is no agent named cluade, and no program of that name.", "agents list"),
        ("cluade --acp", "There is no program cluade to start the agent.", "agents list"),
        ("cluade 'x", "The agent's command line cannot be read", ""),
        (" ", "No agent is named.", "agents list"),
    ],
)
def test_a_reference_to_nothing_says_so(tmp_path: Path, reference: str, title: str, hint: str) -> None:
    with pytest.raises(UsageError, match=re.escape(title)) as caught:
        agent_meant([], reference, {"PATH": str(tmp_path), "HOME": str(tmp_path)})
    assert hint in caught.value.hint


def test_a_program_in_the_workspace_is_no_agent_of_the_users(tmp_path: Path) -> None:
    program(tmp_path / "ws" / "bin" / "opencode")
    environ = {"PATH": str(tmp_path / "ws" / "bin"), "HOME": str(tmp_path)}
    for reference in ("opencode", "opencode acp"):
        with pytest.raises(UsageError):
            agent_meant([], reference, environ, tmp_path / "ws")
