"""Pages that are made of the declarations: a row for each setting of some sections, and the results of a search."""

from collections.abc import Iterable

from PySide6.QtWidgets import QLabel, QVBoxLayout

from desktop_agent.core.settings import Setting, declared_section, declared_settings
from desktop_agent.ui.settings.actions import SettingsActions
from desktop_agent.ui.settings.controls import words
from desktop_agent.ui.settings.parts import Page, note
from desktop_agent.ui.settings.setting_row import SettingRow
from desktop_agent.ui.settings.state import SettingsView
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.hairline import hairline


class SettingRows(QVBoxLayout):
    """Rows of settings, one below the other; the special ones last, under a heading."""

    def __init__(self, settings: Iterable[Setting], theme: Theme, actions: SettingsActions) -> None:
        super().__init__()
        self._actions = actions
        self.setSpacing(Space.M)
        self.rows: list[SettingRow] = []
        usual, special = _parted(settings)
        self._add(usual, theme)
        if special:
            heading = QLabel(self.tr("Advanced"))
            heading.setProperty("role", "heading")
            self.addSpacing(Space.XS)
            self.addWidget(heading)
            self._add(special, theme)

    def show_view(self, view: SettingsView) -> None:
        """Show what is in force."""
        for row in self.rows:
            row.show_view(view)

    def _add(self, settings: list[Setting], theme: Theme) -> None:
        for setting in settings:
            row = SettingRow(setting, theme, self._actions)
            self.rows.append(row)
            self.addWidget(row)


class GeneratedPage(Page):
    """All settings of one or more sections."""

    def __init__(self, title: str, sections: Iterable[str], theme: Theme, actions: SettingsActions) -> None:
        """Builds nothing yet: a page that is not looked at costs nothing."""
        super().__init__(title)
        self._sections = tuple(sections)
        self._theme = theme
        self._actions = actions
        self._view: SettingsView | None = None
        self._groups: list[SettingRows] = []

    def show_view(self, view: SettingsView) -> None:
        """Show what is in force."""
        self._view = view
        for rows in self._groups:
            rows.show_view(view)

    def build(self) -> None:
        """Build the rows, if that has not been done yet."""
        if self._groups:
            return
        for section in self._sections:
            about = declared_section(section)
            if self._groups:
                self.column.addWidget(hairline())
                heading = QLabel(words(about.title))
                heading.setProperty("role", "strong")
                self.column.addWidget(heading)
            self.column.addWidget(note(words(about.text)))
            settings = (item for item in declared_settings().values() if item.section == section)
            rows = SettingRows(settings, self._theme, self._actions)
            self._groups.append(rows)
            self.column.addLayout(rows)
        self.column.addStretch()
        if self._view is not None:
            self.show_view(self._view)


class SearchPage(Page):
    """The settings that a search finds, from all sections, best first. Rows are made when they are first found."""

    def __init__(self, theme: Theme, actions: SettingsActions) -> None:
        super().__init__(self.tr("Found settings"))
        self._theme = theme
        self._actions = actions
        self._view: SettingsView | None = None
        self._rows: dict[str, SettingRow] = {}
        self._list = QVBoxLayout()
        self._list.setSpacing(Space.M)
        self._note = note("")
        self.column.addLayout(self._list)
        self.column.addWidget(self._note)
        self.column.addStretch()

    def show_view(self, view: SettingsView) -> None:
        """Show what is in force."""
        self._view = view
        for row in self._rows.values():
            row.show_view(view)

    def search(self, text: str) -> None:
        """Show the settings that have every word of `text` in their names, descriptions or choices."""
        found = _found(text)
        shown = found[:_MOST_FOUND]
        for row in self._rows.values():
            if row.setting not in shown:
                row.hide()
        for place, setting in enumerate(shown):
            row = self._rows.get(setting.key) or self._make_row(setting)
            self._list.removeWidget(row)
            self._list.insertWidget(place, row)
            row.show()
        more = len(found) - len(shown)
        if more:
            self._note.setText(self.tr("And {0} more. Type more to narrow the list.").format(more))
        else:
            self._note.setText(self.tr("No setting matches “{0}”.").format(text.strip()))
        self._note.setVisible(bool(more) or not found)

    def _make_row(self, setting: Setting) -> SettingRow:
        section = words(declared_section(setting.section).title)
        row = SettingRow(setting, self._theme, self._actions, section=section)
        row.setObjectName(f"found_{setting.key}")
        self._rows[setting.key] = row
        if self._view is not None:
            row.show_view(self._view)
        return row


_MOST_FOUND = 8
"""More rows at once could be seen to be made."""


def _found(text: str) -> list[Setting]:
    """Return the settings that have all these words, those first that have them in their names."""
    wanted = text.casefold().split()

    def has_all(*texts: str) -> bool:
        searched = " ".join(texts).casefold()
        return all(word in searched for word in wanted)

    named: list[Setting] = []
    described: list[Setting] = []
    for setting in declared_settings().values():
        about, title = setting.about, words(setting.about.title)
        if has_all(setting.key) or has_all(title):
            named.append(setting)
        elif has_all(
            setting.key,
            words(declared_section(setting.section).title),
            title,
            words(about.text),
            *map(words, about.words.values()),
        ):
            described.append(setting)
    return named + described


def _parted(settings: Iterable[Setting]) -> tuple[list[Setting], list[Setting]]:
    usual: list[Setting] = []
    special: list[Setting] = []
    for setting in settings:
        (special if setting.about.is_advanced else usual).append(setting)
    return usual, special
