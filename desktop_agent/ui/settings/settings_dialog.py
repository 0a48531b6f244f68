"""The settings dialog: the sections, their pages, and the buttons below.

The dialog emits the user's requests, and `app/settings` carries them out. Each page is made when first opened.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Final, Literal, TypeVar

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QFontMetrics, QKeySequence, QPainter, QShortcut
from PySide6.QtWidgets import QDialog, QListWidget, QStackedWidget, QStyleOptionViewItem, QWidget

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.settings.live_settings import SettingChange
from desktop_agent.core.settings.values import declared_settings
from desktop_agent.core.settings.workspace_settings import ProjectProposal
from desktop_agent.ui.settings.agents_page import AgentsPage
from desktop_agent.ui.settings.extensions_page import ExtensionsPage, ProjectPage
from desktop_agent.ui.settings.keys_page import KeysPage
from desktop_agent.ui.settings.model_page import ModelPage
from desktop_agent.ui.settings.page_parts import ApprovalsPage, GeneratedPage, Page, SearchPage, shown
from desktop_agent.ui.settings.plugins_page import PluginsPage
from desktop_agent.ui.settings.rules_page import RulesPage
from desktop_agent.ui.settings.servers_page import ServersPage
from desktop_agent.ui.settings.setting_controls import title_of, words
from desktop_agent.ui.settings.settings_view import (
    SECTIONS,
    ExtensionKind,
    Section,
    SettingsActions,
    SettingsView,
    section_title,
)
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation import error_words
from desktop_agent.ui.widgets.buttons import make_button, make_line
from desktop_agent.ui.widgets.labels import Note, show_text
from desktop_agent.ui.widgets.layouts import hairline, hbox, resize_within_screen, set_names, vbox
from desktop_agent.ui.widgets.rows import LEFT, AnyIndex, RowDelegate, draw_ground, set_up_list
from desktop_agent.ui.wording import plain_tooltip

_GENERATED: Final[Mapping[Section, tuple[str, ...]]] = {
    "spending": ("spending",), "appearance": ("ui",), "conversations": ("compaction", "context"),
    "tools": ("tools.limits", "subagents"), "changes": ("capture", "safety_copy"),
    "command line": ("runner",), "telemetry": ("telemetry",),
}  # fmt: skip


_MADE_AHEAD: Final[tuple[Section, ...]] = (
    "model", "rules", "mcp", "skills", "hooks", "plugins", "diagnostics", "agents", "project",
)  # fmt: skip

_P = TypeVar("_P", bound=Page)


class Pages(QStackedWidget):
    section_wanted = Signal(str)  # a Section

    def __init__(
        self, theme: Theme, now: Callable[[], datetime], actions: SettingsActions, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._actions = actions
        self._now = now
        self._view: SettingsView | None = None
        self._made: dict[Section | Literal["search"], Page] = {}

    def make_ahead(self) -> Iterator[None]:
        """Make one page after the other, because all of them together take longer than a frame."""
        for section in _MADE_AHEAD:
            self._page(section)
            yield

    @cached_property
    def model(self) -> ModelPage:
        return self._keep("model", ModelPage(section_title("model"), self._theme, self._actions))

    @cached_property
    def rules(self) -> RulesPage:
        return self._keep("rules", RulesPage(section_title("rules"), self._theme, self._actions, self._now))

    @cached_property
    def servers(self) -> ServersPage:
        return self._keep("mcp", ServersPage(section_title("mcp"), self._theme, self._actions))

    @cached_property
    def plugins(self) -> PluginsPage:
        return self._keep("plugins", PluginsPage(section_title("plugins"), self._theme, self._actions))

    @cached_property
    def agents(self) -> AgentsPage:
        return self._keep("agents", AgentsPage(section_title("agents"), self._theme, self._actions))

    @cached_property
    def project(self) -> ProjectPage:
        return self._keep("project", ProjectPage(section_title("project"), self._theme, self._actions))

    def extensions(self, kind: ExtensionKind) -> ExtensionsPage:
        page = self._made.get(kind)
        if page is None:
            page = self._keep(kind, ExtensionsPage(kind, self._theme, self._actions))
        assert isinstance(page, ExtensionsPage)
        return page

    @property
    def page(self) -> Page:
        page = self.currentWidget()
        assert isinstance(page, Page)
        return page

    def shows(self, section: Section) -> bool:
        return self.currentWidget() is self._made.get(section)

    def turn_to(self, section: Section) -> None:
        self.setCurrentWidget(self._page(section))

    def search(self, text: str) -> None:
        page = self._made.get("search") or self._keep("search", SearchPage(self._theme, self._actions))
        assert isinstance(page, SearchPage)
        page.search(text)
        self.setCurrentWidget(page)

    def show_view(self, view: SettingsView) -> None:
        self._view = view
        for page in self._made.values():
            page.show_view(view)

    def look_again(self) -> None:
        """Refresh the current page, if its content comes from the disk."""
        if isinstance(page := self.page, ExtensionsPage | PluginsPage):
            page.look()

    def _page(self, section: Section) -> Page:
        if section in self._made:
            return self._made[section]
        title, theme, actions = section_title(section), self._theme, self._actions
        match section:
            case "model":
                return self.model
            case "rules":
                return self.rules
            case "mcp":
                return self.servers
            case "skills" | "hooks" | "diagnostics":
                return self.extensions(section)
            case "plugins":
                return self.plugins
            case "agents":
                return self.agents
            case "project":
                return self.project
            case "keyboard":
                return self._keep(section, KeysPage(title, theme, actions))
            case "approvals":
                return self._keep(section, ApprovalsPage(title, theme, actions))
            case _:
                return self._keep(section, GeneratedPage(title, theme, actions, _GENERATED[section]))

    def _keep(self, name: Section | Literal["search"], page: _P) -> _P:
        self._made[name] = page
        page.section_wanted.connect(self.section_wanted)
        self.addWidget(page)
        if self._view is not None:
            page.show_view(self._view)
        return page


class _Delegate(RowDelegate):
    def draw(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        painter.setPen(draw_ground(painter, self.theme, option, self.ring))
        painter.setFont(self.text_font)
        painter.drawText(option.rect.adjusted(Space.S, 0, -Space.S, 0), LEFT, str(index.data()))


class SettingsFoot(QWidget):
    def __init__(self, actions: SettingsActions, close: Callable[[], None]) -> None:
        super().__init__()
        self._actions = actions
        self._change: SettingChange | None = None
        self._undoing = ""
        self.setAutoFillBackground(True)
        self._note = Note(self.tr("Changes apply and are saved at once."), object_name="settingsNote")
        self._undo = make_button(self.tr("Undo"), "undoSettingButton", clicked=self._on_undo)
        file_button = make_button(
            self.tr("Open the settings file"), "openSettingsFileButton", clicked=actions.open_file
        )
        close_button = make_button(self.tr("Close"), "closeSettingsButton", clicked=close)
        margins = (Space.XL, Space.M, Space.XL, Space.M)
        hbox((self._note, 1), self._undo, file_button, close_button, on=self, spacing=Space.S, margins=margins)
        self._undo.hide()

    def show_change(self, change: SettingChange) -> None:
        is_undo, self._undoing = self._undoing == change.key, ""
        setting = declared_settings()[change.key]
        if change.overridden_by is not None:
            text = self.tr("{0}: saved, but the environment variable {1} overrides the file.").format(
                title_of(setting), str(change.overridden_by)
            )
        else:
            before, after = shown(setting, change.before), shown(setting, change.after)
            effects = {
                "next session": words("Applies to new sessions."),
                "next run": words("Applies from the next run."),
                "next start": words("Applies when the window is next opened."),
            }
            text = f"{title_of(setting)}: {before} → {after}. {effects.get(setting.about.effect, '')}".strip()
        self._note.say(text)
        self._change = None if is_undo else change
        self._undo.setVisible(not is_undo)

    def show_note(self, text: str) -> None:
        self._note.say(text)
        self._note.setToolTip("")
        self._change = None
        self._undo.hide()

    def show_failure(self, error: AgentError) -> None:
        self._note.say(error_words(error), "error")
        self._note.setToolTip(plain_tooltip(error.detail))
        self._undo.hide()

    def _on_undo(self) -> None:
        if (change := self._change) is None:
            return
        self._undoing = change.key
        if change.was_set:
            self._actions.change(change.key, change.before)
        else:
            self._actions.reset(change.key)


_NAVIGATION_WIDTH = 184


class SettingsDialog(QDialog):
    def __init__(
        self,
        theme: Theme,
        now: Callable[[], datetime],
        actions: SettingsActions,
        parent: QWidget | None = None,
        *,
        pages: Pages | None = None,
    ) -> None:
        super().__init__(parent)
        set_names(self, "settingsDialog", self.tr("Settings"))
        self.setWindowTitle(self.tr("Settings"))
        self.setModal(True)
        self.settings_actions = actions
        self.pages = pages or Pages(theme, now, actions, self)
        self.pages.section_wanted.connect(self.show_section)
        self.model = self.pages.model
        self.key = self.model.key
        self.sign_in = self.model.sign_in
        self._search = make_line(
            "settingsSearch", self.tr("Search settings"), self.tr("Search settings"), is_clearable=True
        )
        self._sections = QListWidget()
        set_names(self._sections, "settingsSections", self.tr("Sections"))
        self._delegate = _Delegate(theme, set_up_list(self._sections), self._sections)
        self._sections.setItemDelegate(self._delegate)
        self._sections.addItems(list(map(section_title, SECTIONS)))
        theme.changed.connect(self._sections.viewport().update)
        self._sections.item(self._row_of("project")).setHidden(True)
        self._section_row = 0
        self._problems = Note("", "warning")
        self.foot = SettingsFoot(actions, self.accept)
        self._lay_out()
        self._sections.currentRowChanged.connect(self._on_section)
        self._sections.setCurrentRow(0)
        self._search.textChanged.connect(self._on_search)
        self.finished.connect(self.key.field.forget)
        self.finished.connect(self.settings_actions.cancel_sign_in)
        QShortcut(QKeySequence.StandardKey.Find, self).activated.connect(self._search.setFocus)
        self.fit_screen()

    @property
    def page(self) -> Page:
        return self.pages.page

    def fit_screen(self) -> None:
        resize_within_screen(self, QSize(820, 640), QSize(760, 320))

    def show_view(self, view: SettingsView) -> None:
        self.pages.show_view(view)
        show_text(self._problems, "\n".join(view.other_problems))

    def show_section(self, section: Section) -> None:
        self._sections.setCurrentRow(self._row_of(section))
        self._search.clear()

    def search_for(self, text: str) -> None:
        self._search.setText(text)
        self._search.setFocus()
        self._search.selectAll()

    def enter_key(self, pasted: str = "") -> None:
        self.show_section("model")
        self.model.show_key((lambda: self.key.offer(pasted)) if pasted else self.key.field.take_focus)

    def connect_provider(self, provider: str) -> None:
        self.show_section("model")
        self.model.connect_provider(provider)
        self.model.when_built(self.key.field.take_focus)

    def show_project(self, proposal: ProjectProposal | None, answer: str | None) -> None:
        self._sections.item(self._row_of("project")).setHidden(proposal is None)
        if proposal is not None:
            self.pages.project.show_proposal(proposal, answer)

    def _lay_out(self) -> None:
        navigation = QWidget(self)
        navigation.setAutoFillBackground(True)
        metrics = QFontMetrics(self._delegate.text_font)
        widest = max(metrics.horizontalAdvance(section_title(section)) for section in SECTIONS)
        navigation.setFixedWidth(max(_NAVIGATION_WIDTH, widest + 6 * Space.S))  # with room for a scroll bar
        margins = (Space.S, Space.M, Space.S, Space.S)
        vbox(self._search, self._sections, on=navigation, spacing=Space.S, margins=margins)
        upper = hbox(navigation, hairline(is_vertical=True), (self.pages, 1))
        self._problems.setObjectName("settingsProblems")
        self._problems.setContentsMargins(Space.XL, Space.S, Space.XL, Space.S)
        self._problems.hide()
        vbox(self._problems, (upper, 1), hairline(), self.foot, on=self)

    def _row_of(self, section: Section) -> int:
        return list(SECTIONS).index(section)

    def _on_section(self, row: int) -> None:
        if row >= 0:
            self._section_row = row
            if self._search.text().strip():
                self._search.clear()
            self.pages.turn_to(list(SECTIONS)[row])

    def _on_search(self, text: str) -> None:
        if text.strip():
            self.pages.search(text)
            self._sections.setCurrentRow(-1)  # results come from all sections
        else:
            self._sections.setCurrentRow(self._section_row)
