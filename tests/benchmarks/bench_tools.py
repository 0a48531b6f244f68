"""The overhead of running commands. Run: `pytest tests/benchmarks/bench_tools.py`.

A row compares a whole process with the tool doing the same, in turns; only the ratios of the medians matter. Nothing
fails for being slow. `--profile nightly` takes 1 GB of output instead of 100 MB.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.system.processes.runner import Command, ProcessRunner

REPEATS = 7

Row = tuple[str, str, Callable[[], None], Callable[[], Awaitable[object]]]
"""The title, the yardstick's name, the yardstick, and ours."""


@pytest.fixture
def megabytes(is_nightly: bool) -> int:
    return 1_000 if is_nightly else 100


def process(*argv: str, folder: Path) -> Callable[[], None]:
    def run() -> None:
        subprocess.run(argv, cwd=folder, stdout=subprocess.PIPE, check=False)  # noqa: TID251 - a whole process

    return run


async def measure(title: str, rows: list[Row], capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"\n{title}", f"{'':44}{'yardstick ms':>14}{'tool ms':>10}{'ratio':>8}"]
    for name, yardstick_name, yardstick, ours in rows:
        theirs_s: list[float] = []
        ours_s: list[float] = []
        for _ in range(REPEATS):
            begun = time.perf_counter()
            await asyncio.to_thread(yardstick)
            between = time.perf_counter()
            await ours()
            theirs_s.append(between - begun)
            ours_s.append(time.perf_counter() - between)
        floor, cost = median(theirs_s) * 1000, median(ours_s) * 1000
        lines.append(f"{f'{name} / {yardstick_name}':44}{floor:14.1f}{cost:10.1f}{cost / floor:8.2f}")
    with capsys.disabled():
        sys.stdout.write("\n".join(lines) + "\n")


async def test_much_output(tmp_path: Path, megabytes: int, capsys: pytest.CaptureFixture[str]) -> None:
    size = megabytes * 1_000_000
    runner = ProcessRunner(SystemClock())
    produce = f"head -c {size} /dev/zero"

    def taken(command: str, spool: Path | None = None) -> Callable[[], Awaitable[object]]:
        ours = Command(argv=("/bin/sh", "-c", command), cwd=tmp_path, environ=os.environ)

        def ignore(_: str) -> None:
            pass

        async def run() -> None:
            outcome = await runner.run(ours, spool_folder=spool, on_text=ignore)
            if outcome.output.spool_path is not None:
                await asyncio.to_thread(outcome.output.spool_path.unlink)

        return run

    piped = process("/bin/sh", "-c", f"{produce} | cat > /dev/null", folder=tmp_path)
    lines = process("/bin/sh", "-c", f"yes | head -c {size} | cat > /dev/null", folder=tmp_path)
    await measure(
        f"command output, {megabytes:,} MB",
        [
            ("ends kept in memory", "| cat", piped, taken(produce)),
            ("and 64 MB in a file", "| cat", piped, taken(produce, tmp_path)),
            ("short lines", "yes | cat", lines, taken(f"yes | head -c {size}")),
            ("nothing at all", "sh -c true", process("/bin/sh", "-c", "true", folder=tmp_path), taken("true")),
        ],
        capsys,
    )
    await runner.aclose()
