"""Takes the pictures of the documentation: the real window, used as a user would, in both themes.

Run by `packaging/screenshots.sh`. Not a test: what it sees is for people to judge, beside the design's pictures.
"""

import os
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import keyring
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QDialog, QListView, QWidget

from desktop_agent.ui.approvals.dialog import ApprovalDialog
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.overlays.diff_review import DiffReview
from tests.core.providers.auth.test_keys import MemoryKeyring
from tests.e2e import orders, used_sessions
from tests.e2e.driver import Driver, drive
from tests.servers.threaded import serve

CTRL = Qt.KeyboardModifier.ControlModifier
THEMES = ("light", "dark")
SIZE = (1440, 900)
NARROW = (1024, 700)


class Photographer:
    """Goes through the demo and saves what a user sees on the way."""

    def __init__(self, album: Path, theme: str) -> None:
        self._album = album
        self._theme = theme

    async def welcome(self, user: Driver) -> None:
        """The first start, and the settings."""
        await self._prepare(user)
        dialog = await user.see(QDialog, "onboardingDialog")
        self._save(dialog, "welcome")
        await user.press(Qt.Key.Key_Escape)
        await user.press(Qt.Key.Key_Comma, CTRL)
        dialog = await user.see(QDialog, "settingsDialog")
        await _settled(user)
        self._save(dialog, "settings")
        await user.press(Qt.Key.Key_Escape)
        await _quit(user)

    async def demo(self, user: Driver) -> None:
        """Two turns of the demo, up to a command that waits."""
        await self._prepare(user)
        await user.until_true(lambda: "One of the tests" in user.window.panels.composer.text(), "a prompt is offered")
        await user.until_true(user.window.main_window.top_bar.branch_label.isVisible, "git is read")
        await _settled(user)
        self._save(user.window.main_window, "start")
        await self._palette(user)
        await user.click("sendButton")
        self._save(await _asked(user), "approval-command")
        await _allow(user)
        self._save(await _asked(user), "approval-edit")
        await _allow(user)
        await self._rules(user, await _asked(user))
        await _allow(user)
        await self._ended(user)
        await user.until_true(lambda: "Add a test" in user.window.panels.composer.text(), "more is offered")
        (await user.see(QWidget, "composer")).setFocus()
        await user.press(Qt.Key.Key_Return)
        await _asked(user)
        await _allow(user)
        await _asked(user)
        await user.press(Qt.Key.Key_Escape)  # decided later: the card in the transcript waits
        await user.until_true(lambda: user.find(ApprovalDialog, "approvalDialog") is None, "the dialog has closed")
        baselines = await user.see(QComboBox, "baselinePicker")
        QTest.keyClick(baselines, Qt.Key.Key_Down)  # from the last turn to the whole session
        changes = await user.see(QListView, "changeList")
        changes.setCurrentIndex(changes.model().index(0, 0))
        user.window.panels.composer.setFocus()
        await _settled(user)
        self._save(user.window.main_window, "window")
        user.window.main_window.resize(*NARROW)
        await _settled(user)
        self._save(user.window.main_window, "narrow")
        user.window.main_window.resize(*SIZE)
        await user.click("stopButton")
        await self._ended(user)
        await _quit(user)

    async def _palette(self, user: Driver) -> None:
        """What the application can do, and what is found by a word."""
        user.window.panels.composer.setFocus()
        await user.press(Qt.Key.Key_K, CTRL)
        await user.see(QWidget, "commandPalette")
        await _settled(user)
        self._save(user.window.main_window, "palette")
        await user.type("paletteField", "pages")
        rows = await user.see(QListView, "paletteList")
        await user.until_true(lambda: rows.currentIndex().data() == "pages.py", "a file is found")
        await _settled(user)
        self._save(user.window.main_window, "palette-found")
        await user.press(Qt.Key.Key_Escape)

    async def review(self, user: Driver) -> None:
        """A review in its middle, a picture that was exchanged, and an undo that meets an edit of the user's."""
        await self._prepare(user)
        ready: list[bool] = []
        user.window.ready.connect(lambda: ready.append(True))
        await user.until_true(lambda: bool(ready), "the window is ready")
        await user.type("composer", "Check the totals of the orders, and use the new logo.")
        await user.press(Qt.Key.Key_Return)
        for _ in range(2):
            await _asked(user)
            await _allow(user)
        await self._ended(user)
        view = await user.see(DiffView, "diffView")
        review = view.findChild(DiffReview)
        assert review
        await user.until_true(lambda: len(review.hunks.keys) > 2, "the changes are drawn")
        view.setFocus()
        await user.press(Qt.Key.Key_K)
        await user.until_true(lambda: review.hunks.counts() == (1, 0), "the first is kept")
        await user.press(Qt.Key.Key_F7)
        await user.press(Qt.Key.Key_C)
        await user.type("commentEdit", "A voucher is an order, too: does it ship?")
        await user.press(Qt.Key.Key_Return, CTRL)
        view.setFocus()
        await user.press(Qt.Key.Key_F7)
        await _settled(user)
        await user.press(Qt.Key.Key_U)
        await user.until_true(lambda: review.hunks.counts() == (1, 1), "the last is undone")
        view.verticalScrollBar().setValue(0)
        await _settled(user)
        self._save(user.window.main_window, "review")
        user.window.main_window.resize(*NARROW)
        user.window.main_window.review.show()
        await _settled(user)
        self._save(user.window.main_window, "review-narrow")
        user.window.main_window.resize(*SIZE)
        await _settled(user)
        changes = await user.see(QListView, "changeList")
        changes.setCurrentIndex(changes.model().index(1, 0))
        await user.see(QWidget, "mediaView")
        await _settled(user)
        self._save(user.window.main_window, "review-picture")
        await self._clash(user, changes, view)
        await _quit(user)

    async def usage(self, user: Driver) -> None:
        """What sessions of some weeks used, with the values of a day."""
        await self._prepare(user)
        ready: list[bool] = []
        user.window.ready.connect(lambda: ready.append(True))
        await user.until_true(lambda: bool(ready), "the window is ready")
        user.window.main_window.actions_.usage.trigger()
        window = await user.see(QDialog, "usageWindow")
        plot = await user.see(QWidget, "costOverTimePlot")
        await user.see(QWidget, "usageDayTable")
        plot.setFocus()
        for _ in range(5):
            QTest.keyClick(plot, Qt.Key.Key_Left)
        await _settled(user)
        self._save(window, "usage")
        window.close()
        await _quit(user)

    async def _clash(self, user: Driver, changes: QListView, view: DiffView) -> None:
        module = Path(user.transcript.session.workspace) / orders.MODULE
        module.write_text(
            module.read_text().replace("        return Decimal(0)\n", '        return Decimal("0.00")\n', 1)
        )
        changes.setCurrentIndex(changes.model().index(0, 0))
        await _settled(user)
        view.setFocus()
        await user.press(Qt.Key.Key_F7)
        await user.press(Qt.Key.Key_U)
        dialog = await user.see(QDialog, "undoConflictDialog")
        await user.see(QWidget, "takeWantedButton")
        await _settled(user)
        self._save(dialog, "clash")
        await user.press(Qt.Key.Key_Escape)

    async def _rules(self, user: Driver, dialog: ApprovalDialog) -> None:
        """What an answer for longer than this once would mean, and back to this once."""
        scopes = await user.see(QComboBox, "approvalScopePicker")
        scopes.setCurrentIndex(2)  # in this folder
        await _settled(user)
        self._save(dialog, "approval-rules")
        scopes.setCurrentIndex(0)

    async def _prepare(self, user: Driver) -> None:
        user.window.main_window.resize(*SIZE)
        await user.see(QWidget, "composer")

    async def _ended(self, user: Driver) -> None:
        bridge = user.window.panels.wiring.bridge
        assert bridge is not None
        await user.until_true(lambda: not bridge.transcript.turns.is_running, "the turn has ended")
        await user.see(QListView, "changeList")
        await _settled(user)

    def _save(self, widget: QWidget, name: str) -> None:
        path = self._album / f"{name}-{self._theme}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        widget.grab().save(str(path))
        print(path, file=sys.stderr)


async def _asked(user: Driver) -> ApprovalDialog:
    await user.until_true(lambda: _can_allow(user), "a question can be answered")
    return await user.see(ApprovalDialog, "approvalDialog")


def _can_allow(user: Driver) -> bool:
    dialog = user.find(ApprovalDialog, "approvalDialog")
    return dialog is not None and dialog.can_allow


async def _allow(user: Driver) -> None:
    await user.press(Qt.Key.Key_Return, CTRL)
    await user.until_true(lambda: not _can_allow(user), "the question is answered")


async def _settled(user: Driver) -> None:
    """Wait until everything that was asked for has been painted: two rounds of the loop without a repaint pending."""
    for _ in range(40):
        await user.pause()


async def _quit(user: Driver) -> None:
    user.window.request_quit()
    await user.until_true(lambda: not user.window.main_window.isVisible(), "the window has closed")


def main(album: Path) -> None:
    app = QApplication([])
    keyring.set_keyring(MemoryKeyring())
    for theme in THEMES:
        user = Path(tempfile.mkdtemp(prefix="screenshots-"))
        os.environ["HOME"] = str(user)
        project = user / "code" / "pagination"
        project.mkdir(parents=True)
        os.chdir(project)  # the folder that the welcome shows
        home = user / "desktop-agent"
        os.environ["DESKTOP_AGENT_HOME"] = str(home)
        os.environ.pop("ANTHROPIC_API_KEY", None)
        (home / "config").mkdir(parents=True)
        (home / "config" / "config.toml").write_text(f'[ui]\ntheme = "{theme}"\n')
        photographer = Photographer(album, theme)
        drive([], user, photographer.welcome)
        drive(["--demo"], user, photographer.demo)
        os.environ["ANTHROPIC_API_KEY"] = "sk-ant-test-000000000000"
        shop = user / "code" / "shop"
        orders.make_shop(shop)
        with serve(*orders.answers()) as server:
            drive([str(shop), "--base-url", server.url], user, photographer.review)
        used_sessions.write(datetime.now(UTC))
        drive([str(shop)], user, photographer.usage)
        shutil.rmtree(user)
    app.quit()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
