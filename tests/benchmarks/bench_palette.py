"""How long a key of the command palette blocks the window, and when its answer is there.

Among 100,000 files, 2,000 sessions, and the usual settings, actions and commands. A *key* is the window thread's
processor time for one key; a *stall* is the worst delay of a 4 ms timer. The yardstick of an answer is one pass over
all paths for the letters. A frame is 16.7 ms.
"""

import asyncio
import gc
import statistics
from functools import partial

from PySide6.QtWidgets import QApplication, QLineEdit, QWidget

from desktop_agent.app.controller import LatestQuestion
from desktop_agent.core.mentions.offers import FolderPaths
from desktop_agent.core.settings.values import declared_settings
from desktop_agent.core.slash.declarations import BUILT_IN
from desktop_agent.ui.palette import CommandPalette, PaletteEntry, PaletteQuery, PaletteSources, Scope, rows_for
from desktop_agent.ui.window.actions import Actions
from tests.benchmarks.bench_mentions import FILES, paths, yardstick_ms
from tests.benchmarks.floors import FRAME_MS, idle_beside, took_ms
from tests.benchmarks.measuring import Typing, driven, print_answers, print_keys, silent

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


class Seeking(Typing):
    def __init__(self, app: QApplication, window: QWidget, known: PaletteSources) -> None:
        super().__init__(app, window, [word for _, word in WORDS])
        self._sources = known
        window.resize(1024, 700)
        self._palette = CommandPalette(self.theme, window)
        questions = LatestQuestion(self._answer, partial(silent, self.spawner.spawn))
        self._palette.wanted.connect(questions.ask)

    async def _answer(self, query: PaletteQuery) -> None:
        self._palette.show_rows(query, await asyncio.to_thread(rows_for, query, self._sources))

    def cleared_field(self, word: str) -> QWidget:
        self._palette.close_popup()
        self._palette.open_palette(next(scope for scope, each in WORDS if each == word))
        field = self._palette.findChild(QLineEdit, "paletteField")
        assert field is not None
        return field


def test_typing_in_the_palette_among_very_many_files(is_nightly: bool, qapp: QApplication) -> None:
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
        typing = [driven(Seeking(qapp, window, known), qapp) for _ in range(repeats)]
    window.deleteLater()
    print(f"{FILES:,} files, {SESSIONS:,} sessions; {repeats} times; yardstick {yardstick:.1f} ms")
    worst_key_ms = print_keys(typing, floor)
    print_answers(typing, ranked, yardstick)
    assert worst_key_ms < FRAME_MS
