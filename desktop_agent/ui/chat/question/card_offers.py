"""The answers of a question that make a rule: buttons that say as much of a long command as fits."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.protocol.model import ScopeOffer
from desktop_agent.ui.theme import Space
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.wording.model_words import one_line
from desktop_agent.ui.wording.tooltips import plain_tooltip

_OFFER_WIDTH = 380
_OFFER_STEP = 20
_LEAST_QUOTED_WIDTH = 60
"""Cut to less, an offer does not say any more which command it allows: rather a second row."""


class CardOffers:
    """One button for each offer that is quick to read.

    Any other rule deserves to be seen whole, with what it would have allowed so far: `Review…` shows that.
    """

    def __init__(self, offers: Sequence[ScopeOffer], card: QWidget) -> None:
        self.buttons: list[QPushButton] = []
        self._offers = [offer for offer in offers if offer.is_quick]
        self._parts = [_parts_of(core_words(offer.label)) for offer in self._offers]
        for parts in self._parts:
            text = "".join(parts)
            button = make_button(text, accessible_name=text, parent=card)
            _cut_offer(button, parts, _OFFER_WIDTH)
            button.setToolTip(plain_tooltip(text))
            self.buttons.append(button)

    def offer_of(self, button: object) -> ScopeOffer | None:
        """Return what this button offers."""
        return next((offer for mine, offer in zip(self.buttons, self._offers, strict=True) if mine is button), None)

    def fit(self, shown: Sequence[QPushButton], width: int) -> bool:
        """Shorten the commands so that all `shown` buttons fit in one row, if enough of the commands remains.

        Returns whether they fit.
        """
        offers = [button for button in self.buttons if button in shown]
        rest = sum(button.sizeHint().width() for button in shown if button not in offers) + Space.S * (len(shown) - 1)
        is_one_row = rest <= width
        for button, parts in zip(self.buttons, self._parts, strict=True) if offers else ():
            metrics = button.fontMetrics()
            room = (width - rest) // len(offers) - button.sizeHint().width() + metrics.horizontalAdvance(button.text())
            least = metrics.horizontalAdvance("".join(parts[::2])) + _LEAST_QUOTED_WIDTH * (len(parts) // 2)
            has_room = room >= least
            _cut_offer(button, parts, min(room, _OFFER_WIDTH) if has_room else _OFFER_WIDTH)
            is_one_row = is_one_row and has_room
        return is_one_row


def _parts_of(label: str) -> list[str]:
    """Return the words of an offer; every other part is quoted."""
    return [one_line(part) for part in label.split("`")]


def _cut_offer(button: QPushButton, parts: list[str], room: int) -> None:
    """Let the button show the offer in this many pixels, as far as cutting what is quoted does that."""
    metrics = button.fontMetrics()
    shown = parts
    for width in range(_OFFER_WIDTH, 0, -_OFFER_STEP):
        if metrics.horizontalAdvance("".join(shown)) <= room:
            break
        cut = Qt.TextElideMode.ElideMiddle
        shown = [metrics.elidedText(part, cut, width) if at % 2 else part for at, part in enumerate(parts)]
    if button.text() != (text := "".join(shown)):
        button.setText(text)
