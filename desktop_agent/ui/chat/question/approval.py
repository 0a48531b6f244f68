"""The question about a tool call: what would run, why it asks, and the ways to answer.

Nothing here answers by accident: for the first moments after it appears every answer is ignored, the focus is not
moved to it, and no button is a default. `AskedCommand` is the command as the user makes it.
"""

from PySide6.QtCore import QObject, QRect, Qt, Signal
from PySide6.QtGui import QHideEvent, QKeySequence, QPaintEvent, QShortcut, QShowEvent, QTextCursor
from PySide6.QtWidgets import QWidget

from desktop_agent.core.base.plain_text import MOST_SHOWN_CHARS
from desktop_agent.core.protocol.events import CommandJudged
from desktop_agent.core.protocol.model import Allowed, ApprovalRequest, ApprovalScope, Denied
from desktop_agent.core.transcript import asked_call
from desktop_agent.ui.chat.entries.entry import EntryActions
from desktop_agent.ui.chat.markdown.inline import utf16_slice
from desktop_agent.ui.chat.question.card_answers import CardAnswers
from desktop_agent.ui.chat.question.request_card import CardCommand, CardNotes, paint_card, shown_lines
from desktop_agent.ui.chat.text.passage import Paragraph, read_code_spans
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.theme import Space
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.widgets.answer_buttons import ARMING_DELAY_MS, Arming
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.wording.phrases import short_path
from desktop_agent.ui.wording.visible_text import explained, visible

COMMAND = "command"
"""Names the edited command among the drafts that are kept when the card goes out of sight."""

_MOST_CHANGE_LINES = 14
"""Of what changed of a tool; longer ones are scrolled."""

_FLAT_PADDING = 9
"""Of a button without a frame: its words begin where the fields do."""


class AskedCommand(QObject):
    """The fields that must have been seen in full: the command or the call, details, changes of a tool.

    `edit` is the button that lets the user change the command, and then restore the agent's. `unfold` shows what the
    server says of a tool that was never allowed; that may stay folded.

    Signals:
        changed: the command reads differently now.
        resize_wanted: there is more or less to show.
    """

    changed = Signal()
    resize_wanted = Signal()

    def __init__(self, request: ApprovalRequest, drafts: dict[str, str], styles: TextStyles, card: QWidget) -> None:
        super().__init__(card)
        self.judged: CommandJudged | None = None
        """What is known of the command as it reads now, once the user edited it."""
        self._request = request
        self._drafts = drafts
        self._command: CardCommand | None = None
        if request.command is not None:
            self._command = CardCommand(drafts.get(COMMAND, request.command), styles, card, self.tr("Command"))
            self._command.set_editable(is_editable=COMMAND in drafts)
            self._command.textChanged.connect(self._on_text_changed)
            self.mark(request)
        self.edit = make_button(clicked=self._on_edit, variant="flat", parent=card, is_compact=True)
        self.edit.setVisible(self._command is not None)
        self._shortcut = QShortcut(QKeySequence(Qt.Modifier.CTRL | Qt.Key.Key_E), card)
        self._shortcut.activated.connect(self._start_editing)
        self._name_edit()
        called = asked_call(request, MOST_SHOWN_CHARS + 1)
        self._call = CardCommand(called, styles, card, self.tr("What would be called")) if called else None
        details = "\n".join(request.details)
        self._details = CardCommand(details, styles, card, self.tr("Details")) if details else None
        change = request.tool_change
        self._change = CardCommand(change.diff, styles, card, self.tr("What changed")) if change is not None else None
        if self._change is not None:
            self._change.most_lines = _MOST_CHANGE_LINES
        self._styles = styles
        self._card = card
        self._definition: CardCommand | None = None
        self.unfold = make_button(
            object_name="toolDefinitionButton", clicked=self._on_unfold, variant="flat", parent=card, is_compact=True
        )
        self.unfold.setVisible(bool(request.tool_definition))
        self._name_unfold()
        fields = (self._command, self._call, self._details, self._change)
        self.fields = [field for field in fields if field is not None]

    def set_shortcut(self, *, is_enabled: bool) -> None:
        self._shortcut.setEnabled(is_enabled and self._command is not None)

    @property
    def text(self) -> str:
        return self._command.text if self._command is not None else ""

    @property
    def edited(self) -> str | None:
        text = self.text
        return text if self._command is not None and text != self._request.command else None

    @property
    def unjudged(self) -> str | None:
        return self.edited if self.judged is None else None

    @property
    def digest(self) -> str | None:
        return self.judged.digest if self.edited is not None and self.judged is not None else None

    @property
    def is_refused(self) -> bool:
        return self.judged is not None and self.judged.request is None

    @property
    def obstacle(self) -> str:
        if self._command is not None and not self.text.strip():
            return self.tr("There is no command to run")
        if obstacle := next((field.fold.obstacle for field in self.fields if field.fold.obstacle), ""):
            return obstacle
        if self.edited is None:
            return ""
        if self.judged is None:
            return self.tr("Checking your command…")
        if self.judged.request is None:
            return visible(self.judged.obstacle)
        return "" if self.judged.digest is not None else self.tr("Checking your command…")

    def take(self, judged: CommandJudged | None) -> bool:
        """Take in what is known of the edited command; what is about another text is stale. Whether it is news."""
        edited = self.edited
        if edited is None or judged is None or judged.command != edited or judged is self.judged:
            return False
        self.judged = judged
        return True

    def mark(self, request: ApprovalRequest) -> None:
        if self._command is not None:
            self._command.mark(tuple(_causes(request)))

    def place(self, x: int, y: int, width: int) -> int:
        """Stand below each other from `y`; return where they end."""
        if self._command is not None:
            edit = self.edit.sizeHint()
            height = self._command.place(QRect(x, y, width, 0), edit.width() + Space.S)
            self.edit.setGeometry(x + width - edit.width() - 5, y + 5, edit.width(), edit.height())
            y += height + Space.S
        for field in (self._call, self._details, self._change):
            if field is not None:
                y += field.place(QRect(x, y, width, 0), 0) + Space.S
        if not self.unfold.isHidden():
            size = self.unfold.sizeHint()
            self.unfold.setGeometry(x - _FLAT_PADDING, y, min(width, size.width()), size.height())
            y += size.height() + Space.XS
        if self._definition is not None and not self._definition.isHidden():
            y += self._definition.place(QRect(x, y, width, 0), 0) + Space.S
        return y

    def _on_unfold(self) -> None:
        if self._definition is None:
            text = self._request.tool_definition
            self._definition = CardCommand(text, self._styles, self._card, self.tr("What the server says of the tool"))
            self._definition.most_lines = _MOST_CHANGE_LINES
            self._definition.fold.stay_away()
            self._definition.show()
        else:
            self._definition.setVisible(self._definition.isHidden())
        self._name_unfold()
        self.resize_wanted.emit()

    def _name_unfold(self) -> None:
        is_unfolded = self._definition is not None and not self._definition.isHidden()
        self.unfold.setText(self.tr("Hide the definition") if is_unfolded else self.tr("Show what the tool is"))

    def _on_edit(self) -> None:
        if self._command is not None and self.edited is not None:
            self._command.set_text(self._request.command or "")  # can be undone like typing
        self._start_editing()

    def _start_editing(self) -> None:
        assert self._command is not None
        self._command.set_editable(is_editable=True)
        self._command.setFocus()
        self._command.moveCursor(QTextCursor.MoveOperation.End)
        self.resize_wanted.emit()

    def _name_edit(self) -> None:
        is_edited = self.edited is not None
        self.edit.setText(self.tr("Restore") if is_edited else self.tr("Edit"))
        keys = self._shortcut.key().toString(QKeySequence.SequenceFormat.NativeText)
        can_edit = self.tr("Edit the command ({keys})").format(keys=keys)
        self.edit.setToolTip(self.tr("Go back to the agent's command") if is_edited else can_edit)

    def _on_text_changed(self) -> None:
        self._drafts[COMMAND] = self.text
        self.judged = None
        self._name_edit()
        self.changed.emit()


def _causes(request: ApprovalRequest) -> list[str]:
    if request.cause:
        return [request.cause]
    rich = read_code_spans(core_words(request.reason))
    return [utf16_slice(rich.text, span.start, span.start + span.length) for span in rich.spans]


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
