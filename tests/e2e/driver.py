"""Drives the real window as a user would: finds widgets by their names, clicks, types, and waits to see things."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QPoint, Qt, QTranslator
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QWidget

from desktop_agent.app import Window, build
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol.events import Notice
from desktop_agent.core.settings.settings_file import save_setting
from desktop_agent.core.transcript import NoticeEntry, Transcript
from desktop_agent.ui.approvals.approval_dialog import ApprovalDialog
from desktop_agent.ui.chat.composer.composer import Composer
from desktop_agent.ui.chat.question.approval import ApprovalCard
from desktop_agent.ui.chat.question.request_card import ChangeField
from desktop_agent.ui.runtime import eventloop
from desktop_agent.ui.settings.settings_dialog import SettingsDialog
from desktop_agent.ui.window.actions import Actions
from tests.servers.threaded import ThreadedServer
from tests.still_running import still_running

W = TypeVar("W", bound=QWidget)

PATIENCE_S = 30
_LOOK_EVERY_S = 0.01


class Driver:
    """A user in front of the window."""

    def __init__(self, window: Window, album: Path) -> None:
        """`album` is where a picture of what was seen instead goes."""
        self.window = window
        self._album = album

    @property
    def transcript(self) -> Transcript:
        """The conversation that is shown."""
        handle = self.window.panels.session.handle
        assert handle is not None
        return handle.transcript

    @property
    def composer(self) -> Composer:
        """The field for messages, with all that belongs to it."""
        return self.window.panels.composer

    @property
    def actions(self) -> Actions:
        """What menus and keys do."""
        return self.window.main_window.actions_

    @property
    def banner(self) -> list[str]:
        """What the banner says: its title and its hint, as far as it is in sight."""
        return [
            label.text() for label in self.window.panels.conversation.banner.findChildren(QLabel) if label.isVisible()
        ]

    @property
    def notices(self) -> list[Notice]:
        """The notices in the conversation."""
        return [entry.notice for entry in self.transcript.entries if isinstance(entry, NoticeEntry)]

    async def see(self, kind: type[W], name: str) -> W:
        """Wait until a visible, enabled widget of this name is there, and return it."""
        return await self.until(lambda: self.find(kind, name), f"{name} is visible and enabled")

    def find(self, kind: type[W], name: str) -> W | None:
        """The visible, enabled widget of this name, if there is one."""
        for window in QApplication.topLevelWidgets():
            # Qt finds them by name a hundred times as fast as a look at each.
            same = [window] if isinstance(window, kind) and window.objectName() == name else []
            for widget in same or window.findChildren(kind, name):
                if widget.isVisible() and widget.isEnabled():
                    return widget
        return None

    async def until(self, look: Callable[[], W | None], what: str) -> W:
        """Wait until `look` finds something, and return it."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while (found := look()) is None:  # noqa: ASYNC110 - looking is all that a user can do
                    await asyncio.sleep(_LOOK_EVERY_S)
                return found
        except TimeoutError:
            picture = self._album / "instead.png"
            self.screenshot(picture)
            raise AssertionError(f"never saw that {what}, but {picture}; running:\n{still_running()}") from None

    async def until_true(self, look: Callable[[], bool], what: str) -> None:
        """Wait until `look` says yes."""
        await self.until(lambda: self.window.main_window if look() else None, what)

    async def click(self, name: str) -> None:
        """Click the middle of a button with the mouse."""
        button = await self.see(QWidget, name)
        QTest.mouseClick(button, Qt.MouseButton.LeftButton, pos=QPoint(button.width() // 2, button.height() // 2))

    async def type(self, name: str, text: str) -> None:
        """Click into a field and type."""
        field = await self.see(QWidget, name)
        field.setFocus()
        QTest.keyClicks(field.focusProxy() or field, text)

    async def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        """Press a key where the focus is."""
        window = await self.until(self._front, "the window is active")
        QTest.keyClick(window.focusWidget() or window, key, modifiers)

    def _front(self) -> QWidget | None:
        """The window in front, once it is active: without a window manager nothing else sees to it."""
        window = QApplication.activeModalWidget() or self.window.main_window
        if QApplication.activeWindow() is window:
            return window
        window.activateWindow()  # again with each look: a dialog may be closing
        return None

    async def see_ready(self) -> None:
        """Wait until the window is ready. To be called as soon as it is shown."""
        ready: list[bool] = []
        self.window.ready.connect(lambda: ready.append(True))
        await self.until_true(lambda: bool(ready), "the window is ready")

    async def activate(self) -> None:
        """Give the window the keyboard, or the dialog over it, as a window manager does when a window opens."""
        await self.until(self._front, "the window is active")

    async def focus_composer(self) -> None:
        """Let the field for messages have the keyboard."""
        self.window.main_window.activateWindow()
        self.composer.edit.setFocus()
        await self.until_true(self.composer.edit.hasFocus, "the field has the focus")

    async def send(self, text: str) -> None:
        """Send a message, instead of what is in the field."""
        self.composer.set_text(text)
        await self.click("sendButton")

    async def run_turn(self, text: str) -> None:
        """Send a prompt, and wait until its turn has ended, as completed."""
        turn = self.transcript.turn + 1
        await self.send(text)
        await self.until_true(lambda: self.transcript.turn == turn, f"turn {turn} has begun")
        await self.see_turn_end()

    async def stop_turn(self) -> None:
        """Stop the turn, and wait until it has ended."""
        self.actions.stop.trigger()
        await self.until_true(lambda: not self.transcript.turns.is_running, "the turn has stopped")

    async def allow_with_mouse(self) -> None:
        """Wait until the dialog of a question can be answered, and allow with the mouse."""
        await self.until_true(lambda: self.can_allow, "the dialog can be answered")
        await self.click("approveButton")
        await self.until_true(lambda: self.find(QWidget, "approveButton") is None, "the dialog has closed")

    @property
    def can_allow(self) -> bool:
        """Whether the dialog of a question is open and lets the user allow."""
        dialog = self.find(ApprovalDialog, "approvalDialog")
        return dialog is not None and dialog.can_allow

    async def see_card(self, *, behind: ApprovalCard | None = None) -> ApprovalCard:
        """Wait until a question of the conversation takes answers, another one than that `behind` it."""
        before = behind.request.call_id if behind is not None else ""

        def listening() -> ApprovalCard | None:
            cards = self.window.main_window.findChildren(ApprovalCard)
            others = (card for card in cards if card.is_listening and card.request.call_id != before)
            return next((card for card in others if all(map(_is_loaded, card.findChildren(ChangeField)))), None)

        return await self.until(listening, "a question takes answers")

    def is_pending(self, call_id: str) -> bool:
        """Whether the question about this call waits."""
        return any(request.call_id == call_id for request in self.transcript.pending_approvals)

    async def see_stalled(self, model: ThreadedServer, number: int) -> None:
        """Wait until the model has begun its answer to this request, and says no more."""
        await self.until_true(lambda: len(model.messages) > number, "the model is asked")
        await self.until_true(model.messages[number].has_stalled.is_set, "the answer has stalled")

    async def see_turn_end(self) -> None:
        """Wait until the turn has ended, as completed."""
        transcript = self.transcript
        await self.until_true(lambda: not transcript.turns.is_running, "the turn has ended")
        assert transcript.turns.last_end == "completed"

    async def open_settings(self) -> SettingsDialog:
        """Open the settings with their key."""
        await self.press(Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
        return await self.see(SettingsDialog, "settingsDialog")

    async def close_welcome(self) -> None:
        """Wait for the welcome, and close it."""
        await self.see(QWidget, "onboardingDialog")
        await self.press(Qt.Key.Key_Escape)
        await self.until_true(lambda: self.find(QWidget, "onboardingDialog") is None, "the welcome has closed")

    async def import_conversation(self, file: Path) -> None:
        """Choose the file of a conversation of another program, which is read from then on."""
        self.actions.import_session.trigger()
        dialog = await self.see(QFileDialog, "importDialog")
        dialog.fileSelected.emit(str(file))
        dialog.reject()

    async def quit_with_key(self) -> None:
        """Press Ctrl+Q and wait until the window has closed."""
        await self.press(Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
        await self.see_window_close()

    async def quit(self) -> None:
        """Quit, and wait until the window is gone."""
        self.window.request_quit()
        await self.see_window_close()

    async def see_window_close(self) -> None:
        """Wait until the window has closed."""
        await self.until_true(lambda: not self.window.main_window.isVisible(), "the window has closed")

    async def pause(self) -> None:
        """Look once more: the window goes on meanwhile."""
        await asyncio.sleep(_LOOK_EVERY_S)

    def screenshot(self, path: Path) -> None:
        """Save the window as it looks now."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.window.main_window.grab().save(str(path))


def ask_for_no_titles() -> None:
    """Let the user's settings say so: a title would take one of the answers that a journey has prepared."""
    save_setting(AppPaths.from_environment(os.environ).settings_file(), "model.generates_titles", value=False)


def define_server(program: Path, name: str = "program", *arguments: str) -> None:
    """Let the user's settings name a server that is a program in Python."""
    settings = AppPaths.from_environment(os.environ).settings_file()
    table = [f"name = {json.dumps(name)}", f"command = {json.dumps(sys.executable)}"]
    table += [f"args = {json.dumps(['-S', str(program), *arguments])}"]
    with settings.open("a", encoding="utf-8") as file:
        file.write("\n".join(["", "[[mcp.definitions]]", *table, ""]))


def drive(
    argv: list[str], album: Path, journey: Callable[[Driver], Awaitable[None]], *, opens_questions: bool = True
) -> None:
    """Build the real application, run it on its own loop, and let `journey` use it until it has quit.

    `opens_questions` lets every question open its dialog, as the setting does.
    """
    window = build(argv)
    window.panels.session.opens_questions = opens_questions
    window.main_window.show()
    app = QApplication.instance()
    assert isinstance(app, QApplication)

    async def live() -> int:
        serving = asyncio.create_task(window.serve(), name="window")
        try:
            await journey(Driver(window, album))
        finally:
            if not serving.done():
                serving.cancel()
                await asyncio.wait([serving])
        return 0

    try:
        assert eventloop.run(app, live) == 0
    finally:
        window.main_window.let_close()
        window.main_window.deleteLater()
        window.deleteLater()
        for translator in app.findChildren(QTranslator):  # the next window of this process may speak another language
            app.removeTranslator(translator)
            translator.deleteLater()
        app.processEvents()


def _is_loaded(field: ChangeField) -> bool:
    return field.is_whole or not field.more.isHidden()
