"""For benchmarks of the window: the beats of its thread, a quick typist, and a bench driven on that thread."""

import asyncio
import statistics
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TextIO, TypeVar

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from desktop_agent.ui.runtime.eventloop import TaskSpawner, run
from desktop_agent.ui.theme import Theme
from tests.benchmarks.floors import Standstill

Steps = dict[str, tuple[float, float]]
"""The time of each step and its worst stall, in milliseconds."""


class _Bench(Protocol):
    async def run(self) -> None: ...


_B = TypeVar("_B", bound=_Bench)


class Beat(NamedTuple):
    """In milliseconds."""

    late: float = 0.0
    """The delay by the clock, which includes other programs."""
    unqueued: float = 0.0
    """The delay without the time in the processor's queue, which only Linux tells."""
    work: float = 0.0
    """The processor time of the thread since the beat before."""


class Heart(QObject):
    """Beats on the window's thread, and measures how late each beat is."""

    def __init__(self, every_ms: int = 1) -> None:
        super().__init__()
        self._every_ms = every_ms
        self._timer = QTimer(self, interval=every_ms, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)
        self._queue: TextIO | None = None
        self._before = (0.0, 0.0, 0.0)
        self._told = 0
        self.beats: list[Beat] = []

    def start(self) -> None:
        queue = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
        self._queue = queue.open() if queue.exists() else None
        self.beats, self._told = [], 0
        self._before = self._now()
        self._timer.start()

    def worst(self) -> Beat:
        """Return the worst figures since the last call."""
        self._beat()
        beats, self._told = self.beats[self._told :], len(self.beats)
        return Beat(*map(max, zip(*beats, strict=True)))

    def stop(self) -> float:
        """Return the longest delay since the last call of `worst`."""
        late = self.worst().late
        self._timer.stop()
        if self._queue is not None:
            self._queue.close()
        return late

    def _now(self) -> tuple[float, float, float]:
        queued = 0.0
        if self._queue is not None:
            self._queue.seek(0)
            queued = int(self._queue.read().split()[1]) / 1e9
        return time.perf_counter(), queued, time.thread_time()

    def _beat(self) -> None:
        now = self._now()
        passed, queued, work = ((new - old) * 1_000 for new, old in zip(now, self._before, strict=True))
        self._before = now
        late = max(0.0, passed - self._every_ms)
        self.beats.append(Beat(late, max(0.0, late - queued), work))


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


class Typing(ABC):
    """Types `words` fast into fields of a window: the time of each key, of each answer, and the worst stall."""

    def __init__(self, app: QApplication, window: QWidget, words: Sequence[str]) -> None:
        self.theme = Theme(app)
        self.theme.install()
        self.spawner = TaskSpawner(raised)
        self._heart = Heart(every_ms=4)
        self._window = window
        self._words = words
        self.keys_ms: list[float] = []
        """The time of the window's thread for each key."""
        self.first_ms: dict[str, float] = {}
        """When a part of the answer was shown that comes before the rest."""
        self.answers_ms: dict[str, float] = {}
        self.worst_ms = 0.0

    @abstractmethod
    def cleared_field(self, word: str) -> QWidget: ...

    def has_first(self) -> bool:
        return False

    async def run(self) -> None:
        self.spawner.start()
        self._window.show()
        self._window.activateWindow()
        await self._type(self._words[0])  # what the first key imports
        self.keys_ms.clear()
        self._heart.start()
        for word in self._words:
            await self._type(word)
        self.worst_ms = self._heart.stop()
        self._window.close()
        await self.spawner.aclose()

    async def _type(self, word: str) -> None:
        field = self.cleared_field(word)
        typed_s = 0.0
        for letter in word:
            begun = time.thread_time()
            QTest.keyClicks(field, letter)
            self.keys_ms.append((time.thread_time() - begun) * 1000)
            typed_s = time.perf_counter()
            await asyncio.sleep(0.05)
        while len(self.spawner):
            if word not in self.first_ms and self.has_first():
                self.first_ms[word] = (time.perf_counter() - typed_s) * 1000
            await asyncio.sleep(0.001)
        self.answers_ms[word] = (time.perf_counter() - typed_s) * 1000


def print_keys(typing: Sequence[Typing], floor: Standstill) -> float:
    """Print the window thread's time for each key; return the longest in milliseconds."""
    keys = [key for one in typing for key in one.keys_ms]
    print(f"a key on the window's thread: {statistics.median(keys):.1f} ms, at worst {max(keys):.1f} ms")
    worst = max(one.worst_ms for one in typing)
    print(f"worst stall while typing: {worst:.1f} ms; an idle process stood still for {floor.worst_ms:.1f} ms")
    return max(keys)


def print_answers(typing: Sequence[Typing], ranked: Mapping[str, float], yardstick: float) -> None:
    for word, took in ranked.items():
        answer = statistics.median(one.answers_ms[word] for one in typing)
        print(f"{word:14} ranked in {took:4.0f} ms, {took / yardstick:4.1f} × yardstick; shown after {answer:4.0f} ms")


def print_steps(runs: Sequence[Steps], yardstick: float) -> None:
    print(f"{'':28}{'took':>10}{'/ yardstick':>13}{'worst stall':>13}")
    for step in runs[0]:
        took, stall = (statistics.median(run[step][which] for run in runs) for which in (0, 1))
        print(f"{step:28}{took:>7.0f} ms{took / yardstick:>13.2f}{stall:>10.1f} ms")
