"""Says below the files what was just done to one of them, and offers to take it back."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame

from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hbox


class DoneBar(QFrame):
    """Hidden until something was done. It stays until the next thing is done, or it is closed.

    Signals:
        undo_requested: take back what was done last: the ids of its changes.
    """

    undo_requested = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("filesDoneBar")
        self._changes: tuple[str, ...] = ()
        self._words = make_label(role="secondary", object_name="filesDone", wraps=True, is_plain=True)
        self._undo = make_button(self.tr("Undo"), object_name="filesUndoButton", clicked=self._on_undo, is_compact=True)
        close = make_button("✕", accessible_name=self.tr("Close"), clicked=self.hide, variant="flat", is_compact=True)
        margins = (Space.S, Space.XS, 0, Space.XS)
        hbox((self._words, 1), self._undo, close, on=self, margins=margins, spacing=Space.XS)
        self.hide()

    def say(self, words: str, changes: tuple[str, ...] = ()) -> None:
        """Show what was done, by these changes, or why it was not."""
        self._changes = changes
        self._words.setText(words)
        self.setAccessibleName(words)
        self._undo.setVisible(bool(changes))
        self.show()

    def _on_undo(self) -> None:
        self.hide()
        self.undo_requested.emit(self._changes)
