"""Where a prompt is written: a field that grows, what it will be sent with, and what waits to be sent."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QMimeData, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QMoveEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QLabel, QPushButton, QSizePolicy, QWidget

from desktop_agent.core.protocol.model import ContextUse
from desktop_agent.core.slash.declarations import Declaration
from desktop_agent.core.slash.parse import is_command, prompt_of, typed_prompt
from desktop_agent.ui.chat.composer.command_popup import CommandPopup
from desktop_agent.ui.chat.composer.message_edit import MessageEdit
from desktop_agent.ui.chat.composer.prompt_history import PromptHistory
from desktop_agent.ui.chat.composer.queue_card import QueueCard
from desktop_agent.ui.chat.flow import flow
from desktop_agent.ui.theme import Radius, Space, Theme
from desktop_agent.ui.widgets.context_meter import ContextMeter
from desktop_agent.ui.widgets.picker_button import PickerButton

_MARGIN_X = 20
_MARGIN_Y = 12
_MAX_WIDTH = 856
"""A little wider than the text above, as its margins are a little narrower."""

_INNER = 12
_SHOWN_CARDS = 4


class Composer(QWidget):
    """The message field with its buttons, a row of controls, and the waiting prompts above.

    Signals:
        prompt_submitted: the user sent this prompt; it is queued when a turn is running.
        command_submitted: the user sent this slash command.
        stop_requested: the running turn shall stop.
        unqueue_requested: a waiting prompt (id) shall be taken back.
        commands_wanted: the user typed a slash, so the owner should pass the commands to `set_commands`.
        send_queued_requested: a waiting prompt (id) shall be sent now.
        text_changed: something else is written in the field.
        context_clicked: the user wants to see what fills the context.
    """

    prompt_submitted = Signal(str)
    command_submitted = Signal(str)
    stop_requested = Signal()
    unqueue_requested = Signal(str)
    commands_wanted = Signal()
    send_queued_requested = Signal(str)
    text_changed = Signal()
    context_clicked = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self.setAccessibleName(self.tr("Composer"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._theme = theme
        self._is_working = False
        self._blocked = ""
        self._field = QRect()
        self._controls: list[QWidget] = []
        self._cards: list[QueueCard] = []
        self._queued: list[tuple[str, str]] = []
        self._popup: CommandPopup | None = None
        self._slash_commands: Sequence[Declaration] = ()
        self._edit = MessageEdit(self)
        self._edit.submitted.connect(self._on_submitted)
        self._edit.textChanged.connect(self._on_text_changed)
        self._edit.focus_changed.connect(self._on_focus_changed)
        self.setFocusProxy(self._edit)
        self._more_cards = QLabel(self)
        self._more_cards.setProperty("role", "secondary")
        self._more_cards.hide()
        self._meter = ContextMeter(theme, self)
        self._meter.clicked.connect(self.context_clicked)
        self._stop = QPushButton(self.tr("Stop"), self)
        self._stop.setObjectName("stopButton")
        self._stop.setProperty("variant", "destructive")
        self._stop.setAccessibleName(self.tr("Stop this turn"))
        self._stop.clicked.connect(self.stop_requested)
        self._stop.hide()
        self._send = QPushButton(self.tr("Send"), self)
        self._send.setObjectName("sendButton")
        self._send.setProperty("variant", "primary")
        self._send.clicked.connect(self._on_submitted)
        self._send.setEnabled(False)
        self.set_working(is_working=False)
        theme.changed.connect(self._on_theme_changed)

    # -- what is written --

    def text(self) -> str:
        """Return the draft."""
        return self._edit.toPlainText()

    def set_text(self, text: str) -> None:
        """Put a draft into the field, with the cursor behind it."""
        self._edit.replace_text(text)

    def refuse(self, refuses: Callable[[QMimeData], bool]) -> None:
        """Ask `refuses` about everything that is pasted or dropped; what it refuses is not inserted."""
        self._edit.refuses = refuses

    def set_history(self, prompts: Sequence[str]) -> None:
        """Say what was asked before, oldest first, for Up and Down."""
        self._edit.history = PromptHistory(prompts)

    def set_commands(self, commands: Sequence[Declaration]) -> None:
        """Say which slash commands there are; the list above the field follows."""
        self._slash_commands = commands
        self._offer_commands()

    # -- what is shown --

    def set_working(self, *, is_working: bool) -> None:
        """Say whether a turn is running: what is sent then waits for its end."""
        self._is_working = is_working
        self._stop.setVisible(is_working and not self._blocked)
        placeholder = (
            self.tr("Queue the next message…")
            if is_working
            else self.tr("Ask for a change, or a question about this folder…")
        )
        self._edit.setPlaceholderText(self._blocked or placeholder)
        self._send.setText(self.tr("Queue") if is_working else self.tr("Send"))
        for card in self._cards:
            card.set_sendable(is_sendable=not is_working)
        self._arrange()

    def set_blocked(self, reason: str) -> None:
        """Take no messages, and say why; with no reason, take them again. A draft stays."""
        if reason == self._blocked:
            return
        self._blocked = reason
        self._edit.setEnabled(not reason)
        self._edit.setAccessibleDescription(reason)
        for widget in self._controls:
            widget.setEnabled(not reason)
        self._send.setToolTip(reason)
        self._on_text_changed()
        self.set_working(is_working=self._is_working)

    def set_queued(self, prompts: Sequence[tuple[str, str]]) -> None:
        """Show the waiting prompts, each an id and a text, next one first."""
        if list(prompts) == self._queued:
            return
        self._queued = list(prompts)
        for card in self._cards:
            card.hide()
            card.deleteLater()
        self._cards = [QueueCard(prompt_id, text, self._theme, self) for prompt_id, text in self._queued[:_SHOWN_CARDS]]
        for card in self._cards:
            card.removed.connect(self.unqueue_requested)
            card.sent.connect(self.send_queued_requested)
            card.set_sendable(is_sendable=not self._is_working)
            card.show()
        more = len(self._queued) - len(self._cards)
        self._more_cards.setText(self.tr("and {count} more").format(count=more))
        self._more_cards.setVisible(more > 0)
        self._arrange()

    def set_context(self, use: ContextUse | None) -> None:
        """Show how full the model's context is; nothing while that is not known."""
        self._meter.show_use(use)
        self._arrange()

    def add_control(self, widget: QWidget) -> None:
        """Put a picker or a button into the row below the field, behind those that are there."""
        widget.setParent(self)
        self._controls.append(widget)
        widget.show()
        self._arrange()

    # -- geometry --

    def sizeHint(self) -> QSize:
        return QSize(_MARGIN_X * 20, self.minimumHeight())

    def _on_theme_changed(self) -> None:
        self._edit.setFont(self._theme.text_font(self._theme.sizes.chat))
        self._arrange()

    def _arrange(self) -> None:
        """Put everything in its place and be as high as that takes."""
        width = max(min(self.width() - 2 * _MARGIN_X, _MAX_WIDTH), 1)
        left = (self.width() - width) // 2
        y = _MARGIN_Y
        for card in self._cards:
            card.setGeometry(left, y, width, card.sizeHint().height())
            y += card.height() + Space.XS
        if not self._more_cards.isHidden():
            self._more_cards.setGeometry(left + _INNER, y, width, self._more_cards.sizeHint().height())
            y += self._more_cards.height() + Space.XS
        top = y + (Space.XS if self._cards else 0)
        inner = QRect(left + _INNER, top + _INNER - 2, width - 2 * _INNER, 0)
        edit_height = self._edit.wanted_height(inner.width())
        self._edit.setGeometry(inner.x(), inner.y(), inner.width(), edit_height)
        bottom = self._arrange_row(QRect(inner.x(), inner.y() + edit_height + Space.S, inner.width(), 0))
        self._field = QRect(left, top, width, bottom + _INNER - top)
        self.setFixedHeight(bottom + _INNER + _MARGIN_Y)
        self.update()

    def _arrange_row(self, area: QRect) -> int:
        """Place the controls on the left and status and buttons on the right; return where they end."""
        controls = [control for control in self._controls if not control.isHidden()]
        buttons = [button for button in (self._stop, self._send) if not button.isHidden()]
        pickers = [control for control in controls if isinstance(control, PickerButton)]
        widths = [picker.full_width for picker in pickers]
        widths += [control.sizeHint().width() for control in controls if control not in pickers]
        is_tight = sum(widths) + Space.S * len(widths) + _width_of(buttons) > area.width()
        for picker in pickers:
            picker.set_short(is_short=is_tight)
        height = flow(controls, area)
        right = [self._meter, *buttons] if self._meter.text() else buttons
        last = controls[-1].geometry() if controls else QRect(area.x(), area.y(), 0, 0)
        room = area.x() + area.width() - (last.right() + Space.S if controls else area.x())
        # What is only read gives way, so that nothing moves when a turn begins: first its words, then all of it.
        self._meter.set_short(False)
        self._meter.set_short(_width_of(right) > room >= _width_of(buttons))
        if _width_of(right) > room >= _width_of(buttons):
            right = buttons
        self._meter.setVisible(self._meter in right)
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

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._arrange()  # one of the controls says something longer or shorter now
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._arrange()
        self._place_popup()

    def moveEvent(self, event: QMoveEvent) -> None:
        super().moveEvent(event)
        self._place_popup()

    def paintEvent(self, event: QPaintEvent) -> None:
        colour = self._theme.colour
        painter = QPainter(self)
        painter.fillRect(self.rect(), colour("surface"))
        painter.fillRect(0, 0, self.width(), 1, colour("border"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        has_focus = self._edit.hasFocus()
        pen_width = 2 if has_focus else 1
        painter.setPen(QPen(colour("accent" if has_focus else "control_border"), pen_width))
        edge = pen_width / 2
        painter.drawRoundedRect(QRectF(self._field).adjusted(edge, edge, -edge, -edge), Radius.DIALOG, Radius.DIALOG)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self._field.contains(event.position().toPoint()):
            self._edit.setFocus(Qt.FocusReason.MouseFocusReason)

    # -- commands --

    def _offer_commands(self) -> None:
        """Show the commands that fit what is written, when that begins with a slash."""
        text = self._edit.toPlainText()
        if not text.startswith("/"):
            self._close_popup()
            return
        from desktop_agent.ui.chat.composer.command_list import offer  # not for an empty window

        popup = self._popup or self._make_popup()
        can_show = self._edit.hasFocus() and not self._edit.history.is_showing(text)
        popup.show_offer(offer(text, self._slash_commands) if can_show else None)
        self._place_popup()

    def _make_popup(self) -> CommandPopup:
        popup = self._popup = CommandPopup(self._theme, self.window())
        popup.chosen.connect(self._on_command_chosen)
        self._edit.popup = popup
        self.commands_wanted.emit()
        return popup

    def _close_popup(self) -> None:
        if self._popup is not None:
            self._edit.popup = None
            self._popup.hide()
            self._popup.deleteLater()
            self._popup = None

    def _place_popup(self) -> None:
        if self._popup is not None:
            field = QRect(self.mapTo(self.window(), self._field.topLeft()), self._field.size())
            self._popup.place(field, field.top() - Space.XS)

    def _on_command_chosen(self, name: str) -> None:
        has_arguments = any(command.arguments for command in self._slash_commands if command.name == name)
        self._edit.replace_text(f"/{name} " if has_arguments else f"/{name}")

    def _on_focus_changed(self) -> None:
        self.update()
        if self._edit.hasFocus():
            self._offer_commands()
        else:
            self._close_popup()

    # -- sending --

    def _on_submitted(self) -> None:
        written = self._edit.toPlainText()
        text = written.strip()
        if not text or self._blocked:
            return
        self._edit.history.add(text if written.startswith("/") else typed_prompt(text))
        self._edit.clear()
        if is_command(written):
            self.command_submitted.emit(text)
        else:
            self.prompt_submitted.emit(prompt_of(written))

    def _on_text_changed(self) -> None:
        self._send.setEnabled(bool(self._edit.toPlainText().strip()) and not self._blocked)
        self._arrange()
        self._offer_commands()
        self.text_changed.emit()


def _width_of(widgets: Sequence[QWidget]) -> int:
    """How wide they are side by side."""
    return sum(widget.sizeHint().width() for widget in widgets) + Space.S * (len(widgets) - 1)
