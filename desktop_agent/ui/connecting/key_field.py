"""A line for an API key: hidden unless it is to be seen, and forgotten with its undo history."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import hbox
from desktop_agent.ui.widgets.pasted_keys import TAKES_KEYS


class ApiKeyField(QWidget):
    """The line, with the button that shows what is in it.

    Signals:
        changed: something else is in it.
        confirmed: Enter was pressed.
    """

    changed = Signal()
    confirmed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._line = QLineEdit()
        self._line.setObjectName("apiKeyEdit")
        self._line.setProperty(TAKES_KEYS, True)
        self._line.setAccessibleName(self.tr("API key"))
        self._line.setPlaceholderText(self.tr("Paste a key"))
        self._line.setEchoMode(QLineEdit.EchoMode.Password)
        self._line.setInputMethodHints(
            Qt.InputMethodHint.ImhHiddenText
            | Qt.InputMethodHint.ImhSensitiveData
            | Qt.InputMethodHint.ImhNoPredictiveText
            | Qt.InputMethodHint.ImhNoAutoUppercase
        )
        self._show = make_button(self.tr("Show"), object_name="showKeyButton")
        self._show.setCheckable(True)
        self._show.setAccessibleName(self.tr("Show the key"))
        hbox((self._line, 1), self._show, on=self, spacing=Space.S)
        self.setFocusProxy(self._line)
        self._show.toggled.connect(self._on_show)
        self._line.textChanged.connect(self.changed)
        self._line.returnPressed.connect(self.confirmed)

    @property
    def text(self) -> str:
        """The key that was typed; empty when there is none."""
        return self._line.text().strip()

    @property
    def has_keyboard(self) -> bool:
        """Whether the user types here."""
        return self._line.hasFocus()

    def offer(self, key: str) -> None:
        """Take a key that was pasted elsewhere."""
        self._line.setText(key)
        self.take_focus()

    def forget(self) -> None:
        """Empty it for good."""
        self._line.setText("")  # unlike clear(), this drops the undo history as well
        self._show.setChecked(False)

    def take_focus(self) -> None:
        """Put the keyboard into it."""
        self._line.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_show(self, is_shown: bool) -> None:
        self._line.setEchoMode(QLineEdit.EchoMode.Normal if is_shown else QLineEdit.EchoMode.Password)
        self._show.setText(self.tr("Hide") if is_shown else self.tr("Show"))
