"""Drives the real window as a user would: finds widgets by name, clicks, types, and waits."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QPoint, Qt, QTranslator
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget

from desktop_agent.app import Window, build
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol.events import Notice
from desktop_agent.core.settings.settings_file import save_setting
from desktop_agent.core.transcript import NoticeEntry, Transcript
from desktop_agent.ui.approvals.approval_dialog import ApprovalDialog
from desktop_agent.ui.chat.cards.approval import ApprovalCard
from desktop_agent.ui.chat.cards.request_card import ChangeField
from desktop_agent.ui.chat.composer.composer import Composer
from desktop_agent.ui.runtime import eventloop
from desktop_agent.ui.settings.settings_dialog import SettingsDialog
from desktop_agent.ui.window.actions import Actions
from tests.harness import PATIENCE_S
from tests.parts import visible_texts
from tests.servers.threaded import ThreadedServer
from tests.still_running import still_running

W = TypeVar("W", bound=QWidget)

_LOOK_EVERY_S = 0.01


class Driver:
    def __init__(self, window: Window, album: Path) -> None:
        """`album` is the folder for screenshots of failures."""
        self.window = window
        self._album = album

    @property
    def transcript(self) -> Transcript:
        handle = self.window.panels.session.handle
        assert handle is not None
        return handle.transcript

    @property
    def composer(self) -> Composer:
        return self.window.panels.composer

    @property
    def actions(self) -> Actions:
        return self.window.main_window.actions_

    @property
    def banner(self) -> list[str]:
        return visible_texts(self.window.panels.conversation.banner)

    @property
    def notices(self) -> list[Notice]:
        return [entry.notice for entry in self.transcript.entries if isinstance(entry, NoticeEntry)]

    async def see(self, kind: type[W], name: str) -> W:
        return await self.until(lambda: self.find(kind, name), f"{name} is visible and enabled")

    def find(self, kind: type[W], name: str) -> W | None:
        for window in QApplication.topLevelWidgets():
            # Qt's search by name is a hundred times faster.
            same = [window] if isinstance(window, kind) and window.objectName() == name else []
            for widget in same or window.findChildren(kind, name):
                if widget.isVisible() and widget.isEnabled():
                    return widget
        return None

    async def until(self, look: Callable[[], W | None], what: str) -> W:
        """Wait until `look` returns something other than None, and return it."""
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
        await self.until(lambda: self.window.main_window if look() else None, what)

    async def click(self, name: str) -> None:
        button = await self.see(QWidget, name)
        QTest.mouseClick(button, Qt.MouseButton.LeftButton, pos=QPoint(button.width() // 2, button.height() // 2))

    async def type(self, name: str, text: str) -> None:
        field = await self.see(QWidget, name)
        field.setFocus()
        QTest.keyClicks(field.focusProxy() or field, text)

    async def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        window = await self.until(self._front, "the window is active")
        QTest.keyClick(window.focusWidget() or window, key, modifiers)

    def _front(self) -> QWidget | None:
        """The active window, or None: without a window manager, activate the one in front."""
        window = QApplication.activeModalWidget() or self.window.main_window
        if QApplication.activeWindow() is window:
            return window
        window.activateWindow()  # look again each time: a dialog may be closing
        return None

    async def see_ready(self) -> None:
        """Wait until the window is ready. Call this as soon as the window is shown."""
        ready: list[bool] = []
        self.window.ready.connect(lambda: ready.append(True))
        await self.until_true(lambda: bool(ready), "the window is ready")

    async def activate(self) -> None:
        """Focus the window, or the dialog over it, as a window manager does when a window opens."""
        await self.until(self._front, "the window is active")

    async def focus_composer(self) -> None:
        self.window.main_window.activateWindow()
        self.composer.edit.setFocus()
        await self.until_true(self.composer.edit.hasFocus, "the field has the focus")

    async def send(self, text: str) -> None:
        self.composer.set_text(text)
        await self.click("sendButton")

    async def run_turn(self, text: str) -> None:
        turn = self.transcript.turn + 1
        await self.send(text)
        await self.until_true(lambda: self.transcript.turn == turn, f"turn {turn} has begun")
        await self.see_turn_end()

    async def stop_turn(self) -> None:
        self.actions.stop.trigger()
        await self.until_true(lambda: not self.transcript.turns.is_running, "the turn has stopped")

    async def allow_with_mouse(self) -> None:
        await self.until_true(lambda: self.can_allow, "the dialog can be answered")
        answered = await self.see(ApprovalDialog, "approvalDialog")
        await self.click("approveButton")
        # The next question may open before we look again.
        await self.until_true(lambda: self.find(ApprovalDialog, "approvalDialog") is not answered, "it has closed")

    @property
    def can_allow(self) -> bool:
        dialog = self.find(ApprovalDialog, "approvalDialog")
        return dialog is not None and dialog.can_allow

    async def see_card(self, *, behind: ApprovalCard | None = None) -> ApprovalCard:
        """Wait for a question that takes answers, other than the one of the card `behind`."""
        before = behind.request.call_id if behind is not None else ""

        def listening() -> ApprovalCard | None:
            cards = self.window.main_window.findChildren(ApprovalCard)
            others = (card for card in cards if card.is_listening and card.request.call_id != before)
            return next((card for card in others if all(map(_is_loaded, card.findChildren(ChangeField)))), None)

        return await self.until(listening, "a question takes answers")

    def is_pending(self, call_id: str) -> bool:
        return any(request.call_id == call_id for request in self.transcript.pending_approvals)

    async def see_stalled(self, model: ThreadedServer, number: int) -> None:
        """Wait until the model has begun its answer to request `number`, and stalls."""
        await self.until_true(lambda: len(model.messages) > number, "the model is asked")
        await self.until_true(model.messages[number].has_stalled.is_set, "the answer has stalled")

    async def see_turn_end(self) -> None:
        transcript = self.transcript
        await self.until_true(lambda: not transcript.turns.is_running, "the turn has ended")
        assert transcript.turns.last_end == "completed"

    async def open_settings(self) -> SettingsDialog:
        await self.press(Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
        return await self.see(SettingsDialog, "settingsDialog")

    async def close_welcome(self) -> None:
        await self.see(QWidget, "onboardingDialog")
        await self.press(Qt.Key.Key_Escape)
        await self.until_true(lambda: self.find(QWidget, "onboardingDialog") is None, "the welcome has closed")

    async def import_conversation(self, file: Path) -> None:
        self.actions.import_session.trigger()
        dialog = await self.see(QFileDialog, "importDialog")
        dialog.fileSelected.emit(str(file))
        dialog.reject()

    async def quit_with_key(self) -> None:
        await self.press(Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
        await self.see_window_close()

    async def quit(self) -> None:
        self.window.request_quit()
        await self.see_window_close()

    async def see_window_close(self) -> None:
        await self.until_true(lambda: not self.window.main_window.isVisible(), "the window has closed")

    async def pause(self) -> None:
        await asyncio.sleep(_LOOK_EVERY_S)

    def screenshot(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.window.main_window.grab().save(str(path))


def ask_for_no_titles() -> None:
    """Switch titles off in the settings: a request for one would take a prepared answer."""
    save_setting(AppPaths.from_environment(os.environ).settings_file(), "model.generates_titles", value=False)


def define_server(program: Path, name: str = "program", *arguments: str) -> None:
    settings = AppPaths.from_environment(os.environ).settings_file()
    table = [f"name = {json.dumps(name)}", f"command = {json.dumps(sys.executable)}"]
    table += [f"args = {json.dumps(['-S', str(program), *arguments])}"]
    with settings.open("a", encoding="utf-8") as file:
        file.write("\n".join(["", "[[mcp.definitions]]", *table, ""]))


def drive(
    argv: list[str], album: Path, journey: Callable[[Driver], Awaitable[None]], *, opens_questions: bool = True
) -> None:
    """Build and run the real application on its own loop, and let `journey` use it until it has quit.

    `opens_questions` opens the dialog of each question, like the setting.
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
