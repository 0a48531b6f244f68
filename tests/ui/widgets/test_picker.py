import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.buttons import Picker
from tests.ui.ink import ink_rect

FIRST_LETTER = QRect(4, 4, 14, 20)
"""Of the text in a control of 28 pixels height, without the control's edge."""


@pytest.mark.parametrize("is_editable", [False, True])
@pytest.mark.parametrize("has_focus", [False, True])
def test_its_text_stands_where_that_of_a_line_does(
    qapp: QApplication, qtbot: QtBot, *, has_focus: bool, is_editable: bool
) -> None:
    Theme(qapp, "light").install()
    form = QWidget()
    qtbot.addWidget(form)
    line, picker = QLineEdit("HHHH", form), Picker(form)
    picker.setEditable(is_editable)
    picker.addItem("HHHH")
    line.setGeometry(10, 10, 150, 28)
    picker.setGeometry(10, 50, 150, 28)
    form.show()
    form.activateWindow()
    focused = picker if has_focus else line
    focused.setFocus()
    qtbot.waitUntil(focused.hasFocus)
    of_picker, of_line = ink_rect(picker, FIRST_LETTER), ink_rect(line, FIRST_LETTER)
    assert of_picker.left() == of_line.left()
    assert of_picker.bottom() == of_line.bottom(), "both have the same baseline"


@pytest.mark.parametrize("count", [3, 16])
@pytest.mark.parametrize("is_editable", [False, True])
def test_its_list_opens_below_it_with_every_choice_whole(
    qapp: QApplication, qtbot: QtBot, count: int, *, is_editable: bool
) -> None:
    Theme(qapp, "light").install()
    long = "A choice that is wider than its field"
    picker = Picker(choices=[(f"{long} {number}", number) for number in range(count)], is_editable=is_editable)
    qtbot.addWidget(picker)
    picker.setCurrentIndex(count - 1)
    picker.show()
    picker.showPopup()
    shown = picker.view()
    qtbot.waitUntil(shown.isVisible)
    assert shown.window().geometry().top() >= picker.mapToGlobal(picker.rect().bottomLeft()).y()
    first, last = (shown.visualRect(picker.model().index(row, 0)) for row in (0, count - 1))
    assert shown.viewport().rect().contains(first.united(last))
    assert shown.viewport().width() > picker.fontMetrics().horizontalAdvance(long)
    picker.hidePopup()


def test_scrolling_past_it_chooses_nothing(qapp: QApplication, qtbot: QtBot) -> None:
    picker = Picker(choices=[("One", 1), ("Two", 2)])
    qtbot.addWidget(picker)
    picker.show()
    picker.setFocus()
    here = QPointF(picker.rect().center())
    turn = QWheelEvent(
        here, picker.mapToGlobal(here), QPoint(), QPoint(0, -120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    qapp.sendEvent(picker, turn)
    assert picker.currentData() == 1
    assert not turn.isAccepted()
