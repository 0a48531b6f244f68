"""The possible answers to a question: a row of buttons, or the reason for a denial."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import chain, zip_longest

from PySide6.QtCore import QObject, QRect, Signal
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

from desktop_agent.core.protocol.model import ApprovalScope
from desktop_agent.ui.chat.entries.questions import CardPlace
from desktop_agent.ui.part_keys import ALLOW_KEYS, DENY_KEYS, native_keys
from desktop_agent.ui.theme import Space
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.widgets.answer_buttons import ShortcutButton, answer_shortcut, cut_to_fit
from desktop_agent.ui.widgets.buttons import make_button, make_line
from desktop_agent.ui.widgets.layouts import flow
from desktop_agent.ui.wording.visible_text import one_line, plain_tooltip

_OFFER_WIDTH = 380
_LEAST_QUOTED_WIDTH = 60
"""The least width of a quoted command, in pixels. Offers that would be cut further get a second row instead."""


def _cut_offer(button: QPushButton, parts: list[str], room: int) -> None:
    def words(quoted: Sequence[str]) -> str:
        return "".join(chain.from_iterable(zip_longest(parts[::2], quoted, fillvalue="")))

    text = cut_to_fit(words, parts[1::2], button, room, _OFFER_WIDTH).replace("&", "&&")  # no key of the button
    if button.text() != text:
        button.setText(text)


DENIAL = "denial"

_FIELD_HEIGHT = 30


class CardAnswers(QObject):
    """The buttons of a card. `allow` and `deny` decide whether an answer counts. `review` shows long rules in full."""

    switched = Signal()

    def __init__(
        self, place: CardPlace, card: QWidget, *, allow: Callable[[ApprovalScope], None], deny: Callable[[str], None]
    ) -> None:
        super().__init__(card)
        theme = place.styles.theme
        self._card = card
        self._drafts = place.drafts
        self._deny_with = deny
        self._is_stopped = False
        self._listens = True
        keys = native_keys(ALLOW_KEYS)
        self.yes = ShortcutButton(theme, self.tr("Allow once"), keys, colour_role="on_accent", parent=card)
        self.yes.setAccessibleName(self.tr("Allow once"))
        self.yes.setProperty("variant", "primary")
        allow_once = partial(allow, "once")
        self.yes.clicked.connect(allow_once)
        self._offers: dict[QPushButton, list[str]] = {}
        """The words of each offer; every second part is quoted."""
        for offer in (offer for offer in place.request.scopes if offer.is_quick):
            parts = [one_line(part) for part in core_words(offer.label).split("`")]
            text = "".join(parts)
            button = make_button(text, accessible_name=text, clicked=partial(allow, offer.scope), parent=card)
            _cut_offer(button, parts, _OFFER_WIDTH)
            button.setToolTip(plain_tooltip(text))
            self._offers[button] = parts
        self.review = make_button(self.tr("Review…"), parent=card)
        self.no = make_button(self.tr("Deny…"), clicked=self._on_deny, variant="destructive", parent=card)
        self._buttons = [self.yes, *self._offers, self.review, self.no]
        self.no.setToolTip(self.tr("{keys} denies at once").format(keys=native_keys(DENY_KEYS)))
        self._shortcuts = (
            answer_shortcut(ALLOW_KEYS, allow_once, card),
            answer_shortcut(DENY_KEYS, self._on_deny_now, card),
        )
        self._show_buttons()

    @cached_property
    def _denial(self) -> tuple[QLineEdit, QPushButton, QPushButton]:
        reason = self.tr("Reason for the agent (optional)")
        field = make_line("", self.tr("Message to the agent"), reason, parent=self._card)
        field.setText(self._drafts.get(DENIAL, ""))
        field.textChanged.connect(partial(self._drafts.__setitem__, DENIAL))
        field.returnPressed.connect(self._on_deny_now)
        deny = make_button(self.tr("Deny"), clicked=self._on_deny_now, variant="destructive", parent=self._card)
        back = make_button(self.tr("Back"), clicked=self._on_back, variant="flat", parent=self._card)
        for control in (field, deny):
            control.setEnabled(not self._is_stopped)
        for widget in (field, deny, back):
            widget.show()
        return field, deny, back

    @property
    def is_denying(self) -> bool:
        return DENIAL in self._drafts

    def set_shortcut(self, *, is_enabled: bool) -> bool:
        if is_enabled == self._listens:
            return False
        self._listens = is_enabled
        for shortcut in self._shortcuts:
            shortcut.setEnabled(is_enabled)
        return True

    def show_obstacle(self, obstacle: str, *, is_refused: bool, is_edited: bool) -> None:
        for button in (self.yes, *self._offers):
            button.setEnabled(not obstacle and not self._is_stopped)
            # Without a description, Qt uses the tool tip, which contains markup if the text may be cut.
            button.setAccessibleDescription(obstacle or (button.accessibleName() if button.toolTip() else ""))
        keys = native_keys(ALLOW_KEYS) if self._listens else ""
        self.yes.setToolTip((plain_tooltip(obstacle) if is_refused else obstacle) or keys)
        self.yes.setAccessibleDescription(obstacle or keys)
        for button in self._offers:  # rules are for the agent's command; an edited command is allowed once
            button.setVisible(not is_edited and not self.is_denying)

    def stop(self) -> None:
        self._is_stopped = True
        for button in self._buttons:
            button.setEnabled(False)
        for control in self._denial[:2] if self.is_denying else ():
            control.setEnabled(False)

    def fit(self, width: int) -> None:
        shown = self._shown()
        self.yes.show_keys(is_shown=self._listens)
        self._fit_offers(shown, 2 * width)  # their full text
        if sum(button.sizeHint().width() for button in shown) + Space.S * (len(shown) - 1) > width:
            self.yes.show_keys(is_shown=False)
            if not self._fit_offers(shown, width):
                self.yes.show_keys(is_shown=self._listens)  # there are two rows anyway

    def _fit_offers(self, shown: Sequence[QPushButton], width: int) -> bool:
        """Return whether all `shown` buttons fit in one row."""
        offers = [button for button in self._offers if button in shown]
        rest = sum(button.sizeHint().width() for button in shown if button not in offers) + Space.S * (len(shown) - 1)
        is_one_row = rest <= width
        for button, parts in self._offers.items() if offers else ():
            metrics = button.fontMetrics()
            room = (width - rest) // len(offers) - button.sizeHint().width() + metrics.horizontalAdvance(button.text())
            least = metrics.horizontalAdvance("".join(parts[::2])) + _LEAST_QUOTED_WIDTH * (len(parts) // 2)
            has_room = room >= least
            _cut_offer(button, parts, min(room, _OFFER_WIDTH) if has_room else _OFFER_WIDTH)
            is_one_row = is_one_row and has_room
        return is_one_row

    def place(self, x: int, y: int, width: int) -> int:
        if self.is_denying:
            field, *buttons = self._denial
            field.setGeometry(x, y, width, _FIELD_HEIGHT)
            y += _FIELD_HEIGHT + Space.S
            return y + flow(buttons, QRect(x, y, width, 0))
        return y + flow(self._shown(), QRect(x, y, width, 0))

    def _shown(self) -> list[QPushButton]:
        return [button for button in self._buttons if not button.isHidden()]

    def _show_buttons(self) -> None:
        for button in self._buttons:
            button.setVisible(not self.is_denying)

    def _on_deny(self) -> None:
        self._drafts.setdefault(DENIAL, "")
        for widget in self._denial:
            widget.show()
        self._denial[0].setFocus()
        self._show_buttons()
        self.switched.emit()

    def _on_deny_now(self) -> None:
        self._deny_with(self._denial[0].text().strip() if self.is_denying else "")

    def _on_back(self) -> None:
        self._drafts.pop(DENIAL, None)
        for widget in self._denial:
            widget.hide()
        self._show_buttons()
        self.no.setFocus()
        self.switched.emit()
