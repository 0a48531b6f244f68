"""How long the window stands still while a folder with very many files is shown, closed, changed and filtered.

A stall is how late a 4 ms timer on the window's thread fires. The yardstick is one `sorted(os.scandir(...))` of the
same folder in the same run, on the window's thread: what the tree would cost without any care.
"""

import asyncio
import gc
import os
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QLineEdit, QTableView, QWidget

from desktop_agent.ui.files import FileTree
from desktop_agent.ui.runtime.eventloop import TaskSpawner, run
from desktop_agent.ui.theme import Theme

BEAT_MS: Final = 4


class Heartbeat(QObject):
    """Remembers how late its latest beat was at worst."""

    def __init__(self) -> None:
        super().__init__()
        self._expected = 0.0
        self.worst_ms = 0.0
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)

    def start(self) -> None:
        """Begin to measure, from nothing."""
        self.worst_ms = 0.0
        self._expected = time.perf_counter() + BEAT_MS / 1000
        self._timer.start(BEAT_MS)

    def stop(self) -> float:
        """Return the worst lateness since `start`, in milliseconds."""
        self._timer.stop()
        return self.worst_ms

    def _beat(self) -> None:
        now = time.perf_counter()
        self.worst_ms = max(self.worst_ms, (now - self._expected) * 1000)
        self._expected = now + BEAT_MS / 1000


class Bench:
    """One tree on one folder, driven like a user would."""

    def __init__(self, theme: Theme, folder: Path, files: int) -> None:
        self._folder = folder
        self._files = files
        self._spawner = TaskSpawner(_fail)
        self._heart = Heartbeat()
        self._window = QWidget()
        self._window.resize(243, 700)
        self._tree = FileTree(theme, self._spawner.spawn, self._window)
        self._tree.resize(243, 700)
        rows = self._tree.findChild(QTableView, "fileTree")
        field = self._tree.findChild(QLineEdit, "fileFilter")
        assert isinstance(rows, QTableView)
        assert isinstance(field, QLineEdit)
        self._rows, self._filter = rows, field
        self.results: dict[str, tuple[float, float]] = {}

    async def run(self) -> None:
        """Measure every step once."""
        self._spawner.start()
        self._window.show()
        await self._step("idle for 0.5 s", lambda: None, after_s=0.5)
        await self._step("show the folder", lambda: self._tree.set_workspace(self._folder), rows=self._files)
        await self._step("scroll to the end", self._rows.scrollToBottom)
        await self._step("select in the middle", lambda: self._rows.selectRow(self._files // 2))
        for number in range(200):
            (self._folder / f"file{number * 37:06d}.txt").unlink()
            (self._folder / f"new{number:03d}.txt").touch()
        await self._step("200 files gone, 200 new", self._tree.refresh, after_s=0.5)
        await self._step("filter by two words", lambda: self._filter.setText("file 77"), rows=200)
        await self._step("filter cleared", self._filter.clear, rows=self._files)
        await self._step("show nothing", lambda: self._tree.set_workspace(None), rows=0)
        self._window.close()
        await self._spawner.aclose()

    async def _step(self, name: str, act: Callable[[], object], *, rows: int | None = None, after_s: float = 0) -> None:
        self._heart.start()
        start = time.perf_counter()
        act()
        while len(self._spawner) or (  # noqa: ASYNC110 - whatever the step starts, it ends when nothing is left to do
            rows is not None and self._rows.model().rowCount() != rows
        ):
            await asyncio.sleep(0.001)
        took_ms = (time.perf_counter() - start) * 1000
        self._rows.viewport().repaint()
        await asyncio.sleep(max(after_s, 0.02))  # the beat after the work is the one that is late
        self.results[name] = (took_ms, self._heart.stop())


def yardstick_ms(folder: Path) -> float:
    """Return how long reading and sorting the folder takes in one go."""
    start = time.perf_counter()
    sorted(os.scandir(folder), key=lambda entry: entry.name)
    return (time.perf_counter() - start) * 1000


def _fail(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("is_repository", [False, True], ids=["plain folder", "git repository"])
def test_a_folder_with_very_many_files(
    is_repository: bool, is_nightly: bool, qapp: QApplication, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, repeats = (100_000, 3) if is_nightly else (10_000, 1)
    theme = Theme(qapp)
    theme.install()
    gc.collect()
    gc.freeze()  # as the application does once its imports are done
    runs: list[dict[str, tuple[float, float]]] = []
    yardsticks: list[float] = []
    for turn in range(repeats):
        folder = tmp_path / f"turn{turn}"
        folder.mkdir()
        for number in range(files):
            (folder / f"file{number:06d}.txt").touch()
        if is_repository:
            subprocess.check_call(["git", "init", "-q", str(folder)])
        yardsticks.append(yardstick_ms(folder))
        bench = Bench(theme, folder, files)

        async def measure(bench: Bench = bench) -> int:
            await bench.run()
            return 0

        run(qapp, measure)
        runs.append(bench.results)
    yardstick = statistics.median(yardsticks)
    with capsys.disabled():
        print(f"\n{files:,} files, git: {is_repository}; median of {repeats}; yardstick {yardstick:.0f} ms")
        print(f"{'':26}{'took':>10}{'/ yardstick':>13}{'worst stall':>13}")
        for step in runs[0]:
            took = statistics.median(run[step][0] for run in runs)
            stall = statistics.median(run[step][1] for run in runs)
            print(f"{step:26}{took:>7.0f} ms{took / yardstick:>13.2f}{stall:>10.1f} ms")
