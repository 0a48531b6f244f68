"""The command palette in the real application: what it finds, and what its choices do."""

import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLineEdit, QListView, QPlainTextEdit, QWidget

from desktop_agent.ui.files.viewer.file_pane import FilePane
from tests.app.conftest import Go
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")

CTRL = Qt.KeyboardModifier.ControlModifier


async def rows_for(user: Driver, text: str, first: str) -> list[str]:
    field, rows = await user.see(QLineEdit, "paletteField"), await user.see(QListView, "paletteList")
    field.setText(text)
    await user.until_true(lambda: rows.currentIndex().data() == first, f"{first!r} is found")
    model = rows.model()
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


def test_everything_is_found_and_carried_out_by_keyboard_only(go: Go, project: Path) -> None:
    (project / "more").mkdir()
    (project / "more" / "plan of work.txt").write_text("two\n")
    (project / os.fsdecode(b"caf\xe9.txt")).write_text("au lait\n")

    async def journey(user: Driver) -> None:
        window, composer = user.window.main_window, user.composer
        composer.set_text("my draft")
        composer.setFocus()
        await user.press(Qt.Key.Key_K, CTRL)
        assert "Files" not in await rows_for(user, "", "New session")
        await user.press(Qt.Key.Key_Escape)
        assert window.focusWidget() is composer.edit

        await user.press(Qt.Key.Key_P, CTRL)
        await rows_for(user, "plwork", "plan of work.txt")
        await user.press(Qt.Key.Key_Return)
        viewer = await user.see(FilePane, "viewerWindow")
        await user.until_true(lambda: window.focusWidget() is not composer.edit, "the focus is in the file")
        await user.press(Qt.Key.Key_W, CTRL)
        await user.until_true(composer.edit.hasFocus, "the file is closed")
        assert viewer.tabs.pages == []

        await user.press(Qt.Key.Key_K, CTRL)
        rows = await rows_for(user, "", "plan of work.txt")
        assert rows[:3] == ["Recently used", "plan of work.txt", "Actions"]
        assert "/compact" in await rows_for(user, "/comp", "/compact")
        await user.press(Qt.Key.Key_Return)
        assert composer.text() == "/compact my draft"
        composer.set_text("")

        await user.press(Qt.Key.Key_K, CTRL)
        assert "Settings" in await rows_for(user, "theme", "Theme")
        await user.press(Qt.Key.Key_Return)
        dialog = await user.see(QDialog, "settingsDialog")
        search = dialog.findChild(QLineEdit, "settingsSearch")
        assert search is not None
        assert search.text() == "ui.theme"
        await user.press(Qt.Key.Key_Escape)

        await user.press(Qt.Key.Key_K, CTRL)
        await rows_for(user, "mcp", "MCP servers")
        await user.press(Qt.Key.Key_Return)
        await user.see(QWidget, "serversEmpty")
        await user.press(Qt.Key.Key_Escape)

        await user.press(Qt.Key.Key_K, CTRL)
        assert "Everywhere" in await rows_for(user, "?", "New session")
        assert await rows_for(user, "?ctrl+k", "Command palette…")
        await user.press(Qt.Key.Key_Escape)

        await user.click("paletteButton")
        assert "Settings…" in await rows_for(user, ">", "New session")
        await user.click("paletteButton")
        await user.until_true(lambda: user.find(QWidget, "commandPalette") is None, "the palette has closed")
        assert window.focusWidget() is composer.edit

        await user.press(Qt.Key.Key_P, CTRL)
        await rows_for(user, "caf351", r'"caf\351.txt"')
        await user.press(Qt.Key.Key_Return)
        viewer = await user.see(FilePane, "viewerWindow")
        await user.until_true(
            lambda: any("au lait" in edit.toPlainText() for edit in viewer.findChildren(QPlainTextEdit)), "it is shown"
        )

    go([str(project), "--provider", "demo"], journey)
