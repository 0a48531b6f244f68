"""Goes through the window and prints cut texts: `cut_lab welcome|demo FOLDER [QM]`, in English without a QM."""

import os
import sys
from pathlib import Path

from PySide6.QtCore import Qt, QTranslator
from PySide6.QtWidgets import QApplication, QComboBox, QDialog, QListView, QWidget

from desktop_agent.ui.approvals.approval_dialog import ApprovalDialog
from tests.e2e.driver import Driver, drive
from tests.translation.cut_texts import cut_texts

CTRL = Qt.KeyboardModifier.ControlModifier
SMALLEST = (1024, 700)


async def welcome(user: Driver) -> None:
    user.window.main_window.resize(*SMALLEST)
    await _look("welcome", user, await user.see(QDialog, "onboardingDialog"))
    await user.press(Qt.Key.Key_Escape)
    await user.quit()


async def demo(user: Driver) -> None:
    main = user.window.main_window
    main.resize(*SMALLEST)
    await user.until_true(lambda: bool(user.window.panels.composer.text()), "a prompt is offered")
    await _look("start", user, main)
    user.window.panels.composer.setFocus()
    await user.press(Qt.Key.Key_K, CTRL)
    await user.see(QWidget, "commandPalette")
    await _look("palette", user, main)
    await user.press(Qt.Key.Key_Escape)
    await user.click("sendButton")
    for stage in ("command", "edit", "rules"):
        await user.until_true(lambda: user.can_allow, "a question can be answered")
        dialog = await user.see(ApprovalDialog, "approvalDialog")
        if stage == "rules":
            (await user.see(QComboBox, "approvalScopePicker")).setCurrentIndex(2)
        await _look(stage, user, dialog)
        if stage == "rules":
            (await user.see(QComboBox, "approvalScopePicker")).setCurrentIndex(0)
        await user.press(Qt.Key.Key_A, CTRL | Qt.KeyboardModifier.ShiftModifier)
        await user.until_true(lambda: not user.can_allow, "the question is answered")
    await user.see_turn_end()
    await _look("turn", user, main)
    main.review.show()
    await user.see(QListView, "changeList")
    await _look("review", user, main)
    for name, action in (("inbox", main.actions_.open_inbox), ("context", main.actions_.inspect_context)):
        action.trigger()
        await _look(name, user, QApplication.activeModalWidget() or main)
        if (dialog := QApplication.activeModalWidget()) is not None:
            dialog.close()
    main.actions_.usage.trigger()
    usage = await user.see(QDialog, "usageWindow")
    await _look("usage", user, usage)
    usage.close()
    await user.quit()


async def _look(stage: str, user: Driver, window: QWidget) -> None:
    for _ in range(20):
        await user.pause()
    for text in cut_texts(window):
        print(f"{stage}: {text}")


def main(journey: str, folder: Path, compiled: str = "") -> None:
    app = QApplication([])
    if compiled:
        translator = QTranslator(app)
        assert translator.load(compiled)
        app.installTranslator(translator)
    os.chdir(folder)
    drive(["--demo"] if journey == "demo" else [], folder, demo if journey == "demo" else welcome)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
