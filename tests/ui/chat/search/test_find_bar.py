"""Find in the conversation: typing finds, Enter goes on, Shift+Enter goes back, Escape ends it."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import TextBlock
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.chat.transcript.view import TranscriptView
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.find_bar import FindBar
from tests.ui.chat.stage import MODEL

SHIFT = Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def view(theme: Theme) -> TranscriptView:
    """Three mentions of pages, in two messages."""
    view = TranscriptView(theme)
    transcript = Transcript()
    transcript.apply(ev.PromptSubmitted(prompt_id="p", text="Count the pages", turn=1))
    content = (TextBlock(text="The pages are counted.\n\nAll **Pages** of them."),)
    transcript.apply(ev.MessageDone(turn=1, message_id="m", model=MODEL, content=content, stop_reason="end_turn"))
    view.show_transcript(transcript)
    return view


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    """Kept by the test: a widget without a parent lives as long as its Python object."""
    window = QWidget()
    qtbot.addWidget(window)
    return window


@pytest.fixture
def bar(qtbot: QtBot, window: QWidget, view: TranscriptView) -> FindBar:
    bar = FindBar(view.finder, view.finder.found, view, "Find in the conversation", name="findBar")
    layout = QVBoxLayout(window)
    layout.addWidget(bar)
    layout.addWidget(view)
    window.resize(800, 600)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    return bar


def field(bar: FindBar) -> QLineEdit:
    (found,) = bar.findChildren(QLineEdit)
    return found


def says(bar: FindBar) -> str:
    (label,) = bar.findChildren(QLabel)
    return label.text()


def button(bar: FindBar, name: str) -> QPushButton:
    (found,) = [one for one in bar.findChildren(QPushButton) if one.accessibleName() == name]
    return found


def find(qtbot: QtBot, bar: FindBar, text: str, expected: str) -> None:
    bar.open_bar()
    QTest.keyClicks(field(bar), text)
    qtbot.waitUntil(lambda: says(bar) == expected)


def test_it_is_out_of_the_way_until_it_is_asked_for(bar: FindBar) -> None:
    assert bar.isHidden()
    bar.open_bar()
    assert bar.isVisible()
    assert field(bar).hasFocus()


def test_typing_finds_whatever_the_case_from_the_end_on(qtbot: QtBot, bar: FindBar) -> None:
    find(qtbot, bar, "PAGES", "3 of 3")


def test_nothing_found_is_said_and_an_empty_field_says_nothing(qtbot: QtBot, bar: FindBar) -> None:
    find(qtbot, bar, "zebra", "Nothing found")
    field(bar).clear()
    qtbot.waitUntil(lambda: says(bar) == "")


def test_enter_goes_on_and_round_and_shift_enter_back(qtbot: QtBot, bar: FindBar) -> None:
    find(qtbot, bar, "pages", "3 of 3")
    for key, modifiers, expected in (
        (Qt.Key.Key_Return, Qt.KeyboardModifier.NoModifier, "1 of 3"),
        (Qt.Key.Key_Enter, Qt.KeyboardModifier.NoModifier, "2 of 3"),
        (Qt.Key.Key_Return, Qt.KeyboardModifier.NoModifier, "3 of 3"),
        (Qt.Key.Key_Return, SHIFT, "2 of 3"),
        (Qt.Key.Key_Return, SHIFT, "1 of 3"),
        (Qt.Key.Key_Return, SHIFT, "3 of 3"),
    ):
        QTest.keyClick(field(bar), key, modifiers)
        qtbot.waitUntil(lambda expected=expected: says(bar) == expected)


def test_the_buttons_go_on_and_back(qtbot: QtBot, bar: FindBar) -> None:
    find(qtbot, bar, "pages", "3 of 3")
    QTest.mouseClick(button(bar, "Next match"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: says(bar) == "1 of 3")
    QTest.mouseClick(button(bar, "Previous match"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: says(bar) == "3 of 3")


def test_what_is_found_can_be_seen(qtbot: QtBot, bar: FindBar, view: TranscriptView, theme: Theme) -> None:
    def has_marks() -> bool:
        image = view.grab().toImage()
        mark = theme.colour("found_current").rgb()
        return any(image.pixel(x, y) == mark for x in range(0, image.width(), 2) for y in range(0, image.height(), 2))

    assert not has_marks()
    find(qtbot, bar, "pages", "3 of 3")
    qtbot.waitUntil(has_marks)
    bar.close_bar()
    qtbot.waitUntil(lambda: not has_marks())


@pytest.mark.parametrize("by_key", [True, False])
def test_closing_ends_the_search_and_goes_back_to_the_conversation(
    qtbot: QtBot, bar: FindBar, view: TranscriptView, by_key: bool
) -> None:
    find(qtbot, bar, "pages", "3 of 3")
    if by_key:
        QTest.keyClick(field(bar), Qt.Key.Key_Escape)
    else:
        QTest.mouseClick(button(bar, "Close"), Qt.MouseButton.LeftButton)
    assert bar.isHidden()
    assert view.hasFocus()
    assert not view.finder.is_reading


def test_opened_again_it_finds_the_same_and_typing_replaces_it(qtbot: QtBot, bar: FindBar) -> None:
    find(qtbot, bar, "pages", "3 of 3")
    bar.close_bar()
    bar.open_bar()
    qtbot.waitUntil(lambda: says(bar).endswith("of 3"))
    QTest.keyClicks(field(bar), "counted")
    assert field(bar).text() == "counted"
    qtbot.waitUntil(lambda: says(bar) == "1 of 1")
