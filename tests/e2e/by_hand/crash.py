"""The window in a process that kills itself while a question waits.

python -m tests.e2e.by_hand.crash ALBUM FOLDER --base-url URL
"""

import os
import signal
import sys
from pathlib import Path

from PySide6.QtCore import Qt

from tests.e2e.driver import Driver, drive


async def crash(user: Driver) -> None:
    await user.see_ready()
    await user.type("composer", "Write the file.")
    await user.press(Qt.Key.Key_Return)
    await user.until_true(lambda: bool(user.transcript.pending_approvals), "a question waits")
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    drive(sys.argv[2:], Path(sys.argv[1]), crash, opens_questions=False)
