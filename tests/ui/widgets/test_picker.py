"""How a picker looks beside the other controls of a form."""

import pytest
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.picker import Picker
from tests.ui.ink import first_column


@pytest.mark.parametrize("is_editable", [False, True])
@pytest.mark.parametrize("has_focus", [False, True])
def test_its_text_begins_where_that_of_a_line_does(
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
    inside = line.rect().adjusted(4, 6, 0, -6)
    assert first_column(picker, inside) == first_column(line, inside)
