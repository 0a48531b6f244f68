"""One file of hooks, run by Claude Code itself and by us, gives the same decisions where both policies permit the call.

What differs on purpose is in the guide: a hook that could not check a call does not let it pass here.
"""

import asyncio
import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest

from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.settings.sections import HookSettings, Settings
from tests.e2e.agents.real_agents import AGENTS, KEY, PATIENCE_S
from tests.harness import Ground
from tests.servers.aimock import Aimock, aimock

pytestmark = pytest.mark.nightly

CLAUDE = AGENTS["claude"]
TASK = "Make the files."


def said(**values: object) -> str:
    return f"echo '{json.dumps(values)}'"


def decided(word: str, **more: object) -> str:
    own = {"hookEventName": "PreToolUse", "permissionDecision": word, "permissionDecisionReason": "so", **more}
    return said(hookSpecificOutput=own)


def instead(number: int) -> JsonObject:
    return {"command": f"touch changed-{number}", "description": "another"}


ANSWERS = [
    "exit 0", "exit 1", "exit 2", "exit 3", "exit 125", "echo no >&2; exit 2", "echo oops >&2; exit 1", "false", "true",
    "echo deny", "echo '[1]'", "echo noise >&2; exit 0", "cat >/dev/null", "exec true",
    decided("allow"), decided("deny"), decided("ask"), said(decision="approve"), said(decision="block", reason="no"),
    said(), said(suppressOutput=True), said(systemMessage="look"), said(reason="nothing decided"),
    f"echo; {decided('deny')}", f"{decided('deny')}; exit 1", f"{decided('allow')}; exit 2",
    f"{decided('deny')}; echo noise >&2", said(hookSpecificOutput={"hookEventName": "PreToolUse"}),
    decided("allow", updatedInput=instead(28)), decided("deny", updatedInput=instead(29)),
    said(hookSpecificOutput={"hookEventName": "PreToolUse", "updatedInput": instead(30)}),
]  # fmt: skip
"""What a hook for one call does."""

NARROWED = [
    ("", "Bash(touch ran-*)"), ("*", "Bash(touch:*)"), ("Bash|Edit", "Bash"), ("^Ba", ""), ("B.sh", ""),
    ("Edit|Write", ""), ("bash", ""), ("Notebook.*", ""), ("Bash", "Bash(rm *)"), ("Bash", "Edit(*)"), ("mcp__.*", ""),
    ("(", ""),
]  # fmt: skip
"""The matcher and the `if` of a hook that refuses one call."""


def case(number: int, body: str, matcher: str, condition: str) -> JsonObject:
    one: JsonObject = {"type": "command", "command": f"grep -q 'touch ran-{number}\"' || exit 0; {body}"}
    return {"matcher": matcher, "hooks": [one | ({"if": condition} if condition else {})]}


GROUPS = [
    *(case(number, body, "Bash", f"Bash(touch ran-{number})") for number, body in enumerate(ANSWERS)),
    *(case(number, "exit 2", *narrowed) for number, narrowed in enumerate(NARROWED, len(ANSWERS))),
]
COMMANDS = [f"touch ran-{number}" for number in range(len(GROUPS))]


@pytest.fixture
def server(tmp_path: Path) -> Generator[Aimock]:
    run: list[JsonObject] = [
        {"name": "Bash", "arguments": json.dumps({"command": command, "description": "make it"})}
        for command in COMMANDS
    ]
    answers: list[JsonObject] = [
        {"match": {"userMessage": TASK, "turnIndex": 0}, "response": {"toolCalls": run}},
        {"match": {"userMessage": TASK, "turnIndex": 1}, "response": {"content": "Done."}},
        {"match": {}, "response": {"content": "Done."}},
    ]
    with aimock(*answers, keys=[KEY], folder=tmp_path) as server:
        yield server


def made_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def made_by_claude(folder: Path, url: str) -> set[str]:
    workspace = folder / "theirs"
    workspace.mkdir()
    environ = {**os.environ, "HOME": str(folder), **CLAUDE.environ(url, folder)}
    process = await asyncio.create_subprocess_exec(
        *CLAUDE.alone(url, "", TASK),
        *("--allowedTools", "Bash"),
        cwd=workspace,
        env=environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(PATIENCE_S):
        printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode(errors="replace")
    return made_in(workspace)


async def made_by_us(folder: Path) -> set[str]:
    ground = Ground(folder / "ours")
    ground.settings = Settings(hooks=HookSettings(from_home=True))
    run = [Call("run_terminal_cmd", {"command": command}) for command in COMMANDS]
    async with ground.session([run, [Say("Done.")]], approval="never") as s:
        await s.prompt()
    return made_in(ground.workspace)


async def test_hooks_decide_as_in_claude_code(server: Aimock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.harness.PATIENCE_S", PATIENCE_S)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    await asyncio.to_thread((tmp_path / "claude").mkdir)
    document = json.dumps({"hooks": {"PreToolUse": GROUPS}})
    await asyncio.to_thread((tmp_path / "claude" / "settings.json").write_text, document)
    theirs = await made_by_claude(tmp_path, server.url)
    ours = await made_by_us(tmp_path)
    assert len(GROUPS) >= 40
    assert theirs, "Claude Code ran something"
    assert {name: name in theirs for name in sorted(theirs ^ ours)} == {}
