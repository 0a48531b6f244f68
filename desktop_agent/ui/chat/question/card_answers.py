"""The ways to answer a question: a row of buttons, or in its place the reason for a no."""

from collections.abc import Callable
from functools import cached_property

from PySide6.QtCore import QObject, QRect, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.protocol.model import ApprovalRequest, ApprovalScope
from desktop_agent.ui.chat.question.card_denial import DENIAL, CardDenial
from desktop_agent.ui.chat.question.card_offers import CardOffers
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.arming import answer_shortcut
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import flow
from desktop_agent.ui.widgets.shortcut_button import ShortcutButton
from desktop_agent.ui.wording.place_keys import ALLOW_KEYS, DENY_KEYS, native_keys
from desktop_agent.ui.wording.tooltips import plain_tooltip


class CardAnswers(QObject):
    """Calls `allow` or `deny` as the user wants; whether that counts is for them to decide.

    `review` is the button to see the question in full.

    Signals:
        switched: the buttons gave way to the reason for a no, or came back.
    """

    switched = Signal()

    def __init__(
        self,
        request: ApprovalRequest,
        drafts: dict[str, str],
        theme: Theme,
        card: QWidget,
        *,
        allow: Callable[[ApprovalScope], None],
        deny: Callable[[str], None],
    ) -> None:
        """`deny` gets the message to the agent."""
        super().__init__(card)
        self._card = card
        self._drafts = drafts
        self._allow_in = allow
        self._deny_with = deny
        self._is_stopped = False
        self._listens = True
        """Whether the keys that answer belong to this question."""
        keys = native_keys(ALLOW_KEYS)
        self._allow = ShortcutButton(theme, self.tr("Allow once"), keys, colour_role="on_accent", parent=card)
        self._allow.setAccessibleName(self.tr("Allow once"))
        self._allow.setProperty("variant", "primary")
        self._allow.clicked.connect(self._on_allow)
        self._offers = CardOffers(request.scopes, card)
        for button in self._offers.buttons:
            button.clicked.connect(self._on_offer)
        self.review = make_button(self.tr("Review…"), parent=card)
        self._deny = make_button(self.tr("Deny…"), clicked=self._on_deny, variant="destructive", parent=card)
        self._buttons = [self._allow, *self._offers.buttons, self.review, self._deny]
        self._deny.setToolTip(self.tr("{keys} denies at once").format(keys=native_keys(DENY_KEYS)))
        self._shortcuts = (
            answer_shortcut(ALLOW_KEYS, self._on_allow, card),
            answer_shortcut(DENY_KEYS, self._on_deny_now, card),
        )
        self._show_buttons()

    @cached_property
    def _denial(self) -> CardDenial:
        """Made when the user wants to deny: most questions are answered without."""
        denial = CardDenial(self._drafts, self._card)
        denial.field.returnPressed.connect(self._on_deny_now)
        denial.deny.clicked.connect(self._on_deny_now)
        denial.back.clicked.connect(self._on_back)
        if self._is_stopped:
            denial.stop()
        return denial

    @property
    def is_denying(self) -> bool:
        """Whether the reason for a no stands in the place of the buttons."""
        return DENIAL in self._drafts

    def set_shortcut(self, *, is_enabled: bool) -> bool:
        """Let keys answer, or not. Returns whether the buttons' words have changed."""
        if is_enabled == self._listens:
            return False
        self._listens = is_enabled
        for shortcut in self._shortcuts:
            shortcut.setEnabled(is_enabled)
        return True

    def show_obstacle(self, obstacle: str, *, is_refused: bool, is_edited: bool) -> None:
        """Offer a yes unless there is an obstacle; then say what it is."""
        for button in (self._allow, *self._offers.buttons):
            button.setEnabled(not obstacle and not self._is_stopped)
            # Without one Qt describes it by its tool tip, which is markup where it may be cut.
            button.setAccessibleDescription(obstacle or (button.accessibleName() if button.toolTip() else ""))
        keys = native_keys(ALLOW_KEYS) if self._listens else ""
        self._allow.setToolTip((plain_tooltip(obstacle) if is_refused else obstacle) or keys)
        self._allow.setAccessibleDescription(obstacle or keys)
        for button in self._offers.buttons:  # a rule is made of the agent's command; one of the user's is allowed once
            button.setVisible(not is_edited and not self.is_denying)

    def stop(self) -> None:
        """Take no more answers."""
        self._is_stopped = True
        for button in self._buttons:
            button.setEnabled(False)
        if self.is_denying:
            self._denial.stop()

    # -- geometry --

    def fit(self, width: int) -> None:
        """Let the offers say as much as fits; the names of keys are dropped first."""
        shown = self._shown()
        self._allow.show_keys(is_shown=self._listens)
        self._offers.fit(shown, 2 * width)  # their full words
        if sum(button.sizeHint().width() for button in shown) + Space.S * (len(shown) - 1) > width:
            self._allow.show_keys(is_shown=False)
            if not self._offers.fit(shown, width):
                self._allow.show_keys(is_shown=self._listens)  # there are two rows anyway

    def has_room_beside(self, area: QRect, width: int) -> bool:
        """Whether something as wide as this fits behind the last button.

        The buttons are placed to find out, and moved to where they belong afterwards.
        """
        flow(self._shown(), area)
        return self.last_button.right() + Space.L + width <= area.x() + area.width()

    @property
    def last_button(self) -> QRect:
        """Where the last button is."""
        return self._deny.geometry()

    def place(self, x: int, y: int, width: int) -> int:
        """Stand at this point, this wide; return where they end."""
        if self.is_denying:
            return self._denial.place(x, y, width)
        return y + flow(self._shown(), QRect(x, y, width, 0))

    def _shown(self) -> list[QPushButton]:
        return [button for button in self._buttons if not button.isHidden()]

    def _show_buttons(self) -> None:
        for button in self._buttons:
            button.setVisible(not self.is_denying)

    # -- what the user does --

    def _on_allow(self) -> None:
        self._allow_in("once")

    def _on_offer(self) -> None:
        offer = self._offers.offer_of(self.sender())
        if offer is not None:
            self._allow_in(offer.scope)

    def _on_deny(self) -> None:
        self._denial.open()
        self._show_buttons()
        self.switched.emit()

    def _on_deny_now(self) -> None:
        self._deny_with(self._denial.message if self.is_denying else "")

    def _on_back(self) -> None:
        self._denial.close()
        self._show_buttons()
        self._deny.setFocus()
        self.switched.emit()
