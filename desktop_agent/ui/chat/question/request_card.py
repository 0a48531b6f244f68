"""What the cards have in common on which a server asks something: how they are drawn, and when an answer counts.

As with the question about a call, nothing here answers by accident: see `ui.chat.question.approval`.
"""

from collections.abc import Sequence

from PySide6.QtCore import QRect, Signal
from PySide6.QtGui import QHideEvent, QPaintEvent
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.protocol.model import ApprovalRequest, Decision
from desktop_agent.ui.chat.entries.entry import EntryActions
from desktop_agent.ui.chat.question.card_command import CardCommand
from desktop_agent.ui.chat.question.card_ground import paint_card
from desktop_agent.ui.chat.text.passage import Paragraph
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.arming import ARMING_DELAY_MS, Arming, answer_shortcut
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import flow
from desktop_agent.ui.wording.place_keys import ALLOW_KEYS, DENY_KEYS, native_keys

PADDING = 15


class RequestCard(QWidget):
    """One question. Its parent gives it a width, and it is as high as that takes.

    A card makes its parts first, then names its answers by `set_answers`.

    Signals:
        resized: its height changed.
    """

    resized = Signal()

    def __init__(self, request: ApprovalRequest, styles: TextStyles, actions: EntryActions, parent: QWidget) -> None:
        super().__init__(parent)
        self.request = request
        self.styles = styles
        self.actions_ = actions
        self._width = 0
        self._is_answered = False
        self._arming = Arming(ARMING_DELAY_MS, self)
        self._buttons: Sequence[QPushButton] = ()
        self._yes_words = ""
        self.yes = make_button(clicked=self.on_yes, variant="primary", parent=self)
        self._shortcuts = (answer_shortcut(ALLOW_KEYS, self.on_yes, self), answer_shortcut(DENY_KEYS, self.on_no, self))

    def set_answers(self, yes_words: str, *others: QPushButton) -> None:
        """Let the button that says yes have these words, and the other answers stand behind it."""
        self._yes_words = yes_words
        self._buttons = (self.yes, *others)
        self.set_shortcut(is_enabled=True)

    def paragraph(self, words: str, role: str = "") -> Paragraph:
        """Return a part of the card's text; `title`, `muted`, or the text itself."""
        match role:
            case "title":
                return Paragraph(words, self.styles, self, font=self.styles.strong)
            case "muted":
                return Paragraph(words, self.styles, self, role="muted", font=self.styles.secondary)
            case _:
                return Paragraph(words, self.styles, self, font=self.styles.body)

    def whole_text(self, text: str, name: str) -> CardCommand:
        """Return a text that must have been seen whole before `update_answers` lets the user say yes."""
        field = CardCommand(text, self.styles, self, name)
        field.fold.changed.connect(self.update_answers)
        field.fold.resize_wanted.connect(self.fit)
        return field

    def set_shortcut(self, *, is_enabled: bool) -> None:
        """Let keys answer, anywhere in the window. Only one question may listen at a time."""
        for shortcut in self._shortcuts:
            shortcut.setEnabled(is_enabled)
        self.yes.setText(self._yes_words + (f"  {native_keys(ALLOW_KEYS)}" if is_enabled else ""))
        self.yes.setAccessibleName(self._yes_words)
        if self._width:
            self.set_width(self._width)

    # -- what a card decides --

    def place_parts(self, y: int, width: int) -> int:
        """Place everything above the buttons, from `y` on; return where it ends."""
        raise NotImplementedError

    def update_answers(self) -> None:
        """Let the user say yes, or not yet."""

    def on_yes(self) -> None:
        """Say yes, if that counts."""
        raise NotImplementedError

    def on_no(self) -> None:
        """Say no, if that counts."""
        raise NotImplementedError

    # -- geometry --

    def set_width(self, width: int) -> None:
        """Be this wide from now on."""
        self._width = width
        inner = width - 2 * PADDING
        y = self.place_parts(PADDING - 3, inner) + Space.S + 2
        y += flow(list(self._buttons), QRect(PADDING, y, inner, 0))
        self.resize(width, y + PADDING)

    def fit(self) -> None:
        """Be as high as the parts take now."""
        before = self.height()
        self.set_width(self._width)
        if self.height() != before:
            self.resized.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        paint_card(self, self.styles.theme)
        self._arming.note_painted()

    def hideEvent(self, event: QHideEvent) -> None:
        self._arming.restart()
        super().hideEvent(event)

    def hold_off(self) -> None:
        """Wait again: another question was just answered, and a second press or click was not meant for this one."""
        self._arming.restart()
        self.update()

    # -- answers --

    @property
    def is_answered(self) -> bool:
        """Whether the user has answered."""
        return self._is_answered

    @property
    def is_listening(self) -> bool:
        """Whether an answer counts: it has been in sight for a moment, and was not answered."""
        return self._arming.is_armed and not self._is_answered and self.isVisible()

    def answer(self, decision: Decision) -> None:
        """Give the answer; nothing on the card answers from now on."""
        self._is_answered = True
        for button in self._buttons:
            button.setEnabled(False)
        self.actions_.approval_answered.emit(self.request.call_id, decision)
