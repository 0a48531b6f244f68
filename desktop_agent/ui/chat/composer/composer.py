"""The composer: a growing message field, the controls for sending, and the queued prompts."""

from collections.abc import Collection, Sequence
from functools import partial
from itertools import pairwise
from typing import cast

from PySide6.QtCore import QEvent, QObject, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QMoveEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QApplication, QLabel, QSizePolicy, QWidget

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.base.plain_text import cost_text
from desktop_agent.core.protocol.model import CacheMiss, ContextUse, Usage
from desktop_agent.core.slash.declarations import is_command, prompt_of, typed_prompt
from desktop_agent.ui.chat.attached_contents import AttachedContents
from desktop_agent.ui.chat.composer.field_offers import CommandOffers, MentionOffers
from desktop_agent.ui.chat.composer.message_edit import MessageEdit
from desktop_agent.ui.theme import Radius, Space, Theme
from desktop_agent.ui.widgets.buttons import ARMING_DELAY_MS, Arming, PickerButton, compact_button, make_button
from desktop_agent.ui.widgets.context_meter import ContextMeter
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label
from desktop_agent.ui.widgets.layouts import discard, flow, hbox, set_names
from desktop_agent.ui.widgets.rows import draw_box
from desktop_agent.ui.wording import cache_miss_words, counted, plain_tooltip

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


class CostLabel(QLabel):
    """Shows the session's cost: `$0.42`, `≥ $0.42` if a part is unknown, or nothing if all is unknown."""

    clicked = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        set_names(self, "costLabel", self.tr("Cost of this session"))
        self.setProperty("role", "secondary")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.hide()

    def mouseReleaseEvent(self, ev: QMouseEvent) -> None:
        if ev.button() == Qt.MouseButton.LeftButton and self.rect().contains(ev.position().toPoint()):
            self.clicked.emit()

    def mousePressEvent(self, ev: QMouseEvent) -> None:
        ev.accept()

    def show_usage(self, session: Usage, turn: Usage, missed: CacheMiss | None = None) -> None:
        text = cost_text(session.cost_usd, is_partial=session.is_cost_partial)
        self.setText(text)
        words = "\n".join(self._lines(session, turn, missed)) if text else ""
        self.setToolTip(words)
        self.setAccessibleDescription(words)

    def _lines(self, session: Usage, turn: Usage, missed: CacheMiss | None) -> list[str]:
        lines = [self.tr("This session: {0}").format(cost_text(session.cost_usd, is_partial=session.is_cost_partial))]
        if last := cost_text(turn.cost_usd, is_partial=turn.is_cost_partial):
            lines.append(self.tr("Last turn: {0}").format(last))
        read, written = counted(session.all_input_tokens), counted(session.output_tokens)
        lines.append(self.tr("{0} tokens read by the model, {1} written").format(read, written))
        if session.cache_read_tokens:
            share = round(100 * session.cache_read_tokens / session.all_input_tokens)
            lines.append(self.tr("{0} % of the tokens read came from the cache").format(share))
        if missed is not None:
            lines.append(cache_miss_words(missed))
        if session.is_cost_partial:
            missing = counted(session.unpriced_tokens)
            lines.append(self.tr("The price of {0} tokens is not known: the cost is higher.").format(missing))
        lines.append(self.tr("Click to see the usage of all sessions."))
        return lines


class ControlRow(QObject):
    changed = Signal()  # the controls must be placed again

    def __init__(self, theme: Theme, composer: QWidget, *, tab_from: QWidget) -> None:
        super().__init__(composer)
        self._composer = composer
        self._tab_from = tab_from
        self._controls: list[QWidget] = []
        self.cost = CostLabel(composer)
        self.meter = ContextMeter(theme, composer)
        self.stop = make_button(self.tr("Stop"), "stopButton", variant="destructive", parent=composer)
        self.stop.setAccessibleName(self.tr("Stop this turn"))
        self.stop.hide()
        self.send = make_button(self.tr("Send"), "sendButton", variant="primary", parent=composer)
        self.send.setEnabled(False)
        for button in (self.stop, self.send):
            # A click does not move the focus, because the button disappears or is disabled.
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def offer_with_send(self, actions: Sequence[QAction]) -> None:
        """Offer other ways to send the message, in the context menu of the button."""
        self.send.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.send.addActions(actions)

    def show_context(self, use: ContextUse | None) -> None:
        self.meter.show_use(use)

    def show_cost(self, session: Usage, turn: Usage, missed: CacheMiss | None = None) -> None:
        text = self.cost.text()
        self.cost.show_usage(session, turn, missed)
        if self.cost.text() != text:
            self.changed.emit()

    def show_sending(self, *, is_working: bool, blocked: str, at_once: str) -> None:
        """`at_once` names the keys that send into the running turn."""
        self.stop.setVisible(is_working and not blocked)
        self.send.setText(self.tr("Queue") if is_working else self.tr("Send"))
        waits = self.tr("It starts when the turn has ended.")
        if at_once:
            waits = self.tr(
                "It starts when the turn has ended. {keys} sends it into the turn, which reads it at its next step."
            ).format(keys=at_once)
        self.send.setToolTip(blocked or (waits if is_working else ""))

    def add(self, control: QWidget, *, behind: QWidget | None = None) -> None:
        """Add a control at the end, or `behind` another one."""
        control.setParent(self._composer)
        at = self._controls.index(behind) + 1 if behind is not None else len(self._controls)
        QWidget.setTabOrder(self._controls[at - 1] if at else self._tab_from, control)
        self._controls.insert(at, control)
        control.show()
        self.changed.emit()

    def set_enabled(self, *, is_enabled: bool) -> None:
        for control in self._controls:
            control.setEnabled(is_enabled)

    def place(self, area: QRect) -> int:
        controls = [control for control in self._controls if not control.isHidden()]
        buttons = [button for button in (self.stop, self.send) if not button.isHidden()]
        pickers = [control for control in controls if isinstance(control, PickerButton)]
        others = [control.sizeHint().width() for control in controls if control not in pickers]
        room = area.width() - sum(others) - Space.S * len(controls) - _width_of(buttons)
        is_tight = sum(picker.width_with(is_short=False) for picker in pickers) > room
        widths = {picker: picker.width_with(is_short=is_tight) for picker in pickers}
        longest = max(pickers, key=widths.__getitem__, default=None)
        for picker in pickers:
            picker.set_short(
                is_short=is_tight, less=sum(widths.values()) - room if picker is longest and is_tight else 0
            )
        height = flow(controls, area)
        last = controls[-1].geometry() if controls else QRect(area.x(), area.y(), 0, 0)
        room = area.x() + area.width() - (last.right() + Space.S if controls else area.x())
        right = self._fit_status(buttons, room)
        y, right_width = last.y(), _width_of(right)
        if right_width > room:
            y = area.y() + height + Space.S
        x = area.x() + area.width() - right_width
        row_height = max(widget.sizeHint().height() for widget in right)
        middle = last.center().y() + 1 if controls and y == last.y() else y + row_height // 2
        for widget in right:
            size = widget.sizeHint()
            widget.setGeometry(x, middle - size.height() // 2, size.width(), size.height())
            x += size.width() + Space.S
        return max(area.y() + height, middle + row_height // 2)

    def _fit_status(self, buttons: Sequence[QWidget], room: int) -> Sequence[QWidget]:
        """Return the widgets on the right that fit. The meter's text is hidden first, then the cost, then the meter."""
        status = [widget for widget in (self.cost, self.meter) if widget.text()]
        fits = _width_of(buttons) <= room
        self.meter.set_short(False)
        self.meter.set_short(fits and _width_of([*status, *buttons]) > room)
        while status and fits and _width_of([*status, *buttons]) > room:
            status.pop(0)
        for widget in (self.cost, self.meter):
            widget.setVisible(widget in status)
        return [*status, *buttons]


def _width_of(widgets: Sequence[QWidget]) -> int:
    return sum(widget.sizeHint().width() for widget in widgets) + Space.S * (len(widgets) - 1)


_MARGIN_X = 20
_MARGIN_Y = 12
_MAX_WIDTH = 856

_INNER = 12


class Composer(QWidget):
    """The message field (`edit`), its `controls`, its completions, and the queued prompts (`waiting`)."""

    prompt_submitted = Signal(str)  # it is queued while a turn runs
    denied = Signal(str, str)  # the call whose question is answered, and the reason
    steering_submitted = Signal(str)  # into the running turn
    command_submitted = Signal(str)
    text_changed = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        set_names(self, "composer", self.tr("Composer"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._theme = theme
        self._is_working = False
        self._blocked = ""
        self._asked: CallId = ""
        self._arming = Arming(ARMING_DELAY_MS, self)
        self._field = QRect()
        self.edit = MessageEdit(self)
        self.edit.gives_contents = True
        self.edit.submitted.connect(self._on_submitted)
        self.edit.submitted_at_once.connect(partial(self._send, is_at_once=True))
        self.edit.textChanged.connect(self._on_text_changed)
        self.edit.focus_changed.connect(self.update)
        self.edit.keys.changed.connect(self._say_state)
        self.setFocusProxy(self.edit)
        self._hint = make_label(role="warning", object_name="composerHint", parent=self, wraps=True, is_plain=True)
        self._hint.hide()
        self.attach = compact_button("+", "attachButton", variant="flat", parent=self)
        self.attach.setAccessibleName(self.tr("Mention files…"))
        self.attach.setToolTip(self.tr("Mention files… (or type @)"))
        self.waiting = WaitingPrompts(theme, self)
        self.waiting.changed.connect(self._arrange)
        self.controls = ControlRow(theme, self, tab_from=self.attach)
        self.controls.changed.connect(self._arrange)
        self.controls.send.clicked.connect(partial(self._send, is_at_once=False))
        self.contents = AttachedContents(self.edit, theme, self)
        self.contents.changed.connect(self._arrange)
        self.mentions = MentionOffers(self.edit, theme, self)
        self.commands = CommandOffers(self.edit, theme, self)
        self.set_working(is_working=False)
        self.edit.setFont(theme.text_font(theme.sizes.chat, grows=False))
        theme.changed.connect(self._on_theme_changed)

    def text(self) -> str:
        return self.edit.toPlainText()

    def set_text(self, text: str) -> None:
        self.edit.replace_text(text)

    def set_working(self, *, is_working: bool) -> None:
        self._is_working = is_working
        self.waiting.set_sendable(is_sendable=not is_working)
        self._say_state()

    def set_asked(self, call_id: CallId) -> None:
        """Set the call that waits for an answer. The next message denies this call, with its text as the reason."""
        if call_id != self._asked:
            self._asked = call_id
            self._arming.restart()
            self._say_state()

    def _say_state(self) -> None:
        self.edit.setPlaceholderText(self._blocked or self._placeholder())
        at_once = self.edit.keys.shown("send_at_once")
        self._hint.setText(self._asked_words() if self._asked and not self._blocked else "")
        self._hint.setVisible(bool(self._hint.text()))
        self.edit.setAccessibleDescription(self._blocked or self._hint.text())
        self.controls.show_sending(is_working=self._is_working, blocked=self._blocked, at_once=at_once)
        self._arrange()

    def _asked_words(self) -> str:
        send, at_once = (self.edit.keys.shown(action) for action in ("send", "send_at_once"))
        denies = self.tr("{keys} denies with this reason.").format(keys=send) if send else ""
        steers = self.tr("{keys} sends it into the turn and leaves the question open.").format(keys=at_once)
        return " ".join(filter(None, (denies, steers if at_once else "")))

    def _placeholder(self) -> str:
        if self._asked:
            return self.tr("Why not, or what to do instead…")
        if not self._is_working:
            return self.tr("Ask for a change, or a question about this folder…")
        if keys := self.edit.keys.shown("send_at_once"):
            return self.tr("Queue the next message… {keys} sends it into this turn.").format(keys=keys)
        return self.tr("Queue the next message…")

    def set_blocked(self, reason: str) -> None:
        """An empty reason unblocks sending. The draft stays."""
        if reason == self._blocked:
            return
        self._blocked = reason
        self.edit.setEnabled(not reason)
        self.attach.setEnabled(not reason)
        self.controls.set_enabled(is_enabled=not reason)
        self._on_text_changed()
        self._say_state()

    def sizeHint(self) -> QSize:
        return QSize(_MARGIN_X * 20, self.minimumHeight())

    def _on_theme_changed(self) -> None:
        self.edit.setFont(self._theme.text_font(self._theme.sizes.chat, grows=False))
        self._arrange()

    def _arrange(self) -> None:
        width = max(min(self.width() - 2 * _MARGIN_X, _MAX_WIDTH), 1)
        left = (self.width() - width) // 2
        top = self.waiting.place(left, _MARGIN_Y, width)
        inner = QRect(left + _INNER, top + _INNER - 2, width - 2 * _INNER, 0)
        inner.translate(0, self.contents.place(inner))
        if not self._hint.isHidden():
            height = self._hint.heightForWidth(inner.width())
            self._hint.setGeometry(inner.x(), inner.y(), inner.width(), height)
            inner.translate(0, height + Space.XS)
        attach = self.attach.sizeHint()
        edit_width = max(inner.width() - attach.width() - Space.XS, 1)
        edit_height = self.edit.wanted_height(edit_width)
        self.edit.setGeometry(inner.x(), inner.y(), edit_width, edit_height)
        self.attach.setGeometry(inner.x() + inner.width() - attach.width(), inner.y(), attach.width(), attach.height())
        bottom = self.controls.place(QRect(inner.x(), inner.y() + edit_height + Space.S, inner.width(), 0))
        self._field = QRect(left, top, width, bottom + _INNER - top)
        self.setFixedHeight(bottom + _INNER + _MARGIN_Y)
        self._place_lists()
        self.update()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._arrange()  # the text of a control has another length now
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._arrange()
        self._place_lists()

    def moveEvent(self, event: QMoveEvent) -> None:
        super().moveEvent(event)
        self._place_lists()

    def _place_lists(self) -> None:
        self.commands.place(self._field)
        self.mentions.place(self._field)

    def paintEvent(self, event: QPaintEvent) -> None:
        colour = self._theme.colour
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), colour("surface"))
            painter.fillRect(0, 0, self.width(), 1, colour("border"))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            edge, width = ("accent", 2) if self.edit.hasFocus() else ("control_border", 1)
            draw_box(painter, QRectF(self._field), colour(edge), colour("surface"), Radius.DIALOG, width)
        if self._asked:
            self._arming.note_painted()

    def hideEvent(self, event: QHideEvent) -> None:
        self._arming.restart()
        super().hideEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self._field.contains(event.position().toPoint()):
            self.edit.setFocus(Qt.FocusReason.MouseFocusReason)

    def _on_submitted(self) -> None:
        if not self._asked or is_command(self.edit.toPlainText()):
            self._send(is_at_once=False)
        # While the question is new, the text was meant as a message, so it stays.
        elif self._arming.is_armed and (written := self._take()):
            self.denied.emit(self._asked, prompt_of(written))

    def _send(self, *, is_at_once: bool) -> None:
        written = self._take()
        if not written:
            return
        if is_command(written):
            self.command_submitted.emit(written.strip())
        elif is_at_once and self._is_working:
            self.steering_submitted.emit(prompt_of(written))
        else:
            self.prompt_submitted.emit(prompt_of(written))

    def _take(self) -> str:
        written = self.edit.toPlainText()
        text = written.strip()
        if not text or self._blocked:
            return ""
        self.edit.history.add(text if written.startswith("/") else typed_prompt(text))
        self.edit.clear()
        return written

    def _on_text_changed(self) -> None:
        self.controls.send.setEnabled(bool(self.edit.toPlainText().strip()) and not self._blocked)
        self._arrange()
        self.text_changed.emit()
