"""One tour of the demo in the real window, as JSON: `heartbeat_tour FOLDER`. `bench_heartbeat` makes several.

A timer of 1 ms measures delays; *own work* is the processor time of the window's thread between two beats. The
application's watchdog, with a frame as its limit, names longer stalls. The tour goes at a user's pace, since the share
of late beats depends on it.
"""

import asyncio
import json
import logging
import os
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.runtime import watchdog as watched
from tests.benchmarks.floors import FRAME_MS, idle_beside
from tests.benchmarks.measuring import Heart
from tests.e2e.driver import Driver, drive

CTRL: Final = Qt.KeyboardModifier.ControlModifier
KEY_S: Final = 0.2
"""An average typist's key, and a pointed-at button: S. K. Card, T. P. Moran and A. Newell, *The keystroke-level model
for user performance time with interactive systems*, CACM 23 (1980)."""
POINT_S: Final = 1.1


@dataclass
class Tour:
    longest: dict[str, float] = field(default_factory=dict[str, float])
    latest: dict[str, float] = field(default_factory=dict[str, float])
    """The worst delay of a beat in each step, by the clock."""
    beats: int = 0
    work_of_99: float = 0.0
    """The 99th percentile of own work."""
    delay_of_99: float = 0.0
    floor: float = 0.0
    """The longest pause of an idle process."""
    stalls: list[str] = field(default_factory=list[str])
    """The watchdog's messages."""


class StallNames(logging.Handler):
    """Records the first line of each stall message, which names the frame."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.names: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.names.append(record.getMessage().partition("\n")[0])


async def see_every_place(user: Driver, found: Tour, heart: Heart) -> None:
    def seen(what: str) -> None:
        _, found.latest[what], found.longest[what] = heart.worst()

    async def point() -> None:
        await asyncio.sleep(POINT_S)

    async def press(key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        await asyncio.sleep(KEY_S)
        await user.press(key, modifiers)

    async def type_letters(name: str, text: str) -> None:
        field = await user.see(QWidget, name)
        for letter in text:
            await asyncio.sleep(KEY_S)
            QTest.keyClicks(field.focusProxy() or field, letter)

    await point()
    await user.click("sendButton")
    for _ in range(3):
        await point()
        await user.allow_with_mouse()
    await user.see_turn_end()
    seen("the first turn")
    await user.see(DiffView, "diffView")
    await point()
    seen("its changes")
    await press(Qt.Key.Key_K, CTRL)
    await type_letters("paletteField", "pages")
    await press(Qt.Key.Key_Escape)
    await asyncio.sleep(KEY_S)
    seen("the palette")
    await press(Qt.Key.Key_Comma, CTRL)
    await user.see(QDialog, "settingsDialog")
    await press(Qt.Key.Key_Escape)
    await asyncio.sleep(KEY_S)
    seen("the settings")
    bar = user.window.panels.transcript.verticalScrollBar()
    for place in (0.0, 0.5, 1.0):
        await point()
        bar.setValue(int(bar.maximum() * place))
    await point()
    seen("scrolled")
    user.window.main_window.resize(1024, 700)
    await point()
    user.window.main_window.resize(1440, 900)
    await point()
    seen("narrow, and wide again")
    await type_letters("composer", "And now?")
    await asyncio.sleep(KEY_S)
    seen("typed")


def go_on_tour(folder: Path) -> Tour:
    """Start the demo, and measure from its prompt until all places were seen."""
    found, heart, watchdog, stalls = Tour(), Heart(), watched.Watchdog(limit_ms=FRAME_MS), StallNames()
    logging.getLogger(watched.__name__).addHandler(stalls)

    async def journey(user: Driver) -> None:
        await user.see_ready()
        await user.until_true(lambda: bool(user.window.panels.composer.text()), "a prompt is offered")
        heart.start()
        watchdog.start()
        await see_every_place(user, found, heart)
        watchdog.stop()
        heart.stop()
        user.window.panels.composer.set_text("")
        await user.quit()

    with idle_beside() as idle:
        drive(["--demo"], folder / "album", journey)
    found.beats, found.floor, found.stalls = len(heart.beats), idle.worst_ms, stalls.names
    _, found.delay_of_99, found.work_of_99 = (quantiles(each, n=100)[98] for each in zip(*heart.beats, strict=True))
    return found


def main(folder: Path) -> None:
    os.chdir(folder)
    print(json.dumps(asdict(go_on_tour(folder))))


if __name__ == "__main__":
    application = QApplication([])
    main(Path(sys.argv[1]))
