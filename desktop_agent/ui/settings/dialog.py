"""The settings dialog: a view of the settings, which emits what the user wants and changes nothing itself."""

from collections.abc import Callable
from datetime import datetime

from PySide6.QtCore import QSize
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QDialog,
    QLineEdit,
    QWidget,
)

from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import LocalServer
from desktop_agent.core.protocol.model import Rule
from desktop_agent.core.settings.workspace_settings import ProjectProposal
from desktop_agent.ui.settings.actions import SettingsActions
from desktop_agent.ui.settings.foot import SettingsFoot
from desktop_agent.ui.settings.navigation import SettingsNavigation
from desktop_agent.ui.settings.pages import Pages
from desktop_agent.ui.settings.parts import Page, note
from desktop_agent.ui.settings.sections import SECTIONS, Section, section_title
from desktop_agent.ui.settings.servers.view import ServersView
from desktop_agent.ui.settings.state import AccountsView, SettingsView
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.layouts import hairline, hbox, vbox
from desktop_agent.ui.widgets.screen_room import resize_within_screen

_NAVIGATION_WIDTH = 184
_SIZE = QSize(820, 600)
_MINIMUM_SIZE = QSize(640, 320)


class SettingsDialog(QDialog):
    """Every setting, the key, the rules, and what the project wants. Show it with `open()`."""

    def __init__(
        self,
        theme: Theme,
        now: Callable[[], datetime],
        actions: SettingsActions,
        parent: QWidget | None = None,
        *,
        pages: Pages | None = None,
    ) -> None:
        """`pages` are made before, if there was time for that."""
        super().__init__(parent)
        self.setObjectName("settingsDialog")
        self.setWindowTitle(self.tr("Settings"))
        self.setAccessibleName(self.tr("Settings"))
        self.setModal(True)
        self.settings_actions = actions
        """What its pages do beyond the dialog."""
        self._pages = pages or Pages(theme, now, actions, self)
        self._model = self._pages.model
        self.key = self._model.key
        """The field for the key."""
        self.sign_in = self._model.sign_in
        """What the chosen provider offers instead of a key."""
        self._search = self._build_search()
        self._sections = SettingsNavigation(theme, map(section_title, SECTIONS))
        self._sections.item(self._row_of("project")).setHidden(True)
        self._section_row = 0
        """Of the section that is shown, also while a search hides it."""
        self._problems = note("", "warning")
        self.foot = SettingsFoot(actions, self.accept)
        """Says what came of the last change."""
        self._lay_out()
        self._connect()
        self.fit_screen()

    @property
    def page(self) -> Page:
        """The page that is shown."""
        return self._pages.page

    def fit_screen(self) -> None:
        """Be as large as usual, or as the screen lets it be that its window is on now."""
        resize_within_screen(self, _SIZE, _MINIMUM_SIZE)

    # --- what the window asks -------------------------------------------------------------------------------------

    def show_view(self, view: SettingsView) -> None:
        """Show what is in force. Emits nothing."""
        self._pages.show_view(view)
        self._problems.setText("\n".join(view.other_problems))
        self._problems.setVisible(bool(view.other_problems))

    def show_accounts(self, accounts: AccountsView) -> None:
        """Show which accounts there are. Emits nothing."""
        self._model.show_accounts(accounts)

    def show_server(self, account: Account, server: LocalServer) -> None:
        """Show what runs at the address of an account on this machine. Emits nothing."""
        self._model.show_server(account, server)

    def show_section(self, section: Section) -> None:
        """Turn to a section."""
        self._sections.setCurrentRow(self._row_of(section))
        self._search.clear()

    def search_for(self, text: str) -> None:
        """Search for a setting, as if the user had typed this. Call it when the dialog is open."""
        self._search.setText(text)
        self._search.setFocus()
        self._search.selectAll()

    def enter_key(self, pasted: str = "") -> None:
        """Turn to the field for the key, and put there what was pasted elsewhere. Call it when the dialog is open."""
        self.show_section("model")
        self._model.show_key((lambda: self.key.offer(pasted)) if pasted else self.key.take_focus)

    def connect_provider(self, provider: str) -> None:
        """Turn to the field for the key of a provider, which need not be the chosen one. Call it when it is open."""
        self.show_section("model")
        self._model.connect_provider(provider)
        self._model.when_built(self.key.take_focus)

    def show_project(self, proposal: ProjectProposal | None, answer: str | None) -> None:
        """Show what the project's file comes to; without one there is no such section."""
        self._sections.item(self._row_of("project")).setHidden(proposal is None)
        if proposal is not None:
            self._pages.show_proposal(proposal, answer)

    def show_rules(self, rules: tuple[Rule, ...]) -> None:
        """Show these rules as those in force."""
        self._pages.show_rules(rules)

    def show_servers(self, servers: ServersView) -> None:
        """Show the MCP servers as they are."""
        self._pages.show_servers(servers)

    # --- building -------------------------------------------------------------------------------------------------

    def _build_search(self) -> QLineEdit:
        search = QLineEdit()
        search.setObjectName("settingsSearch")
        search.setPlaceholderText(self.tr("Search settings"))
        search.setAccessibleName(self.tr("Search settings"))
        search.setClearButtonEnabled(True)
        return search

    def _lay_out(self) -> None:
        navigation = QWidget(self)
        navigation.setAutoFillBackground(True)
        navigation.setFixedWidth(max(_NAVIGATION_WIDTH, self._sections.text_width + 2 * Space.S))
        margins = (Space.S, Space.M, Space.S, Space.S)
        vbox(self._search, self._sections, on=navigation, spacing=Space.S, margins=margins)
        upper = hbox(navigation, hairline(is_vertical=True), (self._pages, 1))
        self._problems.setObjectName("settingsProblems")
        self._problems.setContentsMargins(Space.XL, Space.S, Space.XL, Space.S)
        self._problems.hide()
        vbox(self._problems, (upper, 1), hairline(), self.foot, on=self)

    def _connect(self) -> None:
        self._sections.currentRowChanged.connect(self._on_section)
        self._sections.setCurrentRow(0)
        self._search.textChanged.connect(self._on_search)
        self.finished.connect(self.key.forget)
        self.finished.connect(self.settings_actions.cancel_sign_in)
        QShortcut(QKeySequence.StandardKey.Find, self).activated.connect(self._search.setFocus)

    # --- moving about ---------------------------------------------------------------------------------------------

    def _row_of(self, section: Section) -> int:
        return list(SECTIONS).index(section)

    def _on_section(self, row: int) -> None:
        if row >= 0:
            self._section_row = row
            if self._search.text().strip():
                self._search.clear()
            self._pages.turn_to(list(SECTIONS)[row])

    def _on_search(self, text: str) -> None:
        if text.strip():
            self._pages.search(text)
            self._sections.setCurrentRow(-1)  # what is found is of all of them
        else:
            self._sections.setCurrentRow(self._section_row)
