"""How a picker looks beside the other controls of a form."""

import pytest
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.picker import Picker

_EDGE = 4
_DARK = 110


def text_begins(widget: QWidget) -> int:
    """The first column in which something dark stands, inside of the border."""
    picture = widget.grab().toImage()
    inside = range(_EDGE + 2, picture.height() - _EDGE - 2)
    columns = range(_EDGE, picture.width())
    return next(x for x in columns if any(QColor(picture.pixel(x, y)).lightness() < _DARK for y in inside))


@pytest.mark.parametrize("has_focus", [False, True])
def test_its_text_begins_where_that_of_a_line_does(qapp: QApplication, qtbot: QtBot, *, has_focus: bool) -> None:
    Theme(qapp, "light").install()
    form = QWidget()
    qtbot.addWidget(form)
    line, picker = QLineEdit("HHHH", form), Picker(form)
    picker.addItem("HHHH")
    line.setGeometry(10, 10, 150, 28)
    picker.setGeometry(10, 50, 150, 28)
    form.show()
    form.activateWindow()
    (picker if has_focus else line).setFocus()
    qtbot.waitUntil((picker if has_focus else line).hasFocus)
    assert text_begins(picker) == text_begins(line)
