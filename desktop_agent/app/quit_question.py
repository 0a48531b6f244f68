"""Whether to quit while the agent works, or a program runs in the terminal."""

import asyncio

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QMessageBox, QWidget


class QuitQuestion:
    """Asks one question at a time."""

    def __init__(self, window: QWidget) -> None:
        self._window = window
        self._is_asking = False

    async def ask(self, working: int, busy: int = 0) -> bool:
        """Ask whether to stop that many turns, and the programs of that many shells of the user's.

        Closing the question is a no; so is asking while it is open.
        """
        if self._is_asking:
            return False
        self._is_asking = True
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        box = QMessageBox(self._window)
        box.setObjectName("quitDialog")
        box.setWindowTitle(_tr("Quit"))
        if working:
            box.setText(_tr("The agent is still working. Stop it and quit?"))
            box.setInformativeText(_tr("Its processes are ended. The conversation and its changes are kept."))
        else:
            box.setText(_tr("A program is still running in the terminal. End it and quit?"))
        stop = box.addButton(_tr("Stop and quit"), QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(_tr("Keep working"), QMessageBox.ButtonRole.RejectRole))

        def on_finished() -> None:
            answer.set_result(box.clickedButton() is stop)

        box.finished.connect(on_finished)
        box.open()
        try:
            return await answer
        finally:
            self._is_asking = False
            box.deleteLater()


def _tr(text: str) -> str:
    return QCoreApplication.translate("QuitQuestion", text)
