"""What the window shows at its start, and how it goes from one folder or session to the next."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractItemView, QApplication, QToolButton, QWidget

from desktop_agent.cli import main as command_line
from desktop_agent.core.protocol.events import PromptSubmitted
from desktop_agent.ui.approvals.approval_dialog import ApprovalDialog
from tests.app.conftest import Go
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")


def menu_item(user: Driver, picker: str, words: str) -> QAction:
    button = user.find(QToolButton, picker)
    assert button is not None
    (found,) = [action for action in button.menu().actions() if action.text().partition("\t")[0] == words]
    return found


def test_settings_that_cannot_be_used_are_named_and_the_window_opens(go: Go, isolated_home: Path) -> None:
    file = isolated_home / "desktop-agent" / "config" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[ui]\ntheme = "pink"\n')

    async def journey(user: Driver) -> None:
        (title, hint) = user.banner
        assert title == "Some of your settings cannot be used. Their defaults apply."
        assert f"{file}:2: ui.theme: 'pink' is not one of system, light, dark" in hint

    go(["--demo"], journey)


def test_a_mode_picked_before_the_first_prompt_holds_for_the_session(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        menu_item(user, "approvalPicker", "Asks before every call").trigger()
        await user.until_true(lambda: user.transcript.session.approval == "always", "the mode is set")
        button = user.find(QToolButton, "approvalPicker")
        assert button is not None
        assert button.text() == "Asks before every call ▾"
        await user.type("composer", "Hello")
        await user.press(Qt.Key.Key_Return)
        await user.see(QWidget, "approvalDialog")
        assert user.transcript.session.approval == "always"
        await user.click("denyButton")
        user.window.main_window.actions_.stop.trigger()
        await user.until_true(lambda: not user.transcript.turns.is_running, "the turn has stopped")

    go([str(project), "--provider", "demo"], journey)


def test_prompts_sent_while_the_session_is_made_go_to_that_one_session(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        composer = user.window.panels.composer
        composer.prompt_submitted.emit("First")
        composer.prompt_submitted.emit("Second")
        await user.until_true(lambda: user.transcript.turn == 2, "both are asked")
        assert user.banner == [], "that a session is made brings no warning"
        prompts = [entry.text for entry in user.transcript.entries if isinstance(entry, PromptSubmitted)]
        assert prompts == ["First", "Second"]
        user.window.main_window.actions_.stop.trigger()
        await user.until_true(lambda: not user.transcript.turns.is_running, "the turn has stopped")

    go([str(project), "--provider", "demo"], journey)


def test_a_prompt_whose_session_cannot_be_made_comes_back_before_what_was_written_since(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        composer = user.window.panels.composer
        shutil.rmtree(project)
        composer.prompt_submitted.emit("First")
        composer.set_text("Since then")
        await user.until_true(lambda: bool(user.banner), "the reason is shown")
        assert str(project) in " ".join(user.banner)
        assert composer.text() == "First\n\nSince then"

    go([str(project), "--provider", "demo"], journey)


def test_names_of_questions_and_changes_are_there_when_there_are_some(go: Go) -> None:
    def spoken(name: str) -> bool:
        found = [widget for widget in QApplication.allWidgets() if widget.objectName() == name and widget.isVisible()]
        return len(found) == 1 and bool(found[0].accessibleName() or getattr(found[0], "text", str)())

    async def journey(user: Driver) -> None:
        user.window.panels.composer.setFocus()
        await user.press(Qt.Key.Key_Return)
        await user.see(QWidget, "approvalCommandEdit")
        question = ("approvalDialog", "approvalSummary", "approvalCommandEdit", "approveButton", "denyButton")
        assert [name for name in question if not spoken(name)] == []
        await allow(user)
        await user.see(QWidget, "approvalDiffView")
        assert spoken("approvalDiffView")
        await allow(user)
        await user.see(QWidget, "approvalCommandEdit")
        await allow(user)
        await user.until_true(lambda: user.transcript.turns.last_end == "completed", "the turn has ended")
        await user.see(QWidget, "diffView")
        change = ("baselinePicker", "changeList", "diffView", "diffModeButton", "undoTurnButton")
        assert [name for name in change if not spoken(name)] == []
        await user.click("undoTurnButton")
        await user.see(QWidget, "redoButton")
        assert spoken("redoButton")

    go(["--demo"], journey)


async def allow(user: Driver) -> None:
    dialog = await user.see(ApprovalDialog, "approvalDialog")
    await user.until_true(lambda: dialog.can_allow, "the dialog can be answered")
    await user.click("approveButton")
    await user.until_true(lambda: user.find(QWidget, "approveButton") is None, "the dialog has closed")


def test_a_session_is_listed_resumed_and_left_for_a_new_one(go: Go, project: Path) -> None:
    titles: list[str] = []

    async def first(user: Driver) -> None:
        await user.type("composer", "What is in here?")
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: user.transcript.turns.last_end == "completed", "the turn has ended")
        titles.append(user.transcript.session.title)

    async def second(user: Driver) -> None:
        assert user.transcript.session.title == titles[0]
        rows = await user.see(QAbstractItemView, "sessionList")
        shown = [str(rows.model().index(row, 0).data()) for row in range(rows.model().rowCount())]
        assert any(titles[0] in text for text in shown)
        assert not any("tools call" in text for text in shown), "a call by hand is no conversation"
        assert user.window.main_window.top_bar.title_label.text() == titles[0]
        await user.press(Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
        await user.until_true(lambda: not user.transcript.session.session_id, "a new session is shown")
        assert user.window.main_window.top_bar.title_label.text() == "New session"
        assert user.window.panels.composer.isAncestorOf(
            user.window.main_window.focusWidget() or user.window.panels.conversation.banner
        )

    go([str(project), "--provider", "demo"], first)
    assert command_line(["tools", "call", "list_files", "{}", "--workspace", str(project)]) == 0
    go([str(project), "--continue"], second)


def test_the_theme_changes_with_the_setting_and_is_remembered(go: Go, isolated_home: Path) -> None:
    async def choose(user: Driver) -> None:
        from desktop_agent.ui.settings.settings_dialog import SettingsDialog

        await user.press(Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
        dialog = await user.see(SettingsDialog, "settingsDialog")
        dialog.settings_actions.change("ui.theme", "dark")
        dialog.settings_actions.change("ui.colour_blind_safe_diff", True)
        await user.until_true(lambda: user.window.theme.colours.is_dark, "the window is dark")
        file = isolated_home / "desktop-agent" / "config" / "config.toml"
        wanted = '[ui]\ntheme = "dark"\ncolour_blind_safe_diff = true\n'
        await user.until_true(lambda: file.is_file() and file.read_text() == wanted, "both settings are saved")
        await user.press(Qt.Key.Key_Escape)

    async def look(user: Driver) -> None:
        assert user.window.theme.colours.is_dark

    go(["--demo"], choose)
    go(["--demo"], look)


def test_a_sandbox_picked_before_the_first_prompt_holds_for_the_session(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        menu_item(user, "sandboxPicker", "Sandbox: read-only").trigger()
        await user.until_true(lambda: user.transcript.session.sandbox == "strict", "the mode is set")
        await user.type("composer", "Hello")
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: bool(user.transcript.session.session_id), "the session has begun")
        await user.until_true(lambda: user.transcript.session.sandbox == "strict", "the mode holds")
        user.window.main_window.actions_.stop.trigger()
        await user.until_true(lambda: not user.transcript.turns.is_running, "the turn has stopped")

    go([str(project), "--provider", "demo"], journey)
