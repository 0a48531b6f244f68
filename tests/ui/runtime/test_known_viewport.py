"""A scroll area with a viewport made by Python behaves like one with Qt's own."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractScrollArea, QListWidget, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.runtime.painting import give_viewport


@pytest.mark.parametrize("kind", [QListWidget, QScrollArea, QAbstractScrollArea])
def test_it_is_as_the_one_that_qt_makes(qtbot: QtBot, kind: type[QAbstractScrollArea]) -> None:
    plain, ours = kind(), kind()
    qtbot.addWidget(plain)
    qtbot.addWidget(ours)
    given = give_viewport(ours)
    assert ours.viewport() is given
    assert given.parent() is ours
    for property_ in (QWidget.backgroundRole, QWidget.autoFillBackground, QWidget.focusProxy):
        of_qt, of_us = property_(plain.viewport()), property_(given)
        assert of_us == of_qt or (of_qt is plain and of_us is ours), property_


def test_a_list_scrolls_and_is_chosen_from_as_before(qtbot: QtBot) -> None:
    view = QListWidget()
    qtbot.addWidget(view)
    viewport = give_viewport(view)
    view.addItems([f"row {number}" for number in range(100)])
    view.resize(200, 200)
    view.show()
    qtbot.waitExposed(view)
    row = view.visualItemRect(view.item(2)).center()
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=row)
    assert view.currentRow() == 2
    QTest.keyClick(view, Qt.Key.Key_End)
    assert view.itemAt(QPoint(10, viewport.height() - 5)) is view.item(99)
