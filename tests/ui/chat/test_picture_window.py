"""A picture's window fits it at first, and then zooms."""

from PySide6.QtCore import QPoint, QPointF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QWheelEvent
from PySide6.QtWidgets import QApplication, QPushButton, QScrollArea
from pytestqt.qtbot import QtBot

from desktop_agent.ui.chat.picture_window import PictureWindow


def opened(qtbot: QtBot, width: int, height: int) -> PictureWindow:
    image = QImage(width, height, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(QColor("#B3261E"))
    window = PictureWindow("shot.png", image, QSize(width, height))
    window.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(window)
    with qtbot.waitExposed(window):
        window.show()
    return window


def press(window: PictureWindow, name: str) -> None:
    next(
        button for button in window.findChildren(QPushButton) if name in (button.text(), button.accessibleName())
    ).click()


def test_a_small_picture_is_shown_as_it_is(qtbot: QtBot) -> None:
    window = opened(qtbot, 100, 80)
    image = window.grab().toImage()
    assert window.scale == 1.0
    assert "#b3261e" in {image.pixelColor(x, image.height() // 2 - 20).name() for x in range(image.width())}


def test_a_large_picture_is_fitted_follows_the_window_and_is_zoomed_by_buttons_and_the_wheel(qtbot: QtBot) -> None:
    window = opened(qtbot, 4_000, 1_000)
    first = window.scale
    assert first < 0.5
    window.resize(500, 400)
    qtbot.waitUntil(lambda: window.scale < first)
    fitted = window.scale
    press(window, "Larger")
    assert window.scale > fitted
    press(window, "Smaller")
    press(window, "Smaller")
    assert window.scale < fitted
    press(window, "100 %")
    assert window.scale == 1.0
    press(window, "Fit")
    assert window.scale == fitted
    picture = window.findChildren(QScrollArea)[0].widget()
    assert picture is not None
    turned = QWheelEvent(
        QPointF(5, 5), QPointF(5, 5), QPoint(), QPoint(0, 120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.ControlModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(picture, turned)
    assert window.scale > fitted
