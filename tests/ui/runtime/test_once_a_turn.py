"""What is asked for again and again in one turn of the loop is done once, and before anything is painted."""

from PySide6.QtCore import QObject
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.runtime.once_a_turn import OnceATurn


class Canvas(QWidget):
    """Notes when it is painted."""

    def __init__(self, happened: list[str]) -> None:
        super().__init__()
        self._happened = happened

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        self._happened.append("painted")


def test_what_is_asked_for_thrice_is_done_once_and_before_painting(qtbot: QtBot) -> None:
    happened: list[str] = []
    canvas = Canvas(happened)
    qtbot.addWidget(canvas)
    with qtbot.waitExposed(canvas):
        canvas.show()
    once = OnceATurn(lambda: happened.append("done"), canvas)
    happened.clear()
    canvas.update()
    for _ in range(3):
        once.ask()
    assert happened == []
    QApplication.processEvents()
    assert happened == ["done", "painted"]


def test_what_is_asked_for_while_it_is_done_is_done_again(qapp: QApplication) -> None:
    happened: list[str] = []
    owner = QObject()

    def act() -> None:
        happened.append("done")
        if len(happened) == 1:
            once.ask()

    once = OnceATurn(act, owner)
    once.ask()
    for _ in range(3):
        qapp.processEvents()
    assert happened == ["done", "done"]
