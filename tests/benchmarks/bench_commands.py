"""Running commands: much output, ending a stubborn tree, starting and returning.

Run: `pytest tests/benchmarks/bench_commands.py`. Figures are printed beside their yardsticks or limits; nothing fails
for being slow. `--profile nightly` prints 1 GB instead of 64 MB.
"""

import asyncio
import json
import shlex
import shutil
import subprocess
import time
from collections.abc import Awaitable
from pathlib import Path
from statistics import median

import psutil
import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.jobs import Jobs
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.system.processes.runner import Command, ProcessRunner
from desktop_agent.core.tools.builtin.run_terminal_cmd import SPOOL_KEY, RunTerminalCmd
from desktop_agent.ui.runtime.eventloop import run
from tests.benchmarks.floors import FRAME_MS, Ticker
from tests.benchmarks.measuring import Heart
from tests.core.printed import until_logged
from tests.core.stubborn import STUBBORN, survivors
from tests.core.tools.conftest import Workspace, workspace

REPEATS = 5
BWRAP = shutil.which("bwrap")
TOOL = RunTerminalCmd()

ROWS = {
    "zeros": "head -c {size} /dev/zero",
    "short lines": "yes | head -c {size}",
    "lines of 80": "yes $(head -c 79 /dev/zero | tr '\\0' x) | head -c {size}",
}


@pytest.fixture
def size(is_nightly: bool) -> int:
    return 1 << 30 if is_nightly else 64 << 20


class Memory:
    """The peak memory of this process beyond its memory at the start."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._before = self._process.memory_info().rss
        self._most = self._before
        self._task = asyncio.create_task(self._watch())

    async def grown_mib(self) -> float:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        return (max(self._most, self._process.memory_info().rss) - self._before) / (1 << 20)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(0.02)
            self._most = max(self._most, self._process.memory_info().rss)


def piped(command: str) -> float:
    """Return the seconds of the yardstick: the same command with its output read through a pipe and dropped."""
    begun = time.perf_counter()
    subprocess.run(["/bin/sh", "-c", f"{command} | cat > /dev/null"], check=True)  # noqa: TID251 - a whole process
    return time.perf_counter() - begun


async def taken(work: Workspace, command: str, *, tty: bool = False) -> float:
    begun = time.perf_counter()
    result = await work.call(TOOL, command=command, tty=tty, timeout=300)
    took = time.perf_counter() - begun
    work.shown.clear()
    await asyncio.to_thread(Path(str(result.metadata[SPOOL_KEY])).unlink)
    return took


async def test_much_output(tmp_path: Path, size: int) -> None:
    lines = [
        f"a command that prints {size >> 20:,} MiB: ratio at most 2, growth at most 16 MiB, stalls at most 16.7 ms",
        f"{'':20}{'| cat s':>10}{'tool s':>10}{'ratio':>8}{'growth MiB':>12}{'longest stall ms':>18}",
    ]
    async with workspace(tmp_path) as work:
        await taken(work, "head -c 1000000 /dev/zero")
        for name, pattern in ROWS.items():
            command = pattern.format(size=size)
            theirs: list[float] = []
            ours: list[float] = []
            grown: list[float] = []
            stalls: list[float] = []
            for _ in range(REPEATS):
                theirs.append(await asyncio.to_thread(piped, command))
                memory, ticker = Memory(), Ticker()
                ours.append(await taken(work, command))
                stalls.append(await ticker.stop())
                grown.append(await memory.grown_mib())
            floor, cost = median(theirs), median(ours)
            lines.append(
                f"{name:20}{floor:10.2f}{cost:10.2f}{cost / floor:8.2f}{max(grown):12.1f}"
                f"{median(stalls):10.1f} ({max(stalls):.1f})"
            )
        in_terminal = await taken(work, f"yes | head -c {size // 16}", tty=True)
        lines.append(f"in a terminal, {size >> 24:,} MiB: {in_terminal:.2f} s")
    print(*lines, sep="\n")


async def test_there_and_back(tmp_path: Path) -> None:
    async with workspace(tmp_path) as work:
        environ = dict(work.context.environ)
        plain: list[float] = []
        ours: list[float] = []
        for _ in range(40):
            begun = time.perf_counter()
            process = await asyncio.create_subprocess_exec(
                "/bin/bash", "-c", "true", env=environ, stdout=asyncio.subprocess.PIPE, cwd=work.root
            )
            await process.communicate()
            between = time.perf_counter()
            await work.call(TOOL, command="true")
            plain.append(between - begun)
            ours.append(time.perf_counter() - between)
    floor, cost = median(plain) * 1000, median(ours) * 1000
    print("from the call to its result, without the command itself: at most 5 ms")
    print(f"asyncio alone {floor:.2f} ms, the tool {cost:.2f} ms, difference {cost - floor:.2f} ms")


def confined(command: Command) -> Command:
    assert BWRAP is not None
    return replace(command, argv=(BWRAP, "--dev-bind", "/", "/", "--unshare-pid", "--", *command.argv))


@pytest.mark.parametrize("wrapped", [False, True])
async def test_ending_a_stubborn_tree(tmp_path: Path, *, wrapped: bool) -> None:
    if wrapped and BWRAP is None:
        pytest.skip("needs bwrap")
    lines = [
        f"ending a stubborn tree{' in bwrap' if wrapped else ''}: no survivors, within 1,000 ms",
        f"{'':20}{'median ms':>10}{'worst ms':>10}{'survivors':>11}",
    ]
    root = tmp_path / "work"
    async with workspace(tmp_path) as work:
        processes = ProcessRunner(SystemClock())
        jobs = Jobs(processes, SystemClock(), folder=tmp_path / "logs")
        context = replace(
            work.context, processes=processes, jobs=jobs, confine=confined if wrapped else work.context.confine
        )
        arguments: JsonObject = {"command": STUBBORN.format(mark=shlex.quote(str(root))), "timeout": 1.0}

        async def by_timeout() -> float:
            begun = time.perf_counter()
            result = await TOOL.run(TOOL.parse(arguments), context)
            assert "ready" in json.loads(result.content)["output"]
            return time.perf_counter() - begun - 1.0

        async def by_cancelling() -> float:
            ready = asyncio.Event()

            def watch(text: str) -> None:
                if "ready" in text:
                    ready.set()

            watched = replace(context, emit_output=watch)
            task = asyncio.create_task(TOOL.run(TOOL.parse(arguments | {"timeout": 60}), watched))
            await ready.wait()
            begun = time.perf_counter()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return time.perf_counter() - begun

        async def by_stopping() -> float:
            started = await TOOL.run(TOOL.parse(arguments | {"timeout": 60, "is_background": True}), context)
            job_id = str(started.metadata["job_id"])
            await until_logged(jobs, job_id, "ready")
            begun = time.perf_counter()
            await jobs.stop(job_id)
            return time.perf_counter() - begun

        for name, way in (("timeout", by_timeout), ("cancel", by_cancelling), ("stop a job", by_stopping)):
            took: list[float] = []
            left = 0
            for _ in range(REPEATS):
                took.append(await way() * 1000)
                left += len(await asyncio.to_thread(survivors, str(root)))
            lines.append(f"{name:20}{median(took):10.0f}{max(took):10.0f}{left:11}")
        await jobs.aclose()
        await processes.aclose()
    print(*lines, sep="\n")


def test_the_window_meanwhile(qapp: QApplication, tmp_path: Path, size: int) -> None:
    heart = Heart()
    rows: dict[str, list[float]] = {"nothing": [], **{name: [] for name in ROWS}}

    async def longest(work: Awaitable[object]) -> float:
        heart.start()
        await work
        return heart.stop()

    async def main() -> int:
        async with workspace(tmp_path) as work:
            await taken(work, "head -c 1000000 /dev/zero")
            for _ in range(REPEATS):
                rows["nothing"].append(await longest(asyncio.sleep(0.5)))
                for name, pattern in ROWS.items():
                    rows[name].append(await longest(taken(work, pattern.format(size=size))))
        return 0

    assert run(qapp, main) == 0
    print(f"the window's loop while a command prints {size >> 20:,} MiB: longest stall at most {FRAME_MS:.1f} ms")
    print(f"{'':20}{'median ms':>10}{'worst ms':>10}")
    for name, stalls in rows.items():
        print(f"{name:20}{median(stalls):10.1f}{max(stalls):10.1f}")
