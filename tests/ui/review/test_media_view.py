import asyncio
import json

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton, QSlider
from pytestqt.qtbot import QtBot

from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.media_view import ImageView, MediaStack, may_be_media, media_kind
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.picture_canvas import MAX_FITTED
from desktop_agent.ui.widgets.picture_decoding import decode
from tests.core.diff.changes import make_diff
from tests.parts import part
from tests.ui.ink import colours_of
from tests.ui.pictures import SVG, picture
from tests.ui.review.stage import run_now

RED, BLUE = QColor("#ff0000"), QColor("#0000ff")


@pytest.fixture
def view(qtbot: QtBot, theme: Theme) -> ImageView:
    view = ImageView(theme)
    qtbot.addWidget(view)
    view.resize(640, 480)
    view.show()
    view.show_versions(decode(picture(100, 80, "#ff0000")), decode(picture(100, 80, "#0000ff")))
    return view


def at(view: ImageView, across: float) -> QColor:
    image = view.canvas.viewport().grab().toImage()
    return image.pixelColor(round(image.width() * across), round(image.height() * 0.5))


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
    assert view.canvas.scale == MAX_FITTED


def test_the_swipe_is_moved_by_keyboard_slider_and_mouse(view: ImageView) -> None:
    part(view, QPushButton, "swipeButton").click()
    assert (at(view, 0.3), at(view, 0.7)) == (RED, BLUE)
    QTest.keyClick(view.canvas, Qt.Key.Key_End)
    assert (at(view, 0.7), view.canvas.split) == (RED, 1.0)
    QTest.keyClick(view.canvas, Qt.Key.Key_Home)
    assert (at(view, 0.3), view.canvas.split) == (BLUE, 0.0)
    QTest.keyClick(view.canvas, Qt.Key.Key_Right)
    QTest.keyClick(view.canvas, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert view.canvas.split == pytest.approx(0.12)
    slider = part(view, QSlider, "swipeSlider")
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
    part(view, QPushButton, "onionButton").click()
    mixed = at(view, 0.5)
    assert mixed.red() == pytest.approx(128, abs=3)
    assert mixed.blue() == pytest.approx(128, abs=3)


def test_the_difference_of_what_is_the_same_is_black(view: ImageView) -> None:
    part(view, QPushButton, "differenceButton").click()
    assert at(view, 0.5) == QColor("#ff00ff")
    view.show_versions(decode(picture(100, 80, "#ff0000")), decode(picture(100, 80, "#ff0000")))
    assert at(view, 0.5) == QColor("#000000")


def test_zooming_by_keyboard_and_back_to_all_of_it(view: ImageView) -> None:
    fitted = view.canvas.scale
    QTest.keyClick(view.canvas, Qt.Key.Key_1)
    assert (view.canvas.scale, view.canvas.is_fitted) == (1.0, False)
    assert part(view, QPushButton, "pictureActualButton").isChecked()
    QTest.keyClick(view.canvas, Qt.Key.Key_Plus)
    QTest.keyClick(view.canvas, Qt.Key.Key_Plus)
    assert view.canvas.scale == 1.5625
    QTest.keyClick(view.canvas, Qt.Key.Key_Minus)
    assert view.canvas.scale == 1.25
    QTest.keyClick(view.canvas, Qt.Key.Key_0)
    assert view.canvas.scale == fitted


def test_what_is_larger_than_its_place_can_be_scrolled(view: ImageView) -> None:
    view.canvas.set_scale(20.0)
    assert view.canvas.horizontalScrollBar().maximum() > 0
    assert view.canvas.verticalScrollBar().maximum() > 0
    assert (at(view, 0.1), at(view, 0.9)) == (RED, BLUE)


@pytest.mark.parametrize("is_new", [True, False])
def test_a_new_or_deleted_picture_has_one_side(view: ImageView, is_new: bool) -> None:
    part(view, QPushButton, "swipeButton").click()
    one, none = decode(picture(100, 80, "#ff0000")), decode(None)
    view.show_versions(none if is_new else one, one if is_new else none)
    assert at(view, 0.5) == RED
    assert [caption.split("  ")[0] for caption in captions(view)] == ["New" if is_new else "Deleted"]
    assert not part(view, QPushButton, "swipeButton").isVisible()


def test_a_version_that_cannot_be_drawn_says_why_beside_the_other(view: ImageView) -> None:
    view.show_versions(decode(picture(100, 80, "#ff0000")), decode(b"no picture"))
    assert at(view, 0.25) == RED
    assert not part(view, QPushButton, "swipeButton").isVisible()


def test_what_is_transparent_shows_squares(view: ImageView, theme: Theme) -> None:
    clear = decode(picture(100, 80, "#00000000"))
    view.show_versions(clear, clear)
    assert {theme.colours.surface, theme.colours.border} <= colours_of(view.canvas.viewport().grab())


def notebook(source: str) -> bytes:
    cell: object = {"cell_type": "code", "source": source, "outputs": [], "metadata": {}, "execution_count": None}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}).encode()


@pytest.fixture
def text(qtbot: QtBot, theme: Theme) -> DiffView:
    text = DiffView(theme)
    qtbot.addWidget(text)
    return text


@pytest.fixture
def stack(qtbot: QtBot, theme: Theme, text: DiffView) -> MediaStack:
    stack = MediaStack(theme)
    stack.hold(text)
    qtbot.addWidget(stack)
    stack.resize(900, 600)
    stack.show()
    return stack


def show(stack: MediaStack, path: str, before: bytes | None, after: bytes | None) -> None:
    run_now(stack.show_change(make_diff(before, after, path=path), before, after))


def test_a_drawing_is_a_picture_and_a_text(stack: MediaStack, text: DiffView, qtbot: QtBot) -> None:
    show(stack, "a.svg", SVG, SVG.replace(b"red", b"blue"))
    assert not stack.is_text_shown
    with qtbot.waitSignal(stack.switched):
        part(stack, QPushButton, "showTextButton").click()
    assert text.isVisible()
    show(stack, "b.svg", None, SVG)
    assert stack.is_text_shown  # the choice holds
    part(stack, QPushButton, "showMediaButton").click()
    assert not stack.is_text_shown


def test_a_notebook_is_compared_cell_by_cell_or_as_json(stack: MediaStack) -> None:
    show(stack, "a.ipynb", notebook("x = 1"), notebook("x = 2"))
    diff = stack.notebook_view.document.diff
    assert diff is not None
    assert diff.new_lines == ("# %%\n", "x = 2\n")
    assert part(stack, QPushButton, "showTextButton").text() == "Raw JSON"


@pytest.mark.parametrize(
    ("path", "before", "after", "kind"),
    [
        ("a.png", picture(9, 9), picture(9, 9, "#ffffff"), "image"),
        ("a.svg", None, SVG.replace(b"</svg>", b'<image href="file:///etc/passwd"/></svg>'), None),
        ("a.ipynb", notebook("x = 1"), b'{"cells": [', None),
        ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(9), b"\x89PNG\r\n\x1a\n" + bytes(19), "binary"),
    ],
    ids=["a picture", "a drawing that must not be drawn", "a damaged notebook", "damaged on both sides"],
)
def test_what_can_be_shown_is_shown_in_place_of_its_text(
    stack: MediaStack, path: str, before: bytes | None, after: bytes, kind: str | None
) -> None:
    show(stack, path, before, after)
    assert (stack.kind, stack.is_text_shown) == (kind, kind is None)
    assert not part(stack, QPushButton, "showTextButton").isVisible()


def test_other_bytes_are_known_by_type_size_hash_and_difference_and_a_new_file_has_one_side(stack: MediaStack) -> None:
    before = b"SQLite format 3\0" + bytes(range(256))
    after = before[:100] + b"\xff" + before[101:] + bytes(1_000)
    show(stack, "a.db", before, after)
    words = [label.text() for label in stack.binary_view.findChildren(QLabel)]
    assert words.count("SQLite database") == 2
    assert "272 bytes" in words
    assert "1.3 kB (1272 bytes)" in words
    assert "First difference at byte 100" in words
    shown = part(stack, QPlainTextEdit, "hexText")
    row = "00000060  50 51 52 53 54 55 56 57  PQRSTUVW  50 51 52 53 ff 55 56 57  PQRS.UVW\n"
    assert shown.toPlainText().startswith(row)
    assert len(shown.extraSelections()) >= 2
    show(stack, "a.bin", None, bytes(601))
    words = [label.text() for label in stack.binary_view.findChildren(QLabel)]
    assert {"There is no file", "First bytes"} <= set(words)
    shown = part(stack, QPlainTextEdit, "hexText")
    assert shown.blockCount() == 16
    stack.resize(300, 600)
    assert shown.blockCount() == 32, "bytes fit the width there is"


async def test_a_change_that_comes_too_late_is_dropped(stack: MediaStack) -> None:
    old = asyncio.ensure_future(stack.show_change(make_diff(None, b"\0", path="a.bin"), None, b"\0"))
    await asyncio.sleep(0)
    stack.show_text()
    await old
    assert stack.is_text_shown


@pytest.mark.parametrize(
    ("path", "before", "after", "kind"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\n", None, "image"),
        ("a.txt", b"text", b"\x89PNG\r\n\x1a\n\0", "image"),
        ("a.svg", b"<svg/>", None, "image"),
        ("a.html", b"<svg/>", b"<html>", None),
        ("a.ipynb", b"{}", b"{}", "notebook"),
        ("a.bin", b"\0", None, "binary"),
        ("a.py", b"x", b"y", None),
        ("a.py", None, None, None),
    ],
)
def test_how_a_change_is_shown(path: str, before: bytes | None, after: bytes | None, kind: str | None) -> None:
    assert media_kind(path, before, after) == kind


def test_contents_of_plain_text_are_not_worth_fetching() -> None:
    assert not may_be_media(make_diff("a", "b"))
    assert may_be_media(make_diff(b"\0", b"\0\0"))
    assert may_be_media(make_diff("a", "b", path="a.svg"))
    assert may_be_media(make_diff("a", "b", path="a.IPYNB"))
