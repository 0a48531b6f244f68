"""The settings section about MCP servers: a card for each server, and a form to add servers."""

import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QPushButton, QSizePolicy, QWidget

from desktop_agent.core.mcp.definition import Address, Program, ServerDefinition, ServerSandbox
from desktop_agent.core.mcp.new_servers import (
    KNOWN_SERVERS,
    edited_definition,
    is_address,
    known_server,
    typed_definition,
    typed_sandbox,
)
from desktop_agent.core.system.session_bus import FileQuestion
from desktop_agent.ui.settings.page_parts import (
    AddingForm,
    CardList,
    Page,
    PairFields,
    PairWords,
    VariableFields,
    field_row,
    settings_of,
    switch_row,
)
from desktop_agent.ui.settings.server_card import ServerCard
from desktop_agent.ui.settings.settings_view import ServersView, ServerView, SettingsActions
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.buttons import Picker, Switch, make_button
from desktop_agent.ui.widgets.file_chooser import choose_files
from desktop_agent.ui.widgets.labels import ElidedLabel, Note, make_label, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, add_parts, hairline, hbox, set_names, vbox
from desktop_agent.ui.wording import plain_tooltip


class AddressFields(QWidget):
    def __init__(self, form: "ServerForm") -> None:
        super().__init__()
        words = PairWords(
            "serverHeaderNameEdit",
            "serverHeaderValueEdit",
            self.tr("Name of header {0}"),
            self.tr("Value of header {0}"),
            self.tr("Authorization"),
            self.tr("Bearer …"),
            self.tr("Another header"),
            self.tr("a header needs a name"),
        )
        self.headers = PairFields(form, words, hides_all=True)
        hint = self.tr("Only if you registered this application there by hand")
        self._client_id = form.add_line("serverClientIdEdit", self.tr("Client ID at the server"), hint)
        self._client_id.textChanged.connect(self._on_client_id)
        self._secret = form.add_line(
            "serverClientSecretEdit", self.tr("Client secret at the server"), self.tr("Optional")
        )
        self._secret.setEchoMode(QLineEdit.EchoMode.Password)
        self._secret_row = QWidget()
        field_row(self.tr("Client secret"), self._secret, on=self._secret_row)
        about = Note(self.tr("Headers that are secrets, and the client secret, go to the keyring of your system."))
        headers = field_row(self.tr("Headers"), self.headers, about)
        vbox(headers, field_row(self.tr("Client ID"), self._client_id), self._secret_row, on=self, spacing=Space.M)
        self._on_client_id()

    @property
    def client_id(self) -> str:
        return self._client_id.text().strip()

    @property
    def client_secret(self) -> str:
        return self._secret.text().strip() if self.client_id else ""

    def show_address(self, address: Address) -> None:
        self.headers.show_pairs(address.headers, address.secret_headers)
        self._client_id.setText(address.client_id)
        self._secret.clear()

    def _on_client_id(self) -> None:
        self._secret_row.setVisible(bool(self.client_id))


class SandboxFields(QWidget):
    def __init__(self, theme: Theme, form: "ServerForm") -> None:
        super().__init__()
        self._form = form
        self._switch = Switch(theme)
        set_names(self._switch, "serverSandboxSwitch", self.tr("Run the server in the sandbox"))
        self._switch.toggled.connect(self._on_toggled)
        self._words = Note("")
        lines = (
            (
                "serverFoldersEdit",
                self.tr("Folders that the server may write"),
                self.tr("None. For example: . (the open folder), ~/notes"),
            ),
            (
                "serverReadFoldersEdit",
                self.tr("Folders of your home that the server may read"),
                self.tr("None. It reads the open folder and tool chains"),
            ),
            (
                "serverHostsEdit",
                self.tr("Hosts that the server may reach"),
                self.tr("None. For example: example.org, *.example.org"),
            ),
        )
        self._lines = [form.add_line(name, accessible_name, hint) for name, accessible_name, hint in lines]
        titles = self.tr("May write"), self.tr("May read"), self.tr("May reach")
        self._rows = QWidget()
        vbox(*map(field_row, titles, self._lines), on=self._rows, spacing=Space.M)
        switch = field_row(self.tr("Sandbox"), switch_row(self._switch, self._words))
        vbox(switch, self._rows, on=self, spacing=Space.M)
        self.show_sandbox(None)

    @property
    def sandbox(self) -> ServerSandbox | None:
        """Return what was entered. Raises `ValueError` that describes the invalid entry."""
        return typed_sandbox(*(line.text() for line in self._lines)) if self._switch.isChecked() else None

    def show_sandbox(self, sandbox: ServerSandbox | None) -> None:
        usual = sandbox or ServerSandbox()
        for line, texts in zip(self._lines, (usual.folders, usual.read_folders, usual.hosts), strict=True):
            line.setText(", ".join(texts))
        self._switch.setChecked(sandbox is not None)
        self._on_toggled()

    def _on_toggled(self) -> None:
        is_on = self._switch.isChecked()
        self._rows.setVisible(is_on)
        self._words.setText(
            self.tr("It reads the open folder (.), without its secrets, and what you list here, separated by commas.")
            if is_on
            else self.tr("Not sandboxed: it runs with all of your rights. Add only what you trust.")
        )
        self._form.problem.hide()


class ServerForm(AddingForm):
    added = Signal(object, str)  # a ServerDefinition, and its client's secret

    def __init__(self, theme: Theme, button: QPushButton) -> None:
        super().__init__("serverProblem", button)
        self._names: tuple[str, ...] = ()
        self.edited: ServerDefinition | None = None
        self._name = self.add_line("serverNameEdit", self.tr("Name of the server"), self.tr("For example: git"))
        where = self.tr("Command line or address of the server"), self.tr("uvx mcp-server-git, or https://…")
        self._where = self.add_line("serverWhereEdit", *where)
        known = [(self.tr("Your own"), None), *((server.name, server.name) for server in KNOWN_SERVERS)]
        self._known = Picker(
            object_name="knownServerPicker", accessible_name=self.tr("Known servers"), choices=known, fills=True
        )
        self._known.currentIndexChanged.connect(self._on_known)
        self._about, self._needs = ElidedLabel(role="secondary"), ElidedLabel(role="secondary")
        for label in (self._about, self._needs):
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            label.hide()
        self._sandbox = SandboxFields(theme, self)
        self._address = AddressFields(self)
        self._variables = VariableFields(self, "serverVariableNameEdit", "serverVariableValueEdit", "API_TOKEN")
        self._lay_out()
        self._where.textChanged.connect(self._on_where)
        self._on_where("")

    def begin(self, names: tuple[str, ...], server: ServerDefinition | None = None) -> None:
        self._names, self.edited = names, server
        self._known.setCurrentIndex(0)
        self._known_row.setVisible(server is None)
        self._name.setText(server.name if server is not None else "")
        self._name.setEnabled(server is None)
        self._title.setText(self.tr("New server") if server is None else self.tr("Edit {0}").format(server.name))
        self._confirm.setText(self.tr("Add and test") if server is None else self.tr("Save and test"))
        way = server.reached_by if server is not None else Program(command="")
        match way:
            case Program():
                self._where.setText(shlex.join((way.command, *way.args)) if way.command else "")
                self._sandbox.show_sandbox(way.sandbox)
                self._variables.show_pairs(way.env, way.secret_env)
                self._address.show_address(Address(url=""))
            case Address():
                self._where.setText(way.url)
                self._sandbox.show_sandbox(None)
                self._variables.show_pairs({}, ())
                self._address.show_address(way)
        self.enter()
        (self._name if server is None else self._where).setFocus()

    def _lay_out(self) -> None:
        add = self._confirm = make_button(self.tr("Add and test"), "confirmAddServerButton", clicked=self.confirm)
        cancel = make_button(self.tr("Cancel"), "cancelAddServerButton", clicked=self.cancelled.emit)
        title = self._title = make_label(self.tr("New server"), role="strong")
        known = self._known_row = QWidget()
        field_row(self.tr("Server"), self._known, self._about, self._needs, on=known)
        what = (field_row(self.tr("Name"), self._name), field_row(self.tr("Command"), self._where))
        buttons = field_row("", self.problem, hbox(add, cancel, STRETCH, spacing=Space.S))
        self._program = QWidget()
        vbox(self._variables.row(), self._sandbox, on=self._program, spacing=Space.M)
        vbox(title, known, *what, self._program, self._address, buttons, on=self, spacing=Space.M)

    def _on_known(self) -> None:
        name = self._known.currentData()
        self.problem.hide()
        self._about.setVisible(name is not None)
        self._needs.setVisible(name is not None)
        if name is None:
            return
        server = known_server(str(name))
        needs = core_words(server.needs)
        self._about.setText(core_words(server.about))
        self._needs.setText(self.tr("It needs: {0}").format(needs))
        self._needs.setToolTip(plain_tooltip(needs))
        self._name.setText(server.name)
        self._where.setText(server.where)
        self._sandbox.show_sandbox(server.sandbox)

    def _on_where(self, text: str) -> None:
        self._program.setVisible(not is_address(text))  # a server at an address cannot be sandboxed from here
        self._address.setVisible(is_address(text))

    def confirm(self) -> None:
        name, where, address = self._name.text(), self._where.text(), self._address
        secret = address.client_secret if is_address(where) else ""
        try:
            if is_address(where):
                definition = typed_definition(name, where, None, address.headers.pairs, address.client_id)
            else:
                definition = typed_definition(name, where, self._sandbox.sandbox, env=self._variables.pairs)
        except ValueError as error:
            show_text(self.problem, self.tr("The server cannot be added: {0}.").format(core_words(str(error))))
            return
        if self.edited is not None:
            definition = edited_definition(self.edited, definition)
        elif definition.name in self._names:
            show_text(self.problem, self.tr("A server with this name already exists."))
            return
        self.leave()
        self.added.emit(definition, secret)


class ServersPage(Page):
    def __init__(self, title: str, theme: Theme, actions: SettingsActions) -> None:
        super().__init__(title, theme, actions)
        self._actions = actions.servers
        self._view = ServersView()
        self._cards = CardList(self, self._make_card, ServerCard.show_server)
        self._form: ServerForm | None = None

    def _build(self) -> Iterator[None]:
        self._empty = Note(
            self.tr(
                "No servers yet. An MCP server is a program or service that offers the model tools: for a "
                "browser, a database, an issue tracker. To add one, enter the command line or the address from its "
                "documentation, or import the servers of another tool."
            ),
            object_name="serversEmpty",
        )
        self._problems = Note("", "warning")
        self._problems.hide()
        self._add = make_button(self.tr("Add server…"), "addServerButton", clicked=partial(self._begin, None))
        self._import = make_button(self.tr("Import…"), "importServersButton", clicked=self._on_import)
        self._import.setAccessibleName(self.tr("Import the servers of another tool"))
        add_parts(self.column, self._empty, self._problems)
        self._empty.setHidden(bool(self._view.servers))
        yield
        self.column.addLayout(hbox(self._add, self._import, STRETCH, spacing=Space.S))
        yield
        self._form_place = vbox()
        add_parts(self.column, self._form_place, self._cards.column, hairline())
        yield
        yield from self.add_rows(settings_of("mcp"))
        self.column.addStretch()

    def show_servers(self, view: ServersView) -> None:
        self._view = view
        self.show_later("servers", self._show_servers)

    def _show_servers(self) -> None:
        self._cards.show(self._view.servers, self._add)
        self._empty.setVisible(not self._view.servers)
        show_text(self._problems, "\n".join(self._view.problems))

    def _make_card(self, server: ServerView) -> ServerCard:
        return ServerCard(self.theme, server, self, self._begin)

    def import_file(self, path: str) -> None:
        self._actions.import_file(Path(path))

    def _begin(self, edited: ServerDefinition | None) -> None:
        if self._form is None:
            self._form = ServerForm(self.theme, self._add)
            self._form.added.connect(self._on_added)
            self._form_place.addWidget(self._form)
        self._form.begin(tuple(server.name for server in self._view.servers), edited)

    def _on_added(self, definition: ServerDefinition, client_secret: str) -> None:
        is_edited = self._form is not None and self._form.edited is not None
        (self._actions.edit if is_edited else self._actions.add)(definition, client_secret)

    def _on_import(self) -> None:
        filters = (self.tr("JSON files (*.json)"), self.tr("All files (*)"))
        question = FileQuestion(kind="file", title=self.tr("Import MCP servers"), filters=filters)
        choose_files(self, question, lambda chosen: self.import_file(chosen.paths[0]))
