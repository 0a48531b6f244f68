"""How long the window freezes while a big diff opens. Run it by name, like `bench_diff.py`.

The real view on the real loop, with a timer of 1 ms. `opening` lasts until the diff is computed, `showing` until the
colours are there. A frame of 60 Hz is 16.7 ms. On a busy machine only the thread's own work is meaningful.
"""

import asyncio
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest
from PySide6.QtWidgets import QApplication

from desktop_agent.app.diffs import BlobDiffs
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.runtime import eventloop
from desktop_agent.ui.theme import Theme
from tests.benchmarks.bench_diff import Texts, converted, numbered, ordinary_file
from tests.benchmarks.bench_diff import tiny_lines as tiny_lines_all_changed
from tests.benchmarks.floors import FRAME_MS, idle_beside
from tests.benchmarks.measuring import Heart
from tests.core.diff.changes import change_of


def every_other() -> Texts:
    old, _ = numbered(100_000, 0)
    lines = old.splitlines(keepends=True)
    return old, "".join(line if number % 2 else f"# {line}" for number, line in enumerate(lines))


def tiny_lines() -> Texts:
    return "a\n" * 1_000_000, "a\n" * 500_000 + "b\n" + "a\n" * 500_000


def tiny_lines_scattered() -> Texts:
    lines = ["x\n"] * 1_000_000
    lines[::5_000] = ["y\n"] * 200
    return "x\n" * 1_000_000, "".join(lines)


def one_line() -> Texts:
    return "x" * 5_000_000, "x" * 2_500_000 + "y" + "x" * 2_500_000


SHAPES: dict[str, Callable[[], Texts]] = {
    "1,000 edits in 100,000 lines": lambda: numbered(100_000, 1_000),
    "2,000 edits in 200,000 lines": lambda: numbered(200_000, 2_000),
    "25,000 edits in 200,000 lines": ordinary_file,
    "every other of 100,000 lines": every_other,
    "100,000 lines to CRLF": lambda: converted(100_000, 1_000),
    "200,000 new lines": lambda: ("", numbered(200_000, 0)[0]),
    "1,000,000 tiny lines": tiny_lines,
    "200 edits in 1,000,000 tiny lines": tiny_lines_scattered,
    "1,000,000 tiny lines, all of them changed": tiny_lines_all_changed,
    "one line of 5 MB": one_line,
}


class Opening:
    def __init__(self, view: DiffView, diffs: BlobDiffs, heart: Heart) -> None:
        self._view = view
        self._diffs = diffs
        self._heart = heart

    async def measure(self, blobs: Blobs, texts: Texts, repeats: int) -> str:
        before, after = (text.encode() for text in texts)
        change = await asyncio.to_thread(change_of, "1.1", "app.py", before, after)
        for content in (before, after):
            await asyncio.to_thread(blobs.put, content)
        rounds: list[tuple[float, float, float, float, float]] = []
        for _ in range(repeats):
            await self._rest()
            idle = self._heart.worst().late
            start = time.perf_counter()
            diff = await self._diffs.change_diff(change)
            opening = self._heart.worst().late
            work = [time.thread_time()]
            self._view.show_diff(diff)
            work.append(time.thread_time())
            await asyncio.sleep(0)  # painting is another turn of the loop
            work.append(time.thread_time())
            self._view.viewport().repaint()
            work.append(time.thread_time())
            painted = (time.perf_counter() - start) * 1_000
            await self._rest()
            busy = max(end - begin for begin, end in pairwise(work)) * 1_000
            rounds.append((painted, opening, self._heart.worst().late, busy, idle))
        painted, opening, showing, busy, idle = (median(figures) for figures in zip(*rounds, strict=True))
        return (
            f"painted after {painted:.0f} ms | longest stall while opening {opening:.1f} ms, while showing"
            f" {showing:.1f} ms, {busy:.1f} ms of it the thread's own work (idle {idle:.1f} ms)"
        )

    async def _rest(self) -> None:
        await asyncio.sleep(0.3)


@pytest.mark.parametrize("shape", SHAPES)
def test_opening_a_diff_leaves_the_window_moving(
    qapp: QApplication, tmp_path: Path, is_nightly: bool, shape: str
) -> None:
    told: list[str] = []

    async def live() -> int:
        theme = Theme(qapp, "light")
        theme.install()
        view, heart, blobs = DiffView(theme), Heart(), Blobs(tmp_path)
        diffs = BlobDiffs(blobs)
        view.resize(1_000, 860)
        view.show()
        heart.start()
        try:
            opening = Opening(view, diffs, heart)
            await opening.measure(blobs, ("a\n" * 20_000, "b\n" * 20_000), 1)  # the process is there from now on
            texts = SHAPES[shape]()
            with idle_beside() as standstill:
                told.append(await opening.measure(blobs, texts, 15 if is_nightly else 5))
            told.append(f"an idle process beside it stood still for {standstill.worst_ms:.1f} ms")
        finally:
            heart.stop()
            view.close()
            view.deleteLater()
            await diffs.aclose()
        return 0

    assert eventloop.run(qapp, live) == 0
    print(f"{shape}: {' | '.join(told)} | a frame is {FRAME_MS:.1f} ms")
