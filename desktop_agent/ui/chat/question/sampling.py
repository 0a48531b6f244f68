"""What a server wants to ask the model, on a card: all of it, who would answer, and what it may cost.

As with the question about a call, nothing here answers by accident: see `ui.chat.question.approval`.
"""

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QHideEvent, QKeySequence, QPaintEvent, QShortcut
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.model import (
    Allowed,
    ApprovalRequest,
    ApprovalScope,
    Decision,
    Denied,
    SampledText,
    SamplingQuestion,
)
from desktop_agent.ui.chat.entries.paragraph import Paragraph
from desktop_agent.ui.chat.entry_actions import EntryActions
from desktop_agent.ui.chat.flow import flow
from desktop_agent.ui.chat.question.card_command import CardCommand
from desktop_agent.ui.chat.question.card_ground import paint_card
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.arming import ARMING_DELAY_MS, Arming
from desktop_agent.ui.widgets.buttons import make_button

_PADDING = 15


class SamplingCard(QWidget):
    """One question. Its parent gives it a width, and it is as high as that takes.

    Signals:
        resized: its height changed.
    """

    resized = Signal()

    def __init__(
        self,
        request: ApprovalRequest,
        sampling: SamplingQuestion,
        styles: TextStyles,
        actions: EntryActions,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.request = request
        self._sampling = sampling
        self._styles = styles
        self._actions = actions
        self._width = 0
        self._is_answered = False
        self._arming = Arming(ARMING_DELAY_MS, self)
        self._title = Paragraph(request.title, styles, self, font=styles.strong)
        self._facts = Paragraph(self._fact_words(), styles, self, role="muted", font=styles.secondary)
        self._asked = CardCommand(self._asked_words(), styles, self, self.tr("What is sent to the model"))
        self._asked.fold.changed.connect(self._update_allow)
        self._asked.fold.resize_wanted.connect(self._resize)
        self._note = Paragraph(self._note_words(), styles, self, role="muted", font=styles.secondary)
        self._allow = make_button(clicked=self._on_allow, variant="primary", parent=self)
        self._always = make_button(self.tr("Allow in this session"), clicked=self._on_always, parent=self)
        self._deny = make_button(self.tr("Deny"), clicked=self._on_deny, variant="destructive", parent=self)
        self._shortcut = QShortcut(QKeySequence(Qt.Modifier.CTRL | Qt.Key.Key_Return), self)
        self._shortcut.activated.connect(self._on_allow)
        self._always.setToolTip(self.tr("The server may ask the model without a question until the session is closed"))
        self.set_shortcut(is_enabled=True)
        self._update_allow()
        self.setAccessibleName(f"{self._title.accessibleName()}. {self._facts.accessibleName()}")

    def _fact_words(self) -> str:
        sampling = self._sampling
        words = [
            self.tr("{model} answers, with at most {tokens} tokens.").format(
                model=sampling.model, tokens=f"{sampling.max_tokens:,}"
            )
        ]
        if sampling.price == "free":
            words.append(self.tr("It costs nothing more."))
        elif sampling.price:
            words.append(self.tr("A million tokens cost {price}, read and written.").format(price=sampling.price))
        else:
            words.append(self.tr("What it costs is not known."))
        return " ".join((*words, *sampling.notes))

    def _asked_words(self) -> str:
        return "\n\n".join(f"{self._role_words(text)}\n{text.text}" for text in self._sampling.texts)

    def _role_words(self, text: SampledText) -> str:
        match text.role:
            case "system":
                return self.tr("— Instructions —")
            case "user":
                return self.tr("— As the user —")
            case "assistant":
                return self.tr("— As the model —")

    def _note_words(self) -> str:
        return self.tr(
            "The words above are the server's. The model sees nothing of the conversation and has no tools. "
            "Its answer goes to the server."
        )

    def set_shortcut(self, *, is_enabled: bool) -> None:
        """Let Ctrl+Enter allow it once, anywhere in the window: only one question at a time may listen to it."""
        self._shortcut.setEnabled(is_enabled)
        words = self.tr("Allow once")
        shortcut = self._shortcut.key().toString(QKeySequence.SequenceFormat.NativeText).replace("Return", "↵")
        self._allow.setText(words + (f"  {shortcut}" if is_enabled else ""))
        self._allow.setAccessibleName(words)
        if self._width:
            self.set_width(self._width)

    # -- geometry --

    def set_width(self, width: int) -> None:
        """Be this wide from now on."""
        self._width = width
        inner = width - 2 * _PADDING
        y = _PADDING - 3
        y += self._title.place(_PADDING, y, inner) + Space.XS
        y += self._facts.place(_PADDING, y, inner) + Space.S
        y += self._asked.place(QRect(_PADDING, y, inner, 0), 0) + Space.S
        y += self._note.place(_PADDING, y, inner) + Space.S + 2
        y += flow([self._allow, self._always, self._deny], QRect(_PADDING, y, inner, 0))
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

    def _update_allow(self) -> None:
        may = self._asked.fold.is_all_seen and not self._is_answered
        self._allow.setEnabled(may)
        self._always.setEnabled(may)

    def _on_allow(self) -> None:
        self._give("once")

    def _on_always(self) -> None:
        self._give("session")

    def _give(self, scope: ApprovalScope) -> None:
        if self.is_listening and self._allow.isEnabled():
            self._answer(Allowed(scope=scope))

    def _on_deny(self) -> None:
        if self.is_listening:
            self._answer(Denied())

    def _answer(self, decision: Decision) -> None:
        self._is_answered = True
        for control in (self._allow, self._always, self._deny):
            control.setEnabled(False)
        self._actions.approval_answered.emit(self.request.call_id, decision)
