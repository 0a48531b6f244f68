"""A field returns exactly the text that it was given, whatever was typed around it."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.exact_field import ExactField, FoldBar, SeenParts

HOSTILE = "a #\u2028touch\u2029x\ufdd0y\ufdd1z\r\nn\xa0b\u202e😀\u200b\udcff⟨U+2028⟩ end\r"


@pytest.fixture
def field(qtbot: QtBot, theme: Theme) -> ExactField:
    field = ExactField(theme, HOSTILE)
    qtbot.addWidget(field)
    field.resize(500, 160)
    with qtbot.waitExposed(field):
        field.show()
    return field


def test_the_text_comes_back_as_it_was(field: ExactField) -> None:
    assert field.text == HOSTILE
    assert "\u2028" not in field.toPlainText()
    assert "⟨U+2028⟩touch⟨U+2029⟩x⟨U+FDD0⟩y⟨U+FDD1⟩z␍\nn⟨U+00A0⟩b⟨U+202E⟩😀" in field.toPlainText()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.sampled_from("ab \t\n\r\u2028\u2029\ufdd0\xa0\u202e😀⟨U+2028⟩·5\udc80\U000e0041"), max_size=60))
def test_any_text_comes_back_as_it_was(theme: Theme, qapp: object, text: str) -> None:
    assert ExactField(theme, text).text == text


def test_what_is_typed_stands_beside_what_cannot_be_seen(field: ExactField) -> None:
    cursor = field.textCursor()
    cursor.setPosition(3 + len("⟨U+2028⟩"))
    field.setTextCursor(cursor)
    QTest.keyClicks(field, "xy")
    assert field.text == HOSTILE.replace("\u2028", "\u2028xy", 1)
    field.undo()
    field.undo()
    assert field.text == HOSTILE


@pytest.mark.parametrize("key", [Qt.Key.Key_Backspace, Qt.Key.Key_Delete, Qt.Key.Key_X])
def test_a_stand_in_goes_as_a_whole(field: ExactField, key: Qt.Key) -> None:
    cursor = field.textCursor()
    cursor.setPosition(3 + 4)
    field.setTextCursor(cursor)
    QTest.keyClick(field, key)
    assert field.text == HOSTILE.replace("\u2028", "x" if key == Qt.Key.Key_X else "", 1)


def test_the_text_is_read_once_after_each_change(field: ExactField) -> None:
    assert field.text is field.text
    for change, text in (
        (lambda: QTest.keyClicks(field, "x"), "x" + HOSTILE),
        (field.undo, HOSTILE),
        (field.redo, "x" + HOSTILE),
        (lambda: field.insertPlainText("yz"), "xyz" + HOSTILE),
        (lambda: field.set_text("ls\n\n"), "ls\n\n"),
        (field.clear, ""),
    ):
        change()
        assert field.text == text


def test_what_is_copied_and_pasted_stays_what_it_is(field: ExactField) -> None:
    field.selectAll()
    copied = field.createMimeDataFromSelection()
    assert copied.text() == HOSTILE.replace("\udcff", "?")
    data = QMimeData()
    data.setText("x\u2028y\xa0z")
    field.insertFromMimeData(data)
    assert field.text == "x\u2028y\xa0z"


def test_an_unseen_character_that_is_typed_is_named(field: ExactField) -> None:
    field.selectAll()
    QTest.keyClicks(field, "a\xa0b")
    QTest.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(field, "c")
    assert field.text == "a\xa0b\nc"
    assert "⟨U+00A0⟩" in field.toPlainText()


def test_all_of_a_short_text_is_seen_at_once_and_a_long_one_only_after_looking(qtbot: QtBot, theme: Theme) -> None:
    field = ExactField(theme, "\n".join(f"line {number}" for number in range(300)))
    qtbot.addWidget(field)
    field.resize(400, 150)
    with qtbot.waitExposed(field):
        field.show()
    qtbot.waitUntil(lambda: 0 < field.unseen().lines < 300)
    field.moveCursor(QTextCursor.MoveOperation.End)
    field.viewport().repaint()
    assert field.unseen().lines > 250, "the end alone is not the whole"
    for _ in range(60):
        field.show_more()
        field.viewport().repaint()
    assert field.unseen().is_nothing


def test_a_line_that_goes_on_says_for_how_long(qtbot: QtBot, theme: Theme) -> None:
    field = ExactField(theme, "x" * 6_000)
    qtbot.addWidget(field)
    field.resize(400, 100)
    with qtbot.waitExposed(field):
        field.show()
    qtbot.waitUntil(lambda: field.unseen().characters < 6_000)
    assert field.unseen().lines == 0
    assert field.unseen().characters > 5_000


def test_many_blanks_are_a_count_and_come_back(theme: Theme, qapp: object) -> None:
    text = "python3 -c '" + " " * 6_000 + "; import os'"
    field = ExactField(theme, text)
    assert "·6,000 spaces·" in field.toPlainText()
    assert field.text == text


def test_what_is_too_long_is_never_seen_whole(qtbot: QtBot, theme: Theme) -> None:
    text = "x\n" * 50_000
    field = ExactField(theme, text)
    qtbot.addWidget(field)
    assert field.text == text
    field._seen.add(0, 10**6)  # pyright: ignore[reportPrivateUsage] - as if one had scrolled through all that is shown
    assert field.unseen().characters == 40_000


def folded(qtbot: QtBot, theme: Theme, lines: int, *, rows: int) -> tuple[ExactField, FoldBar]:
    """Return a field of `rows` rows, once its fold bar is there."""
    field = ExactField(theme, "\n".join(map(str, range(lines))))
    fold = FoldBar(field)
    for widget in (field, fold):
        qtbot.addWidget(widget)
    field.resize(500, rows * field.fontMetrics().lineSpacing())
    field.show()
    qtbot.waitUntil(lambda: not fold.isHidden())
    return field, fold


def test_a_short_text_that_was_too_low_for_a_moment_says_nothing_of_what_was_seen(qtbot: QtBot, theme: Theme) -> None:
    field, fold = folded(qtbot, theme, 7, rows=3)
    assert not fold.is_all_seen
    field.resize(500, 12 * field.fontMetrics().lineSpacing())
    qtbot.waitUntil(lambda: fold.is_all_seen and fold.isHidden())


def test_of_a_long_text_it_is_said_that_all_of_it_was_seen(qtbot: QtBot, theme: Theme) -> None:
    field, fold = folded(qtbot, theme, 20, rows=12)
    field.verticalScrollBar().setValue(field.verticalScrollBar().maximum())
    qtbot.waitUntil(lambda: fold.text() == "You have seen all of it")
    assert not fold.isHidden()


def test_seen_parts_follow_changes() -> None:
    seen = SeenParts()
    assert seen.add(0, 5)
    assert seen.add(8, 10)
    assert not seen.add(1, 4)
    assert seen.first_unseen() == 5
    assert seen.add(5, 8)
    assert seen.first_unseen() == 10
    seen.change(3, 2, 4)
    assert seen.first_unseen() == 3
    assert seen.add(3, 7)
    assert seen.first_unseen() == 12
