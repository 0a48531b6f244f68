"""Go to a line: a bar above the file."""

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QIntValidator, QKeyEvent
from PySide6.QtWidgets import QFrame, QLineEdit

from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox

_MAX_LINE = 99_999_999


class LineBar(QFrame):
    """Takes the number of a line.

    Signals:
        chosen: go to this line, from 1.
        closed: the bar is gone.
    """

    chosen = Signal(int)
    closed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("viewerLineBar")
        self.setProperty("role", "bar")
        self._field = QLineEdit()
        self._field.setObjectName("lineField")
        self._field.setAccessibleName(self.tr("Line to go to"))
        self._field.setValidator(QIntValidator(1, _MAX_LINE, self))
        self._field.setFixedWidth(110)
        label = make_label(self.tr("Go to line"))
        label.setBuddy(self._field)
        self._of = make_label(role="secondary")
        close = make_button("✕", clicked=self.close_bar, variant="flat", accessible_name=self.tr("Close"))
        close.setProperty("compact", True)
        close.setToolTip(self.tr("Close (Esc)"))
        margins = (Space.M, Space.XS, Space.M, Space.XS)
        hbox(label, self._field, self._of, STRETCH, close, on=self, margins=margins, spacing=Space.S)
        self.hide()

    def open_bar(self, current: int, count: int) -> None:
        """Let the user type a line, of so many; the present one is there first."""
        self._of.setText(self.tr("of {0}").format(count))
        self._field.setText(str(current))
        self.show()
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._field.selectAll()

    def close_bar(self) -> None:
        """Take no line any more."""
        self.hide()
        self.closed.emit()

    def event(self, event: QEvent) -> bool:
        is_override = event.type() == QEvent.Type.ShortcutOverride
        if is_override and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            event.accept()  # closes the bar, whatever else it would do in the window
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_bar()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if self._field.hasAcceptableInput():
                self.chosen.emit(int(self._field.text()))
            self.close_bar()
        else:
            super().keyPressEvent(event)
