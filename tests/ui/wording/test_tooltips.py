"""Tooltips show untrusted text without interpreting it."""

import pytest
from PySide6.QtGui import QTextDocument
from pytestqt.qtbot import QtBot

from desktop_agent.ui.wording import plain_tooltip


@pytest.mark.parametrize(
    "text", ["src/pages.py", "<b>bold</b> & <img src='x'>", "two\nlines  and   spaces", "a &lt; b", "1 < 2 > 0"]
)
def test_the_text_is_shown_sign_for_sign(qtbot: QtBot, text: str) -> None:
    document = QTextDocument()
    document.setHtml(plain_tooltip(text))
    assert document.toPlainText() == text


def test_no_text_is_no_tooltip() -> None:
    assert plain_tooltip("") == ""
