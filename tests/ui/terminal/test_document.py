"""A long output is plain text at once; colours are worked out for the lines that are seen."""

from PySide6.QtGui import QTextBlock
from pytestqt.qtbot import QtBot

from desktop_agent.ui.terminal.document import PrintedDocument
from desktop_agent.ui.terminal.line import Run
from desktop_agent.ui.terminal.look import Look
from desktop_agent.ui.terminal.text_view import PrintedView
from desktop_agent.ui.theme import Theme

PRINTED = "".join(f"\x1b[32mline\x1b[0m {number}\n" for number in range(5_000))


def test_the_text_is_what_a_terminal_would_leave() -> None:
    document = PrintedDocument.read("a\r\n\x1b[31mred\n10 %\r20 %\x1b[0m\nsep\u2028arated")
    assert document.text == "a\nred\n20 %\nsep arated"


def test_each_line_knows_the_colours_that_go_on_in_it() -> None:
    document = PrintedDocument.read("\x1b[31mred\nand more\n\x1b[0mplain")
    assert document.line(1).runs == (Run(0, 8, Look("ansi1")),)
    assert document.line(2).runs == ()


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
