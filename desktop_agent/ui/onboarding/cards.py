"""Cards of which one is chosen, below each other."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.choice_card import ChoiceCard
from desktop_agent.ui.widgets.layouts import vbox


class Cards(QWidget):
    """Several cards that exclude each other, each standing for a value.

    Signals:
        chosen: another card was chosen.
        confirmed: a card was double-clicked.
    """

    chosen = Signal()
    confirmed = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._cards: list[tuple[ChoiceCard, object]] = []
        self._column = vbox(on=self, spacing=Space.S)

    @property
    def value(self) -> object:
        """What the chosen card stands for; `None` without cards."""
        return next((value for card, value in self._cards if card.isChecked()), None)

    def show_choices(self, choices: Sequence[tuple[str, str, object]]) -> None:
        """Offer these: a title, an explanation and a value each. The first is chosen, or what was before.

        A card that is offered again stays, and so does the keyboard on it.
        """
        before = self.value
        kept = {(card.text(), card.accessibleDescription()): card for card, _ in self._cards}
        self._cards = []
        for title, text, value in choices:
            card = kept.pop((title, text), None) or self._new_card(title, text)
            self._column.insertWidget(len(self._cards), card)
            self._cards.append((card, value))
        for card in kept.values():
            self._column.removeWidget(card)
            card.hide()
            card.deleteLater()
        chosen = next((card for card, value in self._cards if value == before), None)
        if self._cards:
            (chosen or self._cards[0][0]).setChecked(True)

    def _new_card(self, title: str, text: str) -> ChoiceCard:
        card = ChoiceCard(self._theme, title, text, self)
        card.show()  # at once: it may get the keyboard
        card.toggled.connect(self._on_toggled)
        card.confirmed.connect(self._on_confirmed)
        return card

    def take_focus(self) -> None:
        """Put the keyboard on the chosen card."""
        if (card := next((card for card, _ in self._cards if card.isChecked()), None)) is not None:
            card.setFocus()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.EnabledChange:
            self.update()

    def _on_confirmed(self) -> None:
        card = self.sender()
        assert isinstance(card, ChoiceCard)
        card.setChecked(True)
        self.confirmed.emit()

    def _on_toggled(self, is_chosen: bool) -> None:
        if is_chosen:
            self.chosen.emit()
