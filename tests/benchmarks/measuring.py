"""For benchmarks of the window: a heartbeat, a quick typist, and a bench driven on its thread."""

import asyncio
import statistics
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from desktop_agent.ui.runtime.eventloop import run
from tests.benchmarks.floors import Standstill

BEAT_MS: Final = 4
FRAME_MS: Final = 16.7

Steps = dict[str, tuple[float, float]]
"""The time of each step and its worst stall, in milliseconds."""


class _Bench(Protocol):
    async def run(self) -> None: ...


class _Typed(Protocol):
    keys_ms: list[float]
    answers_ms: dict[str, float]
    worst_ms: float


_B = TypeVar("_B", bound=_Bench)


class Heartbeat(QObject):
    def __init__(self) -> None:
        super().__init__()
        self._expected = 0.0
        self.worst_ms = 0.0
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)

    def start(self) -> None:
        self.worst_ms = 0.0
        self._expected = time.perf_counter() + BEAT_MS / 1000
        self._timer.start(BEAT_MS)

    def stop(self) -> float:
        self._timer.stop()
        return self.worst_ms

    def _beat(self) -> None:
        now = time.perf_counter()
        self.worst_ms = max(self.worst_ms, (now - self._expected) * 1000)
        self._expected = now + BEAT_MS / 1000


def raised(error: BaseException) -> None:
    raise error


def silent(spawn: Callable[[Coroutine[object, object, None]], object], work: Coroutine[object, object, object]) -> None:
    async def only_done() -> None:
        await work

    spawn(only_done())


def driven(bench: _B, app: QApplication) -> _B:
    async def measure() -> int:
        await bench.run()
        return 0

    run(app, measure)
    return bench


async def typed_ms(widget: QWidget, word: str) -> list[float]:
    """Type fast; return the milliseconds of the window's thread for each key."""
    took: list[float] = []
    for letter in word:
        begun = time.thread_time()
        QTest.keyClicks(widget, letter)
        took.append((time.thread_time() - begun) * 1000)
        await asyncio.sleep(0.05)
    return took


def print_keys(typing: Sequence[_Typed], floor: Standstill) -> float:
    """Print the window thread's time for each key; return the longest in milliseconds."""
    keys = [key for one in typing for key in one.keys_ms]
    print(f"a key on the window's thread: {statistics.median(keys):.1f} ms, at worst {max(keys):.1f} ms")
    worst = max(one.worst_ms for one in typing)
    print(f"worst stall while typing: {worst:.1f} ms; an idle process stood still for {floor.worst_ms:.1f} ms")
    return max(keys)


def print_answers(typing: Sequence[_Typed], ranked: Mapping[str, float], yardstick: float) -> None:
    for word, took in ranked.items():
        answer = statistics.median(one.answers_ms[word] for one in typing)
        print(f"{word:14} ranked in {took:4.0f} ms, {took / yardstick:4.1f} × yardstick; shown after {answer:4.0f} ms")


def print_steps(runs: Sequence[Steps], yardstick: float) -> None:
    print(f"{'':28}{'took':>10}{'/ yardstick':>13}{'worst stall':>13}")
    for step in runs[0]:
        took, stall = (statistics.median(run[step][which] for run in runs) for which in (0, 1))
        print(f"{step:28}{took:>7.0f} ms{took / yardstick:>13.2f}{stall:>10.1f} ms")
