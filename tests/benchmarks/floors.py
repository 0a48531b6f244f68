"""The time of a call, and the least that this machine needs in the same run."""

import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

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
