"""The queued prompts above the message field."""

from collections.abc import Collection, Sequence
from functools import partial
from itertools import pairwise
from typing import cast

from PySide6.QtCore import QObject, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QWidget

from desktop_agent.ui.theme import Radius, Space, Theme
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label
from desktop_agent.ui.widgets.layouts import discard, hbox
from desktop_agent.ui.widgets.rows import draw_box
from desktop_agent.ui.wording.visible_text import plain_tooltip

_HEIGHT = 30
_MOST_CHARS = 2_000
"""How much of a prompt is put on its line: no more fits there, and Qt would measure a longer text to shorten it."""


class QueueCard(QWidget):
    def __init__(
        self, prompt_id: str, text: str, theme: Theme, waiting: "WaitingPrompts", *, is_steering: bool
    ) -> None:
        super().__init__(waiting.composer)
        self.prompt_id = prompt_id
        self._waiting = waiting
        self._grip: QPointF | None = None
        self._home = 0
        self._is_dragged = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._is_steering = is_steering
        self._theme = theme
        shown = " ".join(text[:_MOST_CHARS].split()) + ("…" if len(text) > _MOST_CHARS else "")
        self._label = make_label(role="secondary")
        self._text = ElidedLabel(text=shown, takes_room=True)
        waits = self.tr("Reaches the agent at the next step: {text}") if is_steering else self.tr("Waiting: {text}")
        self.setAccessibleName(waits.format(text=shown))
        self.setAccessibleDescription(self.tr("Alt and the arrow keys move it, Enter edits it, Delete removes it."))
        self.setToolTip(plain_tooltip(text[:_MOST_CHARS]))
        self._add_buttons()

    def _add_buttons(self) -> None:
        asked = self._waiting
        button = partial(compact_button, parent=self)
        self._editing = button(
            self.tr("Edit"), "editQueuedButton", accessible_name=self.tr("Edit the waiting message"), variant="flat"
        )
        self._remove = button(self.tr("Remove"), accessible_name=self.tr("Remove the waiting message"), variant="flat")
        name = self.tr("Send the waiting message now")
        self._send = button(self.tr("Send now"), "sendQueuedButton", accessible_name=name)
        name = self.tr("Send the waiting message now, into this turn")
        self._steer = button(self.tr("Send into this turn"), "steerQueuedButton", accessible_name=name, variant="flat")
        self._steer.setToolTip(self.tr("It reaches the agent at its next step."))
        for each, requested in (
            (self._editing, asked.edit_requested),
            (self._remove, asked.unqueue_requested),
            (self._send, asked.send_requested),
            (self._steer, asked.steer_requested),
        ):
            each.clicked.connect(partial(requested.emit, self.prompt_id))
        row = (self._label, Space.XS, (self._text, 1), self._send, self._steer, self._editing, self._remove)
        hbox(*row, on=self, margins=(Space.M - 2, 0, Space.XS, 0), spacing=Space.XS)
        self.setFixedHeight(_HEIGHT)

    def offer(self, *, is_sendable: bool, is_steerable: bool) -> None:
        self._send.setVisible(is_sendable)
        self._steer.setVisible(is_steerable and not self._is_steering)
        waits = self.tr("Reaches the agent at the next step") if self._is_steering else self.tr("Next")
        self._label.setText(self.tr("Not sent") if is_sendable else waits)

    def place(self, left: int, y: int, width: int) -> None:
        self._home = y
        self.setGeometry(left, self.y() if self._is_dragged else y, width, _HEIGHT)

    def tab_stops(self) -> tuple[QWidget, ...]:
        return (self, self._send, self._steer, self._editing, self._remove)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            edge, width = ("accent", 2) if self.hasFocus() or self._is_dragged else ("border", 1)
            draw_box(painter, QRectF(self.rect()), theme.colour(edge), theme.colour("sunken"), Radius.CONTROL, width)

    @property
    def has_focus(self) -> bool:
        focused = QApplication.focusWidget()
        return focused is not None and (focused is self or self.isAncestorOf(focused))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._grip = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._grip is None:
            return
        way = (event.position() - self._grip).manhattanLength()
        if not self._is_dragged and way >= QApplication.startDragDistance():
            self._is_dragged = True
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.raise_()
        if self._is_dragged:
            self.move(self.x(), round(self.y() + event.position().y() - self._grip.y()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        was_dragged, self._is_dragged, self._grip = self._is_dragged, False, None
        self.unsetCursor()
        self.update()
        if was_dragged:
            dropped_at = self.geometry().center().y()
            self.move(self.x(), self._home)
            self._waiting.drop(self.prompt_id, dropped_at)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match Qt.Key(event.key()), event.modifiers():
            case (Qt.Key.Key_Up | Qt.Key.Key_Down as key, Qt.KeyboardModifier.AltModifier):
                self._waiting.move(self.prompt_id, 1 if key == Qt.Key.Key_Down else -1)
            case (Qt.Key.Key_Return | Qt.Key.Key_Enter | Qt.Key.Key_F2, _):
                self._waiting.edit_requested.emit(self.prompt_id)
            case (Qt.Key.Key_Delete, _):
                self._waiting.unqueue_requested.emit(self.prompt_id)
            case _:
                super().keyPressEvent(event)


_SHOWN_CARDS = 4


class WaitingPrompts(QObject):
    changed = Signal()  # the cards must be placed again
    unqueue_requested = Signal(str)  # the id of a prompt, as in the next signals
    send_requested = Signal(str)
    steer_requested = Signal(str)
    edit_requested = Signal(str)  # to edit its text
    move_requested = Signal(str, str)  # before another prompt; empty: after all of them

    def __init__(self, theme: Theme, composer: QWidget) -> None:
        super().__init__(composer)
        self._theme = theme
        self.composer = composer
        self._prompts: list[tuple[str, str]] = []
        self._cards: list[QueueCard] = []
        self._steering: frozenset[str] = frozenset()
        self._is_sendable = True
        self._is_steerable = False
        self._more = make_label(role="secondary", parent=composer)
        self._more.hide()

    def show(self, prompts: Sequence[tuple[str, str]], *, steering: Collection[str] = ()) -> None:
        """Show pairs of id and text, the next prompt first. `steering` has the ids sent into the running turn."""
        if list(prompts) == self._prompts and self._steering == frozenset(steering):
            return
        self._prompts = list(prompts)
        self._steering = frozenset(steering)
        focused = next((card for card in self._cards if card.has_focus), None)
        for card in self._cards:
            discard(card)
        self._cards = [
            QueueCard(prompt_id, text, self._theme, self, is_steering=prompt_id in self._steering)
            for prompt_id, text in self._prompts[:_SHOWN_CARDS]
        ]
        self._offer()
        for card in self._cards:
            card.show()
        field = cast("QWidget", self.composer.focusProxy())
        stops = [stop for card in self._cards for stop in card.tab_stops()]
        for before, stop in pairwise((field, *stops, field) if stops else ()):
            QWidget.setTabOrder(before, stop)
        more = len(self._prompts) - len(self._cards)
        self._more.setText(self.tr("and {count} more").format(count=more))
        self._more.setVisible(more > 0)
        if focused is not None:
            same = (card for card in self._cards if card.prompt_id == focused.prompt_id)
            next(same, self.composer).setFocus(Qt.FocusReason.OtherFocusReason)
        self.changed.emit()

    def move(self, prompt_id: str, by: int) -> None:
        self._place_at(prompt_id, [each for each, _ in self._prompts].index(prompt_id) + by)

    def _place_at(self, prompt_id: str, place: int) -> None:
        order = [each for each, _ in self._prompts]
        before = order.index(prompt_id)
        order.remove(prompt_id)
        if 0 <= place <= len(order) and place != before:
            self.move_requested.emit(prompt_id, order[place] if place < len(order) else "")

    def drop(self, prompt_id: str, y: int) -> None:
        above = [card for card in self._cards if card.prompt_id != prompt_id and card.geometry().center().y() < y]
        self._place_at(prompt_id, len(above))

    def set_sendable(self, *, is_sendable: bool) -> None:
        self._is_sendable = is_sendable
        self._offer()

    def set_steerable(self, *, is_steerable: bool) -> None:
        self._is_steerable = is_steerable
        self._offer()

    def _offer(self) -> None:
        for card in self._cards:
            card.offer(is_sendable=self._is_sendable, is_steerable=self._is_steerable)

    def place(self, left: int, y: int, width: int) -> int:
        for card in self._cards:
            card.place(left, y, width)
            y += _HEIGHT + Space.XS
        if not self._more.isHidden():
            self._more.setGeometry(left + Space.M, y, width, self._more.sizeHint().height())
            y += self._more.height() + Space.XS
        return y + (Space.XS if self._cards else 0)
