"""The dialog that asks before a call acts: what would happen, why it asks, and what each answer means."""

from collections.abc import Iterator

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QDialog, QLineEdit, QPushButton, QScrollArea, QWidget

from desktop_agent.core.protocol.events import CommandJudged
from desktop_agent.core.protocol.model import Allowed, ApprovalRequest, Decision, Denied
from desktop_agent.ui.approvals.answer_bar import AnswerBar
from desktop_agent.ui.approvals.change_preview import ChangePreview
from desktop_agent.ui.approvals.command_edit import CommandEdit
from desktop_agent.ui.approvals.dialog_height import DialogHeight
from desktop_agent.ui.approvals.question_head import QuestionHead
from desktop_agent.ui.approvals.rule_maths import RuleContext
from desktop_agent.ui.approvals.scope_choice import ScopeChoice
from desktop_agent.ui.review.diff_source import DiffSource, Spawn, shown_changes
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.arming import ARMING_DELAY_MS, Arming, answer_shortcut
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, scroll_down, vbox
from desktop_agent.ui.wording.place_keys import ALLOW_KEYS, DENY_KEYS


class ApprovalDialog(QDialog):
    """Asks about one call.

    Show it with `open()` once it is made; closing it decides nothing, and it never answers by itself.

    Signals:
        decided: the user answered; carries the call's id and a `Decision`. Emitted at most once.
        edited: the command is another one now; carries the call's id and that command, which is to be judged.
    """

    decided = Signal(str, object)
    edited = Signal(str, str)

    _head: QuestionHead
    _command: CommandEdit | None
    _preview: ChangePreview | None
    _scope: ScopeChoice
    _message: QLineEdit
    _answers: AnswerBar
    _height: DialogHeight

    def __init__(
        self,
        theme: Theme,
        request: ApprovalRequest,
        diff_source: DiffSource,
        spawn: Spawn,
        parent: QWidget | None = None,
        *,
        rules: RuleContext,
        arming_delay_ms: int = ARMING_DELAY_MS,
    ) -> None:
        """`rules` is what the user makes rules of the answer with, where the request has patterns for some."""
        super().__init__(parent)
        self.setObjectName("approvalDialog")
        self.setWindowTitle(self.tr("Approval"))
        self.setAccessibleName(self.tr("Approval"))
        self._request = request
        self._is_done = False
        self._arming = Arming(arming_delay_ms, self)
        self.pieces = self._make(theme, diff_source, spawn, rules)
        """Make what is in it, in steps that each take a part of a frame. To be gone through before it is shown."""

    def _make(self, theme: Theme, diff_source: DiffSource, spawn: Spawn, rules: RuleContext) -> Iterator[None]:
        # From the outside in: Qt polishes all that is in a widget again when that gets a parent.
        scroll, body = _scrolled_body(self)
        self._answers = AnswerBar(theme, self)
        self._height = DialogHeight(self, body, self._answers)
        vbox((scroll, 1), hairline(), self._answers, on=self)
        self._head = QuestionHead(theme, self._request, rules.maths, body)
        self._command = self._head.command
        yield
        has_changes = bool(shown_changes(self._request))
        self._preview = ChangePreview(theme, self._request, diff_source, spawn, body) if has_changes else None
        if has_changes:
            yield
        self._scope = ScopeChoice(theme, self._request, rules, body)
        self._message = _message_edit(body)
        margins = (Space.XL, Space.M, Space.XL, Space.L)
        fields = vbox(self._scope, self._message, spacing=Space.S, margins=margins)
        below = (hairline(), (self._preview, 1), hairline(), fields) if self._preview else (fields, STRETCH)
        vbox(self._head, *below, on=body)
        self._connect()
        self._update_answers()
        yield
        self.ensurePolished()
        yield
        self.resize(self._height.fitting_size())
        harmless = self._preview.view if self._preview else self._head.heading
        harmless.setFocus()

    @property
    def call_id(self) -> str:
        """The call it asks about."""
        return self._request.call_id

    @property
    def can_allow(self) -> bool:
        """Whether it can be allowed now: it has been visible for a moment, and everything it would do can be seen."""
        return self._arming.is_armed and not self._obstacle()

    def close_if(self, call_id: str) -> None:
        """Close without an answer when it asks about this call: the answer came from elsewhere."""
        if call_id == self._request.call_id:
            self.reject()

    # -- answering --

    def allow(self) -> None:
        """Answer yes, if it can be allowed now."""
        if self.can_allow:
            edited = self._command.edited_command if self._command else None
            judged = self._command.digest if self._command else None
            scope, rules = self._scope.scope, self._scope.rules()
            self._decide(Allowed(scope=scope, edited_command=edited, judged=judged, rules=rules))

    def deny(self) -> None:
        """Answer no, with the word to the agent that was typed."""
        self._decide(Denied(message=self._message.text().strip()))

    def _deny_with_message(self) -> None:
        if self._message.text().strip():
            self.deny()

    def _decide(self, decision: Decision) -> None:
        if self._is_done:
            return
        self._is_done = True
        self.decided.emit(self._request.call_id, decision)
        self.accept()

    def _obstacle(self) -> str:
        """Why it cannot be allowed, in words; empty when it can."""
        if self._preview and not self._preview.is_loaded:
            return self.tr("Only a visible change can be allowed")
        if self._command and not self._command.text.strip():
            return self.tr("There is no command to run")
        if obstacle := next((fold.obstacle for fold in self._head.folds if fold.obstacle), ""):
            return obstacle
        if self._command and (obstacle := self._command.obstacle()):
            return obstacle
        return self.tr("No valid rule yet. Correct one, or allow only once") if self._scope.lacks_rule else ""

    def _update_answers(self) -> None:
        self._scope.allow_only_once(is_only_once=bool(self._command and self._command.edited_command is not None))
        self._answers.show_yes(self._scope.patterns(), self._scope.words)
        self._answers.show_obstacle(self._obstacle(), is_refusal=bool(self._command and self._command.is_refused))

    def _on_command_changed(self) -> None:
        assert self._command is not None
        edited = self._command.edited_command
        if edited is None:
            self._head.show_request(self._request)
        else:
            self.edited.emit(self._request.call_id, edited)
        self._update_answers()

    def show_judgement(self, judged: CommandJudged) -> None:
        """Show what is known of the edited command; what is about another text is stale, and dropped."""
        if self._command is None or not self._command.take_judgement(judged):
            return
        if judged.request is not None:
            self._head.show_request(judged.request)
        self._update_answers()
        self._height.fit()

    def _on_scope_changed(self) -> None:
        if self._preview:
            self._preview.set_compact(is_compact=self._scope.makes_rules)
        self._update_answers()
        self._height.fit()

    # -- events --

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._height.fit()  # what is seen for the first time has its fonts only now

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        self._arming.note_painted()

    def done(self, arg__1: int) -> None:
        self._arming.stop()
        super().done(arg__1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            # A dialog presses its default button on Enter, wherever the focus is. This one has none: Enter presses only
            # the focused button, not while it is held down, and not with Ctrl, which sends messages elsewhere.
            focused = self.focusWidget()
            is_plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
            if isinstance(focused, QPushButton) and is_plain and not event.isAutoRepeat():
                focused.click()
            return
        super().keyPressEvent(event)

    # -- how it is built --

    def _connect(self) -> None:
        self._answers.allow.clicked.connect(self.allow)
        self._answers.deny.clicked.connect(self.deny)
        self._message.returnPressed.connect(self._deny_with_message)
        self._scope.changed.connect(self._on_scope_changed)
        self._scope.grown.connect(self._height.fit)
        if self._command:
            self._command.changed.connect(self._on_command_changed)
        for fold in self._head.folds:
            fold.changed.connect(self._update_answers)
            fold.resize_wanted.connect(self._height.fit)
        if self._preview:
            self._preview.loaded.connect(self._update_answers)
        answer_shortcut(ALLOW_KEYS, self.allow, self)
        answer_shortcut(DENY_KEYS, self.deny, self)


def _message_edit(body: QWidget) -> QLineEdit:
    message = QLineEdit(body)
    message.setObjectName("denyMessageEdit")
    message.setAccessibleName(QCoreApplication.translate("ApprovalDialog", "Message to the agent if you deny"))
    message.setPlaceholderText(QCoreApplication.translate("ApprovalDialog", "If you deny: why, or what to do instead"))
    return message


def _scrolled_body(dialog: QDialog) -> tuple[QScrollArea, QWidget]:
    scroll = QScrollArea(dialog)
    scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    body = QWidget()
    scroll_down(scroll, body)
    return scroll, body
