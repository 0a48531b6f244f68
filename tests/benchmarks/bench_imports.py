"""The imports of a command that does next to nothing, and of a turn.

The yardstick is `python -c "import pydantic"`, in turns. Compared is processor time, the best of seven, which other
programs hardly change. Compiled modules are kept, as in an installation.
"""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.benchmarks.floors import children_s
from tests.servers.script import reply, text
from tests.servers.threaded import serve

ROUNDS: Final = 7
LIMITS: Final = {
    "--help": 2.0,
    "sessions list": 2.5,
    "config show": 2.5,
    "changes list": 2.5,
    "tools list": 4.0,
    "run --provider demo --prompt /help": 6.0,
    "run --provider anthropic --prompt Hi": 9.0,
}
YARDSTICK: Final = "yardstick: python -c `import pydantic`"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not say what a child took")
def test_a_command_costs_little_more_than_its_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-0123456789")
    with serve(*[reply(text("Hi."))] * (ROUNDS + 1)) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        measure(tmp_path)


def measure(tmp_path: Path) -> None:
    run("-m", "desktop_agent", "run", "--provider", "demo", "--prompt", "hello", folder=tmp_path)
    listed = json.loads(run("-m", "desktop_agent", "sessions", "list", "--json", folder=tmp_path))
    session_id = str(listed["sessions"][0]["id"])
    programs = {name: ("-m", "desktop_agent", *name.split()) for name in LIMITS}
    programs["changes list"] += (session_id,)
    programs[YARDSTICK] = ("-c", "import pydantic")
    costs: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(ROUNDS + 1):  # the first one warms up
        for name, program in programs.items():
            costs[name].append(children_s(partial(run, *program, folder=tmp_path)))
    least = {name: min(found[1:]) for name, found in costs.items()}
    floor = least.pop(YARDSTICK)
    print(f"{'processor time, best of ' + str(ROUNDS):40}{'ms':>8}{'ratio':>8}{'limit':>8}")
    print(f"{YARDSTICK:40}{floor * 1000:8.0f}")
    for name, cost in least.items():
        print(f"{name:40}{cost * 1000:8.0f}{cost / floor:8.2f}{LIMITS[name]:8.1f}")
    assert {name: cost / floor for name, cost in least.items() if cost / floor > LIMITS[name]} == {}


def run(*arguments: str, folder: Path) -> str:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.check_output([sys.executable, *arguments], cwd=folder, env=environ, text=True)
