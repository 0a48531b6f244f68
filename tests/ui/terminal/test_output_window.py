"""A command's whole output: coloured, and searched from the start again after its end."""

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPlainTextEdit
from pytestqt.qtbot import QtBot

from desktop_agent.ui.terminal.output_window import OutputWindow, PrintedDocument
from desktop_agent.ui.theme import Theme


@pytest.fixture
def window(qapp: QApplication, qtbot: QtBot) -> OutputWindow:
    printed = PrintedDocument.read("\x1b[31mneedle\x1b[0m one\n" + "hay\n" * 500 + "needle two\n")
    window = OutputWindow(Theme(qapp, "light"), "make", printed, is_cut=True)
    qtbot.addWidget(window)
    with qtbot.waitExposed(window):
        window.show()
    return window


def test_it_shows_the_text_without_escape_codes_and_says_that_it_is_only_the_end(window: OutputWindow) -> None:
    [text] = window.findChildren(QPlainTextEdit)
    assert text.toPlainText().startswith("needle one\nhay\n")
    assert text.isReadOnly()
    assert any("Only the end" in label.text() and label.isVisible() for label in window.findChildren(QLabel))


def test_finding_goes_on_and_begins_again(window: OutputWindow) -> None:
    [text] = window.findChildren(QPlainTextEdit)
    [field] = window.findChildren(QLineEdit)
    field.setText("needle")
    lines: list[int] = []
    for _ in range(3):
        field.returnPressed.emit()
        lines.append(text.textCursor().blockNumber())
    assert lines == [0, 501, 0]
