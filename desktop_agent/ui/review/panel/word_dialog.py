"""Undo with a message: the agent reads with the user's next message what was undone, and why."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QPlainTextEdit, QWidget

from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.dialogs import DIALOG_MARGINS, answer_with_ctrl_enter, set_up_dialog
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox

_WIDTH = 440
_FIELD_HEIGHT = 84


class WordDialog(QDialog):
    """Asks for the word. Open it with `open()`.

    Signals:
        given: the user wants the undo, with these words.
    """

    given = Signal(str)

    def __init__(self, what: str, parent: QWidget | None = None) -> None:
        """`what` says what is undone: `Undo turn`, a path."""
        super().__init__(parent)
        set_up_dialog(self, "undoWordDialog", what)
        self.setMinimumWidth(_WIDTH)
        heading = make_label(what, role="title", wraps=True, is_plain=True)
        why = self.tr("The agent reads this with your next message, so that it does not try the same again.")
        hint = make_label(why, role="secondary", wraps=True)
        self._field = QPlainTextEdit()
        self._field.setObjectName("undoWordEdit")
        self._field.setAccessibleName(self.tr("Message to the agent"))
        self._field.setPlaceholderText(self.tr("Why are you undoing this?"))
        self._field.setFixedHeight(_FIELD_HEIGHT)
        self._field.setTabChangesFocus(True)
        cancel = make_button(self.tr("Cancel"), clicked=self.reject)
        undo = make_button(self.tr("Undo"), object_name="undoWithWordButton", clicked=self._give, variant="primary")
        answer_with_ctrl_enter(self, undo)
        buttons = hbox(STRETCH, cancel, undo, spacing=Space.S)
        vbox(heading, hint, self._field, Space.XS, buttons, on=self, margins=DIALOG_MARGINS, spacing=Space.S)
        self._field.setFocus()

    def _give(self) -> None:
        self.given.emit(self._field.toPlainText().strip())
        self.accept()
