"""Find in the conversation: typing finds, Enter goes on, Shift+Enter goes back, Escape ends it."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import TextBlock
from desktop_agent.core.transcript import Entry, Transcript
from desktop_agent.ui.chat.conversation_search import Search
from desktop_agent.ui.chat.entries.entry import EntryRow
from desktop_agent.ui.chat.text.column_text import TextMatch
from desktop_agent.ui.chat.transcript.view import TranscriptView
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.find_bar import FindBar
from tests.ui.chat.stage import MODEL, answer, prompt

COUNT = 20_000


@pytest.mark.parametrize("entry", [prompt("needle " * COUNT), answer("needle " * COUNT)], ids=["prompt", "answer"])
def test_the_search_of_a_long_line_can_stop_between_its_parts(entry: Entry) -> None:
    row = EntryRow(entry, 0)
    search = Search("needle")
    steps = sum(1 for _ in search.read([row]))
    assert steps >= 7 * COUNT // 4_000
    assert search.total == COUNT
    assert row.stream is None, "what was read for the search is let go"


def test_what_stands_over_a_cut_within_a_line_is_found_in_the_part_where_it_begins() -> None:
    search = Search("needle")
    row = EntryRow(prompt("x" * 3_997 + "NEEDLE" + "x" * 100), 0)
    for _ in search.read_row(row):
        pass
    assert search.found[row] == [TextMatch(0, 3_997, 4_000)]


def test_the_way_through_many_matches_goes_round_in_both_directions() -> None:
    rows = [EntryRow(prompt("needle needle"), 0), EntryRow(prompt("hay"), 1), EntryRow(prompt("needle"), 2)]
    search = Search("needle")
    for _ in search.read(rows):
        pass
    search.step(1, 2)
    forward = [(search.position, search.step(1, 2)) for _ in range(4)]
    assert [position for position, _ in forward] == [3, 1, 2, 3]
    backward = [(search.step(-1, 2), search.position)[1] for _ in range(3)]
    assert backward == [3, 2, 1]


def test_a_row_that_changes_while_it_is_read_is_read_anew() -> None:
    row = EntryRow(prompt("needle " * COUNT), 0)
    search = Search("needle")
    old = search.read_row(row)
    next(old)
    row.entry = prompt("one needle")
    for steps in (search.read_row(row), old):
        for _ in steps:
            pass
    assert search.total == 1


SHIFT = Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def view(theme: Theme) -> TranscriptView:
    view = TranscriptView(theme)
    transcript = Transcript()
    transcript.apply(ev.PromptSubmitted(prompt_id="p", text="Count the pages", turn=1))
    content = (TextBlock(text="The pages are counted.\n\nAll **Pages** of them."),)
    transcript.apply(ev.MessageDone(turn=1, message_id="m", model=MODEL, content=content, stop_reason="end_turn"))
    view.show_transcript(transcript)
    return view


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    """The test keeps it: a widget without a parent lives as long as its Python object."""
    window = QWidget()
    qtbot.addWidget(window)
    return window


@pytest.fixture
def bar(qtbot: QtBot, window: QWidget, view: TranscriptView) -> FindBar:
    bar = FindBar(view.finder, view, "Find in the conversation", name="findBar")
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


def test_nothing_found_is_said_and_an_empty_field_says_nothing(qtbot: QtBot, bar: FindBar) -> None:
    find(qtbot, bar, "zebra", "Nothing found")
    field(bar).clear()
    qtbot.waitUntil(lambda: says(bar) == "")


def test_typing_finds_from_the_end_and_enter_and_the_buttons_go_on_and_round_and_back(
    qtbot: QtBot, bar: FindBar
) -> None:
    find(qtbot, bar, "PAGES", "3 of 3")
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
    for name, expected in (("Next match", "1 of 3"), ("Previous match", "3 of 3")):
        QTest.mouseClick(button(bar, name), Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda expected=expected: says(bar) == expected)


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
    assert bar.isHidden(), "it is out of the way until it is asked for"
    find(qtbot, bar, "pages", "3 of 3")
    assert field(bar).hasFocus()
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
