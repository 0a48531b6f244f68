"""How long the window freezes while a huge folder is shown, closed, changed and filtered.

A stall is the delay of a 4 ms timer on the window's thread. The yardstick is one `sorted(os.scandir(...))` of the
folder on that thread.
"""

import asyncio
import gc
import os
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QLineEdit, QTableView, QWidget

from desktop_agent.ui.files import FileTree
from desktop_agent.ui.runtime.eventloop import TaskSpawner
from desktop_agent.ui.theme import Theme
from tests.benchmarks.floors import took_ms
from tests.benchmarks.measuring import Heart, Steps, driven, print_steps, raised


class Bench:
    def __init__(self, theme: Theme, folder: Path, files: int) -> None:
        self._folder = folder
        self._files = files
        self._spawner = TaskSpawner(raised)
        self._heart = Heart(every_ms=4)
        self._window = QWidget()
        self._window.resize(243, 700)
        self._tree = FileTree(theme, self._spawner.spawn, self._window)
        self._tree.resize(243, 700)
        rows = self._tree.findChild(QTableView, "fileTree")
        field = self._tree.findChild(QLineEdit, "fileFilter")
        assert isinstance(rows, QTableView)
        assert isinstance(field, QLineEdit)
        self._rows, self._filter = rows, field
        self.results: Steps = {}

    async def run(self) -> None:
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
    return took_ms(lambda: sorted(os.scandir(folder), key=lambda entry: entry.name))


@pytest.mark.parametrize("is_repository", [False, True], ids=["plain folder", "git repository"])
def test_a_folder_with_very_many_files(
    is_repository: bool, is_nightly: bool, qapp: QApplication, tmp_path: Path
) -> None:
    files, repeats = (100_000, 3) if is_nightly else (10_000, 1)
    theme = Theme(qapp)
    theme.install()
    gc.collect()
    gc.freeze()  # as the application does once its imports are done
    runs: list[Steps] = []
    yardsticks: list[float] = []
    for turn in range(repeats):
        folder = tmp_path / f"turn{turn}"
        folder.mkdir()
        for number in range(files):
            (folder / f"file{number:06d}.txt").touch()
        if is_repository:
            subprocess.check_call(["git", "init", "-q", str(folder)])
        yardsticks.append(yardstick_ms(folder))
        runs.append(driven(Bench(theme, folder, files), qapp).results)
    yardstick = statistics.median(yardsticks)
    print(f"{files:,} files, git: {is_repository}; median of {repeats}; yardstick {yardstick:.0f} ms")
    print_steps(runs, yardstick)
