"""The pages of the settings dialog, each made when it is first turned to."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from PySide6.QtWidgets import QStackedWidget, QWidget

from desktop_agent.core.protocol.model import Rule
from desktop_agent.core.settings.workspace_settings import ProjectProposal
from desktop_agent.ui.settings.actions import SettingsActions
from desktop_agent.ui.settings.approvals_page import ApprovalsPage
from desktop_agent.ui.settings.generated_page import GeneratedPage, SearchPage
from desktop_agent.ui.settings.keyboard.page import KeysPage
from desktop_agent.ui.settings.model_page import ModelPage
from desktop_agent.ui.settings.parts import Page
from desktop_agent.ui.settings.project_page import ProjectPage
from desktop_agent.ui.settings.rules_page import RulesPage
from desktop_agent.ui.settings.sections import Section
from desktop_agent.ui.settings.servers.page import ServersPage
from desktop_agent.ui.settings.servers.view import ServersView
from desktop_agent.ui.settings.state import SettingsView
from desktop_agent.ui.theme import Theme

_GENERATED: Final[Mapping[Section, tuple[str, ...]]] = {
    "spending": ("spending",),
    "appearance": ("ui",),
    "conversations": ("compaction",),
    "tools": ("tools.limits",),
    "changes": ("capture", "safety_copy"),
    "command line": ("runner",),
    "telemetry": ("telemetry",),
}
"""What is made of declarations: the sections of the settings file on each page."""


class Pages(QStackedWidget):
    """Shows one page at a time. A page that is made later is shown what came before."""

    def __init__(
        self, theme: Theme, now: Callable[[], datetime], actions: SettingsActions, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._now = now
        self._actions = actions
        self._view: SettingsView | None = None
        self._rules: tuple[Rule, ...] = ()
        self._servers = ServersView()
        self._proposal: tuple[ProjectProposal, str | None] | None = None
        self._made: dict[Section, Page] = {}
        self._found: SearchPage | None = None
        self.model = ModelPage(theme, actions)
        """Has the field for the key, which is asked for from elsewhere."""
        self._keep("model", self.model)

    @property
    def page(self) -> Page:
        """The one that is shown."""
        page = self.currentWidget()
        assert isinstance(page, Page)
        return page

    def turn_to(self, section: Section) -> None:
        """Show the page of a section."""
        self.setCurrentWidget(self._made.get(section) or self._keep(section, self._make(section)))

    def search(self, text: str) -> None:
        """Show the settings that a search finds."""
        if self._found is None:
            self._found = SearchPage(self._theme, self._actions)
            self._add(self._found)
        self._found.search(text)
        self.setCurrentWidget(self._found)

    # --- what is shown on them ------------------------------------------------------------------------------------

    def show_view(self, view: SettingsView) -> None:
        """Show what is in force. Emits nothing."""
        self._view = view
        for page in filter(None, (*self._made.values(), self._found)):
            page.show_view(view)

    def show_rules(self, rules: tuple[Rule, ...]) -> None:
        """Show these as the rules in force."""
        self._rules = rules
        if isinstance(page := self._made.get("rules"), RulesPage):
            page.show_rules(rules)

    def show_servers(self, servers: ServersView) -> None:
        """Show the MCP servers as they are."""
        self._servers = servers
        if isinstance(page := self._made.get("mcp"), ServersPage):
            page.show_servers(servers)

    def show_proposal(self, proposal: ProjectProposal, answer: str | None) -> None:
        """Show what the project's file comes to, and what was said to it."""
        self._proposal = proposal, answer
        if isinstance(page := self._made.get("project"), ProjectPage):
            page.show_proposal(proposal, answer)

    # --- making them ----------------------------------------------------------------------------------------------

    def _make(self, section: Section) -> Page:
        theme, actions = self._theme, self._actions
        match section:
            case "keyboard":
                return KeysPage(actions)
            case "approvals":
                return ApprovalsPage(theme, actions)
            case "rules":
                rules = RulesPage(theme, self._now, actions.revoke_rule)
                rules.show_rules(self._rules)
                return rules
            case "mcp":
                servers = ServersPage(theme, actions)
                servers.show_servers(self._servers)
                return servers
            case "project":
                project = ProjectPage(actions)
                if self._proposal is not None:
                    project.show_proposal(*self._proposal)
                return project
            case _:
                return GeneratedPage(section, _GENERATED[section], theme, actions)

    def _keep(self, section: Section, page: Page) -> Page:
        self._made[section] = page
        self._add(page)
        return page

    def _add(self, page: Page) -> None:
        self.addWidget(page)
        if self._view is not None:
            page.show_view(self._view)
