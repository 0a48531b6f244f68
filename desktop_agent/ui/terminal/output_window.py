"""Everything a command printed, in a window of its own: searchable, selectable, and quick at any length."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QLineEdit, QWidget

from desktop_agent.ui.terminal.document import PrintedDocument
from desktop_agent.ui.terminal.text_view import PrintedView
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hbox, vbox
from desktop_agent.ui.widgets.screen_room import resize_within_screen


class OutputWindow(QDialog):
    """A read-only text with a search field. Non-modal; deletes itself when it is closed."""

    def __init__(
        self, theme: Theme, title: str, printed: PrintedDocument, parent: QWidget | None = None, *, is_cut: bool = False
    ) -> None:
        """`is_cut` says that `printed` is only the end of it; see `MAX_CHARS`."""
        super().__init__(parent)
        self.setObjectName("outputWindow")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Output of {0}").format(title))
        self._text = PrintedView(theme, printed, self)
        self._text.setFont(theme.code_font())
        self._text.setAccessibleName(self.windowTitle())
        notes = [self.tr("Only the end is shown: the output is very long.")] if is_cut else []
        if printed.continued:
            notes.append(self.tr("↪ continues the line above; it is copied as one line."))
        note = make_label("  ".join(notes), role="secondary", parent=self)
        note.setVisible(bool(notes))
        self._field = QLineEdit(self)
        self._field.setPlaceholderText(self.tr("Find"))
        self._field.setAccessibleName(self.tr("Find in the output"))
        self._field.returnPressed.connect(self._find_next)
        close = make_button(self.tr("Close"), clicked=self.close, parent=self)
        foot = hbox((self._field, 1), note, close, spacing=Space.S)
        vbox((self._text, 1), foot, on=self, margins=(Space.M, Space.M, Space.M, Space.M), spacing=Space.S)
        QShortcut(QKeySequence.StandardKey.Find, self).activated.connect(self._field.setFocus)
        resize_within_screen(self, QSize(900, 640))

    def _find_next(self) -> None:
        """Go to the next place, from the beginning again after the last."""
        self._text.find_next(self._field.text())
