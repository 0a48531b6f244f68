"""The real window in a process of its own, used without a pause until it is killed.

    python -m tests.e2e.window_kill_lab NUMBER ALBUM ARGUMENTS...

It prints `ready`, and `typed TEXT` before each prompt is sent. Every question is allowed. With a negative number it
quits as soon as it is ready.
"""

import asyncio
import contextlib
import os
import sys
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.ui.approvals.approval_dialog import ApprovalDialog
from tests.e2e.driver import Driver, drive

CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


async def use(user: Driver, number: int) -> None:
    await user.see_ready()
    print("ready", flush=True)
    if number < 0:
        await user.quit()
        return
    drafts = AppPaths.from_environment(os.environ).data / "drafts"
    allowing = asyncio.create_task(allow_everything(user))
    for count in range(1000):
        text = f"prompt {number}-{count}."
        await user.type("composer", f" {text}")  # after a restored draft, if the window was killed before sending it
        await user.until_true(lambda text=text: is_kept(drafts, text), "it is kept")
        print(f"typed {text}", flush=True)
        composer = await user.see(QWidget, "composer")
        QTest.keyClick(composer.focusProxy() or composer, Qt.Key.Key_Return)
        if count % 3:
            await user.until_true(lambda: not user.transcript.turns.is_running, "the turn has ended")
    await allowing


async def allow_everything(user: Driver) -> None:
    while True:
        dialog = user.find(ApprovalDialog, "approvalDialog")
        if dialog is not None and dialog.can_allow:
            QTest.keyClick(dialog, Qt.Key.Key_A, CTRL_SHIFT)
        await user.pause()


def is_kept(drafts: Path, text: str) -> bool:
    for path in drafts.rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_file() and text.encode() in path.read_bytes():
                return True
    return False


if __name__ == "__main__":
    drive(sys.argv[3:], Path(sys.argv[2]), lambda user: use(user, int(sys.argv[1])))
