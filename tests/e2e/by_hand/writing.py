"""Journeys around the message field: mentioning, steering, queueing."""

from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QAbstractItemView

from desktop_agent.ui.chat.composer.composer import QueueCard
from desktop_agent.ui.chat.composer.offer_popups import MentionPopup
from tests.e2e.by_hand.answering import writing
from tests.e2e.by_hand.hands import Keyboard, Mouse
from tests.e2e.by_hand.stage import Stage
from tests.servers import fault
from tests.servers.script import Answer, reply, text


class Mentioning:
    row = "Send a message with a file and a picture"
    answers: tuple[Answer, ...] = (reply(text("Yellow.")),)

    async def begin(self, stage: Stage) -> None:
        picture = QImage(40, 30, QImage.Format.Format_RGB32)
        picture.fill(0xFFCC44)
        QGuiApplication.clipboard().setImage(picture)

    async def by_mouse(self, stage: Stage, hand: Mouse) -> None:
        await hand.write("Compare @notes")
        offers = await self._offered(stage)
        await hand.click_in(offers.viewport(), offers.visualRect(offers.model().index(0, 0)).center())
        tree = await stage.user.see(QAbstractItemView, "fileTree")
        await hand.click_row(tree, "drafts")
        await hand.click_row(tree, "logo.png", is_menu=True)
        await hand.choose("Mention in the message")
        await hand.click("sendButton")

    async def by_keyboard(self, stage: Stage, hand: Keyboard) -> None:
        await hand.write("Compare @notes")
        await self._offered(stage)
        await hand.press("Return")
        await hand.press("Ctrl+V")
        await stage.until(lambda: "@pasted" in stage.user.composer.text(), "the picture is mentioned")
        await hand.press("Return")

    async def end(self, stage: Stage) -> None:
        await stage.until(lambda: stage.transcript.turn == 1, "the message is sent")
        await stage.see_turn_end()
        assert "Oak yellow." in stage.requested
        assert "'type': 'image'" in stage.requested

    async def _offered(self, stage: Stage) -> MentionPopup:
        popup = await stage.user.see(MentionPopup, "mentionPopup")
        await stage.until(lambda: popup.offers[0].label == "notes.md", "the file is offered")
        return popup


class Steering:
    row = "Send a message into the running turn"
    answers: tuple[Answer, ...] = (writing("steered.txt"), reply(text("In English, then.")))

    async def begin(self, stage: Stage) -> None:
        await stage.ask("What colour is it?")
        await stage.see_question()

    async def by_mouse(self, stage: Stage, hand: Mouse) -> None:
        await hand.write("In English, please.")
        await hand.click("sendButton")
        await hand.click("steerQueuedButton")

    async def by_keyboard(self, stage: Stage, hand: Keyboard) -> None:
        await hand.write("In English, please.")
        await hand.press("Ctrl+Return")

    async def end(self, stage: Stage) -> None:
        await stage.until(
            lambda: [each.is_steering for each in stage.transcript.turns.queued] == [True], "it waits for the next step"
        )
        await stage.allow()
        await stage.see_turn_end()
        assert stage.transcript.turn == 1
        assert "In English, please." in stage.requested


class Queueing:
    row = "Queue two messages, and let the second come first"
    answers: tuple[Answer, ...] = (
        reply(text("I look at it."), fault.stall_after(events=3)),
        reply(text("Two.")),
        reply(text("One.")),
    )

    async def begin(self, stage: Stage) -> None:
        await stage.ask_and_stall("Wait for me.")

    async def by_mouse(self, stage: Stage, hand: Mouse) -> None:
        await hand.write("One?")
        await hand.click("sendButton")
        await hand.write("Two?")
        await hand.click("sendButton")
        first, second = await self._cards(stage)
        await hand.drag(second, first)

    async def by_keyboard(self, stage: Stage, hand: Keyboard) -> None:
        await hand.write("One?")
        await hand.press("Return")
        await hand.write("Two?")
        await hand.press("Return")
        await self._cards(stage)
        await hand.press("Shift+Tab", 4)
        await hand.press("Alt+Up")

    async def end(self, stage: Stage) -> None:
        await stage.until(
            lambda: [each.text for each in stage.transcript.turns.queued] == ["Two?", "One?"],
            "they have changed places",
        )
        stage.model.release()
        await stage.until(lambda: stage.transcript.turn == 3, "both are sent")
        await stage.see_turn_end()
        assert stage.requested.index("Two?") < stage.requested.index("One?")

    async def _cards(self, stage: Stage) -> list[QueueCard]:
        def cards() -> list[QueueCard]:
            found = stage.user.window.main_window.findChildren(QueueCard)
            return sorted((card for card in found if card.isVisible()), key=QueueCard.y)

        await stage.until(lambda: len(cards()) == 2, "both wait")
        return cards()
