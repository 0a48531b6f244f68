"""The settings section about approvals and the sandbox."""

from collections.abc import Iterator

from PySide6.QtWidgets import QWidget

from desktop_agent.core.settings.values import declared_settings
from desktop_agent.ui.settings.generated_page import settings_of
from desktop_agent.ui.settings.page_parts import Page, field_row, shown
from desktop_agent.ui.settings.setting_controls import words
from desktop_agent.ui.settings.settings_view import SettingsView
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import Picker
from desktop_agent.ui.widgets.choice_card import ChoiceCard
from desktop_agent.ui.widgets.labels import Note, show_text
from desktop_agent.ui.widgets.layouts import add_parts, hairline, vbox
from desktop_agent.ui.wording.phrases import MODES, POLICIES, approval_words, sandbox_words

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
