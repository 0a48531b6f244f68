"""Questions in the conversation and in the inbox."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.chat.cards.request_card import CardField
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.tourist import Tourist
from tests.servers.script import reply, text, tool_use


async def _play(tour: Tourist) -> None:
    await tour.send("Throw away what was built, and build it anew.")
    await tour.see_card()
    await tour.take("question")
    card = await tour.see_card()
    card.edit.click()
    QTest.keyClicks(await tour.user.until(lambda: _written(tour), "the command can be changed"), "/old")
    await tour.until(lambda: card.question.edited is not None and not card.question.obstacle, "the command is judged")
    await tour.take("question-edited")
    tour.window.actions_.new_session.trigger()
    await tour.until(lambda: not tour.user.transcript.entries, "there is a new conversation")
    tour.window.actions_.open_inbox.trigger()
    await tour.see(QWidget, "inboxPopup")
    await tour.take("inbox")
    await tour.press(Qt.Key.Key_Escape)
    await tour.look_round()


def _written(tour: Tourist) -> QWidget | None:
    field = tour.window.focusWidget()
    return field if isinstance(field, CardField) else None


QUESTIONS = Scene(
    states=("question", "question-edited", "inbox"),
    play=_play,
    answers=(
        reply(
            text("Two folders are left over from the last build. I remove them first.\n"),
            tool_use("run_terminal_cmd", command="rm -rf build dist", explanation="Remove what was built"),
        ),
        reply(text("Done.")),
    ),
)
