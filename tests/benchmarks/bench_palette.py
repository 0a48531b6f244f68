"""How long a key of the command palette blocks the window, and when its answer is there.

Among 100,000 files, 2,000 sessions, and the usual settings, actions and commands. A *key* is the window thread's
processor time for one key; a *stall* is the worst delay of a 4 ms timer. The yardstick of an answer is one pass over
all paths for the letters. A frame is 16.7 ms.
"""

import asyncio
import gc
import statistics
import time
from functools import partial

import pytest
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget

from desktop_agent.app.controller import LatestQuestion
from desktop_agent.core.mentions.offers import FolderPaths
from desktop_agent.core.settings.values import declared_settings
from desktop_agent.core.slash.declarations import BUILT_IN
from desktop_agent.ui.palette.palette_entries import PaletteEntry, PaletteQuery, PaletteSources, Scope, rows_for
from desktop_agent.ui.palette.palette_popup import CommandPalette
from desktop_agent.ui.runtime.eventloop import TaskSpawner
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.actions import Actions
from tests.benchmarks.bench_mentions import FILES, paths, yardstick_ms
from tests.benchmarks.floors import idle_beside, took_ms
from tests.benchmarks.measuring import (
    FRAME_MS,
    Heartbeat,
    driven,
    print_answers,
    print_keys,
    raised,
    silent,
    typed_ms,
)

SESSIONS = 2_000
WORDS: tuple[tuple[Scope, str], ...] = (
    ("all", "t"),
    ("all", "turn"),
    ("all", "sesrun"),
    ("all", "core/se/run"),
    ("all", "zzzz"),
    ("file", "store runner"),
    ("all", "@fix the"),
)
"""Everything, a word, initials, parts of a path, letters without a match, two words, sessions only."""


def sources(files: FolderPaths, window: QWidget) -> PaletteSources:
    titles = ("Fix the review", "Explain the store", "Add a test of turns", "Update what it depends on")
    return PaletteSources(
        actions=tuple(
            PaletteEntry(kind="action", key=action.objectName(), title=action.text()) for action in Actions(window).all
        ),
        settings=tuple(
            PaletteEntry(kind="setting", key=each.key, title=each.about.title, group=each.section, also=each.key)
            for each in declared_settings().values()
        ),
        commands=tuple(
            PaletteEntry(kind="command", key=each.name, title=f"/{each.name}", group=each.summary) for each in BUILT_IN
        ),
        sessions=tuple(
            PaletteEntry(kind="session", key=str(number), title=f"{titles[number % 4]} {number}", group="shop")
            for number in range(SESSIONS)
        ),
        files=files,
    )


class Typing:
    def __init__(self, app: QApplication, window: QWidget, known: PaletteSources) -> None:
        theme = Theme(app)
        theme.install()
        self._spawner = TaskSpawner(raised)
        self._sources = known
        self._heart = Heartbeat()
        self._window = window
        window.resize(1024, 700)
        self._palette = CommandPalette(theme, window)
        self._questions = LatestQuestion(self._answer, partial(silent, self._spawner.spawn))
        self._palette.wanted.connect(self._questions.ask)
        self.keys_ms: list[float] = []
        self.answers_ms: dict[str, float] = {}
        self.worst_ms = 0.0

    async def _answer(self, query: PaletteQuery) -> None:
        self._palette.show_rows(query, await asyncio.to_thread(rows_for, query, self._sources))

    async def run(self) -> None:
        self._spawner.start()
        self._window.show()
        self._window.activateWindow()
        await self._type("all", "t")
        self.keys_ms.clear()
        self._heart.start()
        for scope, word in WORDS:
            await self._type(scope, word)
        self.worst_ms = self._heart.stop()
        self._palette.close_popup()
        self._window.close()
        await self._spawner.aclose()

    async def _type(self, scope: Scope, word: str) -> None:
        self._palette.close_popup()
        self._palette.open_palette(scope)
        field = self._palette.findChild(QLineEdit, "paletteField")
        assert field is not None
        self.keys_ms += await typed_ms(field, word)
        start = time.perf_counter()
        while len(self._spawner):  # noqa: ASYNC110 - it ends when the last answer is there
            await asyncio.sleep(0.001)
        self.answers_ms[word] = (time.perf_counter() - start) * 1000 + 50


def test_typing_in_the_palette_among_very_many_files(
    is_nightly: bool, qapp: QApplication, capsys: pytest.CaptureFixture[str]
) -> None:
    repeats = 5 if is_nightly else 2
    listed = paths()
    yardstick = statistics.median(yardstick_ms([path.lower() for path in listed]) for _ in range(5))
    window = QWidget()
    known = sources(FolderPaths(listed), window)
    ranked: dict[str, float] = {}
    for scope, word in WORDS:
        query = PaletteQuery("session" if word.startswith("@") else scope, word.removeprefix("@"))
        ranked[word] = statistics.median(took_ms(partial(rows_for, query, known)) for _ in range(repeats))
    gc.collect()
    gc.freeze()  # as the application does once its imports are done
    with idle_beside() as floor:
        typing = [driven(Typing(qapp, window, known), qapp) for _ in range(repeats)]
    window.deleteLater()
    with capsys.disabled():
        print(f"\n{FILES:,} files, {SESSIONS:,} sessions; {repeats} times; yardstick {yardstick:.1f} ms")
        worst_key_ms = print_keys(typing, floor)
        print_answers(typing, ranked, yardstick)
    assert worst_key_ms < FRAME_MS
