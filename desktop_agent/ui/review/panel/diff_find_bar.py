"""Find in the diff: a field above it. Enter goes on to the next place, round the end."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLineEdit, QPushButton, QWidget

from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import Slot, make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hbox


class DiffFindBar(QFrame):
    """Goes to the next place of a text in the diff, and says when there is none."""

    def __init__(self, view: DiffView, parent: QWidget) -> None:
        super().__init__(parent)
        self._view = view
        self.setObjectName("diffFindBar")
        self.setProperty("role", "bar")
        self._field = QLineEdit()
        self._field.setObjectName("diffFindField")
        self._field.setAccessibleName(self.tr("Find in the changes of this file"))
        self._field.setPlaceholderText(self.tr("Find in this file"))
        self._result = make_label(role="secondary")
        self._field.textEdited.connect(self._result.clear)
        find = _button("↓", self.tr("Next match (Enter)"), self._find_next)
        close = _button("✕", self.tr("Close (Esc)"), self._close)
        margins = (Space.M, Space.XS, Space.S, Space.XS)
        hbox((self._field, 1), self._result, find, close, on=self, margins=margins, spacing=Space.XS)

    def open_bar(self) -> None:
        """Show the bar and let the user type."""
        self.show()
        self._field.setFocus()
        self._field.selectAll()

    def event(self, event: QEvent) -> bool:
        is_override = event.type() == QEvent.Type.ShortcutOverride
        if is_override and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            event.accept()  # closes the bar, whatever else it would do in the window
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self._close()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._find_next()
        else:
            super().keyPressEvent(event)

    def _find_next(self) -> None:
        text = self._field.text()
        is_found = self._view.finder.find(text)
        self._result.setText("" if is_found or not text else self.tr("Nothing found"))

    def _close(self) -> None:
        self.hide()
        self._view.setFocus()


def _button(text: str, name: str, clicked: Slot) -> QPushButton:
    button = make_button(text, accessible_name=name, clicked=clicked, variant="flat", is_compact=True)
    button.setToolTip(name)
    return button
