"""Keeps API keys out of every line of the window but the one that is for them.

A key that is pasted into a search, an address or the message would be shown, searched for or sent. It is refused there,
however it came (a key, a menu, the mouse), and offered to be kept.
"""

from PySide6.QtCore import QMimeData, QObject, Qt, Signal
from PySide6.QtGui import QValidator
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget

from desktop_agent.core.base.secrets import is_provider_key

TAKES_KEYS = "takesKeys"
"""The property of the field that keys are for."""


class PastedKeys(QObject):
    """Watches the line that has the focus.

    Signals:
        found: a key was pasted where it does not belong, and is not there; carries the key.
    """

    found = Signal(str)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        self._refusal = _Refusal(self)
        # Later: the line is in the middle of taking the text.
        self._refusal.refused.connect(self.found, Qt.ConnectionType.QueuedConnection)
        app.focusChanged.connect(self._on_focus_changed)

    def refuses(self, data: QMimeData) -> bool:
        """Whether pasted data is a key as a whole; it is then offered to be kept."""
        text = data.text() if data.hasText() else ""
        is_refused = is_provider_key(text)
        if is_refused:
            self.found.emit(text.strip())
        return is_refused

    def _on_focus_changed(self, _old: QWidget | None, new: QWidget | None) -> None:
        if isinstance(new, QLineEdit) and not new.property(TAKES_KEYS):
            new.setValidator(self._refusal)


class _Refusal(QValidator):
    """Lets a line take anything but a key: Qt undoes what is not valid before the line shows or reports it."""

    refused = Signal(str)

    def validate(self, arg__1: str, arg__2: int) -> tuple[QValidator.State, str, int]:
        for word in arg__1.split():
            if is_provider_key(word):
                self.refused.emit(word)
                return QValidator.State.Invalid, arg__1, arg__2
        return QValidator.State.Acceptable, arg__1, arg__2
