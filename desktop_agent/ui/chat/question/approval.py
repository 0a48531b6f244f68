"""The question about a tool call: what would run, why it asks, and the ways to answer.

Nothing here answers by accident: for the first moments after it appears every answer is ignored, the focus is not
moved to it, and no button is a default.
"""

from PySide6.QtCore import QRect, Signal
from PySide6.QtGui import QHideEvent, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.events import CommandJudged
from desktop_agent.core.protocol.model import Allowed, ApprovalRequest, ApprovalScope, Denied
from desktop_agent.ui.chat.entries.entry import EntryActions
from desktop_agent.ui.chat.question.asked_command import AskedCommand
from desktop_agent.ui.chat.question.card_answers import CardAnswers
from desktop_agent.ui.chat.question.card_ground import paint_card
from desktop_agent.ui.chat.question.card_notes import CardNotes, shown_lines
from desktop_agent.ui.chat.text.passage import Paragraph
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.theme import Space
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.widgets.arming import ARMING_DELAY_MS, Arming
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.wording.model_words import explained, visible
from desktop_agent.ui.wording.short_path import short_path

_PADDING = 15


class ApprovalCard(QWidget):
    """One question. Its parent gives it a width, and it is as high as that takes. `asked` is the command.

    `drafts` keep what was written in it when the card goes out of sight.

    Signals:
        resized: its height changed.
    """

    resized = Signal()

    def __init__(
        self,
        request: ApprovalRequest,
        drafts: dict[str, str],
        styles: TextStyles,
        actions: EntryActions,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.request = request
        self._styles = styles
        self._actions = actions
        self._width = 0
        self._is_answered = False
        self._arming = Arming(ARMING_DELAY_MS, self)
        self._title = self._make_title()
        self._explanation = self._make_explanation()
        self.asked = AskedCommand(request, drafts, styles, self)
        self.asked.changed.connect(self._on_command_changed)
        self.asked.resize_wanted.connect(self._resize)
        for field in self.asked.fields:
            field.fold.changed.connect(self._update_answers)
            field.fold.resize_wanted.connect(self._resize)
        self._notes = CardNotes(request, self.asked.text, styles, self)
        self._answers = CardAnswers(request, drafts, styles.theme, self, allow=self._allow, deny=self._deny)
        self._answers.switched.connect(self._on_switched)
        self._answers.review.clicked.connect(self._on_review)
        self._refusal = make_label(role="warning", parent=self, is_plain=True)
        self._refusal.hide()
        place = self.tr("in {folder}").format(folder=short_path(request.cwd)) if request.cwd else ""
        self._folder = make_label(place, role="secondary", parent=self, is_plain=True)
        self.set_shortcut(is_enabled=True)
        self._say_name()
        self._update_answers()

    def _make_title(self) -> Paragraph:
        # In older journals the title of a command is the command.
        is_plain = self.request.command is not None and not self.request.is_escalation
        title = self.tr("Run this command?") if is_plain else shown_lines(core_words(self.request.title))
        return Paragraph(title, self._styles, self, font=self._styles.strong)

    def _make_explanation(self) -> Paragraph | None:
        """What the model says the call is for, marked as its own words."""
        if not (text := explained(self.request.explanation)):
            return None
        return Paragraph(text, self._styles, self, role="muted", font=self._styles.body)

    def _say_name(self) -> None:
        purpose = self._explanation.accessibleName() if self._explanation is not None else ""
        spoken = (self._title.accessibleName(), purpose, visible(self.asked.text), self._notes.spoken)
        self.setAccessibleName(" ".join(part for part in spoken if part))

    def set_shortcut(self, *, is_enabled: bool) -> None:
        """Let keys answer and edit, anywhere in the window. Only one question may listen at a time."""
        self.asked.set_shortcut(is_enabled=is_enabled)
        if self._answers.set_shortcut(is_enabled=is_enabled):
            self._update_answers()
            if self._width:
                self.set_width(self._width)

    # -- geometry --

    def set_width(self, width: int) -> None:
        """Be this wide from now on."""
        self._width = width
        inner = width - 2 * _PADDING
        y = _PADDING - 3
        y += self._title.place(_PADDING, y, inner) + Space.S
        if self._explanation is not None:
            y += self._explanation.place(_PADDING, y - Space.XS, inner) + Space.XS
        y = self.asked.place(_PADDING, y, inner)
        self._answers.fit(inner)
        self._folder.setVisible(not self._answers.is_denying and bool(self._folder.text()))
        folder = self._folder.sizeHint()
        is_beside = self._answers.has_room_beside(QRect(_PADDING, 0, inner, 0), folder.width())
        if not is_beside and not self._folder.isHidden():
            self._folder.setGeometry(_PADDING, y, inner, folder.height())
            y += self._folder.height() + Space.XS
        y += self._notes.place(_PADDING, y, inner)
        if not self._refusal.isHidden():
            self._refusal.setGeometry(_PADDING, y, inner, self._refusal.sizeHint().height())
            y += self._refusal.height() + Space.XS
        y = self._answers.place(_PADDING, y + Space.S + 2, inner)
        if is_beside:
            last = self._answers.last_button
            self._folder.setGeometry(_PADDING + inner - folder.width(), last.top(), folder.width(), last.height())
        self.resize(width, y + _PADDING)

    def _resize(self) -> None:
        before = self.height()
        self.set_width(self._width)
        if self.height() != before:
            self.resized.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        paint_card(self, self._styles.theme)
        self._arming.note_painted()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if (edited := self.asked.unjudged) is not None:
            self._actions.approval_edited.emit(self.request.call_id, edited)

    def hideEvent(self, event: QHideEvent) -> None:
        self._arming.restart()
        super().hideEvent(event)

    def hold_off(self) -> None:
        """Wait again: another question was just answered, and a second press or click was not meant for this one."""
        self._arming.restart()
        self.update()

    # -- the command --

    def show_judgement(self, judged: CommandJudged | None) -> None:
        """Show what is known of the edited command; what is about another text is dropped."""
        if self.asked.take(judged):
            if judged is not None and judged.request is not None:
                self._show_notes(judged.request)
            self._update_answers()

    def _on_command_changed(self) -> None:
        if (edited := self.asked.edited) is not None:
            self._actions.approval_edited.emit(self.request.call_id, edited)
        else:
            self._show_notes(self.request)
        self._update_answers()
        self._resize()

    def _show_notes(self, request: ApprovalRequest) -> None:
        self._notes.drop()
        self._notes = CardNotes(request, self.asked.text, self._styles, self)
        self.asked.mark(request)
        self._say_name()
        self._resize()

    # -- answers --

    @property
    def is_listening(self) -> bool:
        """Whether an answer counts: it has been in sight for a moment, and was not answered."""
        return self._arming.is_armed and not self._is_answered and self.isVisible()

    def _update_answers(self) -> None:
        obstacle, is_refused = self.asked.obstacle, self.asked.is_refused
        self._answers.show_obstacle(obstacle, is_refused=is_refused, is_edited=self.asked.edited is not None)
        self._refusal.setText(obstacle if is_refused else "")
        if self._refusal.isHidden() == is_refused:
            self._refusal.setVisible(is_refused)
            self._resize()

    def _answer(self, decision: Allowed | Denied) -> None:
        if not self.is_listening:
            return
        self._is_answered = True
        self._answers.stop()
        self.asked.edit.setEnabled(False)
        self._actions.approval_answered.emit(self.request.call_id, decision)

    def _allow(self, scope: ApprovalScope) -> None:
        if not self.asked.obstacle:
            self._answer(Allowed(scope=scope, edited_command=self.asked.edited, judged=self.asked.digest))

    def _deny(self, message: str) -> None:
        self._answer(Denied(message=message))

    def _on_switched(self) -> None:
        self._update_answers()
        self._resize()

    def _on_review(self) -> None:
        self._actions.approval_opened.emit(self.request.call_id)
