"""Takes the pictures of the documentation: the real window, used as a user would, in both themes.

Run by `packaging/screenshots.sh`. Not a test: what it sees is for people to judge, beside the design's pictures.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import keyring
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QDialog, QListView, QWidget

from desktop_agent.ui.approvals.dialog import ApprovalDialog
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.overlays.diff_review import DiffReview
from tests.core.providers.auth.test_keys import MemoryKeyring
from tests.e2e import orders
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

    async def welcome(self, person: Driver) -> None:
        """The first start, and the settings."""
        await self._prepare(person)
        dialog = await person.see(QDialog, "onboardingDialog")
        self._save(dialog, "welcome")
        await person.press(Qt.Key.Key_Escape)
        await person.press(Qt.Key.Key_Comma, CTRL)
        dialog = await person.see(QDialog, "settingsDialog")
        await _settled(person)
        self._save(dialog, "settings")
        await person.press(Qt.Key.Key_Escape)
        await _quit(person)

    async def demo(self, person: Driver) -> None:
        """Two turns of the demo, up to a command that waits."""
        await self._prepare(person)
        await person.until_true(
            lambda: "One of the tests" in person.window.panels.composer.text(), "a prompt is offered"
        )
        await person.until_true(person.window.main_window.top_bar.branch_label.isVisible, "git is read")
        await _settled(person)
        self._save(person.window.main_window, "start")
        await person.click("sendButton")
        self._save(await _asked(person), "approval-command")
        await _allow(person)
        self._save(await _asked(person), "approval-edit")
        await _allow(person)
        await self._rules(person, await _asked(person))
        await _allow(person)
        await self._ended(person)
        await person.until_true(lambda: "Add a test" in person.window.panels.composer.text(), "more is offered")
        (await person.see(QWidget, "composer")).setFocus()
        await person.press(Qt.Key.Key_Return)
        await _asked(person)
        await _allow(person)
        await _asked(person)
        await person.press(Qt.Key.Key_Escape)  # decided later: the card in the transcript waits
        await person.until_true(lambda: person.find(ApprovalDialog, "approvalDialog") is None, "the dialog has closed")
        baselines = await person.see(QComboBox, "baselinePicker")
        QTest.keyClick(baselines, Qt.Key.Key_Down)  # from the last turn to the whole session
        changes = await person.see(QListView, "changeList")
        changes.setCurrentIndex(changes.model().index(0, 0))
        person.window.panels.composer.setFocus()
        await _settled(person)
        self._save(person.window.main_window, "window")
        person.window.main_window.resize(*NARROW)
        await _settled(person)
        self._save(person.window.main_window, "narrow")
        person.window.main_window.resize(*SIZE)
        await person.click("stopButton")
        await self._ended(person)
        await _quit(person)

    async def review(self, person: Driver) -> None:
        """A review in its middle, a picture that was exchanged, and an undo that meets an edit of the user's."""
        await self._prepare(person)
        ready: list[bool] = []
        person.window.ready.connect(lambda: ready.append(True))
        await person.until_true(lambda: bool(ready), "the window is ready")
        await person.type("composer", "Check the totals of the orders, and use the new logo.")
        await person.press(Qt.Key.Key_Return)
        for _ in range(2):
            await _asked(person)
            await _allow(person)
        await self._ended(person)
        view = await person.see(DiffView, "diffView")
        review = view.findChild(DiffReview)
        assert review
        await person.until_true(lambda: len(review.hunks.keys) > 2, "the changes are drawn")
        view.setFocus()
        await person.press(Qt.Key.Key_K)
        await person.until_true(lambda: review.hunks.counts() == (1, 0), "the first is kept")
        await person.press(Qt.Key.Key_F7)
        await person.press(Qt.Key.Key_C)
        await person.type("commentEdit", "A voucher is an order, too: does it ship?")
        await person.press(Qt.Key.Key_Return, CTRL)
        view.setFocus()
        await person.press(Qt.Key.Key_F7)
        await _settled(person)
        await person.press(Qt.Key.Key_U)
        await person.until_true(lambda: review.hunks.counts() == (1, 1), "the last is undone")
        view.verticalScrollBar().setValue(0)
        await _settled(person)
        self._save(person.window.main_window, "review")
        person.window.main_window.resize(*NARROW)
        person.window.main_window.review.show()
        await _settled(person)
        self._save(person.window.main_window, "review-narrow")
        person.window.main_window.resize(*SIZE)
        await _settled(person)
        changes = await person.see(QListView, "changeList")
        changes.setCurrentIndex(changes.model().index(1, 0))
        await person.see(QWidget, "mediaView")
        await _settled(person)
        self._save(person.window.main_window, "review-picture")
        await self._clash(person, changes, view)
        await _quit(person)

    async def _clash(self, person: Driver, changes: QListView, view: DiffView) -> None:
        module = Path(person.transcript.session.workspace) / orders.MODULE
        module.write_text(
            module.read_text().replace("        return Decimal(0)\n", '        return Decimal("0.00")\n', 1)
        )
        changes.setCurrentIndex(changes.model().index(0, 0))
        await _settled(person)
        view.setFocus()
        await person.press(Qt.Key.Key_F7)
        await person.press(Qt.Key.Key_U)
        dialog = await person.see(QDialog, "undoConflictDialog")
        await person.see(QWidget, "takeWantedButton")
        await _settled(person)
        self._save(dialog, "clash")
        await person.press(Qt.Key.Key_Escape)

    async def _rules(self, person: Driver, dialog: ApprovalDialog) -> None:
        """What an answer for longer than this once would mean, and back to this once."""
        scopes = await person.see(QComboBox, "approvalScopePicker")
        scopes.setCurrentIndex(2)  # in this folder
        await _settled(person)
        self._save(dialog, "approval-rules")
        scopes.setCurrentIndex(0)

    async def _prepare(self, person: Driver) -> None:
        person.window.main_window.resize(*SIZE)
        await person.see(QWidget, "composer")

    async def _ended(self, person: Driver) -> None:
        bridge = person.window.panels.wiring.bridge
        assert bridge is not None
        await person.until_true(lambda: not bridge.transcript.turns.is_running, "the turn has ended")
        await person.see(QListView, "changeList")
        await _settled(person)

    def _save(self, widget: QWidget, name: str) -> None:
        path = self._album / f"{name}-{self._theme}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        widget.grab().save(str(path))
        print(path, file=sys.stderr)


async def _asked(person: Driver) -> ApprovalDialog:
    await person.until_true(lambda: _can_allow(person), "a question can be answered")
    return await person.see(ApprovalDialog, "approvalDialog")


def _can_allow(person: Driver) -> bool:
    dialog = person.find(ApprovalDialog, "approvalDialog")
    return dialog is not None and dialog.can_allow


async def _allow(person: Driver) -> None:
    await person.press(Qt.Key.Key_Return, CTRL)
    await person.until_true(lambda: not _can_allow(person), "the question is answered")


async def _settled(person: Driver) -> None:
    """Wait until everything that was asked for has been painted: two rounds of the loop without a repaint pending."""
    for _ in range(40):
        await person.pause()


async def _quit(person: Driver) -> None:
    person.window.request_quit()
    await person.until_true(lambda: not person.window.main_window.isVisible(), "the window has closed")


def main(album: Path) -> None:
    app = QApplication([])
    keyring.set_keyring(MemoryKeyring())
    for theme in THEMES:
        person = Path(tempfile.mkdtemp(prefix="screenshots-"))
        os.environ["HOME"] = str(person)
        project = person / "code" / "pagination"
        project.mkdir(parents=True)
        os.chdir(project)  # the folder that the welcome shows
        home = person / "desktop-agent"
        os.environ["DESKTOP_AGENT_HOME"] = str(home)
        os.environ.pop("ANTHROPIC_API_KEY", None)
        (home / "config").mkdir(parents=True)
        (home / "config" / "config.toml").write_text(f'[ui]\ntheme = "{theme}"\n')
        photographer = Photographer(album, theme)
        drive([], person, photographer.welcome)
        drive(["--demo"], person, photographer.demo)
        os.environ["ANTHROPIC_API_KEY"] = "sk-ant-test-000000000000"
        shop = person / "code" / "shop"
        orders.make_shop(shop)
        with serve(*orders.answers()) as server:
            drive([str(shop), "--base-url", server.url], person, photographer.review)
        shutil.rmtree(person)
    app.quit()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
