"""Asks before the keys of all actions are those by default again."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame

from desktop_agent.ui.theme import Space
from desktop_agent.ui.translation.plurals import plural
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import hbox
from desktop_agent.ui.widgets.note import Note


class ResetQuestion(QFrame):
    """Stands where the buttons were, until it is answered. Esc is a no.

    Signals:
        confirmed: they are to be reset.
        refused: they are to stay.
    """

    confirmed = Signal()
    refused = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._words = Note(object_name="resetKeysQuestion")
        self._keep = make_button(self.tr("Keep them"), object_name="keepKeysButton", clicked=self.refused)
        reset = make_button(
            self.tr("Reset all"), object_name="confirmResetKeysButton", clicked=self.confirmed, variant="destructive"
        )
        hbox((self._words, 1), self._keep, reset, on=self, spacing=Space.S)

    def ask(self, count: int) -> None:
        """Ask about the keys of so many actions."""
        one = "%n action has keys of your own. It gets back those it came with."
        many = "%n actions have keys of your own. They get back those they came with."
        self._words.say(plural("ResetQuestion", count, one, many), "warning")
        self.show()
        self._keep.setFocus(Qt.FocusReason.OtherFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.refused.emit()
        else:
            super().keyPressEvent(event)
