"""The settings dialog: a view of the settings, which emits what the user wants and changes nothing itself."""

from collections.abc import Callable
from datetime import datetime

from PySide6.QtCore import QSize
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QDialog,
    QLineEdit,
    QStackedWidget,
    QWidget,
)

from desktop_agent.core.models.account import Account
from desktop_agent.core.models.local_server import LocalServer
from desktop_agent.core.settings.project import ProjectProposal
from desktop_agent.ui.settings.actions import SettingsActions
from desktop_agent.ui.settings.approvals_page import ApprovalsPage
from desktop_agent.ui.settings.foot import Foot
from desktop_agent.ui.settings.generated_page import GeneratedPage, SearchPage
from desktop_agent.ui.settings.keyboard.page import KeysPage
from desktop_agent.ui.settings.model_page import ModelPage
from desktop_agent.ui.settings.navigation import Navigation
from desktop_agent.ui.settings.parts import Page, note
from desktop_agent.ui.settings.project_page import ProjectPage
from desktop_agent.ui.settings.rules_page import RulesPage
from desktop_agent.ui.settings.sections import Section, section_title
from desktop_agent.ui.settings.servers.page import ServersPage
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
    ) -> None:
        super().__init__(parent)
        self.setObjectName("settingsDialog")
        self.setWindowTitle(self.tr("Settings"))
        self.setAccessibleName(self.tr("Settings"))
        self.setModal(True)
        self.settings_actions = actions
        """What its pages do beyond the dialog."""
        self._model = ModelPage(theme, actions)
        self.key = self._model.key
        """The field for the key."""
        self.sign_in = self._model.sign_in
        """What the chosen provider offers instead of a key."""
        self.rules = RulesPage(theme, now, actions.revoke_rule)
        """Shows the rules in force."""
        self.servers = ServersPage(theme, actions)
        """Shows the MCP servers."""
        self._project = ProjectPage(actions)
        self._pages: dict[Section, Page] = {
            "model": self._model,
            "spending": GeneratedPage(section_title("spending"), ["spending"], theme, actions),
            "appearance": GeneratedPage(section_title("appearance"), ["ui"], theme, actions),
            "keyboard": KeysPage(actions),
            "approvals": ApprovalsPage(theme, actions),
            "rules": self.rules,
            "conversations": GeneratedPage(section_title("conversations"), ["compaction"], theme, actions),
            "tools": GeneratedPage(section_title("tools"), ["tools.limits"], theme, actions),
            "mcp": self.servers,
            "changes": GeneratedPage(section_title("changes"), ["capture", "safety_copy"], theme, actions),
            "command line": GeneratedPage(section_title("command line"), ["runner"], theme, actions),
            "telemetry": GeneratedPage(section_title("telemetry"), ["telemetry"], theme, actions),
            "project": self._project,
        }
        self._found = SearchPage(theme, actions)
        self._search = self._build_search()
        self._sections = Navigation(theme, (page.title for page in self._pages.values()))
        self._sections.item(self._row_of("project")).setHidden(True)
        self._stack = QStackedWidget(self)
        self._problems = note("", "warning")
        self.foot = Foot(actions, self.accept)
        """Says what came of the last change."""
        self._lay_out()
        self._connect()
        resize_within_screen(self, _SIZE, _MINIMUM_SIZE)

    @property
    def page(self) -> Page:
        """The page that is shown."""
        return (
            list(self._pages.values())[self._sections.currentRow()] if not self._search.text().strip() else self._found
        )

    # --- what the window asks -------------------------------------------------------------------------------------

    def show_view(self, view: SettingsView) -> None:
        """Show what is in force. Emits nothing."""
        for page in (*self._pages.values(), self._found):
            page.show_view(view)
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
        self._search.clear()
        self._sections.setCurrentRow(self._row_of(section))

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
            self._project.show_proposal(proposal, answer)

    # --- building -------------------------------------------------------------------------------------------------

    def _build_search(self) -> QLineEdit:
        search = QLineEdit()
        search.setObjectName("settingsSearch")
        search.setPlaceholderText(self.tr("Search settings"))
        search.setAccessibleName(self.tr("Search settings"))
        search.setClearButtonEnabled(True)
        return search

    def _lay_out(self) -> None:
        for page in (*self._pages.values(), self._found):
            self._stack.addWidget(page)
        navigation = QWidget(self)
        navigation.setAutoFillBackground(True)
        navigation.setFixedWidth(max(_NAVIGATION_WIDTH, self._sections.text_width + 2 * Space.S))
        margins = (Space.S, Space.M, Space.S, Space.S)
        vbox(self._search, self._sections, on=navigation, spacing=Space.S, margins=margins)
        upper = hbox(navigation, hairline(is_vertical=True), (self._stack, 1))
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
        return list(self._pages).index(section)

    def _on_section(self, row: int) -> None:
        self._search.clear()
        page = list(self._pages.values())[row]
        self._stack.setCurrentWidget(page)

    def _on_search(self, text: str) -> None:
        if text.strip():
            self._found.search(text)
            self._stack.setCurrentWidget(self._found)
        else:
            self._stack.setCurrentIndex(self._sections.currentRow())
