"""The section about approvals: what the agent may do without a question."""

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from desktop_agent.ui.choice_card import ChoiceCard
from desktop_agent.ui.settings.parts import Page, note
from desktop_agent.ui.theme import Space, Theme

if TYPE_CHECKING:
    from desktop_agent.core.settings import ExecutionSettings


class ApprovalsPage(Page):
    """One card per policy.

    Signals:
        changed: a setting (its dotted name) is to have this value.
    """

    changed = Signal(str, object)

    def __init__(self, theme: Theme) -> None:
        super().__init__(self.tr("Approvals"))
        self._cards = {
            "always": ChoiceCard(theme, self.tr("Ask before every call"), self.tr("Reading, too, waits for your yes.")),
            "on_write": ChoiceCard(
                theme, self.tr("Ask before writing"), self.tr("Reading is free. Changes and commands ask.")
            ),
            "on_request": ChoiceCard(
                theme, self.tr("Ask before commands"), self.tr("Edits in the folder are free. Commands ask.")
            ),
        }
        group = QWidget()
        column = QVBoxLayout(group)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.S)
        for policy, card in self._cards.items():
            card.setObjectName(f"approval_{policy}")
            card.clicked.connect(self._on_chosen)
            column.addWidget(card)
        self.column.addWidget(note(self.tr("For new sessions. A session's own rule is below its composer.")))
        self.column.addWidget(group)
        self.column.addStretch()

    def show_settings(self, settings: "ExecutionSettings") -> None:
        """Show what is in force."""
        card = self._cards.get(settings.approval)
        if card is not None:
            card.setChecked(True)

    def _on_chosen(self) -> None:
        policy = next((policy for policy, card in self._cards.items() if card.isChecked()), None)
        if policy is not None:
            self.changed.emit("execution.approval", policy)
