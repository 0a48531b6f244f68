"""What goes with a server at an address: headers, and what this application is registered as there."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from desktop_agent.ui.settings.parts import form, name_of, note
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.layouts import hbox, vbox

_MOST_HEADERS = 8


class AddressFields(QWidget):
    """Asks for it. Values of headers and the secret of a client are not shown while they are typed.

    Signals:
        edited: the user changed something.
        submitted: the user pressed Enter in a field.
    """

    edited = Signal()
    submitted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._headers: list[tuple[QLineEdit, QLineEdit]] = []
        self._header_rows = QVBoxLayout()
        self._header_rows.setSpacing(Space.S)
        self._client_id = self._line("serverClientIdEdit", self.tr("Client ID at the server"))
        self._client_id.setPlaceholderText(self.tr("Only if you registered this application there by hand"))
        self._client_id.textChanged.connect(self._on_client_id)
        self._secret = self._line("serverClientSecretEdit", self.tr("Client secret at the server"))
        self._secret.setEchoMode(QLineEdit.EchoMode.Password)
        self._secret.setPlaceholderText(self.tr("If there is one"))
        client = form()
        client.addRow(name_of(self.tr("Client ID")), self._client_id)
        self._secret_name = name_of(self.tr("Client secret"))
        client.addRow(self._secret_name, self._secret)
        about = note(self.tr("Headers that are secrets, and the client secret, go to the keyring of your system."))
        headers = hbox(name_of(self.tr("Headers")), (self._header_rows, 1), spacing=Space.L)
        vbox(headers, client, hbox(name_of(""), (about, 1), spacing=Space.L), on=self, spacing=Space.M)
        self.clear()

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers that are to go with every request, by name. Raises `ValueError` for one without a name."""
        typed = [(name.text().strip(), value.text().strip()) for name, value in self._headers]
        if any(value and not name for name, value in typed):
            raise ValueError(self.tr("a header needs a name"))
        return tuple((name, value) for name, value in typed if name)

    @property
    def client_id(self) -> str:
        """What this application is registered as; empty when it is not."""
        return self._client_id.text().strip()

    @property
    def client_secret(self) -> str:
        """What proves it; empty when there is none."""
        return self._secret.text().strip() if self.client_id else ""

    def clear(self) -> None:
        """Forget what was typed."""
        while len(self._headers) > 1:
            for line in self._headers.pop():
                line.deleteLater()
            row = self._header_rows.takeAt(len(self._headers))
            assert row is not None
        if not self._headers:
            self._add_header()
        for line in (*self._headers[0], self._client_id, self._secret):
            line.clear()
        self._on_client_id()

    def _add_header(self) -> None:
        number = len(self._headers) + 1
        name = self._line("serverHeaderNameEdit", self.tr("Name of header {0}").format(number))
        name.setPlaceholderText(self.tr("Authorization") if number == 1 else self.tr("Another header"))
        value = self._line("serverHeaderValueEdit", self.tr("Value of header {0}").format(number))
        value.setEchoMode(QLineEdit.EchoMode.Password)
        value.setPlaceholderText(self.tr("Bearer …") if number == 1 else "")
        name.textChanged.connect(self._on_header)
        self._headers.append((name, value))
        self._header_rows.addLayout(hbox((name, 1), (value, 2), spacing=Space.S))

    def _line(self, name: str, accessible_name: str) -> QLineEdit:
        line = QLineEdit()
        line.setObjectName(name)
        line.setAccessibleName(accessible_name)
        line.returnPressed.connect(self.submitted)
        line.textEdited.connect(self.edited)
        return line

    def _on_header(self) -> None:
        """Offer one more as soon as the last one has a name."""
        if self._headers[-1][0].text() and len(self._headers) < _MOST_HEADERS:
            self._add_header()

    def _on_client_id(self) -> None:
        for widget in (self._secret_name, self._secret):
            widget.setVisible(bool(self.client_id))
