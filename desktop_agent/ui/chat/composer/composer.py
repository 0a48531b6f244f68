"""The composer: a growing message field, the controls for sending, and the queued prompts."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QEvent, QObject, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QAction, QHideEvent, QMouseEvent, QMoveEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.base.plain_text import cost_text
from desktop_agent.core.protocol.model import CacheMiss, ContextUse, Usage
from desktop_agent.core.slash.declarations import is_command, prompt_of, typed_prompt
from desktop_agent.ui.chat.composer.attached_contents import AttachedContents
from desktop_agent.ui.chat.composer.field_offers import CommandOffers, MentionOffers
from desktop_agent.ui.chat.composer.message_edit import MessageEdit
from desktop_agent.ui.chat.composer.waiting_prompts import WaitingPrompts
from desktop_agent.ui.theme import Radius, Space, Theme
from desktop_agent.ui.widgets.answer_buttons import ARMING_DELAY_MS, Arming
from desktop_agent.ui.widgets.buttons import PickerButton, compact_button, make_button
from desktop_agent.ui.widgets.context_meter import ContextMeter, counted
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import flow, set_names
from desktop_agent.ui.widgets.rows import draw_box
from desktop_agent.ui.wording.phrases import cache_miss_words


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
        self.changed.emit()

    def show_cost(self, session: Usage, turn: Usage, missed: CacheMiss | None = None) -> None:
        self.cost.show_usage(session, turn, missed)
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
