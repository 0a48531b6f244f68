"""Pages made from the declarations: a row for each setting of some sections, and the results of a search.

A row has a setting's name, what it does, its control, the source of its value, and a way back to the default.
"""

from collections.abc import Collection, Iterable, Iterator
from functools import cache, partial
from typing import cast

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from desktop_agent.core.settings.values import Setting, declared_section, declared_settings
from desktop_agent.ui.settings.page_parts import Page
from desktop_agent.ui.settings.setting_controls import TextsControl, control_for, words
from desktop_agent.ui.settings.settings_view import Section, SettingsActions, SettingsView, section_title
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.widgets.labels import Note, make_label, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, add_parts, hairline, hbox, vbox


class SettingRow(QWidget):
    """Shows one setting."""

    def __init__(self, setting: Setting, theme: Theme, actions: SettingsActions, *, section: str = "") -> None:
        """`section` is shown before the title where rows of several sections are mixed."""
        super().__init__()
        self.setting = setting
        self.setObjectName(f"setting_{setting.key}")
        about = setting.about
        self._title = QLabel(f"{section} · {words(about.title)}" if section else words(about.title))
        self._title.setToolTip(setting.key)
        self._text = Note(words(about.text))
        self.control = control_for(setting, theme)
        self._problem = Note("", "error")
        self._origin = Note("", "warning")
        self._state = Note("")
        self._state.setWordWrap(False)
        reset = partial(actions.reset, setting.key)
        self._reset = compact_button(self.tr("Reset"), clicked=reset, variant="flat")
        self._reset.setAccessibleName(self.tr("Reset {0}").format(words(about.title)))
        self._lay_out()
        self.control.changed.connect(partial(actions.change, setting.key))

    def show_view(self, view: SettingsView) -> None:
        key = self.setting.key
        value = view.values[key]
        self.control.show_value(value)
        is_changed = value != self.setting.default
        variable = view.variable_of(key)
        self.control.setEnabled(not variable)
        self._state.setText(self.tr("Changed. Default: {0}").format(shown(self.setting, self.setting.default)))
        self._state.setVisible(is_changed and not variable)
        self._reset.setVisible(is_changed and not variable)
        show_text(self._problem, view.problem_of(key))
        show_text(self._origin, self._origin_words(view))

    def _origin_words(self, view: SettingsView) -> str:
        key = self.setting.key
        if variable := view.variable_of(key):
            return self.tr("Set by the environment variable {0}, which overrides the file.").format(variable)
        if key in view.project:
            return self.tr("The project sets this to “{0}”, which applies here.").format(
                shown(self.setting, view.project[key])
            )
        return ""

    def _lay_out(self) -> None:
        is_wide = isinstance(self.control, TextsControl)
        top = hbox((vbox(self._title, self._text, spacing=2), 1), spacing=Space.L)
        if not is_wide:
            top.addWidget(self.control, 0, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight)
        state = hbox(self._state, self._reset, STRETCH, spacing=Space.XS)
        parts = ([top, self.control] if is_wide else [top]) + [self._problem, self._origin, state]
        vbox(*parts, on=self, spacing=Space.XS, margins=(0, Space.XS, 0, Space.XS))
        for label in (self._problem, self._origin, self._state):
            label.hide()
        self._reset.hide()


def shown(setting: Setting, value: object) -> str:
    about = setting.about
    if value is None or value in ("", ()):
        return words(about.unset or "nothing")
    if setting.kind == "choice":
        return words(about.words.get(str(value), str(value)))
    if setting.kind == "switch":
        return words("on") if value else words("off")
    if isinstance(value, tuple):
        return ", ".join(map(str, cast("tuple[object, ...]", value)))
    if isinstance(value, int | float):
        return f"{value / about.per_unit:,g} {words(about.unit)}".strip()
    return str(value)


_MOST_FOUND = 8
"""More would take too long to build."""


class SettingRows(QVBoxLayout):
    """Rows of settings; advanced ones last, under a heading."""

    def __init__(self, settings: Iterable[Setting], theme: Theme, actions: SettingsActions) -> None:
        super().__init__()
        self._settings = tuple(settings)
        self._theme = theme
        self._actions = actions
        self._view: SettingsView | None = None
        self._rows: list[SettingRow] = []
        self.setSpacing(Space.M)

    def build(self) -> Iterator[None]:
        """Build the rows, one per step. Add the layout to another one first."""
        yield from self._add([setting for setting in self._settings if not setting.about.is_advanced])
        special = [setting for setting in self._settings if setting.about.is_advanced]
        if special:
            add_parts(self, Space.XS, make_label(self.tr("Advanced"), role="heading"))
            yield from self._add(special)

    def show_view(self, view: SettingsView) -> None:
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
    return [setting for setting in _by_section().get(section, ()) if setting.key not in without]


@cache
def _by_section() -> dict[str, list[Setting]]:
    found: dict[str, list[Setting]] = {}
    for setting in declared_settings().values():
        found.setdefault(setting.section, []).append(setting)
    return found


class GeneratedPage(Page):
    """All settings of one or more tables of the settings file."""

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
                add_parts(self.column, hairline(), make_label(words(about.title), role="strong"))
            add_parts(self.column, Note(words(about.text)), rows)
            yield from rows.build()
        self.column.addStretch()


class SearchPage(Page):
    """Settings found by a search in all sections, best first. Rows are made when they are first found."""

    def __init__(self, theme: Theme, actions: SettingsActions) -> None:
        super().__init__(self.tr("Found settings"))
        self._theme = theme
        self._actions = actions
        self._rows: dict[str, SettingRow] = {}
        self._list = QVBoxLayout()
        self._list.setSpacing(Space.M)
        self._note = Note("")
        add_parts(self.column, self._list, self._note, STRETCH)

    def show_view(self, view: SettingsView) -> None:
        super().show_view(view)
        for row in self._rows.values():
            row.show_view(view)

    def search(self, text: str) -> None:
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
        if self.view is not None:
            row.show_view(self.view)
        return row


def _found(text: str) -> list[Setting]:
    """Return the settings that contain all these words; settings with the words in their names come first."""
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
