"""The ways to answer a question: a row of buttons, or in its place the reason for a no."""

from collections.abc import Callable
from functools import cached_property

from PySide6.QtCore import QObject, QRect, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.protocol.model import ApprovalRequest, ApprovalScope
from desktop_agent.ui.chat.flow import flow
from desktop_agent.ui.chat.question.card_denial import DENIAL, CardDenial
from desktop_agent.ui.chat.question.card_offers import CardOffers
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
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
        self._allow = make_button(clicked=self._on_allow, variant="primary", parent=card)
        self._offers = CardOffers(request.scopes, card)
        for button in self._offers.buttons:
            button.clicked.connect(self._on_offer)
        self.review = make_button(self.tr("Review…"), parent=card)
        self._deny = make_button(self.tr("Deny…"), clicked=self._on_deny, variant="destructive", parent=card)
        self._buttons = [self._allow, *self._offers.buttons, self.review, self._deny]
        self._shortcut = QShortcut(QKeySequence(Qt.Modifier.CTRL | Qt.Key.Key_Return), card)
        self._shortcut.activated.connect(self._on_allow)
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
        """Let Ctrl+Enter allow, or not. Whether the buttons say something else now."""
        if is_enabled == self._shortcut.isEnabled() and self._allow.text():
            return False
        self._shortcut.setEnabled(is_enabled)
        shortcut = self._shortcut.key().toString(QKeySequence.SequenceFormat.NativeText).replace("Return", "↵")
        self._allow.setText(self.tr("Allow once") + (f"  {shortcut}" if is_enabled else ""))
        self._allow.setAccessibleName(self.tr("Allow once"))
        return True

    def show_obstacle(self, obstacle: str, *, is_refused: bool, is_edited: bool) -> None:
        """Offer a yes unless there is an obstacle; then say what it is."""
        for button in (self._allow, *self._offers.buttons):
            button.setEnabled(not obstacle and not self._is_stopped)
            # Without one Qt describes it by its tool tip, which is markup where it may be cut.
            button.setAccessibleDescription(obstacle or (button.accessibleName() if button.toolTip() else ""))
        self._allow.setToolTip(plain_tooltip(obstacle) if is_refused else obstacle)
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
        """Let the offers say as much as fits."""
        self._offers.fit(self._shown(), width)

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
        self._deny_with(self._denial.message)

    def _on_back(self) -> None:
        self._denial.close()
        self._show_buttons()
        self._deny.setFocus()
        self.switched.emit()
