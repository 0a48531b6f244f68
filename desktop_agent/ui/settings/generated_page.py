"""Pages that are made of the declarations: a row for each setting of some sections, and the results of a search."""

from collections.abc import Collection, Iterable, Iterator
from functools import cache

from PySide6.QtWidgets import QVBoxLayout

from desktop_agent.core.settings import Setting, declared_section, declared_settings
from desktop_agent.ui.settings.actions import SettingsActions
from desktop_agent.ui.settings.controls import words
from desktop_agent.ui.settings.parts import Page, note
from desktop_agent.ui.settings.sections import Section, section_title
from desktop_agent.ui.settings.setting_row import SettingRow
from desktop_agent.ui.settings.state import SettingsView
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hairline

_MOST_FOUND = 8
"""More rows at once could be seen to be made."""


class SettingRows(QVBoxLayout):
    """Rows of settings, one below the other; the special ones last, under a heading."""

    def __init__(self, settings: Iterable[Setting], theme: Theme, actions: SettingsActions) -> None:
        super().__init__()
        self._settings = tuple(settings)
        self._theme = theme
        self._actions = actions
        self._view: SettingsView | None = None
        self._rows: list[SettingRow] = []
        self.setSpacing(Space.M)

    def build(self) -> Iterator[None]:
        """Build the rows, one in each step. Until then they cost nothing. Add it to another layout before."""
        yield from self._add([setting for setting in self._settings if not setting.about.is_advanced])
        special = [setting for setting in self._settings if setting.about.is_advanced]
        if special:
            self.addSpacing(Space.XS)
            self.addWidget(make_label(self.tr("Advanced"), role="heading"))
            yield from self._add(special)

    def show_view(self, view: SettingsView) -> None:
        """Show what is in force, now or when the rows are built."""
        self._view = view
        for row in self._rows:
            row.show_view(view)

    def _add(self, settings: Iterable[Setting]) -> Iterator[None]:
        for setting in settings:
            row = SettingRow(setting, self._theme, self._actions)
            self._rows.append(row)
            self.addWidget(row)
            if self._view is not None:
                row.show_view(self._view)
            yield


def settings_of(section: str, without: Collection[str] = ()) -> list[Setting]:
    """Return the settings of a section, but for those that have a control of their own."""
    return [setting for setting in _by_section().get(section, ()) if setting.key not in without]


@cache
def _by_section() -> dict[str, list[Setting]]:
    """All settings: the dialog asks for each of its pages, and has a frame for all of them."""
    found: dict[str, list[Setting]] = {}
    for setting in declared_settings().values():
        found.setdefault(setting.section, []).append(setting)
    return found


class GeneratedPage(Page):
    """A section of the dialog that has all settings of one or more tables of the settings file."""

    def __init__(self, section: Section, tables: Iterable[str], theme: Theme, actions: SettingsActions) -> None:
        super().__init__(section_title(section))
        self._groups = {table: SettingRows(settings_of(table), theme, actions) for table in tables}

    def show_view(self, view: SettingsView) -> None:
        for rows in self._groups.values():
            rows.show_view(view)

    def _build(self) -> Iterator[None]:
        for place, (table, rows) in enumerate(self._groups.items()):
            about = declared_section(table)
            if place > 0:
                self.column.addWidget(hairline())
                self.column.addWidget(make_label(words(about.title), role="strong"))
            self.column.addWidget(note(words(about.text)))
            self.column.addLayout(rows)
            yield from rows.build()
        self.column.addStretch()


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
        self._view = view
        for row in self._rows.values():
            row.show_view(view)

    def search(self, text: str) -> None:
        """Show the settings that have every word of `text` in their names, descriptions or choices."""
        self.build()
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


def _found(text: str) -> list[Setting]:
    """Return the settings that have all these words, those first that have them in their names."""
    wanted = text.casefold().split()

    def has_all(*texts: str) -> bool:
        searched = " ".join(texts).casefold()
        return all(word in searched for word in wanted)

    named: list[Setting] = []
    described: list[Setting] = []
    for setting in declared_settings().values():
        if setting.about.holds == "keys":  # which has a search of its own
            continue
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
