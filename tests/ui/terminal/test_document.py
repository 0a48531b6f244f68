"""A long output is plain text at once; visible lines get their colours."""

import pytest
from PySide6.QtGui import QTextBlock, QTextCursor
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from desktop_agent.core.terminal.printout import COLUMNS
from desktop_agent.core.terminal.rows import PrintedStyle, Run
from desktop_agent.ui.terminal.output_window import PrintedDocument, PrintedView
from desktop_agent.ui.theme import Theme

PRINTED = "".join(f"\x1b[32mline\x1b[0m {number}\n" for number in range(5_000))


def test_the_text_is_what_a_terminal_would_leave() -> None:
    document = PrintedDocument.read("a\r\n\x1b[31mred\n10 %\r20 %\x1b[0m\nsep\u2028arated")
    assert document.text == "a\nred\n20 %\nsep arated"


def coloured(view: PrintedView) -> list[int]:
    found: list[int] = []
    block: QTextBlock = view.document().begin()
    while block.isValid():
        if block.layout().formats():
            found.append(block.blockNumber())
        block = block.next()
    return found


def test_only_what_is_seen_is_coloured(qtbot: QtBot, theme: Theme) -> None:
    view = PrintedView(theme, PrintedDocument.read(PRINTED))
    qtbot.addWidget(view)
    view.resize(400, 300)
    with qtbot.waitExposed(view):
        view.show()
    view.grab()
    first = coloured(view)
    assert first[0] == 0
    assert len(first) < 60
    view.verticalScrollBar().setValue(4_000)
    view.grab()
    assert 4_000 in coloured(view)
    assert len(coloured(view)) < 120


def test_another_theme_brings_its_own_colours(qtbot: QtBot, theme: Theme) -> None:
    view = PrintedView(theme, PrintedDocument.read(PRINTED))
    qtbot.addWidget(view)
    view.show()
    view.grab()

    def colour() -> str:
        [found] = view.document().begin().layout().formats()
        return found.format.foreground().color().name()

    light = colour()
    theme.choose("dark")
    try:
        view.grab()
        assert colour() != light
    finally:
        theme.choose("light")


LONG = "".join(f"word{number} é\xa0😀 " for number in range(1_500))
FOLDED = f"first\n{LONG}\n\nlast"


@pytest.fixture
def folded(qtbot: QtBot, theme: Theme) -> PrintedView:
    view = PrintedView(theme, PrintedDocument.read(FOLDED))
    qtbot.addWidget(view)
    view.resize(400, 300)
    with qtbot.waitExposed(view):
        view.show()
    return view


def test_a_long_line_is_laid_out_in_rows(folded: PrintedView) -> None:
    block = folded.document().begin()
    lengths: list[int] = []
    while block.isValid():
        lengths.append(len(block.text()))
        block = block.next()
    assert max(lengths) <= COLUMNS
    assert sum(lengths) == len(FOLDED.replace("\n", ""))


def test_a_long_line_is_copied_as_one(folded: PrintedView, qapp: QApplication) -> None:
    folded.selectAll()
    folded.copy()
    assert qapp.clipboard().text() == FOLDED
    cursor = folded.textCursor()
    cursor.setPosition(2)
    cursor.setPosition(6 + COLUMNS + 300, QTextCursor.MoveMode.KeepAnchor)
    folded.setTextCursor(cursor)
    folded.copy()
    copied = qapp.clipboard().text()
    assert copied.startswith("rst\nword0")
    assert copied in FOLDED
    assert len(copied) > COLUMNS


def test_what_stands_over_the_end_of_a_row_is_found(folded: PrintedView, qapp: QApplication) -> None:
    sought = LONG[COLUMNS - 4 : COLUMNS + 4]
    assert folded.find_next(sought.upper())
    folded.copy()
    assert qapp.clipboard().text() == sought
    assert folded.find_next("LAST")
    assert folded.textCursor().selectedText() == "last"
    assert folded.find_next("first"), "it goes on from the beginning"
    assert not folded.find_next("nowhere")


def test_colours_go_on_in_the_rows_of_a_long_line_and_in_the_lines_after_it() -> None:
    red = PrintedStyle("ansi1")
    document = PrintedDocument.read(f"a\n\x1b[31m{'x' * 2_500}\nand more\n\x1b[0m{'y' * 100}\nb \x1b[31mc")
    assert document.runs == {
        1: (Run(0, 1_000, red),),
        2: (Run(0, 1_000, red),),
        3: (Run(0, 500, red),),
        4: (Run(0, 8, red),),
        6: (Run(2, 1, red),),
    }


def test_rows_that_go_on_with_the_one_above_have_a_sign(folded: PrintedView, theme: Theme) -> None:
    edge = folded.viewport().grab().toImage().copy(0, 0, 16, 300)
    row = folded.cursorRect().height()
    ground = theme.colour("surface").rgb()
    marked = [
        any(edge.pixel(x, y) != ground for x in range(2, 14) for y in range(18 + row * number, 17 + row * (number + 1)))
        for number in range(4)
    ]
    assert marked == [False, False, True, True]
