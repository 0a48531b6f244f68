"""What a new server may do in the sandbox: whether it is confined, and the folders and hosts it is given."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from desktop_agent.core.mcp.definition import ServerSandbox
from desktop_agent.core.mcp.new_servers import typed_sandbox
from desktop_agent.ui.settings.parts import form, name_of, note
from desktop_agent.ui.settings.switch import Switch
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.layouts import hbox, vbox


class SandboxFields(QWidget):
    """Asks for it.

    Signals:
        edited: the user changed something.
        submitted: the user pressed Enter in a field.
    """

    edited = Signal()
    submitted = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._switch = Switch(theme)
        self._switch.setObjectName("serverSandboxSwitch")
        self._switch.setAccessibleName(self.tr("Run the server in the sandbox"))
        self._switch.toggled.connect(self._on_toggled)
        self._words = note("")
        self._folders = self._line("serverFoldersEdit", self.tr("Folders that the server may write"))
        self._folders.setPlaceholderText(self.tr("None. For example: . (the open folder), ~/notes"))
        self._read_folders = self._line(
            "serverReadFoldersEdit", self.tr("Folders of your home that the server may read")
        )
        self._read_folders.setPlaceholderText(self.tr("None. It reads the open folder and tool chains"))
        self._hosts = self._line("serverHostsEdit", self.tr("Hosts that the server may reach"))
        self._hosts.setPlaceholderText(self.tr("None. For example: example.org, *.example.org"))
        fields = form()
        for name, line in (
            (self.tr("May write"), self._folders),
            (self.tr("May read"), self._read_folders),
            (self.tr("May reach"), self._hosts),
        ):
            fields.addRow(name_of(name), line)
        self._rows = QWidget()
        self._rows.setLayout(fields)
        switch = hbox(name_of(self.tr("Sandbox")), self._switch, (self._words, 1), spacing=Space.L)
        vbox(switch, self._rows, on=self, spacing=Space.M)
        self.show_sandbox(None)

    @property
    def sandbox(self) -> ServerSandbox | None:
        """What the user wants. Raises `ValueError` that says what of it cannot be used."""
        if not self._switch.isChecked():
            return None
        return typed_sandbox(self._folders.text(), self._read_folders.text(), self._hosts.text())

    def show_sandbox(self, sandbox: ServerSandbox | None) -> None:
        """Show this to begin with; None: not confined."""
        usual = sandbox or ServerSandbox()
        for line, texts in (
            (self._folders, usual.folders),
            (self._read_folders, usual.read_folders),
            (self._hosts, usual.hosts),
        ):
            line.setText(", ".join(texts))
        self._switch.setChecked(sandbox is not None)
        self._on_toggled()

    def _line(self, name: str, accessible_name: str) -> QLineEdit:
        line = QLineEdit()
        line.setObjectName(name)
        line.setAccessibleName(accessible_name)
        line.returnPressed.connect(self.submitted)
        line.textEdited.connect(self.edited)
        return line

    def _on_toggled(self) -> None:
        is_on = self._switch.isChecked()
        self._rows.setVisible(is_on)
        self._words.setText(
            self.tr(
                "It reads the open folder (.), without its secrets, and gets what stands here, with commas between."
            )
            if is_on
            else self.tr("Not confined: it runs with all of your rights. Add only what you trust.")
        )
        self.edited.emit()
