"""A picture's window fits it at first, and then zooms."""

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.picture_canvas import PictureWindow
from desktop_agent.ui.widgets.picture_decoding import decode
from tests.ui.pictures import picture


def opened(qtbot: QtBot, qapp: QApplication, width: int, height: int) -> PictureWindow:
    window = PictureWindow(Theme(qapp), "shot.png", decode(picture(width, height, "#B3261E")))
    window.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(window)
    with qtbot.waitExposed(window):
        window.show()
    return window


def press(window: PictureWindow, name: str) -> None:
    next(
        button for button in window.findChildren(QPushButton) if name in (button.text(), button.accessibleName())
    ).click()


def test_a_small_picture_is_shown_as_it_is(qtbot: QtBot, qapp: QApplication) -> None:
    window = opened(qtbot, qapp, 100, 80)
    image = window.grab().toImage()
    assert window.canvas.scale == 1.0
    assert "#b3261e" in {image.pixelColor(x, image.height() // 2 - 20).name() for x in range(image.width())}


def test_a_large_picture_is_fitted_again_and_zoomed_by_buttons_and_the_wheel(qtbot: QtBot, qapp: QApplication) -> None:
    window = opened(qtbot, qapp, 4_000, 1_000)
    first = window.canvas.scale
    assert first < 0.5
    window.resize(500, 400)
    qtbot.waitUntil(lambda: window.canvas.scale < first)
    fitted = window.canvas.scale
    press(window, "Larger")
    assert window.canvas.scale > fitted
    press(window, "Smaller")
    press(window, "Smaller")
    assert window.canvas.scale < fitted
    press(window, "100 %")
    assert window.canvas.scale == 1.0
    press(window, "Fit")
    assert window.canvas.scale == fitted
    turned = QWheelEvent(
        QPointF(5, 5), QPointF(5, 5), QPoint(), QPoint(0, 120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.ControlModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(window.canvas.viewport(), turned)
    assert window.canvas.scale > fitted
