"""Journeys with questions: an edited command, two sessions, the inbox."""

from PySide6.QtWidgets import QListView, QWidget

from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.chat.entries.questions import QuestionCard
from tests.e2e.by_hand.hands import Keyboard, Mouse
from tests.e2e.by_hand.stage import Stage
from tests.servers.script import Answer, reply, text, tool_use


def writing(name: str) -> Answer:
    return reply(tool_use("run_terminal_cmd", command=f"echo agent > {name}"))


class EditingACommand:
    row = "Change a command and allow it"
    answers: tuple[Answer, ...] = (writing("edited.txt"), reply(text("You changed it.")))

    async def begin(self, stage: Stage) -> None:
        await stage.ask("Write the file.")
        await stage.see_question()

    async def by_mouse(self, stage: Stage, hand: Mouse) -> None:
        card = await stage.see_question()
        await hand.click_in(card.edit)
        await hand.write("; echo mine >> edited.txt")
        await self._judged(stage)
        await hand.click_words("Allow once")

    async def by_keyboard(self, stage: Stage, hand: Keyboard) -> None:
        await hand.press("Ctrl+E")
        await hand.write("; echo mine >> edited.txt")
        await self._judged(stage)
        await hand.press("Ctrl+Shift+A")

    async def end(self, stage: Stage) -> None:
        await stage.see_turn_end()
        assert (stage.folder / "edited.txt").read_text() == "agent\nmine\n"

    async def _judged(self, stage: Stage) -> None:
        card = await stage.see_question()
        question = card.question
        await stage.until(
            lambda: question.edited is not None and question.unjudged is None and not question.obstacle,
            "the command is judged",
        )


class TwoSessions:
    row = "Begin a second session while the first one asks, and allow both"
    answers: tuple[Answer, ...] = (writing("one.txt"), writing("two.txt"), reply(text("Two.")), reply(text("One.")))

    def __init__(self) -> None:
        self.first: Transcript | None = None

    async def begin(self, stage: Stage) -> None:
        await stage.ask("The first of two.")
        await stage.see_question()
        self.first = stage.transcript

    async def by_mouse(self, stage: Stage, hand: Mouse) -> None:
        await hand.click("newSessionButton")
        await self._other(stage)
        await hand.write("The second of two.")
        await hand.click("sendButton")
        await stage.see_question()
        await hand.click_words("Allow once")
        await stage.see_turn_end()
        await hand.click_row(await stage.user.see(QListView, "sessionList"), "The first of two.")
        await self._back(stage)
        await hand.click_words("Allow once")

    async def by_keyboard(self, stage: Stage, hand: Keyboard) -> None:
        await hand.press("Ctrl+N")
        await self._other(stage)
        await hand.write("The second of two.")
        await hand.press("Return")
        await stage.see_question()
        await hand.press("Ctrl+Shift+A")
        await stage.see_turn_end()
        await hand.press("Ctrl+Alt+I")
        await hand.press("Return")
        await self._back(stage)
        await hand.press("Ctrl+Shift+A")

    async def end(self, stage: Stage) -> None:
        await stage.see_turn_end()
        assert (stage.folder / "one.txt").exists()
        assert (stage.folder / "two.txt").exists()

    async def _other(self, stage: Stage) -> None:
        await stage.until(lambda: stage.transcript is not self.first, "the second session is there")

    async def _back(self, stage: Stage) -> None:
        await stage.until(lambda: stage.transcript is self.first, "the first session is shown again")
        await stage.see_question()


class AnsweringInTheInbox:
    row = "Allow what another session asks"
    answers: tuple[Answer, ...] = (writing("inbox.txt"), reply(text("Done.")))

    def __init__(self) -> None:
        self.other: Transcript | None = None

    async def begin(self, stage: Stage) -> None:
        await stage.ask("Ask me from afar.")
        await stage.see_question()
        self.other = stage.transcript
        await stage.begin_anew()

    async def by_mouse(self, stage: Stage, hand: Mouse) -> None:
        await hand.click("inboxButton")
        await self._armed(stage)
        await hand.click("inboxAllowButton")

    async def by_keyboard(self, stage: Stage, hand: Keyboard) -> None:
        await hand.press("Ctrl+Alt+I")
        await self._armed(stage)
        await hand.press("Ctrl+Shift+A")

    async def end(self, stage: Stage) -> None:
        await stage.until((stage.folder / "inbox.txt").exists, "the command ran")
        other = self.other
        assert other is not None
        await stage.until(lambda: not other.turns.is_running, "the other session is done")
        assert not stage.transcript.entries, "the new conversation is still shown"
        await Keyboard(stage.user).press("Escape")

    async def _armed(self, stage: Stage) -> None:
        popup = await stage.user.see(QWidget, "inboxPopup")
        await stage.until(
            lambda: any(card.is_listening for card in popup.findChildren(QuestionCard)), "an answer counts"
        )
