"""The section about MCP servers: a card for each, adding and importing, and their settings."""

from collections.abc import Iterator
from pathlib import Path

from PySide6.QtWidgets import QApplication, QFileDialog, QVBoxLayout

from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.ui.runtime.gradual import GradualWork
from desktop_agent.ui.settings.actions import SettingsActions
from desktop_agent.ui.settings.generated_page import SettingRows, settings_of
from desktop_agent.ui.settings.parts import Page, note
from desktop_agent.ui.settings.sections import section_title
from desktop_agent.ui.settings.servers.add_form import ServerForm
from desktop_agent.ui.settings.servers.card import ServerCard
from desktop_agent.ui.settings.servers.view import ServersView
from desktop_agent.ui.settings.state import SettingsView
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, vbox


class ServersPage(Page):
    """The servers as they are, in the order of their definitions."""

    def __init__(self, theme: Theme, actions: SettingsActions) -> None:
        super().__init__(section_title("mcp"))
        self._theme = theme
        self._actions = actions.servers
        self._view = ServersView()
        self._cards: dict[str, ServerCard] = {}
        self._settings = SettingRows(settings_of("mcp"), theme, actions)
        self._work = GradualWork(self)
        self._form: ServerForm | None = None
        """Asks for a new server: built when it is first wanted."""

    def _build(self) -> Iterator[None]:
        self._empty = note(
            self.tr(
                "There is none yet. An MCP server is a program or service that offers the model tools: for a "
                "browser, a database, an issue tracker. Add one by the command line or address that its guide names, "
                "or import those of another tool."
            )
        )
        self._empty.setObjectName("serversEmpty")
        self._problems = note("", "warning")
        self._problems.hide()
        self._add = make_button(self.tr("Add server…"), object_name="addServerButton", clicked=self._on_add)
        self._import = make_button(self.tr("Import…"), object_name="importServersButton", clicked=self._on_import)
        self._import.setAccessibleName(self.tr("Import the servers of another tool"))
        self._list = QVBoxLayout()
        self._list.setSpacing(Space.S)
        self.column.addWidget(self._empty)
        self._empty.setHidden(bool(self._view.servers))
        self.column.addWidget(self._problems)
        yield
        self.column.addLayout(hbox(self._add, self._import, STRETCH, spacing=Space.S))
        yield
        self._form_place = vbox()
        self.column.addLayout(self._form_place)
        self.column.addLayout(self._list)
        self.column.addWidget(hairline())
        yield
        self.column.addLayout(self._settings)
        yield from self._settings.build()
        self.column.addStretch()

    def _on_built(self) -> None:
        self.show_servers(self._view)

    def show_view(self, view: SettingsView) -> None:
        self._settings.show_view(view)

    def show_servers(self, view: ServersView) -> None:
        """Show the servers as they are. Cards stay, with what is unfolded, while their server is defined."""
        self._view = view
        if not self._is_built:
            return
        names = [server.name for server in view.servers]
        for name in [name for name in self._cards if name not in names]:
            card = self._cards.pop(name)
            focused = QApplication.focusWidget()
            if focused is not None and card.isAncestorOf(focused):
                self._add.setFocus()
            self._list.removeWidget(card)
            card.hide()
            card.deleteLater()
        self._work.begin(self._show_cards(view))
        self._empty.setVisible(not view.servers)
        self._problems.setText("\n".join(view.problems))
        self._problems.setVisible(bool(view.problems))

    def _show_cards(self, view: ServersView) -> Iterator[None]:
        """Bring the cards up to date, one in each step."""
        for place, server in enumerate(view.servers):
            card = self._cards.get(server.name)
            if card is None:
                card = self._cards[server.name] = ServerCard(self._theme, server, self._actions)
                self._list.insertWidget(place, card)
                card.show()
            else:
                card.show_server(server)
            yield

    def import_file(self, path: str) -> None:
        """Ask for the servers of another tool's file."""
        self._actions.import_file(Path(path))

    # --- what the user does -------------------------------------------------------------------------------------

    def _on_add(self) -> None:
        self._add.setEnabled(False)
        form = self._form or self._build_form()
        form.begin(tuple(server.name for server in self._view.servers))

    def _on_added(self, definition: ServerDefinition, client_secret: str) -> None:
        self._on_cancelled()
        self._actions.add(definition, client_secret)

    def _build_form(self) -> ServerForm:
        form = self._form = ServerForm(self._theme)
        form.hide()
        form.added.connect(self._on_added)
        form.cancelled.connect(self._on_cancelled)
        self._form_place.addWidget(form)
        return form

    def _on_cancelled(self) -> None:
        if self._form is not None:
            self._form.hide()
        self._add.setEnabled(True)
        self._add.setFocus()

    def _on_import(self) -> None:
        dialog = QFileDialog(self, self.tr("Import MCP servers"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([self.tr("JSON files (*.json)"), self.tr("All files (*)")])
        dialog.fileSelected.connect(self.import_file)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
