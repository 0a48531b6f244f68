"""The caret blinks while the user types, and stands still when they have not for a while."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.runtime import painting as module
from desktop_agent.ui.runtime.painting import RestingCaret


@pytest.fixture
def field(qtbot: QtBot) -> Iterator[QLineEdit]:
    window = QWidget()
    qtbot.addWidget(window)
    field = QLineEdit(window)
    window.show()
    qtbot.waitActive(window)
    field.setFocus()
    yield field
    window.close()


@pytest.fixture
def caret(qapp: QApplication, field: QLineEdit, monkeypatch: pytest.MonkeyPatch) -> Iterator[RestingCaret]:
    monkeypatch.setattr(module, "REST_MS", 1)
    caret = RestingCaret(qapp)
    yield caret
    caret.stop()
    caret.deleteLater()


def is_blinking(app: QApplication) -> bool:
    return app.styleHints().cursorFlashTime() > 0


@pytest.mark.usefixtures("caret")
def test_a_caret_that_is_left_alone_stands_still_until_the_next_key(
    qapp: QApplication, field: QLineEdit, qtbot: QtBot
) -> None:
    qtbot.waitUntil(lambda: not is_blinking(qapp))
    with qtbot.waitSignal(qapp.styleHints().cursorFlashTimeChanged):
        QTest.keyClick(field, Qt.Key.Key_A)
    assert field.text() == "a"
    qtbot.waitUntil(lambda: not is_blinking(qapp))


@pytest.mark.usefixtures("caret")
def test_a_caret_blinks_in_the_field_that_gets_the_focus(qapp: QApplication, field: QLineEdit, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not is_blinking(qapp))
    other = QLineEdit(field.window())
    other.show()
    with qtbot.waitSignal(qapp.styleHints().cursorFlashTimeChanged):
        other.setFocus()


def test_the_caret_blinks_as_before_when_the_window_has_gone(
    qapp: QApplication, caret: RestingCaret, qtbot: QtBot
) -> None:
    qtbot.waitUntil(lambda: not is_blinking(qapp))
    caret.stop()
    assert is_blinking(qapp)
