"""The question about a tool call: what would run, why the user is asked, and the possible answers.

The card prevents accidental answers: it ignores answers for a moment, does not take the focus, and has no default
button. A denial can give its reason.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import chain, zip_longest

from PySide6.QtCore import QObject, QRect, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut, QShowEvent, QTextCursor
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

from desktop_agent.core.protocol.events import CommandJudged
from desktop_agent.core.protocol.model import ApprovalRequest, ApprovalScope, Denied
from desktop_agent.ui.chat.cards.request_card import (
    FLAT_PADDING,
    CardField,
    ChangeField,
    SamplingCard,
    ServerQuestionCard,
    card_notes,
    shown_lines,
)
from desktop_agent.ui.chat.entries.questions import PADDING, CardPlace, QuestionCard, SpendingCard
from desktop_agent.ui.chat.markdown.parser import read_code_spans, utf16_slice
from desktop_agent.ui.chat.text.passage import Paragraph
from desktop_agent.ui.open_question import OpenQuestion
from desktop_agent.ui.part_keys import ALLOW_KEYS, DENY_KEYS, native_keys
from desktop_agent.ui.theme import Space
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.buttons import (
    ShortcutButton,
    answer_shortcut,
    compact_button,
    cut_to_fit,
    make_button,
    make_line,
)
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import discard, flow
from desktop_agent.ui.wording import explained, one_line, plain_tooltip, short_path, visible

_OFFER_WIDTH = 380
_LEAST_QUOTED_WIDTH = 60
"""The least width of a quoted command, in pixels. Offers that would be cut further get a second row instead."""


def _cut_offer(button: QPushButton, parts: list[str], room: int) -> None:
    def words(quoted: Sequence[str]) -> str:
        return "".join(chain.from_iterable(zip_longest(parts[::2], quoted, fillvalue="")))

    text = cut_to_fit(words, parts[1::2], button, room, _OFFER_WIDTH).replace("&", "&&")  # no key of the button
    if button.text() != text:
        button.setText(text)


DENIAL = "denial"

_FIELD_HEIGHT = 30


class CardAnswers(QObject):
    """The buttons of a card. `allow` and `deny` decide whether an answer counts. `review` shows long rules in full."""

    switched = Signal()

    def __init__(
        self, place: CardPlace, card: QWidget, *, allow: Callable[[ApprovalScope], None], deny: Callable[[str], None]
    ) -> None:
        super().__init__(card)
        theme = place.styles.theme
        self._card = card
        self._drafts = place.drafts
        self._deny_with = deny
        self._is_stopped = False
        self._listens = True
        keys = native_keys(ALLOW_KEYS)
        self.yes = ShortcutButton(theme, self.tr("Allow once"), keys, colour_role="on_accent", parent=card)
        self.yes.setAccessibleName(self.tr("Allow once"))
        self.yes.setProperty("variant", "primary")
        allow_once = partial(allow, "once")
        self.yes.clicked.connect(allow_once)
        self._offers: dict[QPushButton, list[str]] = {}
        """The words of each offer; every second part is quoted."""
        for offer in (offer for offer in place.request.scopes if offer.is_quick):
            parts = [one_line(part) for part in core_words(offer.label).split("`")]
            text = "".join(parts)
            button = make_button(text, accessible_name=text, clicked=partial(allow, offer.scope), parent=card)
            _cut_offer(button, parts, _OFFER_WIDTH)
            button.setToolTip(plain_tooltip(text))
            self._offers[button] = parts
        self.review = make_button(self.tr("Review…"), parent=card)
        self.no = make_button(self.tr("Deny…"), clicked=self._on_deny, variant="destructive", parent=card)
        self._buttons = [self.yes, *self._offers, self.review, self.no]
        self.no.setToolTip(self.tr("{keys} denies at once").format(keys=native_keys(DENY_KEYS)))
        self._shortcuts = (
            answer_shortcut(ALLOW_KEYS, allow_once, card),
            answer_shortcut(DENY_KEYS, self._on_deny_now, card),
        )
        self._show_buttons()

    @cached_property
    def _denial(self) -> tuple[QLineEdit, QPushButton, QPushButton]:
        reason = self.tr("Reason for the agent (optional)")
        field = make_line("", self.tr("Message to the agent"), reason, parent=self._card)
        field.setText(self._drafts.get(DENIAL, ""))
        field.textChanged.connect(partial(self._drafts.__setitem__, DENIAL))
        field.returnPressed.connect(self._on_deny_now)
        deny = make_button(self.tr("Deny"), clicked=self._on_deny_now, variant="destructive", parent=self._card)
        back = make_button(self.tr("Back"), clicked=self._on_back, variant="flat", parent=self._card)
        for control in (field, deny):
            control.setEnabled(not self._is_stopped)
        for widget in (field, deny, back):
            widget.show()
        return field, deny, back

    @property
    def is_denying(self) -> bool:
        return DENIAL in self._drafts

    def set_shortcut(self, *, is_enabled: bool) -> bool:
        if is_enabled == self._listens:
            return False
        self._listens = is_enabled
        for shortcut in self._shortcuts:
            shortcut.setEnabled(is_enabled)
        return True

    def show_obstacle(self, obstacle: str, *, is_refused: bool, is_edited: bool) -> None:
        for button in (self.yes, *self._offers):
            button.setEnabled(not obstacle and not self._is_stopped)
            # Without a description, Qt uses the tool tip, which contains markup if the text may be cut.
            button.setAccessibleDescription(obstacle or (button.accessibleName() if button.toolTip() else ""))
        keys = native_keys(ALLOW_KEYS) if self._listens else ""
        self.yes.setToolTip((plain_tooltip(obstacle) if is_refused else obstacle) or keys)
        self.yes.setAccessibleDescription(obstacle or keys)
        for button in self._offers:  # rules are for the agent's command; an edited command is allowed once
            button.setVisible(not is_edited and not self.is_denying)

    def stop(self) -> None:
        self._is_stopped = True
        for button in self._buttons:
            button.setEnabled(False)
        for control in self._denial[:2] if self.is_denying else ():
            control.setEnabled(False)

    def fit(self, width: int) -> None:
        shown = self._shown()
        self.yes.show_keys(is_shown=self._listens)
        self._fit_offers(shown, 2 * width)  # their full text
        if sum(button.sizeHint().width() for button in shown) + Space.S * (len(shown) - 1) > width:
            self.yes.show_keys(is_shown=False)
            if not self._fit_offers(shown, width):
                self.yes.show_keys(is_shown=self._listens)  # there are two rows anyway

    def _fit_offers(self, shown: Sequence[QPushButton], width: int) -> bool:
        """Return whether all `shown` buttons fit in one row."""
        offers = [button for button in self._offers if button in shown]
        rest = sum(button.sizeHint().width() for button in shown if button not in offers) + Space.S * (len(shown) - 1)
        is_one_row = rest <= width
        for button, parts in self._offers.items() if offers else ():
            metrics = button.fontMetrics()
            room = (width - rest) // len(offers) - button.sizeHint().width() + metrics.horizontalAdvance(button.text())
            least = metrics.horizontalAdvance("".join(parts[::2])) + _LEAST_QUOTED_WIDTH * (len(parts) // 2)
            has_room = room >= least
            _cut_offer(button, parts, min(room, _OFFER_WIDTH) if has_room else _OFFER_WIDTH)
            is_one_row = is_one_row and has_room
        return is_one_row

    def place(self, x: int, y: int, width: int) -> int:
        if self.is_denying:
            field, *buttons = self._denial
            field.setGeometry(x, y, width, _FIELD_HEIGHT)
            y += _FIELD_HEIGHT + Space.S
            return y + flow(buttons, QRect(x, y, width, 0))
        return y + flow(self._shown(), QRect(x, y, width, 0))

    def _shown(self) -> list[QPushButton]:
        return [button for button in self._buttons if not button.isHidden()]

    def _show_buttons(self) -> None:
        for button in self._buttons:
            button.setVisible(not self.is_denying)

    def _on_deny(self) -> None:
        self._drafts.setdefault(DENIAL, "")
        for widget in self._denial:
            widget.show()
        self._denial[0].setFocus()
        self._show_buttons()
        self.switched.emit()

    def _on_deny_now(self) -> None:
        self._deny_with(self._denial[0].text().strip() if self.is_denying else "")

    def _on_back(self) -> None:
        self._drafts.pop(DENIAL, None)
        for widget in self._denial:
            widget.hide()
        self._show_buttons()
        self.no.setFocus()
        self.switched.emit()


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
        purpose = explained(request.explanation, request.subagent)
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
