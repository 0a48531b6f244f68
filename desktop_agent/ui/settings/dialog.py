"""The settings dialog: a view of the settings, which emits what the user wants and changes nothing itself."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Literal

from PySide6.QtCore import QSize
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.protocol.model import Rule
from desktop_agent.core.settings.live_settings import SettingChange
from desktop_agent.core.settings.project import ProjectProposal
from desktop_agent.ui.settings.actions import SettingsActions
from desktop_agent.ui.settings.approvals_page import ApprovalsPage
from desktop_agent.ui.settings.foot import Foot
from desktop_agent.ui.settings.generated_page import GeneratedPage, SearchPage
from desktop_agent.ui.settings.key_status import KeyCheck, KeyStatus
from desktop_agent.ui.settings.model_page import ModelPage
from desktop_agent.ui.settings.navigation import Navigation
from desktop_agent.ui.settings.parts import Page, note
from desktop_agent.ui.settings.project_page import ProjectPage
from desktop_agent.ui.settings.rules_page import RulesPage
from desktop_agent.ui.settings.state import SettingsView
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.hairline import hairline
from desktop_agent.ui.widgets.screen_room import resize_within_screen

Section = Literal[
    "model", "appearance", "approvals", "rules", "conversations", "tools", "changes", "command line", "project"
]

_SECTIONS: tuple[Section, ...] = (
    "model",
    "appearance",
    "approvals",
    "rules",
    "conversations",
    "tools",
    "changes",
    "command line",
    "project",
)
_NAVIGATION_WIDTH = 184
_SIZE = QSize(820, 600)
_MINIMUM_SIZE = QSize(640, 320)


class SettingsDialog(QDialog):
    """Every setting, the key, the rules, and what the project wants. Show it with `open()`."""

    def __init__(
        self,
        theme: Theme,
        models: Iterable[str],
        now: Callable[[], datetime],
        actions: SettingsActions,
        parent: QWidget | None = None,
    ) -> None:
        """`models` are the names offered for the model; any other can be typed."""
        super().__init__(parent)
        self.setObjectName("settingsDialog")
        self.setWindowTitle(self.tr("Settings"))
        self.setAccessibleName(self.tr("Settings"))
        self.setModal(True)
        self.settings_actions = actions
        """What its pages do beyond the dialog."""
        self._model = ModelPage(models, theme, actions)
        self._approvals = ApprovalsPage(theme, actions)
        self._rules = RulesPage(theme, now, actions.revoke_rule)
        self._project = ProjectPage(actions)
        self._generated = (
            GeneratedPage(self.tr("Appearance"), ["ui"], theme, actions),
            GeneratedPage(self.tr("Long conversations"), ["compaction"], theme, actions),
            GeneratedPage(self.tr("Tool results"), ["tools.limits"], theme, actions),
            GeneratedPage(self.tr("Changes of commands"), ["capture", "safety_copy"], theme, actions),
            GeneratedPage(self.tr("Command line"), ["runner"], theme, actions),
        )
        self._found = SearchPage(theme, actions)
        self._search = self._build_search()
        self._sections = Navigation(theme, self._names())
        self._sections.item(_SECTIONS.index("project")).setHidden(True)
        self._pages = QStackedWidget()
        self._problems = note("", "warning")
        self._foot = Foot(actions, self.accept)
        self._lay_out()
        self._connect()
        resize_within_screen(self, _SIZE, _MINIMUM_SIZE)

    # --- what the window asks -------------------------------------------------------------------------------------

    def show_view(self, view: SettingsView) -> None:
        """Show what is in force. Emits nothing."""
        self._model.show_view(view)
        self._approvals.show_view(view)
        for page in self._generated:
            page.show_view(view)
        self._found.show_view(view)
        self._problems.setText("\n".join(view.other_problems))
        self._problems.setVisible(bool(view.other_problems))

    def show_change(self, change: SettingChange) -> None:
        """Say what was saved, with a way back unless it was one."""
        self._foot.show_change(change)

    def show_failure(self, error: AgentError) -> None:
        """Say that the last change was not saved, and why."""
        self._foot.show_failure(error)

    def show_section(self, section: Section) -> None:
        """Turn to a section."""
        self._search.clear()
        self._sections.setCurrentRow(_SECTIONS.index(section))

    def enter_key(self, pasted: str = "") -> None:
        """Turn to the field for the key, and put there what was pasted elsewhere. Call it when the dialog is open."""
        self.show_section("model")
        self._model.show_key()
        if pasted:
            self._model.key.offer(pasted)
        else:
            self._model.key.take_focus()

    def show_project(self, proposal: ProjectProposal | None, answer: str | None) -> None:
        """Show what the project's file comes to; without one there is no such section."""
        self._sections.item(_SECTIONS.index("project")).setHidden(proposal is None)
        if proposal is not None:
            self._project.show_proposal(proposal, answer)

    def show_rules(self, rules: Sequence[Rule]) -> None:
        """Show the rules in force."""
        self._rules.show_rules(rules)

    def show_key_status(self, status: KeyStatus) -> None:
        """Show where the key in use comes from."""
        self._model.key.show_status(status)

    def show_key_busy(self, message: str) -> None:
        """Show that the key is being checked, saved or removed."""
        self._model.key.show_busy(message)

    def show_key_result(self, check: KeyCheck) -> None:
        """Show what came of checking, saving or removing the key."""
        self._model.key.show_result(check)

    # --- building -------------------------------------------------------------------------------------------------

    def _names(self) -> list[str]:
        return [
            self.tr("Model"),
            self.tr("Appearance"),
            self.tr("Approvals"),
            self.tr("Rules"),
            self.tr("Long conversations"),
            self.tr("Tool results"),
            self.tr("Changes of commands"),
            self.tr("Command line"),
            self.tr("Project"),
        ]

    def _build_search(self) -> QLineEdit:
        search = QLineEdit()
        search.setObjectName("settingsSearch")
        search.setPlaceholderText(self.tr("Search settings"))
        search.setAccessibleName(self.tr("Search settings"))
        search.setClearButtonEnabled(True)
        return search

    def _lay_out(self) -> None:
        appearance, conversations, tools, changes, command_line = self._generated
        pages = (self._model, appearance, self._approvals, self._rules, conversations, tools, changes, command_line)
        for page in (*pages, self._project, self._found):
            self._pages.addWidget(page)
        navigation = QWidget()
        navigation.setAutoFillBackground(True)
        navigation.setFixedWidth(_NAVIGATION_WIDTH)
        inside = QVBoxLayout(navigation)
        inside.setContentsMargins(Space.S, Space.M, Space.S, Space.S)
        inside.setSpacing(Space.S)
        inside.addWidget(self._search)
        inside.addWidget(self._sections)
        upper = QHBoxLayout()
        upper.setSpacing(0)
        upper.addWidget(navigation)
        upper.addWidget(_vertical_hairline())
        upper.addWidget(self._pages, 1)
        self._problems.setObjectName("settingsProblems")
        self._problems.setContentsMargins(Space.XL, Space.S, Space.XL, Space.S)
        self._problems.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._problems)
        column.addLayout(upper, 1)
        column.addWidget(hairline())
        column.addWidget(self._foot)

    def _connect(self) -> None:
        self._sections.currentRowChanged.connect(self._on_section)
        self._sections.setCurrentRow(0)
        self._search.textChanged.connect(self._on_search)
        self.finished.connect(self._model.key.forget)
        QShortcut(QKeySequence.StandardKey.Find, self).activated.connect(self._search.setFocus)

    # --- moving about ---------------------------------------------------------------------------------------------

    def _on_section(self, row: int) -> None:
        self._search.clear()
        page = self._pages.widget(row)
        if isinstance(page, Page):
            page.build()
        self._pages.setCurrentIndex(row)

    def _on_search(self, text: str) -> None:
        if text.strip():
            self._found.search(text)
            self._pages.setCurrentWidget(self._found)
        else:
            self._pages.setCurrentIndex(self._sections.currentRow())


def _vertical_hairline() -> QFrame:
    line = QFrame()
    line.setProperty("role", "hairline")
    line.setFixedWidth(1)
    return line
