"""Commands that exhaust a machine, run in the net of `tests.attacks.bounds`, and ended."""

import asyncio
import os
import secrets
import shlex
import sys
import time
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.sandbox.confinement import confinement_for
from desktop_agent.core.sandbox.find import every_sandbox
from desktop_agent.core.system.processes.cgroup import CommandGroups, CommandLimits
from desktop_agent.core.system.processes.process_table import process_table
from desktop_agent.core.system.processes.runner import Command, ProcessOutcome, ProcessRunner
from tests.attacks.bounds import MOST_TASKS, within
from tests.core.printed import Printed
from tests.core.stubborn import survivors

PYTHON = shlex.quote(os.path.realpath(sys.executable))
FORKS = (
    "import os, signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile 1:\n try: {each}\n except OSError: 0"
)
HOGS = {
    "fork bomb": "echo ready; : {mark}; b() {{ b | b & }}; b; sleep 60",
    "stubborn fork bomb": f"echo ready; exec {PYTHON} -c {shlex.quote(FORKS.format(each='os.fork()'))} {{mark}}",
    "fork bomb in sessions": f"echo ready; exec {PYTHON} -c "
    + shlex.quote(FORKS.format(each="os.fork() or os.setsid()"))
    + " {mark}",
    "fork bomb of orphans": f"echo ready; {PYTHON} -c "
    + shlex.quote(FORKS.format(each="os.fork() or os.setsid() or os.fork() and os._exit(0)"))
    + " {mark}; sleep 60",
    "thread bomb": f"echo ready; exec {PYTHON} -c "
    + shlex.quote(
        "import _thread, time\nwhile 1:\n try: _thread.start_new_thread(time.sleep, (60,))\n except RuntimeError: 0"
    )
    + " {mark}",
    "memory hog": f"ulimit -v 3000000; echo ready; exec {PYTHON} -c "
    + shlex.quote("x = []\nwhile 1:\n try: x.append(b'x' * 2**24)\n except MemoryError: 0")
    + " {mark}",
    "descriptor hog": f"for n in 1 2 3 4 5 6 7 8; do {PYTHON} -c "
    + shlex.quote("import os\nwhile 1:\n try: os.open('/dev/null', 0)\n except OSError: 0")
    + " {mark} & done; echo ready; wait",
}
"""Scripts that print `ready` and then exhaust the machine; all their processes have `mark` in the arguments."""

TIMEOUT_S = 1.0
Way = Literal["limit", "timeout", "stop"]


@dataclass(frozen=True, slots=True)
class Bomb:
    hog: str
    sandbox: str
    way: Way
    has_group: bool
    """Whether a cgroup is used if available."""

    @property
    def name(self) -> str:
        group = "cgroup" if self.has_group else "no_cgroup"
        return f"{self.hog}-{self.sandbox}-{self.way}-{group}".replace(" ", "_")


LOW = CommandLimits(max_processes=30, max_memory_bytes=512 * 2**20, max_open_files=256)
HIGH = CommandLimits(max_processes=100_000, max_memory_bytes=2**60)
"""Limits out of reach, so that only the net stops the hog."""


@dataclass(frozen=True, slots=True)
class Told:
    outcome: ProcessOutcome
    took_s: float
    """Seconds from the time-out or the stop to the runner's result."""
    left: list[int]


async def blow_up(bomb: Bomb, base: Path, enter: str) -> Told:
    mark = f"mark-{secrets.token_hex(8)}"  # not a path: a sandbox of another program may have those in its arguments
    command = within_net(await asyncio.to_thread(_confined, bomb, base, HOGS[bomb.hog].format(mark=mark)), enter)
    runner = ProcessRunner(
        SystemClock(),
        limits=lambda: LOW if bomb.way == "limit" else HIGH,
        open_groups=CommandGroups.open if bomb.has_group else _no_groups,
    )
    ready = Printed("ready")
    outcomes: list[ProcessOutcome] = []
    timeout_s = TIMEOUT_S if bomb.way == "timeout" else 60.0
    others = process_table().keys()
    begun = time.monotonic()
    try:
        running = runner.run(command, timeout_s=timeout_s, on_text=ready.take, on_cancelled=outcomes.append)
        task = asyncio.create_task(running)
        if bomb.way == "stop":
            await ready.wait()
            await _until_it_has_what_it_gets(others)
            begun = time.monotonic()
            task.cancel()
        ends = await asyncio.gather(task, return_exceptions=True)
        took_s = time.monotonic() - begun - (TIMEOUT_S if bomb.way == "timeout" else 0)
        left = await asyncio.to_thread(survivors, mark)
    finally:
        await runner.aclose()
    outcomes += [one for one in ends if isinstance(one, ProcessOutcome)]
    return Told(outcomes[0], took_s, left)


def _no_groups(mark: str) -> None:
    del mark


async def _until_it_has_what_it_gets(others: Set[int]) -> None:
    """Return when `others` get no new company, or when there are many processes.

    Arguments of processes are not read: that blocks while one forks.
    """
    before = -1
    while True:
        table = await asyncio.to_thread(process_table)  # beside the loop, whose stalls a benchmark measures
        now = len(table.keys() - others)
        if not before < now < MOST_TASKS // 2:
            return
        before = now
        await asyncio.sleep(0.1)


def within_net(command: Command, enter: str) -> Command:
    return replace(command, argv=within(enter, command.argv))


def _confined(bomb: Bomb, base: Path, script: str) -> Command:
    workspace, temp = base / "workspace", base / "temp"
    workspace.mkdir(exist_ok=True)
    temp.mkdir(exist_ok=True)
    command = Command(argv=("/bin/bash", "-c", script), cwd=workspace, environ={"PATH": os.defpath, "HOME": str(base)})
    if bomb.sandbox == "none":
        return command
    confinement = confinement_for("restricted", workspace, temp, ())
    sandbox = next((one for one in every_sandbox(os.environ) if one.name == bomb.sandbox), None)
    if sandbox is None:
        pytest.skip(f"{bomb.sandbox} does not work on this machine")
    return sandbox.wrap(command, confinement)
