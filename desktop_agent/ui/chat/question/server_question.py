"""What a server asks while its call runs, on a card: a form to fill in, or an address that is opened only by a click.

As with the question about a call, nothing here answers by accident: see `ui.chat.question.approval`.
"""

from urllib.parse import urlsplit

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QHideEvent, QKeySequence, QPaintEvent, QShortcut
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.model import Allowed, ApprovalRequest, Decision, Denied, ServerQuestion
from desktop_agent.ui.chat.entries.paragraph import Paragraph
from desktop_agent.ui.chat.entry_actions import EntryActions
from desktop_agent.ui.chat.flow import flow
from desktop_agent.ui.chat.question.card_command import CardCommand
from desktop_agent.ui.chat.question.card_ground import paint_card
from desktop_agent.ui.chat.question.card_notes import shown_lines
from desktop_agent.ui.chat.question.form_row import FormRow
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.arming import ARMING_DELAY_MS, Arming
from desktop_agent.ui.widgets.buttons import make_button

_PADDING = 15


class ServerQuestionCard(QWidget):
    """One question. Its parent gives it a width, and it is as high as that takes.

    Signals:
        resized: its height changed.
    """

    resized = Signal()

    def __init__(
        self,
        request: ApprovalRequest,
        question: ServerQuestion,
        drafts: dict[str, str],
        styles: TextStyles,
        actions: EntryActions,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.request = request
        self._question = question
        self._styles = styles
        self._actions = actions
        self._width = 0
        self._is_answered = False
        self._arming = Arming(ARMING_DELAY_MS, self)
        self._title = Paragraph(self._title_words(), styles, self, font=styles.strong)
        self._message = Paragraph(shown_lines(question.message), styles, self, font=styles.body)
        self._address = self._make_address() if question.address else None
        self._rows = [FormRow(field, drafts, styles, self) for field in question.fields]
        for row in self._rows:
            row.resized.connect(self._resize)
        self._note = Paragraph(self._note_words(), styles, self, role="muted", font=styles.secondary)
        self._send = make_button(clicked=self._on_send, variant="primary", parent=self)
        self._decline = make_button(self.tr("Decline"), clicked=self._on_decline, variant="destructive", parent=self)
        self._shortcut = QShortcut(QKeySequence(Qt.Modifier.CTRL | Qt.Key.Key_Return), self)
        self._shortcut.activated.connect(self._on_send)
        self.set_shortcut(is_enabled=True)
        self.setAccessibleName(f"{self._title.accessibleName()}. {self._message.accessibleName()}")

    def _title_words(self) -> str:
        if self._question.address:
            return self.tr("{server} wants you to visit a page").format(server=self._question.server)
        return self.tr("{server} asks you something").format(server=self._question.server)

    def _note_words(self) -> str:
        if self._question.address:
            host = urlsplit(self._question.address).hostname or ""
            return self.tr("The page is at {host} and opens in your browser. What you do there stays there.").format(
                host=host
            )
        return self.tr("The words above are the server's. What you answer goes to it: write no password or key here.")

    def _make_address(self) -> CardCommand:
        field = CardCommand(self._question.address, self._styles, self, self.tr("Address"))
        field.mark((urlsplit(self._question.address).netloc,))
        field.fold.changed.connect(self._update_send)
        field.fold.resize_wanted.connect(self._resize)
        return field

    def set_shortcut(self, *, is_enabled: bool) -> None:
        """Let Ctrl+Enter send, anywhere in the window: only one question at a time may listen to it."""
        self._shortcut.setEnabled(is_enabled)
        words = self.tr("Open in browser") if self._question.address else self.tr("Send")
        shortcut = self._shortcut.key().toString(QKeySequence.SequenceFormat.NativeText).replace("Return", "↵")
        self._send.setText(words + (f"  {shortcut}" if is_enabled else ""))
        self._send.setAccessibleName(words)
        if self._width:
            self.set_width(self._width)

    # -- geometry --

    def set_width(self, width: int) -> None:
        """Be this wide from now on."""
        self._width = width
        inner = width - 2 * _PADDING
        y = _PADDING - 3
        y += self._title.place(_PADDING, y, inner) + Space.XS
        y += self._message.place(_PADDING, y, inner) + Space.M
        if self._address is not None:
            y += self._address.place(QRect(_PADDING, y, inner, 0), 0) + Space.S
        for row in self._rows:
            y = row.place(_PADDING, y, inner)
        y += self._note.place(_PADDING, y, inner) + Space.S + 2
        y += flow([self._send, self._decline], QRect(_PADDING, y, inner, 0))
        self.resize(width, y + _PADDING)

    def _resize(self) -> None:
        before = self.height()
        self.set_width(self._width)
        if self.height() != before:
            self.resized.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        paint_card(self, self._styles.theme)
        self._arming.note_painted()

    def hideEvent(self, event: QHideEvent) -> None:
        self._arming.stop()
        super().hideEvent(event)

    # -- answers --

    @property
    def is_listening(self) -> bool:
        """Whether an answer counts: it has been in sight for a moment, and was not answered."""
        return self._arming.is_armed and not self._is_answered and self.isVisible()

    def _update_send(self) -> None:
        assert self._address is not None
        self._send.setEnabled(self._address.fold.is_all_seen and not self._is_answered)

    def _on_send(self) -> None:
        if not self.is_listening or not self._send.isEnabled():
            return
        wrong = [row for row in self._rows if not row.check()]
        if wrong:
            wrong[0].focus()
            return
        if self._question.address:
            self._actions.link_activated.emit(self._question.address)
        answers = {row.field.name: row.answer for row in self._rows}
        self._answer(Allowed(answers={name: value for name, value in answers.items() if value is not None}))

    def _on_decline(self) -> None:
        if self.is_listening:
            self._answer(Denied())

    def _answer(self, decision: Decision) -> None:
        self._is_answered = True
        for control in (self._send, self._decline):
            control.setEnabled(False)
        for row in self._rows:
            row.stop()
        self._actions.approval_answered.emit(self.request.call_id, decision)
