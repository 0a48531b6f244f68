"""The wait for a sign-in in the browser: that it goes on, and the address for when no browser opens."""

from PySide6.QtCore import QSize
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit, QWidget

from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hbox, vbox


class BrowserWait(QWidget):
    """Shows that the browser is waited for, and where the sign-in goes on."""

    def __init__(self) -> None:
        super().__init__()
        self._words = make_label(role="strong", wraps=True, is_plain=True, object_name="browserWaitNote")
        self._how = make_label(role="secondary", wraps=True, is_plain=True)
        self._address = QLineEdit()
        self._address.setObjectName("signInAddressEdit")
        self._address.setReadOnly(True)
        self._address.setAccessibleName(self.tr("Address of the sign-in"))
        self._copy = make_button(self.tr("Copy"), object_name="copyAddressButton", clicked=self._on_copy)
        self._copy.setAccessibleName(self.tr("Copy the address"))
        row = hbox((self._address, 1), self._copy, spacing=Space.S)
        vbox(self._words, self._how, row, on=self, spacing=Space.S)
        self.show_address("", is_open=True)

    def sizeHint(self) -> QSize:
        return QSize(320, super().sizeHint().height())

    def show_address(self, address: str, *, is_open: bool) -> None:
        """Show where the sign-in goes on; `is_open` says that a browser seems to have opened there."""
        if is_open:
            self._words.setText(self.tr("Waiting for the browser…"))
            self._how.setText(self.tr("Sign in there, at most 10 minutes. If no browser opened, open this address:"))
        else:
            self._words.setText(self.tr("No browser could be opened."))
            self._how.setText(self.tr("Open this address in a browser on this machine, within 10 minutes:"))
        self._address.setText(address)
        self._address.setCursorPosition(0)
        self._copy.setText(self.tr("Copy"))
        self._copy.setEnabled(bool(address))

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._address.text())
        self._copy.setText(self.tr("Copied"))
