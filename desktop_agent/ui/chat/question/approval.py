"""The question about a tool call: what would run, why the user is asked, and the possible answers.

The card prevents accidental answers: it ignores answers for a moment, does not take the focus, and has no default
button.
"""

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut, QShowEvent, QTextCursor

from desktop_agent.core.protocol.events import CommandJudged
from desktop_agent.core.protocol.model import ApprovalRequest, ApprovalScope, Denied
from desktop_agent.ui.chat.entries.questions import PADDING, CardPlace, QuestionCard, SpendingCard
from desktop_agent.ui.chat.markdown.inline import read_code_spans, utf16_slice
from desktop_agent.ui.chat.question.card_answers import CardAnswers
from desktop_agent.ui.chat.question.request_card import FLAT_PADDING, CardField, ChangeField, card_notes, shown_lines
from desktop_agent.ui.chat.question.server_question import SamplingCard, ServerQuestionCard
from desktop_agent.ui.chat.text.passage import Paragraph
from desktop_agent.ui.open_question import OpenQuestion
from desktop_agent.ui.theme import Space
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import discard
from desktop_agent.ui.wording.phrases import short_path
from desktop_agent.ui.wording.visible_text import explained, visible

COMMAND = "command"

_MOST_CHANGE_LINES = 14


def _causes(request: ApprovalRequest) -> tuple[str, ...]:
    if request.cause:
        return (request.cause,)
    rich = read_code_spans(core_words(request.reason))
    return tuple(utf16_slice(rich.text, span.start, span.start + span.length) for span in rich.spans)


class ApprovalCard(QuestionCard):
    """The card of a call. The user must see the fields in full, except a tool's description."""

    def __init__(self, place: CardPlace) -> None:
        super().__init__(place)
        request, drafts, styles, actions, _, loader = place
        self._drafts = drafts
        self.question = question = OpenQuestion(request, self)
        # In older journals the title of a command is the command.
        is_plain = request.command is not None and not request.is_escalation
        title = self.tr("Run this command?") if is_plain else shown_lines(core_words(request.title))
        self._title = Paragraph(title, styles, self, font=styles.strong)
        purpose = explained(request.explanation)
        self._explanation = Paragraph(purpose, styles, self, role="muted", font=styles.body) if purpose else None
        self._command: CardField | None = None
        if request.command is not None:
            self._command = CardField(drafts.get(COMMAND, request.command), styles, self, self.tr("Command"))
            self._command.setReadOnly(COMMAND not in drafts)
            self._command.mark(_causes(request))
            question.take_command(self._command)
            self._command.textChanged.connect(self._on_command_changed)
        self.edit = compact_button(clicked=self._on_edit, variant="flat", parent=self)
        self.edit.setVisible(self._can_edit)
        self._edit_shortcut = QShortcut(QKeySequence(Qt.Modifier.CTRL | Qt.Key.Key_E), self)
        self._edit_shortcut.activated.connect(self._start_editing)
        self._name_edit()
        shown = [(question.called, self.tr("Proposed call")), (question.details, self.tr("Details"))]
        self._others = [CardField(text, styles, self, name) for text, name in shown if text]
        if request.tool_change is not None:
            change = CardField(request.tool_change.diff, styles, self, self.tr("What changed"))
            change.most_lines = _MOST_CHANGE_LINES
            self._others.append(change)
        self._change: ChangeField | None = None
        if request.changes:
            review = partial(actions.approval_opened.emit, request.call_id)
            self._change = ChangeField(request.changes, loader, styles, review, self)
            self._change.shown.connect(self._on_change_shown)
        question.are_changes_shown = not request.changes
        self._definition: CardField | None = None
        """The server's description of the tool. The field is made when the user wants to see it."""
        button = partial(compact_button, variant="flat", parent=self)
        self._unfold = button("", "toolDefinitionButton", clicked=self._on_unfold)
        self._unfold.setVisible(bool(request.tool_definition))
        self._name_unfold()
        question.folds += [field.fold for field in (self._command, *self._others) if field is not None]
        for fold in question.folds:
            fold.changed.connect(self._update_answers)
            fold.resize_wanted.connect(self.fit)
        self._is_why_shown = False
        self._why = button("", "whyButton", clicked=self._on_why)
        self._notes = card_notes(request, question.text, styles, self)
        self._show_why()
        self._answers = CardAnswers(place, self, allow=self._allow, deny=self._deny)
        self.yes, self.no = self._answers.yes, self._answers.no
        self._answers.switched.connect(self._on_switched)
        self._answers.review.clicked.connect(partial(actions.approval_opened.emit, request.call_id))
        self._refusal = make_label(role="warning", parent=self, is_plain=True)
        self._refusal.hide()
        folder = self.tr("in {folder}").format(folder=short_path(request.cwd)) if request.cwd else ""
        self._folder = make_label(folder, role="secondary", parent=self, is_plain=True)
        self.set_shortcut(is_enabled=True)
        self._say_name()
        self._update_answers()

    @property
    def _can_edit(self) -> bool:
        return self._command is not None and not self.request.is_fixed

    def _say_name(self) -> None:
        purpose = self._explanation.accessibleName() if self._explanation is not None else ""
        spoken = (self._title.accessibleName(), purpose, visible(self.question.text), self._notes.spoken)
        self.setAccessibleName(" ".join(part for part in spoken if part))

    def set_shortcut(self, *, is_enabled: bool) -> None:
        self._edit_shortcut.setEnabled(is_enabled and self._can_edit)
        if self._answers.set_shortcut(is_enabled=is_enabled):
            self._update_answers()
            if self._width:
                self.set_width(self._width)

    def place_all(self, y: int, width: int) -> int:
        y += self._title.place(PADDING, y, width) + Space.S
        if self._explanation is not None:
            y += self._explanation.place(PADDING, y - Space.XS, width) + Space.XS
        y = self._place_fields(y, width)
        self._answers.fit(width)
        if self._folder.text():
            self._folder.setGeometry(PADDING, y - Space.XS, width, self._folder.sizeHint().height())
            y += self._folder.height() + Space.XS
        y = self._place_notes(y, width)
        if not self._refusal.isHidden():
            self._refusal.setGeometry(PADDING, y, width, self._refusal.sizeHint().height())
            y += self._refusal.height() + Space.XS
        return self._answers.place(PADDING, y + Space.S + 2, width)

    def _place_notes(self, y: int, width: int) -> int:
        notes = self._notes
        if notes.risk is not None:
            why = self._why.sizeHint()
            y_before = y
            y += notes.risk.place(PADDING, y, width - why.width() - Space.S if notes.reasons else width)
            middle = self.styles.text_line // 2
            self._why.setGeometry(PADDING + width - why.width(), y_before + middle - why.height() // 2, *why.toTuple())
            y += Space.XS // 2
        for note in (*(notes.reasons if self._is_why_shown else ()), *notes.rest):
            y += note.place(PADDING, y, width) + Space.XS // 2
        return y

    def _place_fields(self, y: int, width: int) -> int:
        if self._command is not None:
            edit = self.edit.sizeHint()
            height = self._command.place(PADDING, y, width, reserved=edit.width() + Space.S if self._can_edit else 0)
            self.edit.setGeometry(PADDING + width - edit.width() - 5, y + 5, edit.width(), edit.height())
            y += height + Space.S
        for field in (self._change, *self._others) if self._change is not None else self._others:
            y += field.place(PADDING, y, width) + Space.S
        if not self._unfold.isHidden():
            size = self._unfold.sizeHint()
            self._unfold.setGeometry(PADDING - FLAT_PADDING, y, min(width, size.width()), size.height())
            y += size.height() + Space.XS
        if self._definition is not None and not self._definition.isHidden():
            y += self._definition.place(PADDING, y, width) + Space.S
        return y

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if (edited := self.question.unjudged) is not None:
            self.actions_.approval_edited.emit(self.request.call_id, edited)

    def show_judgement(self, judged: CommandJudged) -> None:
        if self.question.take_judgement(judged):
            if judged.request is not None:
                self._show_notes(judged.request)
            self._update_answers()

    def _on_edit(self) -> None:
        if self._command is not None and self.question.edited is not None:
            self._command.set_text(self.request.command or "")  # an edit that the user can undo
        self._start_editing()

    def _start_editing(self) -> None:
        assert self._command is not None
        self._command.setReadOnly(False)
        self._command.setFocus()
        self._command.moveCursor(QTextCursor.MoveOperation.End)
        self.fit()

    def _name_edit(self) -> None:
        is_edited = self.question.edited is not None
        self.edit.setText(self.tr("Restore") if is_edited else self.tr("Edit"))
        keys = self._edit_shortcut.key().toString(QKeySequence.SequenceFormat.NativeText)
        can_edit = self.tr("Edit the command ({keys})").format(keys=keys)
        self.edit.setToolTip(self.tr("Go back to the agent's command") if is_edited else can_edit)

    def _on_command_changed(self) -> None:
        self._drafts[COMMAND] = self.question.text
        self._name_edit()
        if (edited := self.question.edited) is not None:
            self.actions_.approval_edited.emit(self.request.call_id, edited)
        else:
            self._show_notes(self.request)
        self._update_answers()
        self.fit()

    def _show_notes(self, request: ApprovalRequest) -> None:
        for note in filter(None, (self._notes.risk, *self._notes.reasons, *self._notes.rest)):
            discard(note)
        self._notes = card_notes(request, self.question.text, self.styles, self)
        self._show_why()
        if self._command is not None:
            self._command.mark(_causes(request))
        self._say_name()
        self.fit()

    def _on_why(self) -> None:
        self._is_why_shown = not self._is_why_shown
        self._show_why()
        self.fit()

    def _show_why(self) -> None:
        self._why.setText(self.tr("Hide reasons") if self._is_why_shown else self.tr("Why?"))
        self._why.setVisible(bool(self._notes.reasons))
        for note in self._notes.reasons:
            note.setVisible(self._is_why_shown)

    def _on_unfold(self) -> None:
        if self._definition is None:
            text, name = self.request.tool_definition, self.tr("The server's description of the tool")
            self._definition = CardField(text, self.styles, self, name)
            self._definition.most_lines = _MOST_CHANGE_LINES
            self._definition.fold.stay_away()
            self._definition.show()
        else:
            self._definition.setVisible(self._definition.isHidden())
        self._name_unfold()
        self.fit()

    def _name_unfold(self) -> None:
        is_unfolded = self._definition is not None and not self._definition.isHidden()
        self._unfold.setText(self.tr("Hide the definition") if is_unfolded else self.tr("Show the definition"))

    def _on_change_shown(self) -> None:
        assert self._change is not None
        self.question.are_changes_shown = self._change.is_whole
        self._update_answers()
        if self._width:
            self.fit()

    def _update_answers(self) -> None:
        obstacle, is_refused = self.question.obstacle, self.question.is_refused
        self._answers.show_obstacle(obstacle, is_refused=is_refused, is_edited=self.question.edited is not None)
        self._refusal.setText(obstacle if is_refused else "")
        if self._refusal.isHidden() == is_refused:
            self._refusal.setVisible(is_refused)
            self.fit()

    def stop(self) -> None:
        self._answers.stop()
        self.edit.setEnabled(False)

    def _allow(self, scope: ApprovalScope) -> None:
        if not self.question.obstacle:
            self.answer(self.question.allowed(scope))

    def _deny(self, message: str) -> None:
        self.answer(Denied(message=message))

    def _on_switched(self) -> None:
        self._update_answers()
        self.fit()


def question_card(place: CardPlace) -> QuestionCard:
    request = place.request
    if request.spending is not None:
        return SpendingCard(place)
    if request.question is None:
        return ApprovalCard(place)
    if request.question.sampling is not None:
        return SamplingCard(place, request.question.sampling)
    return ServerQuestionCard(place, request.question)
