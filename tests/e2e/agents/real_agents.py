"""Real agents, how each is started without an account, and what its model says. Also the turn that is killed:

    python -m tests.e2e.agents.real_agents FOLDER NAME ADDRESS

runs a turn in FOLDER, with the model server at ADDRESS, until the agent asks about its command, and then kills itself.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from desktop_agent.core.agents.installed import known_agent
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import JsonObject, ModelRef
from desktop_agent.core.settings.live_settings import LiveSettings
from tests import harness
from tests.npm.programs import agents_folder, node

KEY = "sk-ant-mock"
POEM = "".join(f"line {number}\n" for number in range(1, 41))
COMMAND = "echo made > shell.txt; sed -i 's/^line 20$/LINE 20/' poem.txt"
TASK, RUN, AGAIN = "Please edit the poem.", "Run the second command.", "Once more, please."
DONE, HERE = "The poem is edited.", "Here I am again."
PATIENCE_S = 150
TEE = """import os, subprocess, sys, threading
log = open(sys.argv[1], "ab", 0)
open(sys.argv[1] + ".pid", "w").write(str(os.getpid()))
agent = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def pump(source, target, mark):
    for line in source:
        log.write(mark + line)
        target.write(line)
        target.flush()
    target.close()
threading.Thread(target=pump, args=(sys.stdin.buffer, agent.stdin, b"> "), daemon=True).start()
pump(agent.stdout, sys.stdout.buffer, b"< ")
"""


@dataclass(frozen=True)
class RealAgent:
    name: str
    command: Callable[[], list[str]]
    environ: Callable[[str, Path], dict[str, str]]
    """Its variables, by the model server's address and the folder for what it keeps."""
    answers: Callable[[Path], list[JsonObject]]
    """What its model answers, one after the other."""
    runs: Callable[[str], JsonObject]
    """The call that runs a command."""
    alone: Callable[[str, str, str], list[str]]
    """Its own program without a terminal, by the model server's address, the session to go on with, and the prompt."""
    keeps: str = ""
    """The files of its program's conversations in the folder for what it keeps, as a glob; empty if not imported."""


def calls(tool: str, **arguments: Any) -> JsonObject:
    return {"toolCalls": [{"name": tool, "arguments": json.dumps(arguments)}]}


def _claude(workspace: Path) -> list[JsonObject]:
    path = str(workspace / "poem.txt")
    return [
        calls("Read", file_path=path),
        calls("Edit", file_path=path, old_string="line 2\n", new_string="LINE 2\n"),
        calls("Edit", file_path=path, old_string="line 39\n", new_string="LINE 39\n"),
        _claude_runs(COMMAND),
    ]


def _claude_runs(command: str) -> JsonObject:
    return calls("Bash", command=command, description="Change line 20")


def _codex(_workspace: Path) -> list[JsonObject]:
    def patched(old: str, new: str, context: str) -> JsonObject:
        hunk = f"@@\n {context}\n-{old}\n+{new}\n"
        patch = f"*** Begin Patch\n*** Update File: poem.txt\n{hunk}*** End Patch\n"
        return calls("exec_command", cmd=f"apply_patch <<'EOF'\n{patch}EOF\n")

    return [
        patched("line 2", "LINE 2", "line 1"),
        patched("line 39", "LINE 39", "line 38"),
        _codex_runs(COMMAND),
    ]


def _codex_runs(command: str) -> JsonObject:
    return calls("exec_command", cmd=command, sandbox_permissions="require_escalated", justification="May I?")


def _opencode(workspace: Path) -> list[JsonObject]:
    path = str(workspace / "poem.txt")
    return [
        calls("read", filePath=path),
        calls("edit", filePath=path, oldString="line 2\n", newString="LINE 2\n"),
        calls("edit", filePath=path, oldString="line 39\n", newString="LINE 39\n"),
        _opencode_runs(COMMAND),
    ]


def _opencode_runs(command: str) -> JsonObject:
    return calls("bash", command=command, description="Change line 20")


def _claude_environ(url: str, folder: Path) -> dict[str, str]:
    return {
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CONFIG_DIR": str(folder / "claude"),
        "IS_SANDBOX": "1",  # it refuses to run as root outside of one
    }


def _claude_alone(_url: str, session: str, prompt: str) -> list[str]:
    program = agents_folder("@anthropic-ai/claude-agent-sdk-linux-x64") / "claude"
    return [str(program), "-p", *(["--resume", session] if session else []), prompt]


def _codex_provider(url: str) -> JsonObject:
    return {"name": "mock", "base_url": f"{url}/v1", "env_key": "OPENAI_API_KEY", "wire_api": "responses"}


def _codex_alone(url: str, session: str, prompt: str) -> list[str]:
    (program,) = agents_folder("@openai/codex-linux-x64").glob("vendor/*/bin/codex")
    settings = {"model": "gpt-5.2-codex", "model_provider": "mock"}
    settings |= {f"model_providers.mock.{name}": value for name, value in _codex_provider(url).items()}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={json.dumps(value)}")]
    return [str(program), "exec", *options, "--skip-git-repo-check", *(["resume", session] if session else []), prompt]


def _opencode_alone(_url: str, session: str, prompt: str) -> list[str]:
    program = agents_folder("opencode-linux-x64") / "bin" / "opencode"
    return [str(program), "run", *(["--session", session] if session else []), prompt]


def _codex_environ(url: str, folder: Path) -> dict[str, str]:
    (folder / "codex").mkdir(exist_ok=True)
    config = {"model": "gpt-5.2-codex", "model_provider": "mock", "model_providers": {"mock": _codex_provider(url)}}
    return {"OPENAI_API_KEY": KEY, "CODEX_HOME": str(folder / "codex"), "CODEX_CONFIG": json.dumps(config)}


def _opencode_environ(url: str, folder: Path) -> dict[str, str]:
    options = {"baseURL": f"{url}/v1", "apiKey": KEY}
    provider = {
        "npm": "@ai-sdk/openai-compatible", "name": "mock", "options": options, "models": {"m": {"name": "m"}}
    }  # fmt: skip
    config = {"provider": {"mock": provider}, "model": "mock/m", "autoupdate": False}
    known = known_agent("opencode")
    assert known is not None
    places = {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("DATA", "CONFIG", "CACHE", "STATE")}
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_MODELS_FETCH": "1", **known.env, **places}


def _script(package: str) -> Callable[[], list[str]]:
    return lambda: [str(node()), str(agents_folder(f"@agentclientprotocol/{package}") / "dist" / "index.js")]


AGENTS = {
    agent.name: agent
    for agent in (
        RealAgent(
            "claude",
            _script("claude-agent-acp"),
            _claude_environ,
            _claude,
            _claude_runs,
            _claude_alone,
            "claude/projects/*/*.jsonl",
        ),
        RealAgent(
            "codex",
            _script("codex-acp"),
            _codex_environ,
            _codex,
            _codex_runs,
            _codex_alone,
            "codex/sessions/**/rollout-*.jsonl",
        ),
        RealAgent(
            "opencode",
            lambda: [str(agents_folder("opencode-linux-x64") / "bin" / "opencode"), "acp"],
            _opencode_environ,
            _opencode,
            _opencode_runs,
            _opencode_alone,
        ),
    )
}


def fixtures(agent: RealAgent, workspace: Path) -> list[JsonObject]:
    """Return the answers of the model to the main conversation, and a title for requests of another kind."""
    told = [*agent.answers(workspace), {"content": DONE}]
    return [
        *({"match": {"userMessage": TASK, "turnIndex": at}, "response": one} for at, one in enumerate(told)),
        {"match": {"userMessage": RUN}, "response": agent.runs("touch never.txt")},
        {"match": {"userMessage": AGAIN}, "response": {"content": HERE}},
        {"match": {}, "response": {"content": "A poem"}},
    ]


def ground_of(agent: RealAgent, folder: Path, url: str) -> tuple[harness.Ground, ModelRef]:
    """Return a workspace whose settings define the agent, and the agent as a model."""
    ground = harness.Ground(folder)
    (folder / "tee.py").write_text(TEE)
    command = [sys.executable, str(folder / "tee.py"), str(folder / "lines"), *agent.command()]
    environ = {"HOME": str(folder), **agent.environ(url, folder)}
    variables = ", ".join(f"{name} = {json.dumps(value)}" for name, value in environ.items())
    settings = folder / "config.toml"
    settings.write_text(
        f"[[agents]]\nname = {json.dumps(agent.name)}\ncommand = {json.dumps(command[0])}\n"
        f"args = {json.dumps(command[1:])}\nenv = {{ {variables} }}\n"
    )
    ground.live = LiveSettings.load(settings, {})
    return ground, ModelRef(provider="acp", model=agent.name)


async def _until_killed(folder: Path, agent: RealAgent, url: str) -> None:
    harness.PATIENCE_S = PATIENCE_S
    ground, model = ground_of(agent, folder, url)
    async with ground.session([], model=model, sandbox="none") as opened:
        opened.submit(ops.SubmitPrompt(text=TASK))
        while not (await opened.answer()).request.command:
            pass
        await opened.rx.expect(ev.ApprovalResolved)
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(_until_killed(Path(sys.argv[1]), AGENTS[sys.argv[2]], sys.argv[3]))  # noqa: TID251 - a program
