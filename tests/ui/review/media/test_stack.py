"""The view of a change as what it is, and as its text."""

import asyncio
import json
import os

import pytest
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.media.media_view import MediaStack, may_be_media, media_kind
from desktop_agent.ui.theme import Theme
from tests.ui.review.media.pictures import SVG, picture
from tests.ui.review.stage import make_diff


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
    with asyncio.Runner() as runner:
        runner.run(stack.show_change(make_diff(before, after, path=path), before, after))


def button(stack: MediaStack, name: str) -> QPushButton:
    found = stack.findChild(QPushButton, name)
    assert found is not None
    return found


def test_a_picture_is_shown_in_place_of_its_text(stack: MediaStack) -> None:
    show(stack, "a.png", picture(9, 9), picture(9, 9, "#ffffff"))
    assert (stack.kind, stack.is_text_shown) == ("image", False)
    assert not button(stack, "showTextButton").isVisible()


def test_a_drawing_is_a_picture_and_a_text(stack: MediaStack, text: DiffView, qtbot: QtBot) -> None:
    show(stack, "a.svg", SVG, SVG.replace(b"red", b"blue"))
    assert not stack.is_text_shown
    with qtbot.waitSignal(stack.switched):
        button(stack, "showTextButton").click()
    assert text.isVisible()
    show(stack, "b.svg", None, SVG)
    assert stack.is_text_shown  # the choice holds
    button(stack, "showMediaButton").click()
    assert not stack.is_text_shown


def test_a_drawing_that_must_not_be_drawn_is_its_text(stack: MediaStack) -> None:
    bad = SVG.replace(b"</svg>", b'<image href="file:///etc/passwd"/></svg>')
    show(stack, "a.svg", None, bad)
    assert (stack.kind, stack.is_text_shown) == (None, True)


def test_a_notebook_is_compared_cell_by_cell_or_as_json(stack: MediaStack) -> None:
    show(stack, "a.ipynb", notebook("x = 1"), notebook("x = 2"))
    diff = stack.media.notebook_view.document.diff
    assert diff is not None
    assert diff.new_lines == ("# %%\n", "x = 2\n")
    assert button(stack, "showTextButton").text() == "Raw JSON"


def test_a_damaged_notebook_is_its_text(stack: MediaStack) -> None:
    show(stack, "a.ipynb", notebook("x = 1"), b'{"cells": [')
    assert stack.is_text_shown


def test_other_bytes_are_known_by_type_size_hash_and_difference(stack: MediaStack) -> None:
    before = b"SQLite format 3\0" + bytes(range(256))
    after = before[:100] + b"\xff" + before[101:] + bytes(1_000)
    show(stack, "a.db", before, after)
    words = [label.text() for label in stack.media.binary_view.findChildren(QLabel)]
    assert words.count("SQLite database") == 2
    assert "272 bytes" in words
    assert "1.3 kB (1272 bytes)" in words
    assert "First difference at byte 100" in words
    shown = stack.media.findChild(QPlainTextEdit, "hexText")
    assert shown is not None
    assert shown.toPlainText().startswith("00000060  50 51 52 53 54")
    assert len(shown.extraSelections()) >= 2


def test_a_picture_that_is_damaged_on_both_sides_is_a_binary_file(stack: MediaStack) -> None:
    show(stack, "a.png", b"\x89PNG\r\n\x1a\n" + bytes(9), b"\x89PNG\r\n\x1a\n" + bytes(19))
    assert stack.kind == "binary"


def test_a_new_binary_file_has_one_side(stack: MediaStack) -> None:
    show(stack, "a.bin", None, b"\0\1\2")
    words = [label.text() for label in stack.media.binary_view.findChildren(QLabel)]
    assert "There is no file" in words
    assert "It begins with" in words


def test_bytes_fit_the_width_there_is(stack: MediaStack) -> None:
    content = os.urandom(600)
    show(stack, "a.bin", None, b"\0" + content)
    shown = stack.media.findChild(QPlainTextEdit, "hexText")
    assert shown is not None
    assert shown.blockCount() == 16
    stack.resize(300, 600)
    assert shown.blockCount() == 32


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
