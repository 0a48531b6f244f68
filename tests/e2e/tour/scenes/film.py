"""A short film for the README: a prompt, its diff, another prompt, and the undo of the first one."""

import asyncio
from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox

from tests.e2e import orders
from tests.e2e.tour.animation import Frame, animated_png
from tests.e2e.tour.camera import photograph
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.tourist import CTRL, Tourist
from tests.servers.script import Answer, reply, text, tool_use

_SIZE = (1280, 760)
_TYPED_AT_ONCE = 3
_TYPING_MS = 110
_RUNNING_MS = 120
_MOST_FRAMES = 30
"""Of a running part, so that a slow machine makes no longer film."""


class _Film:
    def __init__(self, tour: Tourist) -> None:
        self._tour = tour
        self.frames: list[Frame] = []

    def shoot(self, shown_ms: int) -> None:
        self.frames.append(Frame(photograph(self._tour.window), shown_ms))

    async def rest(self, shown_ms: int) -> None:
        await self._tour.look_round()
        self.shoot(shown_ms)

    async def write(self, prompt: str) -> None:
        await self._tour.write("")
        for start in range(0, len(prompt), _TYPED_AT_ONCE):
            QTest.keyClicks(self._tour.user.composer.edit, prompt[start : start + _TYPED_AT_ONCE])
            await self._tour.user.pause()
            self.shoot(_TYPING_MS)
        await self.rest(500)

    async def run_until(self, look: Callable[[], bool]) -> None:
        before = len(self.frames)
        while not look():
            await asyncio.sleep(_RUNNING_MS / 1000)
            if len(self.frames) < before + _MOST_FRAMES:
                self.shoot(_RUNNING_MS)


async def _turn(tour: Tourist, film: _Film, prompt: str) -> None:
    await film.write(prompt)
    turn = tour.user.transcript.turn
    await tour.press(Qt.Key.Key_Return)
    await film.run_until(lambda: tour.user.transcript.turn > turn and bool(tour.user.transcript.pending_approvals))
    (await tour.see_card()).setFocus()
    await film.rest(1500)
    await tour.press(Qt.Key.Key_A, CTRL | Qt.KeyboardModifier.ShiftModifier)
    await film.run_until(lambda: not tour.user.transcript.turns.is_running)
    await film.rest(1800)


async def _choose(tour: Tourist, film: _Film, words: str, shown_ms: int) -> None:
    picker = await tour.see(QComboBox, "baselinePicker")
    number = next(each for each in range(picker.count()) if picker.itemText(each).startswith(words))
    picker.setCurrentIndex(number)
    picker.activated.emit(number)
    await film.rest(shown_ms)


async def _play(tour: Tourist) -> None:
    film = _Film(tour)
    await tour.resize(_SIZE)
    await tour.user.activate()
    film.shoot(600)
    await _turn(tour, film, "Add up the totals as Decimal.")
    await _turn(tour, film, "An empty order ships for free.")
    await _choose(tour, film, "Turn 1", 1800)
    tour.window.actions_.undo_file.trigger()
    await tour.until(lambda: "-> Decimal" not in (tour.folder / orders.MODULE).read_text(), "the first turn is undone")
    await film.rest(1800)
    await _choose(tour, film, "This session", 3000)
    (tour.album / "undo.png").write_bytes(animated_png(film.frames))


def _answer(number: int, said: str) -> tuple[Answer, ...]:
    old, new = orders.EDITS[number]
    return (
        reply(text(f"{said}\n", piece=4), tool_use("edit_file", path=orders.MODULE, old_str=old, new_str=new)).paced(
            0.02
        ),
        reply(text("Done. The change is in the review, on the right.", piece=4)).paced(0.02),
    )


FILM = Scene(
    states=(),
    play=_play,
    answers=(
        *_answer(0, "`total` starts from an `int`. I let `sum` begin with a `Decimal`."),
        *_answer(1, "`shipping` never looks whether there is anything to send."),
    ),
)
