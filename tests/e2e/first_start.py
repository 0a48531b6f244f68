"""Takes pictures of a first start, step by step, as a user would see them on their screen, in both themes.

Run it as `python -m tests.e2e.first_start FOLDER [WIDTHxHEIGHT]` on a display of that size. Not a test: what it sees
is for people to judge. Each step is taken in a fresh home, with the window as large as it makes itself.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import keyring
from PySide6.QtCore import QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QListView, QPushButton, QWidget

from tests.core.providers.auth.test_keys import MemoryKeyring
from tests.e2e import orders
from tests.e2e.driver import Driver, drive
from tests.servers.threaded import serve

THEMES = ("light", "dark")
SCREEN = QSize(1366, 768)


class FirstStart:
    """Goes from the welcome to the first review, and saves what is seen on the way."""

    def __init__(self, album: Path, theme: str, screen: QSize) -> None:
        self._album = album
        self._theme = theme
        self._screen = screen
        self._count = 0

    async def begin(self, user: Driver) -> None:
        """The welcome, the folder, the key."""
        window = user.window.main_window
        window.resize(window.size().boundedTo(self._screen))
        welcome = await user.see(QDialog, "onboardingDialog")
        await _settled(user)
        self._save(window, "behind-the-welcome")
        self._save(welcome, "welcome")
        for name in ("enterKeyButton", "localModelsButton", "subscriptionButton", "otherAddressButton"):
            await user.press(Qt.Key.Key_Down)
            await user.click(name)
            await _settled(user)
            self._save(welcome, f"welcome-{name}")
            await user.press(Qt.Key.Key_Escape)
        await user.press(Qt.Key.Key_Escape)
        await user.press(Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
        settings = await user.see(QDialog, "settingsDialog")
        await _settled(user)
        self._save(settings, "settings-0")
        sections = await user.see(QListView, "settingsSections")
        shown = (row for row in range(1, sections.model().rowCount()) if not sections.isRowHidden(row))
        for row in shown:
            sections.setCurrentIndex(sections.model().index(row, 0))
            await _settled(user)
            self._save(settings, f"settings-{row}")
        await user.press(Qt.Key.Key_Escape)
        await _settled(user)
        self._save(window, "empty")
        await _quit(user)

    async def work(self, user: Driver) -> None:
        """The first question, its card, and the review."""
        window = user.window.main_window
        window.resize(window.size().boundedTo(self._screen))
        await user.see_ready()
        await _settled(user)
        self._save(window, "folder")
        await user.type("composer", "Check the totals of the orders, and use the new logo.")
        await _settled(user)
        self._save(window, "question")
        await user.press(Qt.Key.Key_Return)
        for step in ("card-edit", "card-command"):
            await user.until_true(lambda: _allow(user) is not None, "a question can be answered")
            await _settled(user)
            self._save(window, step)
            await self._answer(user)
        handle = user.window.panels.session.handle
        assert handle is not None
        await user.until_true(lambda: not handle.transcript.turns.is_running, "the turn has ended")
        if user.find(QListView, "changeList") is None:  # on a small screen the review is a drawer
            await user.press(Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
        await user.see(QListView, "changeList")
        await _settled(user)
        self._save(window, "review")
        await user.press(Qt.Key.Key_F8)
        await _settled(user)
        self._save(window, "review-keyboard")
        await _quit(user)

    async def _answer(self, user: Driver) -> None:
        call = user.transcript.pending_approvals[0].call_id

        def is_answered() -> bool:
            if (button := _allow(user)) is not None:
                QTest.mouseClick(button, Qt.MouseButton.LeftButton)
            return all(request.call_id != call for request in user.transcript.pending_approvals)

        await user.until_true(is_answered, "the question is answered")

    def _save(self, widget: QWidget, name: str) -> None:
        self._count += 1
        path = self._album / f"{self._count:02}-{name}-{self._theme}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        widget.grab().save(str(path))
        print(path, file=sys.stderr)


def _allow(user: Driver) -> QPushButton | None:
    buttons = user.window.main_window.findChildren(QPushButton)
    found = (each for each in buttons if each.text().startswith("Allow once") and each.isVisible() and each.isEnabled())
    return next(found, None)


async def _settled(user: Driver) -> None:
    for _ in range(40):
        await user.pause()


async def _quit(user: Driver) -> None:
    await user.quit()


def main(album: Path, screen: QSize = SCREEN) -> None:
    """Take all pictures of a first start on a screen of this size."""
    app = QApplication([])
    keyring.set_keyring(MemoryKeyring())
    for theme in THEMES:
        user = Path(tempfile.mkdtemp(prefix="first-start-"))
        os.environ["HOME"] = str(user)
        home = user / "desktop-agent"
        os.environ["DESKTOP_AGENT_HOME"] = str(home)
        os.environ.pop("ANTHROPIC_API_KEY", None)
        (home / "config").mkdir(parents=True)
        (home / "config" / "config.toml").write_text(f'[ui]\ntheme = "{theme}"\n')
        shop = user / "code" / "shop"
        orders.make_shop(shop)
        os.chdir(shop)  # the folder that the welcome shows
        pictures = FirstStart(album, theme, screen)
        drive([], user, pictures.begin)
        os.environ["ANTHROPIC_API_KEY"] = "sk-ant-test-000000000000"
        with serve(*orders.answers()) as server:
            drive([str(shop), "--base-url", server.url], user, pictures.work, opens_questions=False)
        os.chdir("/")
        shutil.rmtree(user)
    app.quit()


if __name__ == "__main__":
    wanted = QSize(*map(int, sys.argv[2].split("x"))) if len(sys.argv) > 2 else SCREEN
    main(Path(sys.argv[1]), wanted)
