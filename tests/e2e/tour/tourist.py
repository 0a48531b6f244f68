"""A user who photographs the window."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QListView, QWidget

from desktop_agent.ui.approvals.approval_dialog import ApprovalDialog
from desktop_agent.ui.chat.cards.approval import ApprovalCard
from desktop_agent.ui.theme.theme import ThemeChoice
from desktop_agent.ui.window.main_window import MainWindow
from tests.e2e.driver import Driver
from tests.e2e.tour.camera import photograph_settled
from tests.e2e.tour.small_png import small_png
from tests.e2e.tour.stopped_time import StoppedTime
from tests.servers.threaded import ThreadedServer

W = TypeVar("W", bound=QWidget)

CTRL = Qt.KeyboardModifier.ControlModifier
SIZE = (1440, 900)
NARROW = (1024, 700)
THEMES: tuple[ThemeChoice, ...] = ("light", "dark")


class Tourist:
    def __init__(self, user: Driver, time_: StoppedTime, model: ThreadedServer, folder: Path, album: Path) -> None:
        """`model` answers unless the demo does; `folder` is open; pictures go to `album`."""
        self.user = user
        self.time = time_
        self.model = model
        self.folder = folder
        self.album = album
        self.taken: list[str] = []

    @property
    def window(self) -> MainWindow:
        return self.user.window.main_window

    async def take(self, name: str, of: QWidget | None = None) -> None:
        """Take a picture of a window, or of the main one, in both themes, once nothing moves."""
        self.user.window.theme.choose_motion("reduced")  # otherwise marks of running work pulse
        for theme in THEMES:
            self.user.window.theme.choose(theme)
            image = await photograph_settled(of or self.window)
            (self.album / f"{name}-{theme}.png").write_bytes(small_png(image))
        self.taken.append(name)
        self.user.window.theme.choose("light")

    async def resize(self, size: tuple[int, int]) -> None:
        self.window.resize(*size)
        await self.look_round()

    async def look_round(self) -> None:
        await photograph_settled(self.window)

    async def until(self, look: Callable[[], bool], what: str) -> None:
        await self.user.until_true(look, what)

    async def see(self, kind: type[W], name: str) -> W:
        return await self.user.see(kind, name)

    async def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        await self.user.press(key, modifiers)

    async def write(self, text: str) -> None:
        composer = self.user.composer
        composer.setFocus()
        await self.press(Qt.Key.Key_A, CTRL)
        await self.press(Qt.Key.Key_Delete)
        QTest.keyClicks(composer.edit, text)

    async def send(self, prompt: str) -> None:
        before = self.user.transcript.turn
        await self.write(prompt)
        await self.press(Qt.Key.Key_Return)
        await self.until(lambda: self.user.transcript.turn > before, "the turn begins")
        self.time.advance(2.4)

    async def see_card(self) -> ApprovalCard:
        return await self.user.see_card()

    async def see_dialog(self) -> ApprovalDialog:
        await self.until(lambda: self.user.can_allow, "a question can be answered")
        return await self.see(ApprovalDialog, "approvalDialog")

    async def allow(self) -> None:
        await self.until(lambda: bool(self.user.transcript.pending_approvals), "something is asked")
        call = self.user.transcript.pending_approvals[0].call_id
        if self.user.window.panels.session.opens_questions:
            await self.see_dialog()
        else:
            (await self.see_card()).setFocus()
        self.time.advance(1.3)
        await self.press(Qt.Key.Key_A, CTRL | Qt.KeyboardModifier.ShiftModifier)
        await self.until(lambda: not self.user.is_pending(call), "allowed")

    async def see_turn_end(self) -> None:
        await self.user.see_turn_end()
        await self.look_round()

    async def see_changes(self) -> QListView:
        return await self.see(QListView, "changeList")

    async def close(self, window: QWidget) -> None:
        window.close()
        await self.until(lambda: not window.isVisible(), "it has closed")

    async def quit(self) -> None:
        for window in QApplication.topLevelWidgets():
            if window is not self.window and window.isVisible():
                window.close()
        self.user.window.request_quit()
        await self.user.see_window_close()
