"""The section about approvals: what the agent may do without a question, and what confines its commands."""

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from desktop_agent.ui.choice_card import ChoiceCard
from desktop_agent.ui.hairline import hairline
from desktop_agent.ui.mode_words import MODES, POLICIES, approval_words, sandbox_words
from desktop_agent.ui.settings.parts import Page, form, name_of, note, pick, picker, say
from desktop_agent.ui.theme import Space, Theme

if TYPE_CHECKING:
    from desktop_agent.core.settings import ExecutionSettings


class ApprovalsPage(Page):
    """One card per policy, and the sandbox.

    Signals:
        changed: a setting (its dotted name) is to have this value.
    """

    changed = Signal(str, object)

    def __init__(self, theme: Theme) -> None:
        super().__init__(self.tr("Approvals"))
        self._cards = {policy: ChoiceCard(theme, *approval_words(policy)) for policy in POLICIES}
        self._sandbox = picker(self.tr("Sandbox"), [(sandbox_words(mode)[0], mode) for mode in MODES])
        self._sandbox.setObjectName("sandboxSettingPicker")
        self._sandbox.setMinimumContentsLength(24)
        self._consequence = note("")
        self._consequence.setObjectName("sandboxConsequence")
        group = QWidget()
        column = QVBoxLayout(group)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.S)
        for policy, card in self._cards.items():
            card.setObjectName(f"approval_{policy}")
            card.clicked.connect(self._on_chosen)
            column.addWidget(card)
        row = form()
        row.addRow(name_of(self.tr("Sandbox")), self._sandbox)
        row.addRow(name_of(""), self._consequence)
        self.column.addWidget(note(self.tr("For new sessions. A session's own choice is below its composer.")))
        self.column.addWidget(group)
        self.column.addWidget(hairline())
        self.column.addLayout(row)
        self.column.addStretch()
        self._sandbox.currentIndexChanged.connect(self._on_sandbox)
        self._show_consequence()

    def show_settings(self, settings: "ExecutionSettings") -> None:
        """Show what is in force."""
        card = self._cards.get(settings.approval)
        if card is not None:
            card.setChecked(True)
        pick(self._sandbox, settings.sandbox)
        self._show_consequence()

    def _show_consequence(self) -> None:
        mode = self._sandbox.currentData()
        say(self._consequence, sandbox_words(mode)[1], "warning" if mode == "none" else "secondary")

    def _on_chosen(self) -> None:
        policy = next((policy for policy, card in self._cards.items() if card.isChecked()), None)
        if policy is not None:
            self.changed.emit("execution.approval", policy)

    def _on_sandbox(self) -> None:
        self._show_consequence()
        self.changed.emit("execution.sandbox", self._sandbox.currentData())
