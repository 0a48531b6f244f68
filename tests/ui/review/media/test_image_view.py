"""Two versions of a picture, looked at by their pixels."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QSlider
from pytestqt.qtbot import QtBot

from desktop_agent.ui.review.media.image_view import ImageView
from desktop_agent.ui.review.media.picture_canvas import MAX_FITTED
from desktop_agent.ui.review.media.picture_decoding import decode
from desktop_agent.ui.theme import Theme
from tests.ui.review.media.pictures import picture

RED, BLUE = QColor("#ff0000"), QColor("#0000ff")


@pytest.fixture
def view(qtbot: QtBot, theme: Theme) -> ImageView:
    view = ImageView(theme)
    qtbot.addWidget(view)
    view.resize(640, 480)
    view.show()
    view.show_versions(decode(picture(100, 80, "#ff0000")), decode(picture(100, 80, "#0000ff")))
    return view


def seen(view: ImageView) -> QImage:
    return view.canvas.viewport().grab().toImage()


def at(view: ImageView, across: float, down: float = 0.5) -> QColor:
    image = seen(view)
    return image.pixelColor(round(image.width() * across), round(image.height() * down))


def button(view: ImageView, name: str) -> QPushButton:
    found = view.findChild(QPushButton, name)
    assert found is not None
    return found


def captions(view: ImageView) -> list[str]:
    return [label.text() for label in view.findChildren(QLabel) if "image" in label.text() and label.isVisible()]


def test_both_stand_beside_each_other_at_one_scale(view: ImageView) -> None:
    assert (at(view, 0.25), at(view, 0.75)) == (RED, BLUE)
    assert captions(view)[0].startswith("Before  100 × 80 · PNG image · ")
    assert captions(view)[1].startswith("After  100 × 80 · PNG image · ")
    view.show_versions(decode(picture(100, 80, "#ff0000")), decode(picture(50, 40, "#0000ff")))
    assert at(view, 0.25) == RED
    assert at(view, 0.75) != BLUE  # half as large: the middle is beyond its corner


def test_a_small_picture_is_enlarged_up_to_a_point(view: ImageView) -> None:
    view.show_versions(decode(picture(8, 8)), decode(picture(8, 8)))
    assert view.canvas.scroller.scale == MAX_FITTED


def test_the_swipe_is_moved_by_keyboard_slider_and_mouse(view: ImageView) -> None:
    button(view, "swipeButton").click()
    assert (at(view, 0.3), at(view, 0.7)) == (RED, BLUE)
    QTest.keyClick(view.canvas, Qt.Key.Key_End)
    assert (at(view, 0.7), view.canvas.split) == (RED, 1.0)
    QTest.keyClick(view.canvas, Qt.Key.Key_Home)
    assert (at(view, 0.3), view.canvas.split) == (BLUE, 0.0)
    QTest.keyClick(view.canvas, Qt.Key.Key_Right)
    QTest.keyClick(view.canvas, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert view.canvas.split == pytest.approx(0.12)
    slider = view.findChild(QSlider, "swipeSlider")
    assert slider is not None
    assert slider.isVisible()
    assert slider.value() == 120
    slider.setValue(800)
    assert view.canvas.split == 0.8
    middle = view.canvas.viewport().rect().center()
    QTest.mousePress(view.canvas.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    assert view.canvas.split == pytest.approx(0.5, abs=0.01)
    QTest.mouseMove(view.canvas.viewport(), middle + QPoint(40, 0))
    QTest.mouseRelease(view.canvas.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    assert "% of the old version" in view.canvas.accessibleDescription()


def test_blending_shows_both_through_each_other(view: ImageView) -> None:
    button(view, "onionButton").click()
    mixed = at(view, 0.5)
    assert mixed.red() == pytest.approx(128, abs=3)
    assert mixed.blue() == pytest.approx(128, abs=3)


def test_the_difference_of_what_is_the_same_is_black(view: ImageView) -> None:
    button(view, "differenceButton").click()
    assert at(view, 0.5) == QColor("#ff00ff")
    view.show_versions(decode(picture(100, 80, "#ff0000")), decode(picture(100, 80, "#ff0000")))
    assert at(view, 0.5) == QColor("#000000")


def test_zooming_by_keyboard_and_back_to_all_of_it(view: ImageView) -> None:
    fitted = view.canvas.scroller.scale
    QTest.keyClick(view.canvas, Qt.Key.Key_1)
    assert (view.canvas.scroller.scale, view.canvas.scroller.is_fitted) == (1.0, False)
    assert button(view, "pictureActualButton").isChecked()
    QTest.keyClick(view.canvas, Qt.Key.Key_Plus)
    QTest.keyClick(view.canvas, Qt.Key.Key_Plus)
    assert view.canvas.scroller.scale == 1.5625
    QTest.keyClick(view.canvas, Qt.Key.Key_Minus)
    assert view.canvas.scroller.scale == 1.25
    QTest.keyClick(view.canvas, Qt.Key.Key_0)
    assert view.canvas.scroller.scale == fitted


def test_what_is_larger_than_its_place_can_be_scrolled(view: ImageView) -> None:
    view.canvas.set_scale(20.0)
    assert view.canvas.horizontalScrollBar().maximum() > 0
    assert view.canvas.verticalScrollBar().maximum() > 0
    assert (at(view, 0.1), at(view, 0.9)) == (RED, BLUE)


@pytest.mark.parametrize("is_new", [True, False])
def test_a_new_or_deleted_picture_has_one_side(view: ImageView, is_new: bool) -> None:
    button(view, "swipeButton").click()
    one, none = decode(picture(100, 80, "#ff0000")), decode(None)
    view.show_versions(none if is_new else one, one if is_new else none)
    assert at(view, 0.5) == RED
    assert [caption.split("  ")[0] for caption in captions(view)] == ["New" if is_new else "Deleted"]
    assert not button(view, "swipeButton").isVisible()


def test_a_version_that_cannot_be_drawn_says_why_beside_the_other(view: ImageView) -> None:
    view.show_versions(decode(picture(100, 80, "#ff0000")), decode(b"no picture"))
    assert at(view, 0.25) == RED
    assert not button(view, "swipeButton").isVisible()


def test_what_is_transparent_shows_squares(view: ImageView, theme: Theme) -> None:
    clear = decode(picture(100, 80, "#00000000"))
    view.show_versions(clear, clear)
    image = seen(view)
    colours = {image.pixelColor(x, image.height() // 2).name() for x in range(100, 200)}
    assert {theme.colour("surface").name(), theme.colour("border").name()} <= colours
