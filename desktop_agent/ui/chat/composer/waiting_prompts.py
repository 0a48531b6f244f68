"""The prompts that wait to be sent, above the message field."""

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import cast

from PySide6.QtCore import QObject, QRect, Qt, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.chat.composer.queue_card import QueueCard, QueueOutlets
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.labels import make_label

_SHOWN_CARDS = 4


class WaitingPrompts(QObject):
    """A card for each of the next few, and how many more there are.

    Signals:
        changed: others wait than before: they are to be placed anew.
        unqueue_requested: a waiting prompt (id) shall be taken back.
        send_requested: a waiting prompt (id) shall be sent now.
        steer_requested: a waiting prompt (id) shall go into the running turn.
        edit_requested: the user wants to write a waiting prompt (id) otherwise.
        move_requested: a waiting prompt (id) shall come before another one (id; empty: after all of them).
    """

    changed = Signal()
    unqueue_requested = Signal(str)
    send_requested = Signal(str)
    steer_requested = Signal(str)
    edit_requested = Signal(str)
    move_requested = Signal(str, str)

    def __init__(self, theme: Theme, composer: QWidget) -> None:
        super().__init__(composer)
        self._theme = theme
        self._composer = composer
        self._prompts: list[tuple[str, str]] = []
        self._cards: list[QueueCard] = []
        self._steering: frozenset[str] = frozenset()
        self._is_sendable = True
        self._is_steerable = False
        self._more = make_label(role="secondary", parent=composer)
        self._more.hide()

    def show(self, prompts: Sequence[tuple[str, str]], *, steering: Collection[str] = ()) -> None:
        """Show these, each an id and a text, next one first; those `steering` go into the running turn."""
        if list(prompts) == self._prompts and self._steering == frozenset(steering):
            return
        self._prompts = list(prompts)
        self._steering = frozenset(steering)
        focused = next((card for card in self._cards if card.has_focus), None)
        for card in self._cards:
            card.hide()
            card.deleteLater()
        self._cards = [self._make_card(prompt_id, text) for prompt_id, text in self._prompts[:_SHOWN_CARDS]]
        self._order_tabs()
        more = len(self._prompts) - len(self._cards)
        self._more.setText(self.tr("and {count} more").format(count=more))
        self._more.setVisible(more > 0)
        if focused is not None:
            self._keep_focus(focused.prompt_id)
        self.changed.emit()

    def _order_tabs(self) -> None:
        """Let Tab come to what waits before it comes to the message field, as the eye does."""
        field = cast("QWidget", self._composer.focusProxy())
        stops = [stop for card in self._cards for stop in card.tab_stops()]
        for before, stop in pairwise((field, *stops, field) if stops else ()):
            QWidget.setTabOrder(before, stop)

    def _keep_focus(self, prompt_id: str) -> None:
        """The user goes on with the same prompt; with the message, when that one waits no more."""
        same = (card for card in self._cards if card.prompt_id == prompt_id)
        next(same, self._composer).setFocus(Qt.FocusReason.OtherFocusReason)

    def _move(self, prompt_id: str, by: int) -> None:
        """Move a prompt up or down by some places, as far as there are others of its kind."""
        order = [each for each, _ in self._prompts]
        self._place_at(prompt_id, order.index(prompt_id) + by)

    def _place_at(self, prompt_id: str, place: int) -> None:
        order = [each for each, _ in self._prompts]
        before = order.index(prompt_id)
        order.remove(prompt_id)
        if 0 <= place <= len(order) and place != before:
            self.move_requested.emit(prompt_id, order[place] if place < len(order) else "")

    def _drop(self, prompt_id: str, y: int) -> None:
        """Put a prompt where it was let go of: `y` is in the composer."""
        above = [card for card in self._cards if card.prompt_id != prompt_id and card.geometry().center().y() < y]
        self._place_at(prompt_id, len(above))

    def _make_card(self, prompt_id: str, text: str) -> QueueCard:
        card = QueueCard(
            prompt_id,
            text,
            self._theme,
            self._composer,
            QueueOutlets(
                remove=self.unqueue_requested.emit,
                send=self.send_requested.emit,
                steer=self.steer_requested.emit,
                edit=self.edit_requested.emit,
                move=self._move,
                drop=self._drop,
            ),
            is_steering=prompt_id in self._steering,
        )
        card.set_sendable(is_sendable=self._is_sendable)
        card.set_steerable(is_steerable=self._is_steerable)
        card.show()
        return card

    def set_sendable(self, *, is_sendable: bool) -> None:
        """Say whether they can be sent now; otherwise they wait for the running turn."""
        self._is_sendable = is_sendable
        for card in self._cards:
            card.set_sendable(is_sendable=is_sendable)

    def set_steerable(self, *, is_steerable: bool) -> None:
        """Say whether a turn runs that they can be sent into."""
        self._is_steerable = is_steerable
        for card in self._cards:
            card.set_steerable(is_steerable=is_steerable)

    def place(self, left: int, y: int, width: int) -> int:
        """Stand below each other from `y`; return where the field may begin."""
        for card in self._cards:
            card.place(QRect(left, y, width, card.sizeHint().height()))
            y += card.height() + Space.XS
        if not self._more.isHidden():
            self._more.setGeometry(left + Space.M, y, width, self._more.sizeHint().height())
            y += self._more.height() + Space.XS
        return y + (Space.XS if self._cards else 0)
