"""No crash of the application or a tool writes a key into the journal, the log or a traceback."""

import logging
import os
import subprocess
import sys

import pytest

from desktop_agent.app.startup.serving import WindowLog
from tests.attacks.credentials.sweep import found_in
from tests.attacks.credentials.world import KEYS, World
from tests.servers.model_server import ModelServer
from tests.servers.script import reply, text, tool_use

SHAPED = {name: KEYS[name] for name in ("OPENAI_API_KEY", "XAI_API_KEY")}
"""Keys that are recognised by their shape: nothing else is known in another program."""


def look_up(word: str) -> str:
    """Look up a word."""
    raise RuntimeError(f"GET https://words.example/?key={SHAPED['XAI_API_KEY']}&word={word} failed: {SHAPED}")


async def test_a_tool_that_crashes_tells_no_key(world: World) -> None:
    async with ModelServer(reply(tool_use("look_up", word="heron")), reply(text("It failed."))) as server:
        await world.ask_again_and_again(world.agent("anthropic", server.url, tools=[look_up]), 1)
        assert server.violations == []


async def test_a_fault_of_ours_in_a_turn_tells_no_key(
    world: World, monkeypatch: pytest.MonkeyPatch, expected_logs: list[str]
) -> None:
    expected_logs.append("failed unexpectedly")

    async def broken(*_: object) -> None:
        raise RuntimeError(f"{{'Authorization': 'Bearer {SHAPED['OPENAI_API_KEY']}'}}")

    monkeypatch.setattr("desktop_agent.core.providers.http_provider.HttpProvider._ready", broken)
    await world.ask_again_and_again(world.agent("openai", "http://127.0.0.1:9/v1"), 1)


def test_the_log_of_the_window_has_no_key_of_the_environment(world: World) -> None:
    log = WindowLog(world.written / "logs", os.environ)
    error = RuntimeError(f"bad headers: {KEYS}")
    logging.getLogger("library").error("It failed: %s", KEYS, exc_info=error)
    log.close()
    assert "RuntimeError" in next((world.written / "logs").iterdir()).read_text()


CRASH = """
import sys
from desktop_agent.cli import costs, main
def broken(args, console): raise RuntimeError(dict(args.environ))
costs.main = broken
sys.exit(main())
"""
FAULT_IN_A_TURN = """
import os, sys
from desktop_agent.cli import main
from desktop_agent.core.providers.http_provider import HttpProvider
words = str(dict(os.environ))
async def broken(self): raise RuntimeError(words)
HttpProvider._ready = broken
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("program", "command"),
    [(CRASH, ["costs"]), (FAULT_IN_A_TURN, ["run", "--prompt", "x", "--verbose", "--base-url", "http://127.0.0.1:9"])],
    ids=["a command", "a turn"],
)
def test_a_traceback_on_standard_error_has_no_key(program: str, command: list[str], world: World) -> None:
    argv = [sys.executable, "-c", program, *command]
    done = subprocess.run(argv, cwd=world.workspace, capture_output=True, check=False)  # noqa: TID251 - own process
    assert done.returncode == 1
    assert b"Traceback" in done.stderr
    assert b"RuntimeError" in done.stderr
    assert found_in(done.stderr + done.stdout, world.secrets) == set()
