"""How long a call takes, and what this machine costs at the least in the same run: no program does better."""

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
    """How long a process was kept that does nothing but wake up every millisecond."""

    worst_ms = 0.0


@contextmanager
def idle_beside() -> Generator[Standstill]:
    """Let such a process run beside what is done in here: its longest standstill is the machine's, not ours.

    A virtual processor that stands still, or other programs on it. It is known when the block has ended.
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
    """Return how long a call takes, in milliseconds."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000
