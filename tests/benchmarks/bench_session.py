"""The longest sessions in the real window. Run: `pytest tests/benchmarks/bench_session.py`.

`--profile nightly` takes 500 MB instead of 100 MB. The yardstick is `orjson.loads` of every line of the file. A stall
is the delay of a 1 ms timer on the window's thread; own work is that thread's processor time between two beats.
"""

import asyncio
import gc
import os
import random
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import orjson
import psutil
import pytest
from PySide6.QtWidgets import QApplication

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.session.resume import renew_snapshot, resume
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.records import Yielder, read_last_page
from desktop_agent.core.store.journal.snapshot import SNAPSHOT_NAME
from desktop_agent.core.transcript import PageEntry
from desktop_agent.ui.chat.transcript.view import TranscriptView
from tests.benchmarks.big_sessions import LARGER, SMALLER, write_session
from tests.benchmarks.floors import FRAME_MS, took_ms
from tests.benchmarks.measuring import Beat, Heart
from tests.e2e.driver import Driver, drive
from tests.journals import SESSION_ID

MOST_OF_A_PASS: Final = 0.1
JUMPS: Final = 250
"""More than a minute of jumps, so that periodic work of the window is included."""
TURN_MS: Final = 6
TURNS: Final = 4_000
"""About as many turns as the jumps take."""


@pytest.fixture
def journal(tmp_path: Path, is_nightly: bool, window_home: AppPaths) -> Path:
    """A long session in a home of its own, flushed to the disk.

    Writing it out would take the disk and a processor from the reader for seconds.
    """
    journal = write_session(window_home, LARGER if is_nightly else SMALLER, tmp_path / "workspace")
    # The list of sessions has its cache, and this process has not read the journal.
    list_sessions = [sys.executable, "-m", "desktop_agent", "sessions", "list"]
    subprocess.check_output(list_sessions)
    if sys.platform != "win32":
        os.sync()
    return journal


def pass_over(journal: Path) -> float:
    start = time.perf_counter()
    with journal.open("rb") as file:
        for line in file:
            orjson.loads(line)
    return (time.perf_counter() - start) * 1_000


def _count(loops: int) -> int:
    total = 0
    for number in range(loops):
        total += number
    return total


def test_the_last_page_and_the_state_against_one_pass_over_the_file(journal: Path, tmp_path: Path) -> None:
    blobs, breather = Blobs(tmp_path / "blobs"), Yielder()
    snapshot = journal.with_name(SNAPSHOT_NAME)
    read_last_page(journal, blobs, yield_gil=breather)  # first uses are not measured
    passes, pages, states = list[float](), list[float](), list[float]()
    making = took_ms(lambda: renew_snapshot(journal, blobs, snapshot, yield_gil=breather))
    for _ in range(3):
        passes.append(pass_over(journal))
        pages.append(took_ms(lambda: read_last_page(journal, blobs, yield_gil=breather)))
        states.append(took_ms(lambda: resume(journal, blobs, yield_gil=breather)))
    one = median(passes)
    print(
        f"{journal.stat().st_size / 1e6:.0f} MB: orjson {one:.0f} ms | last page {median(pages):.1f} ms,"
        f" 1/{one / median(pages):.0f} | state from a snapshot {median(states):.0f} ms, 1/{one / median(states):.1f}"
        f" | snapshot {snapshot.stat().st_size / 1e6:.1f} MB, made in {making:.0f} ms"
    )
    assert median(pages) <= MOST_OF_A_PASS * one


class Looking:
    def __init__(self, user: Driver) -> None:
        self.user = user
        self.heart = Heart()
        self.process = psutil.Process()

    @property
    def view(self) -> TranscriptView:
        return self.user.window.panels.transcript

    def megabytes(self) -> float:
        return self.process.memory_info().rss / 1e6

    async def open(self) -> None:
        before = self.megabytes()
        self.stall()
        start = time.perf_counter()
        self.user.window.panels.sessions.session_chosen.emit(SESSION_ID)
        await self.user.until_true(lambda: len(self.view.row_layout.widgets.live) > 0, "the end is there")
        await self.user.pause()  # it paints in its own turn
        painted = (time.perf_counter() - start) * 1_000
        painting = self.stall()
        await self.user.until_true(lambda: len(self.user.transcript.pages) > 1, "the whole session is known")
        known = (time.perf_counter() - start) * 1_000
        await self.rest()
        after = self.stall()
        gc.collect()
        self.stall()  # its cost is not the window's
        print(
            f"first paint {painted:.0f} ms | all known {known:.0f} ms | memory +{self.megabytes() - before:.0f} MB"
            f" | worst stall painting {painting} | worst stall after {after}"
        )

    def stall(self) -> str:
        worst = self.heart.worst()
        return f"{worst.late:.1f} ms, out of the queue {worst.unqueued:.1f} ms, own work {worst.work:.1f} ms"

    async def jump(self) -> None:
        chance = random.Random(3)
        bar = self.view.verticalScrollBar()
        waits, idles = list[float](), list[float]()
        beats: list[Beat] = []
        for _ in range(JUMPS):
            await self.rest()
            idles.append(self.heart.worst().late)
            start = time.perf_counter()
            bar.setValue(int(chance.random() * bar.maximum()))
            await self.user.until_true(self.is_there, "the place is there")
            await self.user.pause()
            waits.append((time.perf_counter() - start) * 1_000)
            await self.rest()
            beats.append(self.heart.worst())
        stalls, unqueued, works = zip(*beats, strict=True)
        over, still_over, overworked = (sum(took > FRAME_MS for took in each) for each in (stalls, unqueued, works))
        print(
            f"{JUMPS} jumps: there after {median(waits):.0f} ms, at worst {max(waits):.0f} ms | longest stall of a jump"
            f" {median(stalls):.1f} ms, of all {max(stalls):.1f} ms, idle {median(idles):.1f} and {max(idles):.1f} ms"
            f" | over {FRAME_MS:.1f} ms: {over} | out of the queue {median(unqueued):.1f} ms, of all"
            f" {max(unqueued):.1f} ms | over {FRAME_MS:.1f} ms: {still_over}"
            f" | longest own work {median(works):.1f} ms, of all {max(works):.1f} ms"
            f" | over {FRAME_MS:.1f} ms: {overworked}"
            f" | memory {self.megabytes():.0f} MB"
        )

    async def compute(self) -> None:
        """The yardstick of the jumps: turns of the loop that only compute, as long as a jump's longest turn.

        Their delays are those of the machine.
        """
        loops = 1_000
        while min(took_ms(partial(_count, loops)) for _ in range(5)) < TURN_MS:
            loops += loops // 4
        await self.rest()
        self.stall()
        beats: list[Beat] = []
        for _ in range(TURNS):
            _count(loops)
            await asyncio.sleep(0.005)
            beats.append(self.heart.worst())
        stalls, _, works = zip(*beats, strict=True)
        over, overworked = (sum(took > FRAME_MS for took in each) for each in (stalls, works))
        print(
            f"{TURNS} turns that only compute: median {median(stalls):.1f} ms, worst {max(stalls):.1f} ms, over"
            f" {FRAME_MS:.1f} ms: {over} | longest own work {max(works):.1f} ms, over {FRAME_MS:.1f} ms: {overworked}"
        )

    def is_there(self) -> bool:
        view = self.view
        top, bottom = view.row_layout.top_edge, view.row_layout.top_edge + view.viewport().height()
        row_top, heights = view.row_layout.reading.row_top, view.rows.heights
        shown = (row for row in view.row_layout.widgets.live if row_top(row) < bottom)
        return not any(isinstance(row.entry, PageEntry) and row_top(row) + heights[row.index] > top for row in shown)

    async def rest(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0.01)


def test_the_window_with_a_long_session(
    journal: Path, tmp_path: Path, qapp: QApplication, expected_logs: list[str]
) -> None:
    expected_logs.append("the window stands still")

    async def journey(user: Driver) -> None:
        await user.see_ready()
        looking = Looking(user)
        looking.heart.start()
        await looking.rest()
        await looking.open()
        await looking.jump()
        await looking.compute()
        looking.heart.stop()
        await user.quit()

    drive([str(tmp_path)], tmp_path / "album", journey)
    assert journal.exists()
