"""How long a review of very many files takes to open, and how long it blocks the window.

Real blobs, comparisons and event loop. A stall is the delay of a 4 ms timer on the window's thread. The yardstick is
Qt's own list widget with the same paths.
"""

import asyncio
import gc
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec.structs import replace
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QListView, QListWidget, QPushButton, QWidget

from desktop_agent.app.diffs import BlobDiffs
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import FileChange, ModelRef
from desktop_agent.core.protocol.ops import MarkReviewed, Op
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.review_panel import ReviewPanel
from desktop_agent.ui.runtime.eventloop import TaskSpawner
from desktop_agent.ui.theme import Theme
from tests.benchmarks.measuring import Heart, Steps, driven, print_steps, raised
from tests.core.diff.changes import change_of

FILES: Final = 1_000
LINES: Final = 60
FIRST_PAINT_LIMIT_MS: Final = 1_000


class PaintWatch(QObject):
    """Records whether a widget was painted since the watch began."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.was_painted = False
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        self.was_painted = self.was_painted or event.type() == QEvent.Type.Paint
        return False


def changes(blobs: Blobs) -> list[FileChange]:
    """Two edits in every file, each with its own content; every tenth file is changed again."""
    made: list[FileChange] = []
    for number in range(FILES):
        lines = [f"line {line} of file {number}\n" for line in range(LINES)]
        versions = ["".join(lines)]
        for line in (5, 40):
            lines[line] = f"edited {number} {line}\n"
        versions.append("".join(lines))
        lines[20] = "and again\n"
        versions.append("".join(lines))
        for at in range(2 if number % 10 == 0 else 1):
            before, after = versions[at].encode(), versions[at + 1].encode()
            blobs.put(before)
            blobs.put(after)
            made.append(change_of(f"1.{len(made) + 1}", f"src/part{number % 20}/file{number}.py", before, after))
    return made


def transcript_of(made: list[FileChange]) -> Transcript:
    transcript = Transcript()
    transcript.apply(ev.PromptSubmitted(turn=1, prompt_id="p", text="Edit everything"))
    transcript.apply(ev.TurnStarted(turn=1, model=ModelRef(provider="demo", model="demo")))
    transcript.apply(ev.ChangesRecorded(turn=1, call_id="call", changes=tuple(made)))
    transcript.apply(ev.TurnEnded(turn=1, reason="completed", requests=1, duration_s=1.0))
    return transcript


class Bench:
    def __init__(self, theme: Theme, transcript: Transcript, blobs: Blobs) -> None:
        self._transcript = transcript
        self._spawner = TaskSpawner(raised)
        self._heart = Heart(every_ms=4)
        self._panel = ReviewPanel(theme, BlobDiffs(blobs), self._spawner.spawn)
        self._panel.resize(540, 860)
        self.results: Steps = {}

    async def run(self) -> None:
        self._spawner.start()
        self._panel.show()
        await asyncio.sleep(0.05)
        self._heart.start()
        prepared = asyncio.Event()
        self._panel.prepare(prepared.set)  # as the window does when all modules are there and the window is idle
        await prepared.wait()
        self.results["made before"] = (0.0, self._heart.stop())
        await self._step("first paint, list and diff", self._open, self._is_painted)
        await self._step("all compared that need it", lambda: None, self._is_idle)
        changed = replace(next(iter(self._transcript.changes.values())).change, id="1.9999", path="late.py")
        event = ev.ChangesRecorded(turn=1, call_id="call", changes=(changed,))
        await self._step("one more file", lambda: self._grow(event), self._is_idle)
        keep = self._panel.findChild(QPushButton, "keepAllButton")
        assert keep is not None
        await self._step("keep all", keep.click, self._is_all_kept)
        self._panel.close()
        await self._spawner.aclose()

    def _open(self) -> None:
        self._panel.set_transcript(self._transcript, self._carry_out)
        rows, diff = self._panel.findChild(QListView, "changeList"), self._panel.findChild(DiffView, "diffView")
        assert rows is not None
        assert diff is not None
        self._diff = diff
        self._paints = [PaintWatch(rows.viewport()), PaintWatch(diff.viewport())]

    def _is_painted(self) -> bool:
        if self._diff.document.diff is None:
            self._paints[1].was_painted = False
            return False
        return all(paint.was_painted for paint in self._paints)

    def _is_idle(self) -> bool:
        return not len(self._spawner)

    def _is_all_kept(self) -> bool:
        return len(self._transcript.changed.kept) >= FILES and not len(self._spawner)

    def _grow(self, event: ev.Event) -> None:
        self._transcript.apply(event)
        self._panel.refresh()

    def _carry_out(self, op: Op) -> None:
        if isinstance(op, MarkReviewed):
            self._grow(ev.ReviewMarked(path=op.path, hunks=op.hunks, state=op.state))

    async def _step(self, name: str, act: Callable[[], object], is_done: Callable[[], bool]) -> None:
        self._heart.start()
        start = time.perf_counter()
        act()
        while not is_done():  # noqa: ASYNC110 - what is waited for is drawn, and has no signal
            await asyncio.sleep(0.001)
        took_ms = (time.perf_counter() - start) * 1000
        await asyncio.sleep(0.3)  # delayed updates belong to the step
        self.results[name] = (took_ms, self._heart.stop())


def yardstick_ms(app: QApplication, paths: list[str]) -> float:
    start = time.perf_counter()
    widget = QListWidget()
    widget.resize(540, 300)
    widget.addItems(paths)
    widget.show()
    widget.viewport().repaint()
    took = (time.perf_counter() - start) * 1000
    widget.close()
    widget.deleteLater()
    app.processEvents()
    return took


def test_a_review_of_very_many_files(is_nightly: bool, qapp: QApplication, tmp_path: Path) -> None:
    repeats = 5 if is_nightly else 2
    theme = Theme(qapp)
    theme.install()
    blobs = Blobs(tmp_path)
    made = changes(blobs)
    gc.collect()
    gc.freeze()  # as the application does once its imports are done
    runs: list[Steps] = []
    yardsticks: list[float] = []
    for _ in range(repeats):
        yardsticks.append(yardstick_ms(qapp, [change.path for change in made]))
        runs.append(driven(Bench(theme, transcript_of(made), blobs), qapp).results)
    yardstick = statistics.median(yardsticks)
    print(f"{FILES:,} changed files; median of {repeats}; yardstick {yardstick:.0f} ms")
    print_steps(runs, yardstick)
    assert statistics.median(run["first paint, list and diff"][0] for run in runs) <= FIRST_PAINT_LIMIT_MS
