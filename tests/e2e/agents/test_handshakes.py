"""Gemini CLI, Qwen Code, Copilot, Kimi Code and Mistral Vibe answer without an account, offline, in an empty home."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from desktop_agent.core.agents.installed import known_agent
from tests.command_line import PROGRAM
from tests.e2e.agents.real_agents import PATIENCE_S, TEE
from tests.e2e.agents.test_real_agents import judge_our_lines
from tests.npm.programs import agents_folder, node, python_agents_folder
from tests.sandboxes import sandbox_named
from tests.system_processes import processes_with

pytestmark = pytest.mark.nightly

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "agents.md"

Installed = tuple[list[str], str]
"""What starts the agent, and the version of its package."""


def _npm(package: str, script: str) -> Callable[[], Installed]:
    def installed() -> Installed:
        folder = agents_folder(package)
        version = json.loads((folder / "package.json").read_text(encoding="utf-8"))["version"]
        return [str(node()), str(folder / script)], version

    return installed


def _vibe() -> Installed:
    folder = python_agents_folder()
    (about,) = folder.glob("lib/python3*/site-packages/mistral_vibe-*.dist-info")
    return [str(folder / "bin" / "vibe-acp")], about.name.removesuffix(".dist-info").rpartition("-")[2]


FILES = ["images", "embedded files", "resuming sessions"]
ALL = [*FILES, "MCP servers over HTTP"]


class Expected(NamedTuple):
    installed: Callable[[], Installed]
    title: str
    """What it calls itself."""
    abilities: list[str]
    signs_in: str = ""
    """The arguments of the program that signs in, in a terminal; empty if there is none."""


AGENTS = {
    "gemini": Expected(_npm("@google/gemini-cli", "bundle/gemini.js"), "Gemini CLI", ALL),
    "qwen": Expected(_npm("@qwen-code/qwen-code", "cli-entry.js"), "Qwen Code", ALL, "--acp --auth-type=openai"),
    "copilot": Expected(_npm("@github/copilot", "npm-loader.js"), "Copilot", ALL, "login"),
    "kimi": Expected(_npm("@moonshot-ai/kimi-code", "dist/main.mjs"), "Kimi Code CLI", ALL, "acp --login"),
    "vibe": Expected(_vibe, "Mistral Vibe", FILES, "--setup"),
}


def install_offline(program: Path, command: list[str], folder: Path) -> None:
    """Make a program of the agent that reaches no network, and writes only its home and a /tmp of its own.

    What it and we say is in `folder / "lines"`.
    """
    home, elsewhere = folder / "home", folder / "elsewhere"
    elsewhere.mkdir()
    (folder / "tee.py").write_text(TEE)
    box = ["bwrap", "--unshare-net", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    box += ["--bind", str(elsewhere), "/tmp", "--ro-bind", sys.prefix, sys.prefix, "--bind", str(home), str(home)]
    tee = [sys.executable, str(folder / "tee.py"), str(folder / "lines")]
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {shlex.join([*tee, *box, *command])} "$@"\n')
    program.chmod(0o755)


def report_of(name: str, home: Path) -> dict[str, Any]:
    """Return what `agents test` says of an agent that is installed in the home."""
    scratch = home / "scratch"
    scratch.mkdir()
    environ = {"HOME": str(home), "TMPDIR": str(scratch), "PATH": "/usr/bin:/bin"}
    command = [*PROGRAM, "agents", "test", name, "--json"]
    ran = subprocess.run(  # noqa: TID251 - it runs to its end, and inherits nothing
        command, cwd=scratch, env=environ, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert ran.returncode == 1, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_without_an_account_says_who_it_is_and_we_say_how_to_sign_in(name: str, tmp_path: Path) -> None:
    sandbox_named("bubblewrap", {})
    installed, title, abilities, signs_in = AGENTS[name]
    command, version = installed()
    known = known_agent(name)
    assert known is not None
    home = tmp_path / "home"
    install_offline(home / ".local" / "bin" / known.programs[0], command, tmp_path)

    report = report_of(name, home)

    assert (report["agent"], report["version"]) == (title, version), report
    assert report["abilities"] == abilities
    assert (report["problem"], report["needs_sign_in"]) == (f"{title} is not signed in.", True)
    assert f"`desktop-agent agents login {name}`" in report["hint"]
    assert report["sign_ins"]
    in_terminals = [shlex.join(way["command"][1:]) for way in report["sign_ins"] if way["command"]]
    assert in_terminals == list(filter(None, [signs_in]))
    assert judge_our_lines(tmp_path) == ["initialize", "session/new"]
    assert processes_with("HOME", str(home)) == []
    assert not [path for path in (tmp_path / "elsewhere").rglob("*") if not path.is_dir()]
    assert not any((home / "scratch").glob("desktop-agent-*")), "the folder of the session is gone"
    assert f"{known.title} {version}" in GUIDE.read_text(encoding="utf-8")
