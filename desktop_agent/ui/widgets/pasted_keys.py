"""Keeps API keys out of every line of the window but the one that is for them.

A key that is pasted into a search, an address or the message would be shown, searched for or sent. It is refused there,
however it came (a key, a menu, the mouse), and offered to be kept.
"""

from PySide6.QtCore import QMimeData, QTimer, Signal
from PySide6.QtGui import QValidator
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget

from desktop_agent.core.base.secrets import is_provider_key

TAKES_KEYS = "takesKeys"
"""The property of the field that keys are for."""


class PastedKeys(QValidator):
    """Watches the line that has the focus, and lets it take anything but a key.

    Signals:
        found: a key was pasted where it does not belong, and is not there; carries the key.
    """

    found = Signal(str)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._refused = ""
        self._offer_soon = QTimer(self, interval=0, singleShot=True)
        self._offer_soon.timeout.connect(self._offer)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._on_focus_changed)

    def refuses(self, data: QMimeData) -> bool:
        """Whether pasted data is a key as a whole; it is then offered to be kept."""
        text = data.text() if data.hasText() else ""
        is_refused = is_provider_key(text)
        if is_refused:
            self.found.emit(text.strip())
        return is_refused

    def validate(self, arg__1: str, arg__2: int) -> tuple[QValidator.State, str, int]:
        # Qt undoes what is not valid before the line shows or reports it.
        for word in arg__1.split():
            if is_provider_key(word):
                self._refused = word
                self._offer_soon.start()  # not now: the line is in the middle of taking the text
                return QValidator.State.Invalid, arg__1, arg__2
        return QValidator.State.Acceptable, arg__1, arg__2

    def _offer(self) -> None:
        key, self._refused = self._refused, ""
        self.found.emit(key)

    def _on_focus_changed(self, _old: QWidget | None, new: QWidget | None) -> None:
        if isinstance(new, QLineEdit) and not new.property(TAKES_KEYS):
            new.setValidator(self)
