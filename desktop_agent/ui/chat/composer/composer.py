"""Where a prompt is written: a field that grows, what it will be sent with, and what waits to be sent."""

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QHideEvent, QMouseEvent, QMoveEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.slash.declarations import is_command, prompt_of, typed_prompt
from desktop_agent.ui.chat.composer.attached_contents import AttachedContents
from desktop_agent.ui.chat.composer.command_offers import CommandOffers
from desktop_agent.ui.chat.composer.control_row import ControlRow
from desktop_agent.ui.chat.composer.mention_offers import MentionOffers
from desktop_agent.ui.chat.composer.message_edit import MessageEdit
from desktop_agent.ui.chat.composer.waiting_prompts import WaitingPrompts
from desktop_agent.ui.theme import Radius, Space, Theme
from desktop_agent.ui.widgets.arming import ARMING_DELAY_MS, Arming
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label

_MARGIN_X = 20
_MARGIN_Y = 12
_MAX_WIDTH = 856
"""A little wider than the text above, as its margins are a little narrower."""

_INNER = 12


class Composer(QWidget):
    """The message field (`edit`) with its `controls`, the `waiting` prompts above it, and what it offers.

    It offers `commands` and `mentions`; `attach` is for files that are chosen by mouse, `contents` shows pictures.

    Signals:
        prompt_submitted: the user sent this prompt; it is queued when a turn is running.
        denied: the user answered no to the question about this call, with this reason.
        steering_submitted: the user sent this message into the running turn.
        command_submitted: the user sent this slash command.
        text_changed: something else is written in the field.
    """

    prompt_submitted = Signal(str)
    denied = Signal(str, str)
    steering_submitted = Signal(str)
    command_submitted = Signal(str)
    text_changed = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("composer")
        self.setAccessibleName(self.tr("Composer"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._theme = theme
        self._is_working = False
        self._blocked = ""
        self._asked: CallId = ""
        """The call that is denied from here."""
        self._arming = Arming(ARMING_DELAY_MS, self)
        self._field = QRect()
        self.edit = MessageEdit(self)
        self.edit.gives_contents = True
        self.edit.submitted.connect(self._on_submitted)
        self.edit.submitted_at_once.connect(self._on_submitted_at_once)
        self.edit.textChanged.connect(self._on_text_changed)
        self.edit.focus_changed.connect(self.update)
        self.edit.keys.changed.connect(self._say_state)
        self.setFocusProxy(self.edit)
        self._hint = make_label(role="warning", object_name="composerHint", parent=self, wraps=True, is_plain=True)
        self._hint.hide()
        self.attach = make_button(
            "+",
            object_name="attachButton",
            accessible_name=self.tr("Mention files…"),
            variant="flat",
            is_compact=True,
            parent=self,
        )
        self.attach.setToolTip(self.tr("Mention files… (or type @)"))
        self.waiting = WaitingPrompts(theme, self)
        self.waiting.changed.connect(self._arrange)
        self.controls = ControlRow(theme, self, tab_from=self.attach)
        self.controls.changed.connect(self._arrange)
        self.controls.send.clicked.connect(self._on_clicked)
        self.contents = AttachedContents(self.edit, theme, self)
        self.contents.changed.connect(self._arrange)
        self.mentions = MentionOffers(self.edit, theme, self)
        self.commands = CommandOffers(self.edit, theme, self)
        self.set_working(is_working=False)
        self.edit.setFont(theme.text_font(theme.sizes.chat, grows=False))
        theme.changed.connect(self._on_theme_changed)

    # -- what is written --

    def text(self) -> str:
        """Return the draft."""
        return self.edit.toPlainText()

    def set_text(self, text: str) -> None:
        """Put a draft into the field, with the cursor behind it."""
        self.edit.replace_text(text)

    # -- what is shown --

    def set_working(self, *, is_working: bool) -> None:
        """Say whether a turn is running: what is sent then waits for its end, or for its next step."""
        self._is_working = is_working
        self.waiting.set_sendable(is_sendable=not is_working)
        self._say_state()

    def set_asked(self, call_id: CallId) -> None:
        """Say which call waits for an answer, if any. What is sent then denies it, with the text as the reason."""
        if call_id != self._asked:
            self._asked = call_id
            self._arming.restart()
            self._say_state()

    def _say_state(self) -> None:
        """Say what can be written here, and what sending it does."""
        self.edit.setPlaceholderText(self._blocked or self._placeholder())
        at_once = self.edit.keys.shown("send_at_once")
        self._hint.setText(self._asked_words() if self._asked and not self._blocked else "")
        self._hint.setVisible(bool(self._hint.text()))
        self.edit.setAccessibleDescription(self._blocked or self._hint.text())
        self.controls.show_sending(is_working=self._is_working, blocked=self._blocked, at_once=at_once)
        self._arrange()

    def _asked_words(self) -> str:
        """Say what the keys do while a question waits; actions without keys are not named."""
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
        """Take no messages, and say why; with no reason, take them again. A draft stays."""
        if reason == self._blocked:
            return
        self._blocked = reason
        self.edit.setEnabled(not reason)
        self.attach.setEnabled(not reason)
        self.controls.set_enabled(is_enabled=not reason)
        self._on_text_changed()
        self._say_state()

    # -- geometry --

    def sizeHint(self) -> QSize:
        return QSize(_MARGIN_X * 20, self.minimumHeight())

    def _on_theme_changed(self) -> None:
        self.edit.setFont(self._theme.text_font(self._theme.sizes.chat, grows=False))
        self._arrange()

    def _arrange(self) -> None:
        """Put everything in its place and be as high as that takes."""
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
            self._arrange()  # one of the controls says something longer or shorter now
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
        painter = QPainter(self)
        painter.fillRect(self.rect(), colour("surface"))
        painter.fillRect(0, 0, self.width(), 1, colour("border"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        has_focus = self.edit.hasFocus()
        pen_width = 2 if has_focus else 1
        painter.setPen(QPen(colour("accent" if has_focus else "control_border"), pen_width))
        edge = pen_width / 2
        painter.drawRoundedRect(QRectF(self._field).adjusted(edge, edge, -edge, -edge), Radius.DIALOG, Radius.DIALOG)
        painter.end()
        if self._asked:
            self._arming.note_painted()

    def hideEvent(self, event: QHideEvent) -> None:
        self._arming.restart()
        super().hideEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self._field.contains(event.position().toPoint()):
            self.edit.setFocus(Qt.FocusReason.MouseFocusReason)

    # -- sending --

    def _on_clicked(self) -> None:
        self._send(is_at_once=False)

    def _on_submitted(self) -> None:
        if not self._asked or is_command(self.edit.toPlainText()):
            self._send(is_at_once=False)
        elif self._arming.is_armed:  # otherwise the question is new: the text was meant to be sent, and stays
            self._deny()

    def _on_submitted_at_once(self) -> None:
        self._send(is_at_once=True)

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

    def _deny(self) -> None:
        if written := self._take():
            self.denied.emit(self._asked, prompt_of(written))

    def _take(self) -> str:
        """Return what is written and clear the field; empty if nothing can be sent."""
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
