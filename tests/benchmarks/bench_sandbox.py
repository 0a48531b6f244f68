"""Landlock's supervisor: a call that changes a mode or times, and a command that does nothing.

Run: `pytest tests/benchmarks/bench_sandbox.py`. The yardstick is the same without the supervisor. Nothing fails for
being slow.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest
from msgspec.structs import replace

from desktop_agent.core.sandbox.confinement import ConfinementSpec
from desktop_agent.core.sandbox.find import every_sandbox
from desktop_agent.core.sandbox.landlock import Landlock
from desktop_agent.core.system.processes.runner import Command

ROUNDS = 7
CALLS = """
import json, os, sys, time
path = os.environ["TMPDIR"] + "/file"
with open(path, "w") as file:
    calls = {
        "chmod": lambda: os.chmod(path, 0o700),
        "fchmod": lambda: os.fchmod(file.fileno(), 0o700),
        "utimensat": lambda: os.utime(path, ns=(1, 1)),
    }
    took = {}
    for name, call in calls.items():
        begun = time.perf_counter()
        for _ in range(500):
            call()
        took[name] = (time.perf_counter() - begun) / 500 * 1e6
print(json.dumps(took))
"""


@pytest.fixture
def confinement() -> Iterator[ConfinementSpec]:
    with tempfile.TemporaryDirectory(prefix="bench-", dir="/var/tmp") as base:
        folders = [Path(base) / name for name in ("workspace", "temp")]
        for folder in folders:
            folder.mkdir()
        yield ConfinementSpec(workspace=folders[0], is_workspace_writable=True, temp=folders[1])


def run(sandbox: Landlock, confinement: ConfinementSpec, *argv: str) -> tuple[float, str]:
    environ = {"PATH": os.defpath}
    command = sandbox.wrap(Command(argv=argv, cwd=confinement.workspace, environ=environ), confinement)
    begun = time.perf_counter()
    said = subprocess.check_output(command.argv, cwd=command.cwd, env=dict(command.environ), text=True)
    return (time.perf_counter() - begun) * 1000, said


def test_supervised_calls(confinement: ConfinementSpec) -> None:
    found = next((sandbox for sandbox in every_sandbox(os.environ) if isinstance(sandbox, Landlock)), None)
    if found is None or not found.is_supervised:
        pytest.skip("no supervisor works on this machine")
    took: dict[str, list[list[float]]] = {}
    for _ in range(ROUNDS):
        for column, is_supervised in enumerate((False, True)):
            sandbox = replace(found, is_supervised=is_supervised)
            python = (os.path.realpath(sys.executable), "-I", "-S", "-c", CALLS)
            figures: dict[str, float] = json.loads(run(sandbox, confinement, *python)[1])
            figures["`true` (ms)"] = run(sandbox, confinement, "true")[0]
            for name, figure in figures.items():
                took.setdefault(name, [[], []])[column].append(figure)
    print(f"{'microseconds':20}{'alone':>10}{'supervised':>12}{'best':>8}{'best':>8}")
    for name, (alone, supervised) in took.items():
        print(f"{name:20}{median(alone):10.1f}{median(supervised):12.1f}{min(alone):8.1f}{min(supervised):8.1f}\n")
