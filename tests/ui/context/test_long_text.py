"""A long text is inserted piece by piece, and the user's position stays."""

import pytest
from pytestqt.qtbot import QtBot

from desktop_agent.ui.context_inspector import LongText

LINES = "\n".join(f"{number} of many lines that are read" for number in range(9_000))


@pytest.fixture
def text(qtbot: QtBot) -> LongText:
    text = LongText()
    qtbot.addWidget(text)
    text.resize(400, 300)
    text.show()
    return text


def shown(text: LongText, qtbot: QtBot) -> str:
    qtbot.waitUntil(lambda: text.is_complete)
    return text.toPlainText()


def test_it_comes_in_pieces_and_whole(text: LongText, qtbot: QtBot) -> None:
    text.show_text(LINES)
    assert not text.is_complete
    assert LINES.startswith(text.toPlainText())
    assert shown(text, qtbot) == LINES
    assert not text.document().isModified()


def test_who_reads_stays_where_they_are_when_it_grows(text: LongText, qtbot: QtBot) -> None:
    text.show_text(LINES)
    shown(text, qtbot)
    text.verticalScrollBar().setValue(4_000)
    text.show_text(f"{LINES}\nand more")
    assert shown(text, qtbot) == f"{LINES}\nand more"
    assert text.verticalScrollBar().value() == 4_000


def test_another_text_begins_at_its_top_also_while_the_last_one_still_comes(text: LongText, qtbot: QtBot) -> None:
    text.show_text(LINES)
    text.verticalScrollBar().setValue(100)
    text.show_text("short")
    assert shown(text, qtbot) == "short"
    text.show_text("")
    assert shown(text, qtbot) == ""


@pytest.mark.parametrize("line", ["x" * 100_000, f"short\n{'x' * 50_000}\n\n{'y' * 8_000}\nend", "z" * 24_001])
def test_an_endless_line_is_broken_and_nothing_of_it_lost(text: LongText, qtbot: QtBot, line: str) -> None:
    text.show_text(line)
    lines = shown(text, qtbot).split("\n")
    assert "".join(lines) == line.replace("\n", "")
    assert max(map(len, lines)) == 8_000


def test_what_can_be_edited_can_be_undone_and_gives_way_to_what_it_is(text: LongText, qtbot: QtBot) -> None:
    text.show_text("- one", is_editable=True)
    assert not text.isReadOnly()
    text.appendPlainText("- two")
    assert text.document().isUndoAvailable()
    text.show_text("- one", is_editable=True)
    assert text.toPlainText() == "- one"
    text.show_text("- one")
    assert text.isReadOnly()
