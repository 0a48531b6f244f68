"""The form for a new MCP server: what it is called, and how it is started or reached."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QSizePolicy, QWidget

from desktop_agent.core.mcp.new_servers import KNOWN_SERVERS, is_address, known_server, typed_definition
from desktop_agent.ui.settings.parts import form, name_of, note, picker
from desktop_agent.ui.settings.servers.address_fields import AddressFields
from desktop_agent.ui.settings.servers.sandbox_fields import SandboxFields
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox
from desktop_agent.ui.wording.tooltips import plain_tooltip


class ServerForm(QWidget):
    """Asks for a new server.

    Signals:
        added: the user wants this server (a `ServerDefinition`), which can be used as it is, with the secret of its
            client (a text, mostly empty).
        cancelled: the user wants none.
    """

    added = Signal(object, str)
    cancelled = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._names: tuple[str, ...] = ()
        self._name = QLineEdit()
        self._name.setObjectName("serverNameEdit")
        self._name.setAccessibleName(self.tr("Name of the server"))
        self._name.setPlaceholderText(self.tr("For example: git"))
        self._where = QLineEdit()
        self._where.setObjectName("serverWhereEdit")
        self._where.setAccessibleName(self.tr("Command line or address of the server"))
        self._where.setPlaceholderText(self.tr("uvx mcp-server-git, or https://…"))
        known = [(server.name, server.name) for server in KNOWN_SERVERS]
        self._known = picker(self.tr("Known servers"), [(self.tr("Your own"), None), *known])
        self._known.setObjectName("knownServerPicker")
        self._known.currentIndexChanged.connect(self._on_known)
        self._about, self._needs = ElidedLabel(), ElidedLabel()
        for label in (self._about, self._needs):
            label.setProperty("role", "secondary")
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            label.hide()
        self._sandbox = SandboxFields(theme)
        self._address = AddressFields()
        self._problem = note("", "error")
        self._problem.setObjectName("serverProblem")
        self._problem.hide()
        self._lay_out()
        for line in (self._name, self._where):
            line.returnPressed.connect(self._on_add)
            line.textEdited.connect(self._problem.hide)
        self._where.textChanged.connect(self._on_where)
        for fields in (self._sandbox, self._address):
            fields.submitted.connect(self._on_add)
            fields.edited.connect(self._problem.hide)
        self._on_where("")

    def begin(self, names: tuple[str, ...]) -> None:
        """Ask for a server beside those of these names."""
        self._names = names
        self._known.setCurrentIndex(0)
        self._name.clear()
        self._where.clear()
        self._sandbox.show_sandbox(None)
        self._address.clear()
        self._problem.hide()
        self.show()
        self._name.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Let Escape close the form, not the dialog around it."""
        if event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)

    def _lay_out(self) -> None:
        fields = form()
        fields.addRow(name_of(self.tr("Name")), self._name)
        fields.addRow(name_of(self.tr("Command")), self._where)
        add = make_button(self.tr("Add and test"), object_name="confirmAddServerButton", clicked=self._on_add)
        cancel = make_button(self.tr("Cancel"), object_name="cancelAddServerButton", clicked=self.cancelled.emit)
        title = make_label(self.tr("New server"), role="strong")
        known = hbox(name_of(self.tr("Server")), self._known, STRETCH, spacing=Space.L)
        buttons = hbox(name_of(""), hbox(add, cancel, STRETCH, spacing=Space.S), spacing=Space.L)
        vbox(
            title,
            known,
            self._about,
            self._needs,
            fields,
            self._sandbox,
            self._address,
            self._problem,
            buttons,
            on=self,
            spacing=Space.M,
        )

    def _on_known(self) -> None:
        name = self._known.currentData()
        self._problem.hide()
        self._about.setVisible(name is not None)
        self._needs.setVisible(name is not None)
        if name is None:
            return
        server = known_server(str(name))
        self._about.setText(server.about)
        self._needs.setText(self.tr("It needs: {0}").format(server.needs))
        self._needs.setToolTip(plain_tooltip(server.needs))
        self._name.setText(server.name)
        self._where.setText(server.where)
        self._sandbox.show_sandbox(server.sandbox)

    def _on_where(self, text: str) -> None:
        self._sandbox.setVisible(not is_address(text))  # what runs elsewhere is confined there or not at all
        self._address.setVisible(is_address(text))

    def _on_add(self) -> None:
        name, where, address = self._name.text(), self._where.text(), self._address
        secret = address.client_secret if is_address(where) else ""
        try:
            if is_address(where):
                definition = typed_definition(name, where, None, address.headers, address.client_id)
            else:
                definition = typed_definition(name, where, self._sandbox.sandbox)
        except ValueError as error:
            self._say(self.tr("The server cannot be added: {0}.").format(error))
            return
        if definition.name in self._names:
            self._say(self.tr("There is a server of this name already."))
            return
        self.added.emit(definition, secret)

    def _say(self, text: str) -> None:
        self._problem.setText(text)
        self._problem.show()
