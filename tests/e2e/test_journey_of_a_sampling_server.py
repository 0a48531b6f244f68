"""The real window: a server asks the model, and the user allows it by keyboard and reads the answer."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from desktop_agent.core.session.aside_requests import SAMPLING
from desktop_agent.ui.chat.question.server_question import SamplingCard
from tests.core.mcp.conftest import PROGRAM
from tests.e2e.driver import Driver, define_server, drive
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve

ASKED = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Name a colour for a white room."}}],
    "systemPrompt": "Be brief.",
    "maxTokens": 50,
}


@pytest.mark.realwindow
@pytest.mark.usefixtures("ready_to_work")
def test_a_server_asks_the_model_and_the_user_allows_it(tmp_path: Path) -> None:
    define_server(PROGRAM)
    folder = tmp_path / "room"
    folder.mkdir()

    async def journey(user: Driver) -> None:
        await user.see_ready()
        await user.type("composer", "Ask the server for a colour.")
        await user.press(Qt.Key.Key_Return)
        await user.allow_with_mouse()
        await user.until_true(lambda: is_listening(user), "the card of the server listens")
        user.screenshot(tmp_path / "asked.png")
        await user.press(Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
        await user.see_turn_end()
        user.screenshot(tmp_path / "answered.png")
        (notice,) = [notice for notice in user.notices if notice.code == SAMPLING]
        assert notice.detail.endswith("Answer: Oak yellow.")
        await user.quit()

    call = reply(tool_use("program__sample", request=ASKED))
    with serve(call, reply(text("Oak yellow.")), reply(text("It is yellow."))) as model:
        drive([str(folder), "--base-url", model.url], tmp_path, journey)
        asked = model.messages[1].fields
    assert "Be brief." in str(asked["system"])
    assert (asked["max_tokens"], asked.get("tools", [])) == (50, [])


def is_listening(user: Driver) -> bool:
    return any(card.is_listening for card in user.window.main_window.findChildren(SamplingCard))
