import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.popup import Popup

_GROUND = "#ff00ff"


class Ground(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.painted: list[QRect] = []

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        self.painted.append(event.rect())
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(_GROUND))
        painter.end()


class Desk:
    def __init__(self, theme: Theme, qtbot: QtBot) -> None:
        self.qtbot = qtbot
        self.window = QWidget()
        self.window.resize(400, 300)
        qtbot.addWidget(self.window)
        self.ground = Ground()
        self.ground.setParent(self.window)
        self.ground.setGeometry(self.window.rect())
        self.frame = Popup(theme, self.window)
        self.frame.show()
        self.frame.setGeometry(50, 50, 300, 200)
        self.inside = QWidget(self.frame)
        self.inside.setGeometry(20, 20, 100, 100)
        with qtbot.waitExposed(self.window):
            self.window.show()
        qtbot.waitUntil(lambda: bool(self.ground.painted))

    def colour_at(self, x: int, y: int) -> str:
        return self.window.grab().toImage().pixelColor(QPoint(x, y)).name()


@pytest.fixture
def desk(theme: Theme, qtbot: QtBot) -> Desk:
    return Desk(theme, qtbot)


def test_what_it_hides_is_not_painted_when_something_in_it_changes(desk: Desk) -> None:
    desk.ground.painted.clear()
    desk.inside.repaint()
    desk.frame.repaint()
    assert desk.ground.painted == []


def test_its_corners_are_round_and_the_rest_hides_what_is_below(desk: Desk, theme: Theme) -> None:
    assert desk.colour_at(50, 50) == _GROUND
    assert desk.colour_at(349, 249) == _GROUND
    assert desk.colour_at(200, 50) == theme.colour("border_strong").name()
    assert desk.colour_at(200, 150) == theme.colour("surface").name()


def test_another_size_has_round_corners_too_and_gives_back_the_room(desk: Desk) -> None:
    desk.frame.resize(300, 100)
    assert desk.colour_at(349, 149) == _GROUND
    assert desk.colour_at(200, 200) == _GROUND
    assert desk.colour_at(200, 149) != _GROUND


def test_another_theme_draws_it_anew(desk: Desk, theme: Theme) -> None:
    theme.choose("dark")
    try:
        assert desk.colour_at(200, 150) == theme.colour("surface").name()
    finally:
        theme.choose("light")
