"""`desktop-agent agents` with its real settings file: list, add, take over from others, remove; no secret is shown."""

import io
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from keyring.errors import NoKeyringError

from desktop_agent.core.base.paths import AppPaths
from tests.command_line import PROGRAM, CommandLine, Ran
from tests.core.agents.test_definition import SECRET, program
from tests.memory_keyring import BrokenKeyring, MemoryKeyring, use_keyring
from tests.system_processes import descendants

SCRIPTED_AGENT = Path(__file__).parents[1] / "core" / "agents" / "scripted_agent.py"


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
        (["x"], "after --"),
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
        "Not used before you trust the project as it is now (`desktop-agent config trust`): evil."
        in agents.done("list").out
    )
    assert CommandLine.__call__(agents, "config", "trust").code == 0
    assert agents.listed["evil"]["defined_by"] == "project"
    assert agents("remove", "evil").code == 2
    assert not trace.exists()


def scripted(path: Path, prompts: Any = (), **answers: Any) -> list[str]:
    path.write_text(json.dumps({"answers": answers, "prompts": prompts}))
    return [sys.executable, str(SCRIPTED_AGENT), str(path)]


MODES = [{"id": mode, "name": mode.title()} for mode in ("auto", "ask")]


def test_a_test_says_what_an_agent_offers_and_leaves_nothing_running(agents: Agents, tmp_path: Path) -> None:
    info = {"name": "scripted", "title": "Scripted", "version": "3"}
    can = {"loadSession": True, "promptCapabilities": {"image": True}}
    begun = {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": can}
    opened = {"sessionId": "s", "modes": {"currentModeId": "auto", "availableModes": MODES}}
    line = scripted(tmp_path / "script.json", initialize=begun, **{"session/new": opened})
    agents.done("add", "mine", "--", *line)
    before = descendants()

    shown = agents.done("test", "mine")
    assert shown.out == (
        "mine works: Scripted 3.\n"
        "Runs outside the sandbox, as in your terminal.\n"
        "Supports: images, resuming sessions\n"
        "Modes: auto, ask (set)\n"
    )
    report = agents.done("test", "mine", "--json").json
    assert (report["works"], report["agent"], report["version"], report["mode"]) == (True, "Scripted", "3", "ask")
    assert descendants() <= before
    assert list((tmp_path / "app").iterdir()) == []


def signing(path: Path, account: Path, *methods: dict[str, Any]) -> list[str]:
    """Return the command line of an agent that opens a session only when its account is there."""
    begun = {"protocolVersion": 1, "agentInfo": {"name": "scripted", "version": "1"}, "authMethods": methods}
    path.write_text(json.dumps({"answers": {"initialize": begun}, "prompts": [], "account": str(account)}))
    return [sys.executable, str(SCRIPTED_AGENT), str(path)]


BROWSER = {"id": "browser", "name": "A browser"}
TERMINAL = {"id": "tty", "name": "A terminal", "type": "terminal", "args": ["--login"], "env": {"WHO": "mo"}}


def test_an_agent_that_is_not_signed_in_says_how_to(agents: Agents, tmp_path: Path) -> None:
    line = signing(tmp_path / "script.json", tmp_path / "account", BROWSER, TERMINAL)
    agents.done("add", "mine", "--", *line)

    ran = agents("test", "mine", "--json")

    assert (ran.code, ran.json["works"], ran.json["needs_sign_in"]) == (1, False, True)
    assert ran.json["problem"] == "scripted is not signed in."
    assert "`desktop-agent agents login mine`" in ran.json["hint"]
    assert [(way["id"], way["command"]) for way in ran.json["sign_ins"]] == [
        ("browser", []),
        ("tty", [*line, "--login"]),
    ]


def test_an_agent_signs_in_by_itself_and_is_tested(agents: Agents, tmp_path: Path) -> None:
    account = tmp_path / "account"
    agents.done("add", "mine", "--", *signing(tmp_path / "script.json", account, BROWSER))
    before = descendants()

    ran = agents.done("login", "mine", "--json")

    assert ran.json == {
        "name": "mine",
        "method": "browser",
        "signed_in": True,
        "problem": "",
        "hint": "",
        "detail": "",
    }
    assert account.read_text() == "browser"
    assert "works already" in agents.done("login", "mine").out
    assert agents.done("login", "mine", "--method", "browser").out == "You are signed in with scripted.\n"
    assert descendants() <= before


@pytest.mark.parametrize(("typed", "code"), [("yes", 0), ("no", 1)])
def test_a_program_signs_in_in_this_terminal(tmp_path: Path, typed: str, code: int) -> None:
    account = tmp_path / "account"
    line = shlex.join(signing(tmp_path / "script.json", account, TERMINAL))

    ran = subprocess.run(  # noqa: TID251 - its standard input is what it is about
        [*PROGRAM, "agents", "login", line, "--json"], input=f"{typed}\n", capture_output=True, text=True, check=False
    )

    assert (ran.returncode, account.exists()) == (code, code == 0)
    assert "Signing in as mo. Type yes: " in ran.stderr
    document = json.loads(ran.stdout)
    if code == 0:
        assert (document["method"], document["signed_in"]) == ("tty", True)
    else:
        assert document["error"]["title"].endswith("ended with exit code 4.")


def test_a_sign_in_is_named_where_there_are_several_and_a_key_goes_elsewhere(agents: Agents, tmp_path: Path) -> None:
    key = {"id": "key", "name": "A key", "type": "env_var", "varName": "MY_KEY"}
    agents.done("add", "mine", "--", *signing(tmp_path / "script.json", tmp_path / "account", BROWSER, TERMINAL, key))
    for options, says in (
        ((), "mine offers 3 sign-ins.\nName one with --method:\n  browser: A browser\n  tty: A terminal\n  key: A key"),
        (("--method", "gone"), "mine has no sign-in 'gone'."),
        (("--method", "key"), "mine takes a key in MY_KEY.\n`desktop-agent agents add mine --secret MY_KEY` puts it"),
    ):
        ran = agents("login", "mine", *options)
        assert (ran.code, says in ran.err) == (2, True), ran.err
    agents.done("add", "shut", "--sandbox", "strict", "--", *signing(tmp_path / "script.json", tmp_path / "account"))
    assert agents("login", "shut").code in (1, 2)
    assert agents("login", "no-such-agent").code == 2


def test_an_agent_that_does_not_work_says_why(agents: Agents, tmp_path: Path) -> None:
    newer = scripted(tmp_path / "script.json", initialize={"protocolVersion": 2})
    for line, says in (
        (["sh", "-c", "echo no database >&2; exit 3"], "no database"),
        (["sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x; exit 4"], "exit code 4"),
        (newer, "speaks version 2 of the protocol"),
    ):
        ran = agents("test", shlex.join(line))
        assert ran.code == 1
        assert " does not work: " in ran.out
        assert says in ran.out


def test_an_agents_secrets_reach_it_and_are_in_no_log(
    agents: Agents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_keyring(monkeypatch, MemoryKeyring())
    told = tmp_path / "told"
    line = ["sh", "-c", f'echo "the key is $API_KEY" >&2; echo "$API_KEY" > {told}; exit 3']
    agents.done("add", "mine", "--env", f"API_KEY={SECRET}", "--", *line)

    assert agents("test", "mine").code == 1
    assert agents("test", "mine", "--json").code == 1

    assert told.read_text().strip() == SECRET
    files = [path for root in AppPaths.from_environment().roots for path in root.rglob("*") if path.is_file()]
    logged = "".join(path.read_text(errors="replace") for path in files)
    assert "the key is" in logged
    assert SECRET not in logged
    assert SECRET not in agents.said


def test_a_projects_agent_is_neither_tested_nor_run_before_it_is_trusted(agents: Agents, tmp_path: Path) -> None:
    project = tmp_path / "app" / ".desktop-agent" / "config.toml"
    project.parent.mkdir()
    project.write_text(f'[[agents]]\nname = "claude"\ncommand = "sh"\nargs = ["-c", "touch {tmp_path / "started"}"]\n')
    ran = agents("test", "claude")
    assert (ran.code, "Claude Code is not installed." in ran.err) == (2, True)
    ran = CommandLine.__call__(agents, "run", "--agent", "claude", "--prompt", "Go", "--approval", "never")
    assert (ran.code, "Claude Code is not installed." in ran.err) == (2, True)
    assert not (tmp_path / "started").exists()


def test_a_projects_agent_is_started_only_with_the_files_that_were_trusted(agents: Agents, tmp_path: Path) -> None:
    python, _, *words = scripted(tmp_path / "script.json", prompts=[[HELLO]])
    project, agent = tmp_path / "app" / ".desktop-agent" / "config.toml", tmp_path / "app" / "agent.py"
    project.parent.mkdir()
    agent.write_bytes(SCRIPTED_AGENT.read_bytes())
    args = json.dumps(["agent.py", *words])
    project.write_text(f'[[agents]]\nname = "theirs"\ncommand = "{python}"\nargs = {args}\n')
    ran = CommandLine.__call__(agents, "config", "trust")
    assert f"  offers the agent theirs: {python} agent.py" in ran.out
    assert " with agent.py)" in ran.out
    go = ("run", "--agent", "theirs", "--prompt", "Go", "--approval", "never")
    assert CommandLine.__call__(agents, *go).code == 0

    agent.write_text("open('ran', 'w').close()\n")
    says = "Files that the agent theirs runs are not as you trusted them, so it was not started."
    ran = CommandLine.__call__(agents, *go)
    assert (ran.code != 0, says in ran.err) == (True, True), ran.err
    ran = agents("test", "theirs")
    assert (ran.code, says in ran.out + ran.err, "config trust" in ran.out + ran.err) == (1, True, True)
    assert not (tmp_path / "app" / "ran").exists()


HELLO = {"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Done by an agent."}}}


def test_a_run_goes_to_an_agent_by_its_name_or_its_command_line(agents: Agents, tmp_path: Path) -> None:
    line = scripted(tmp_path / "script.json", prompts=[[HELLO, {"write": ["made.txt", "by the agent\n"]}]])
    agents.done("add", "mine", "--", *line)

    def run(*arguments: str) -> Ran:
        return CommandLine.__call__(agents, "run", "--prompt", "Make it", "--json", *arguments)

    for named in ("mine", shlex.join(line)):
        ran = run("--agent", named)
        assert ran.code == 0, ran.err
        assert ran.json["final_response"] == "Done by an agent."
        assert ran.json["edited_files"] == ["made.txt"]
        (tmp_path / "app" / "made.txt").unlink()

    for options, says in (
        (["--agent", "none"], "There is no agent named none"),
        (["--agent", "mine", "--model", "x"], "--agent does not go with --provider, --model"),
        (["--agent", "mine", "--client", "sdk"], "--agent does not go with"),
    ):
        refused = run(*options)
        assert (refused.code, says in refused.err) == (2, True), refused.err


def test_a_resumed_run_goes_on_with_its_agent_or_with_a_model(agents: Agents, tmp_path: Path) -> None:
    agents.done("add", "mine", "--", *scripted(tmp_path / "script.json", prompts=[[HELLO], [HELLO]]))

    def run(*arguments: str) -> Ran:
        return CommandLine.__call__(agents, "run", "--prompt", "Go on", "--json", *arguments)

    session = run("--agent", "mine").json["session_id"]
    assert run("--resume", session).json["final_response"] == "Done by an agent."
    assert run("--resume", session, "--provider", "demo", "--approval", "never").json["final_response"] != (
        "Done by an agent."
    )
    assert run("--resume", session, "--agent", "mine").json["final_response"] == "Done by an agent."


def test_a_batch_runs_its_tasks_with_agents(agents: Agents, tmp_path: Path) -> None:
    line = scripted(tmp_path / "script.json", prompts=[[HELLO, {"write": ["made.txt", "x\n"]}]])
    tasks = tmp_path / "tasks.jsonl"
    task = {"id": "1", "workspace": str(tmp_path / "app"), "prompt": "Make it", "options": {"agent": shlex.join(line)}}
    tasks.write_text(json.dumps(task))

    ran = CommandLine.__call__(agents, "batch", tasks, "--workers", "1")

    assert ran.code == 0, ran.err
    outcome = json.loads(ran.out.splitlines()[0])
    assert (outcome["exit_code"], outcome["final_response"]) == (0, "Done by an agent.")
    assert "+x" in outcome["patch"]
    assert not (tmp_path / "app" / "made.txt").exists()


def test_roles_of_sub_agents_are_listed_with_why_one_is_not_used(agents: Agents, tmp_path: Path) -> None:
    for folder, name in ((tmp_path / "app", "theirs"), (tmp_path / "home", "mine"), (tmp_path / "home", "empty")):
        path = folder / ".claude" / "agents" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("" if name == "empty" else "---\ndescription: Reads\n---\nRead.")
    found = agents.listed
    assert {name: (found[name]["kind"], found[name]["state"]) for name in ("theirs", "mine", "empty")} == {
        "theirs": ("sub", "untrusted"),
        "mine": ("sub", "ready"),
        "empty": ("sub", "unusable"),
    }
    assert found["empty"]["reason"] == "it has no description"
    assert (
        "tell the model of the agent theirs: Reads" in CommandLine.__call__(agents, "config", "trust", "--dry-run").out
    )
    CommandLine.__call__(agents, "config", "trust")
    assert agents.listed["theirs"]["state"] == "ready"
