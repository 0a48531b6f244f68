"""Journeys from a start of the window: the first one, and one after a crash."""

from pathlib import Path

from PySide6.QtWidgets import QWidget

from tests.e2e.by_hand.answering import writing
from tests.e2e.by_hand.hands import Keyboard, Mouse
from tests.e2e.by_hand.stage import Stage
from tests.servers.script import Answer, reply, text


class FirstChange:
    row = "See the demo change a file, from the first start on, and keep it"
    answers: tuple[Answer, ...] = ()

    async def begin(self, stage: Stage) -> None:
        await stage.user.see(QWidget, "onboardingDialog")

    async def by_mouse(self, stage: Stage, hand: Mouse) -> None:
        await hand.click("demoButton")
        await self._offered(stage)
        await hand.click("sendButton")
        for _ in range(3):
            await stage.see_question()
            await hand.click_words("Allow once")
        await stage.see_turn_end()
        await stage.see_changes(1)
        await hand.click("keepAllButton")

    async def by_keyboard(self, stage: Stage, hand: Keyboard) -> None:
        await hand.press("Return")
        await self._offered(stage)
        await hand.press("Return")
        for _ in range(3):
            await stage.see_question()
            await hand.press("Ctrl+Shift+A")
        await stage.see_turn_end()
        await stage.see_changes(1)
        await hand.press("Ctrl+Alt+K")

    async def end(self, stage: Stage) -> None:
        file = "pagination/pages.py"
        await stage.until(lambda: bool(stage.transcript.changed.kept.get(file)), "the change is kept")
        assert "-(-total // size)" in (Path(stage.transcript.session.workspace) / file).read_text()

    async def _offered(self, stage: Stage) -> None:
        composer = stage.user.composer
        await stage.until(lambda: "One of the tests" in composer.text(), "a prompt is offered")


class AfterACrash:
    row = "Answer, after a crash, what was asked before it"
    answers: tuple[Answer, ...] = (writing("crash.txt"), reply(text("Done.")))

    async def begin(self, stage: Stage) -> None:
        await stage.until(lambda: stage.transcript.turn == 1, "the conversation is there again")

    async def by_mouse(self, stage: Stage, hand: Mouse) -> None:
        await stage.see_question()
        await hand.click_words("Allow once")

    async def by_keyboard(self, stage: Stage, hand: Keyboard) -> None:
        await stage.see_question()
        await hand.press("Ctrl+Shift+A")

    async def end(self, stage: Stage) -> None:
        await stage.see_turn_end()
        assert (stage.folder / "crash.txt").read_text() == "agent\n"
        assert not stage.user.composer.text(), "what was sent before the crash is not given back, too"
