"""What several benchmarks measure: times in turns, delays of the loop, and the least that this machine needs."""

import asyncio
import gc
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Final

FRAME_MS: Final = 1_000 / 60

_IDLE = """
import select, sys, time
worst = 0.0
while not select.select([sys.stdin], [], [], 0)[0]:
    begun = time.perf_counter()
    time.sleep(0.001)
    worst = max(worst, time.perf_counter() - begun - 0.001)
print(worst * 1000)
"""


class Standstill:
    """The longest pause of a process that only wakes up every millisecond."""

    worst_ms = 0.0


@contextmanager
def idle_beside() -> Generator[Standstill]:
    """Run an idle process beside the block; its longest pause is the machine's fault.

    Other programs, or a stopped virtual processor, cause it. It is known after the block.
    """
    standstill = Standstill()
    command = [sys.executable, "-I", "-S", "-c", _IDLE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield standstill
        finally:
            told, _ = process.communicate("\n")
    standstill.worst_ms = float(told)


def took_ms(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def in_turns(rounds: int, *works: Callable[[], object]) -> list[list[float]]:
    """Return the milliseconds of each work in each round. They take turns, so that a busy moment hits all of them.

    One more round comes first, and is not measured.
    """
    taken: list[list[float]] = []
    for _ in range(rounds + 1):
        gc.collect()
        taken.append([took_ms(work) for work in works])
    return [list(times) for times in zip(*taken[1:], strict=True)]


def ratio_of(ours: Sequence[float], yardstick: Sequence[float]) -> float:
    return median(mine / floor for mine, floor in zip(ours, yardstick, strict=True))


def children_s(work: Callable[[], object]) -> float:
    """Return the processor seconds of all processes that `work` starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Ticker:
    """The delays of a task of the loop that wants its turn every `every_s`; they would freeze a window."""

    def __init__(self, every_s: float = 0.001) -> None:
        self._every_s = every_s
        self._late_ms: list[float] = []
        self._task = asyncio.create_task(self._tick())

    def late_ms(self) -> list[float]:
        """Return the delays since the last call, the longest last."""
        late, self._late_ms = sorted(self._late_ms) or [0.0], []
        return late

    async def stop(self) -> float:
        """Return the longest delay, in milliseconds."""
        self._task.cancel()
        await asyncio.wait({self._task})
        return self.late_ms()[-1]

    async def _tick(self) -> None:
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(self._every_s)
            self._late_ms.append((time.perf_counter() - begun - self._every_s) * 1000)
