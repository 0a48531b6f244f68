"""Pages made from the declarations of settings: sections, approvals with the sandbox, and search results."""

from collections.abc import Collection, Iterable, Iterator

from PySide6.QtWidgets import QVBoxLayout, QWidget

from desktop_agent.core.settings.values import Setting, declared_section, declared_settings
from desktop_agent.ui.settings.page_parts import Page, SettingRow, field_row, shown
from desktop_agent.ui.settings.setting_controls import words
from desktop_agent.ui.settings.settings_view import SettingsActions, SettingsView
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import Picker
from desktop_agent.ui.widgets.choice_card import ChoiceCard
from desktop_agent.ui.widgets.labels import Note, make_label, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, add_parts, hairline, vbox
from desktop_agent.ui.wording.phrases import MODES, POLICIES, approval_words, sandbox_words


def settings_of(table: str, without: Collection[str] = ()) -> list[Setting]:
    declared = declared_settings().values()
    return [setting for setting in declared if setting.section == table and setting.key not in without]


class GeneratedPage(Page):
    def __init__(self, title: str, theme: Theme, actions: SettingsActions, tables: Iterable[str]) -> None:
        super().__init__(title, theme, actions)
        self._tables = tuple(tables)

    def _build(self) -> Iterator[None]:
        for place, table in enumerate(self._tables):
            about = declared_section(table)
            if place > 0:
                add_parts(self.column, hairline(), make_label(words(about.title), role="strong"))
            self.column.addWidget(Note(words(about.text)))
            yield from self.add_rows(settings_of(table))
        self.column.addStretch()


_MOST_FOUND = 8


class SearchPage(Page):
    def __init__(self, theme: Theme, actions: SettingsActions) -> None:
        super().__init__("", theme, actions)
        self.title = self.tr("Found settings")
        self._list = QVBoxLayout()
        self._list.setSpacing(Space.M)
        self._note = Note()
        add_parts(self.column, self._list, self._note, STRETCH)

    def search(self, text: str) -> None:
        self.build()
        found = _found(text)
        listed = found[:_MOST_FOUND]
        known = {row.setting.key: row for row in self.rows}
        for row in self.rows:
            if row.setting not in listed:
                row.hide()
        for place, setting in enumerate(listed):
            row = known.get(setting.key) or self._new_row(setting)
            self._list.removeWidget(row)
            self._list.insertWidget(place, row)
            row.show()
        note = ""
        if more := len(found) - len(listed):
            note = self.tr("And {0} more. Type more to narrow the list.").format(more)
        elif not found:
            note = self.tr("No setting matches “{0}”.").format(text.strip())
        show_text(self._note, note)

    def _new_row(self, setting: Setting) -> SettingRow:
        row = self.add_row(setting, self._list, section=words(declared_section(setting.section).title))
        row.setObjectName(f"found_{setting.key}")
        return row


def _found(text: str) -> list[Setting]:
    wanted = text.casefold().split()

    def has_all(*texts: str) -> bool:
        searched = " ".join(texts).casefold()
        return all(word in searched for word in wanted)

    named: list[Setting] = []
    described: list[Setting] = []
    for setting in declared_settings().values():
        if setting.about.holds == "keys":  # keys have their own search
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


_HAND_MADE = ("execution.approval", "execution.sandbox")


class ApprovalsPage(Page):
    def _build(self) -> Iterator[None]:
        self._project = Note("", "warning")
        self._project.hide()
        about = Note(self.tr("For new sessions. Each session can choose its own below the message field."))
        self._cards = {policy: ChoiceCard(self.theme, *approval_words(policy)) for policy in POLICIES}
        group = QWidget()
        vbox(*self._cards.values(), on=group, spacing=Space.S)
        add_parts(self.column, about, self._project, group)
        yield
        name, modes = self.tr("Sandbox"), [(sandbox_words(mode)[0], mode) for mode in MODES]
        self._sandbox = Picker(object_name="sandboxSettingPicker", accessible_name=name, choices=modes, fills=True)
        self._consequence = Note("", object_name="sandboxConsequence")
        for policy, card in self._cards.items():
            card.setObjectName(f"approval_{policy}")
            card.clicked.connect(self._on_chosen)
        add_parts(self.column, hairline(), field_row(name, self._sandbox, self._consequence), hairline())
        self._sandbox.currentIndexChanged.connect(self._on_sandbox)
        self._show_consequence()
        yield
        yield from self.add_rows(settings_of("execution", _HAND_MADE))
        self.column.addStretch()

    def _show(self, view: SettingsView) -> None:
        settings, declared = view.settings.execution, declared_settings()
        text = self.tr("{0}: the project sets “{1}”, which applies here.")
        tightened = [
            text.format(words(declared[key].about.title), shown(declared[key], view.project[key]))
            for key in _HAND_MADE
            if key in view.project
        ]
        show_text(self._project, "\n".join(tightened))
        card = self._cards.get(settings.approval)
        if card is not None:
            card.setChecked(True)
        self._sandbox.pick(settings.sandbox)
        self._show_consequence()

    def _show_consequence(self) -> None:
        mode = self._sandbox.currentData()
        self._consequence.say(sandbox_words(mode)[1], "warning" if mode == "none" else "secondary")

    def _on_chosen(self) -> None:
        policy = next((policy for policy, card in self._cards.items() if card.isChecked()), None)
        if policy is not None:
            self.settings_actions.change("execution.approval", policy)

    def _on_sandbox(self) -> None:
        self._show_consequence()
        self.settings_actions.change("execution.sandbox", self._sandbox.currentData())
