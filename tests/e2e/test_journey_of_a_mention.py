"""The real window: a file, a server's resource and a symbol are mentioned by keyboard, and the model reads them."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton

from desktop_agent.ui.chat.composer.offer_popups import MentionPopup
from tests.core.mcp.conftest import PROGRAM
from tests.e2e.driver import Driver, define_server, drive
from tests.servers.script import reply, text
from tests.servers.threaded import serve


@pytest.mark.realwindow
@pytest.mark.usefixtures("ready_to_work")
def test_a_file_a_resource_and_a_symbol_are_mentioned_by_keyboard(tmp_path: Path) -> None:
    define_server(PROGRAM, "program", "prompts")
    folder = tmp_path / "room"
    folder.mkdir()
    (folder / "my notes.md").write_text("Oak yellow.\n")
    (folder / "trees.py").write_text(
        "import math\n\n\ndef grow_oak(years):\n    return years * 2\n\n\ndef other(): ...\n"
    )

    async def journey(user: Driver) -> None:
        await user.see_ready()
        window = user.window.main_window
        window.activateWindow()  # no window manager does it here, and nothing has the focus
        await user.until_true(lambda: QApplication.activeWindow() is window, "the window is active")
        await user.type("composer", "Read @notes")
        await offered(user, "my notes.md")
        user.screenshot(tmp_path / "offered.png")
        await user.press(Qt.Key.Key_Tab)
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: user.transcript.turns.turn == 1, "the first turn begins")
        await user.see_turn_end()
        await user.type("composer", "Sum up @prog")
        await offered(user, "program:")
        await user.press(Qt.Key.Key_Return)
        QTest.keyClicks(user.composer.edit, "on")
        await offered(user, "one")
        await user.press(Qt.Key.Key_Return)
        assert user.composer.text() == "Sum up @program:one "
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: user.transcript.turns.turn == 2, "the second turn begins")
        await user.see_turn_end()
        await user.until_true(lambda: chips(user) == ["my notes.md · 12 bytes", "one · 48 bytes"], "both are shown")
        user.screenshot(tmp_path / "sent.png")
        await user.type("composer", "Explain @grow_o")
        await offered(user, "grow_oak")
        user.screenshot(tmp_path / "symbols.png")
        await user.press(Qt.Key.Key_Return)
        assert user.composer.text() == "Explain @symbol:trees.py:grow_oak "
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: user.transcript.turns.turn == 3, "the third turn begins")
        await user.see_turn_end()
        await user.quit()

    with serve(reply(text("Yellow.")), reply(text("All is well.")), reply(text("It doubles."))) as model:
        drive([str(folder), "--base-url", model.url], tmp_path, journey)
        first, second, third = (str(message.fields["messages"]) for message in model.messages)
    assert "Oak yellow." in first
    assert "note://one" in second
    assert "def grow_oak(years):" in third
    assert "def other" not in third


async def offered(user: Driver, label: str) -> None:
    def is_offered() -> bool:
        popup = user.find(MentionPopup, "mentionPopup")
        return popup is not None and popup.offers[0].label == label

    await user.until_true(is_offered, f"{label} is offered")


def chips(user: Driver) -> list[str]:
    window = user.window.main_window
    return [chip.text() for chip in window.findChildren(QPushButton, "attachmentButton") if chip.isVisible()]
