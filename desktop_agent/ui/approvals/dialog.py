"""The dialog that asks before a call acts: what would happen, why it asks, and what each answer means."""

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QPaintEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.core.protocol.events import CommandJudged
from desktop_agent.core.protocol.model import Allowed, ApprovalRequest, ApprovalScope, Decision, Denied
from desktop_agent.ui.approvals.change_preview import ChangePreview
from desktop_agent.ui.approvals.question_head import QuestionHead
from desktop_agent.ui.approvals.request_words import quoted
from desktop_agent.ui.approvals.rule_draft import allow_words, scope_words
from desktop_agent.ui.approvals.rule_editor import RuleEditor
from desktop_agent.ui.approvals.rule_maths import RuleContext
from desktop_agent.ui.review.source import DiffSource, Spawn
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.arming import ARMING_DELAY_MS
from desktop_agent.ui.widgets.fold_bar import obstacle_words
from desktop_agent.ui.widgets.hairline import hairline
from desktop_agent.ui.widgets.picker import Picker
from desktop_agent.ui.widgets.shortcut_button import ShortcutButton
from desktop_agent.ui.wording.model_words import one_line, visible
from desktop_agent.ui.wording.tooltips import plain_tooltip

_WIDTH = 800
_MAX_HEIGHT = 700
_MAX_ALLOW_WIDTH = 400
_PATTERN_STEP = 20
_MARGIN_OF_WINDOW = 24
"""How much of the window's height stays free, above and below together."""


class ApprovalDialog(QDialog):
    """Asks about one call. Show it with `open()`; closing it decides nothing, and it never answers by itself.

    Signals:
        decided: the user answered; carries the call's id and a `Decision`. Emitted at most once.
        edited: the command is another one now; carries the call's id and that command, which is to be judged.
    """

    decided = Signal(str, object)
    edited = Signal(str, str)

    def __init__(
        self,
        theme: Theme,
        request: ApprovalRequest,
        diff_source: DiffSource,
        spawn: Spawn,
        parent: QWidget | None = None,
        *,
        rules: RuleContext | None = None,
        arming_delay_ms: int = ARMING_DELAY_MS,
    ) -> None:
        """`rules` lets the user make rules of the answer, where the request has patterns for some."""
        super().__init__(parent)
        self.setObjectName("approvalDialog")
        self.setWindowTitle(self.tr("Approval"))
        self.setAccessibleName(self.tr("Approval"))
        self._theme = theme
        self._request = request
        self._is_armed = False
        self._is_done = False
        self._judged: CommandJudged | None = None
        self._arming = QTimer(self)
        self._arming.setSingleShot(True)
        self._arming.setInterval(arming_delay_ms)
        self._arming.timeout.connect(self._arm)
        self._preview = ChangePreview(theme, request, diff_source, spawn) if request.changes else None
        self._scope = Picker()
        self._rules = rules
        self._editor = RuleEditor(theme, request, rules) if rules is not None and _has_rules(request) else None
        self._is_unconfined = request.is_escalation or (rules is not None and rules.maths.runs_unconfined(request))
        self._head = QuestionHead(theme, request, is_unconfined=self._is_unconfined)
        self._command = self._head.command
        self._message = QLineEdit()
        self._allow_button = ShortcutButton(theme, self.tr("Allow"), "Ctrl+↵", colour_role="on_accent")
        self._deny_button = ShortcutButton(theme, self.tr("Deny"), "Ctrl+⌫", colour_role="muted")
        self._scopes: list[ApprovalScope] = []
        self._quiet_words = self.tr("Closing this decides nothing. The question stays in the conversation.")
        self._quiet = QLabel(self._quiet_words)
        self._body = QWidget()
        self._foot = QWidget()
        self._lay_out()
        self._connect()
        self._update_answers()
        self.resize(self._fitting_size())
        self._first_focus().setFocus()

    @property
    def call_id(self) -> str:
        """The call it asks about."""
        return self._request.call_id

    @property
    def can_allow(self) -> bool:
        """Whether it can be allowed now: it has been visible for a moment, and everything it would do can be seen."""
        return self._is_armed and not self._obstacle()

    def close_if(self, call_id: str) -> None:
        """Close without an answer when it asks about this call: the answer came from elsewhere."""
        if call_id == self._request.call_id:
            self.reject()

    # -- answering --

    def allow(self) -> None:
        """Answer yes, if it can be allowed now."""
        if self.can_allow:
            edited = self._command.edited_command if self._command else None
            scope = self._chosen_scope()
            rules = self._editor.rules() if self._editor and scope != "once" else ()
            judged = self._judged.digest if edited is not None and self._judged is not None else None
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

    def _chosen_scope(self) -> ApprovalScope:
        return self._scopes[self._scope.currentIndex()] if self._scopes else "once"

    def _obstacle(self) -> str:
        """Why it cannot be allowed, in words; empty when it can."""
        if self._preview and not self._preview.is_loaded:
            return self.tr("Only a visible change can be allowed")
        if self._command and not self._command.text.strip():
            return self.tr("There is no command to run")
        if not all(fold.is_all_seen for fold in self._head.folds):
            return obstacle_words()
        if self._command and self._command.edited_command is not None and not (self._judged and self._judged.digest):
            refused = self._judged is not None and self._judged.request is None
            return visible(self._judged.obstacle) if refused and self._judged else self.tr("Checking your command…")
        if self._editor and self._chosen_scope() != "once" and not self._editor.usable_patterns():
            return self.tr("No valid rule yet. Correct one, or allow only once")
        return ""

    def _update_answers(self) -> None:
        is_edited = bool(self._command and self._command.edited_command is not None)
        if is_edited:
            self._scope.setCurrentIndex(0)
        self._scope.setEnabled(not is_edited)
        self._scope.setToolTip(self.tr("A modified command can only be allowed once") if is_edited else "")
        obstacle = self._obstacle()
        self._allow_button.setEnabled(not obstacle)
        words, shown = self._allow_words()
        self._allow_button.setText(shown)
        self._allow_button.setAccessibleName(words)
        is_refused = self._judged is not None and self._judged.request is None
        why = plain_tooltip(obstacle) if is_refused else obstacle
        self._allow_button.setToolTip(why or (plain_tooltip(words) if shown != words else ""))
        self._allow_button.setAccessibleDescription(obstacle)
        self._quiet.setText(obstacle if is_refused else self._quiet_words)

    def _on_command_changed(self) -> None:
        assert self._command is not None
        self._judged = None
        edited = self._command.edited_command
        if edited is None:
            self._head.show_request(self._request, is_unconfined=self._is_unconfined)
        else:
            self.edited.emit(self._request.call_id, edited)
        self._update_answers()

    def show_judgement(self, judged: CommandJudged) -> None:
        """Show what is known of the edited command; what is about another text is stale, and dropped."""
        if self._command is None or judged.command != self._command.edited_command:
            return
        self._judged = judged
        if judged.request is not None:
            is_open = judged.request.is_escalation
            is_open |= self._rules is not None and self._rules.maths.runs_unconfined(judged.request)
            self._head.show_request(judged.request, is_unconfined=is_open)
        self._update_answers()
        self._fit()

    def _allow_words(self) -> tuple[str, str]:
        """What pressing the button means, and as much of it as the button has room for."""
        scope = self._chosen_scope()
        if scope == "once" or self._editor is None or not (patterns := self._editor.usable_patterns()):
            words = self.tr("Allow once") if scope == "once" and len(self._scopes) > 1 else self.tr("Allow")
            return words, words
        patterns = [one_line(pattern) for pattern in patterns]
        kind = self._request.rule_kind or "command"
        words = shown = allow_words(patterns, scope, kind, is_unconfined=self._is_unconfined)
        metrics = self._allow_button.fontMetrics()
        for width in range(_MAX_ALLOW_WIDTH, 0, -_PATTERN_STEP):  # the patterns give way, the words around them do not
            if metrics.horizontalAdvance(shown) <= _MAX_ALLOW_WIDTH:
                break
            cut = [metrics.elidedText(pattern, Qt.TextElideMode.ElideMiddle, width) for pattern in patterns]
            shown = allow_words(cut, scope, kind, is_unconfined=self._is_unconfined)
        return words, shown

    def _on_scope_changed(self) -> None:
        scope = self._chosen_scope()
        if self._editor:
            if scope != "once":
                self._editor.set_scope(scope)
            self._editor.setVisible(scope != "once")
            if self._preview:
                self._preview.set_compact(is_compact=scope != "once")
            self._fit()
        self._update_answers()

    def _arm(self) -> None:
        self._is_armed = True

    # -- events --

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()  # what is seen for the first time has its fonts only now

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._is_armed and not self._arming.isActive():
            self._arming.start()  # counts from when it can be seen, however long it took to get there

    def done(self, arg__1: int) -> None:
        self._arming.stop()
        super().done(arg__1)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # Where words are typed, this key deletes one; Qt's fields leave it to shortcuts.
        is_override = event.type() == QEvent.Type.ShortcutOverride
        if is_override and isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.DeleteStartOfWord):
            event.accept()
            return True
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            # A dialog presses its default button on Enter, wherever the focus is. This one has none.
            focused = self.focusWidget()
            if isinstance(focused, QPushButton):
                focused.click()
            return
        super().keyPressEvent(event)

    # -- how it is built --

    def _lay_out(self) -> None:
        for name, widget, words in (
            ("approvalScopePicker", self._scope, self.tr("What to allow")),
            ("denyMessageEdit", self._message, self.tr("Message to the agent if you deny")),
            ("approveButton", self._allow_button, self.tr("Allow")),
            ("denyButton", self._deny_button, self.tr("Deny")),
        ):
            widget.setObjectName(name)
            widget.setAccessibleName(words)
        self._allow_button.setProperty("variant", "primary")
        self._deny_button.setProperty("variant", "destructive")
        self._message.setPlaceholderText(self.tr("If you deny: why, or what to do instead"))
        body = QVBoxLayout(self._body)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(0)
        body.addWidget(self._head)
        if self._preview:
            body.addWidget(hairline())
            body.addWidget(self._preview, 1)
            body.addWidget(hairline())
        body.addLayout(self._answer_fields())
        if not self._preview:
            body.addStretch()
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(self._body)
        # The dialog's own ground shows through.
        scroll.viewport().setAutoFillBackground(False)
        self._body.setAutoFillBackground(False)
        self._build_foot()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(scroll, 1)
        column.addWidget(hairline())
        column.addWidget(self._foot)

    def _answer_fields(self) -> QVBoxLayout:
        row = QHBoxLayout()
        label = QLabel(self.tr("If you allow:"))
        label.setProperty("role", "secondary")
        label.setBuddy(self._scope)
        row.addWidget(label)
        row.addWidget(self._scope)
        row.addStretch()
        self._fill_scopes()
        for widget in (label, self._scope):
            widget.setVisible(len(self._scopes) > 1)
        longest = max(len(self._scope.itemText(index)) for index in range(self._scope.count()))
        self._scope.setMinimumContentsLength(min(longest, 60))
        box = QVBoxLayout()
        box.setContentsMargins(Space.XL, Space.M, Space.XL, Space.L)
        box.setSpacing(Space.S)
        box.addLayout(row)
        if self._editor:
            self._editor.hide()  # until the user wants more than this once
            box.addWidget(self._editor)
            box.addSpacing(Space.XS)
        box.addWidget(self._message)
        return box

    def _fill_scopes(self) -> None:
        once = next((offer.label for offer in self._request.scopes if offer.scope == "once"), "")
        self._scopes.append("once")
        self._scope.addItem(self.tr("Only this once") if self._editor or not once else once)
        for offer in self._request.scopes:
            if offer.scope != "once":
                self._scopes.append(offer.scope)
                # What is allowed is said by the rules and the button, where the user makes them.
                self._scope.addItem(scope_words(offer.scope) if self._editor else quoted(offer.label))

    def _build_foot(self) -> None:
        self._foot.setAutoFillBackground(True)
        quiet = self._quiet
        quiet.setObjectName("approvalQuietLine")
        quiet.setProperty("role", "secondary")
        quiet.setWordWrap(True)
        row = QHBoxLayout(self._foot)
        row.setContentsMargins(Space.XL, Space.M, Space.XL, Space.M)
        row.setSpacing(Space.M)
        row.addWidget(self._allow_button)
        row.addWidget(quiet, 1)
        row.addWidget(self._deny_button)

    def _connect(self) -> None:
        self._allow_button.clicked.connect(self.allow)
        self._deny_button.clicked.connect(self.deny)
        self._message.returnPressed.connect(self._deny_with_message)
        self._message.installEventFilter(self)
        self._scope.currentIndexChanged.connect(self._on_scope_changed)
        if self._editor:
            self._editor.changed.connect(self._update_answers)
            self._editor.changed.connect(self._fit)
            self._editor.preview.finished.connect(self._fit)
        if self._command:
            self._command.changed.connect(self._on_command_changed)
            self._command.field.installEventFilter(self)
        for fold in self._head.folds:
            fold.changed.connect(self._update_answers)
            fold.resize_wanted.connect(self._fit)
        if self._preview:
            self._preview.loaded.connect(self._update_answers)
        for keys, slot in (
            ("Ctrl+Return", self.allow),
            ("Ctrl+Enter", self.allow),
            ("Ctrl+Backspace", self.deny),
        ):
            QShortcut(QKeySequence(keys), self).activated.connect(slot)

    def _first_focus(self) -> QWidget:
        """Something that no key can do harm to."""
        return self._preview.view if self._preview else self._head.heading

    def _fit(self) -> None:
        """Be high enough for what is shown now; never smaller than the user made it."""
        wanted = self._fitting_size().height()
        if wanted > self.height():
            self.resize(self.width(), wanted)
            self._stay_in_sight()

    def _stay_in_sight(self) -> None:
        """Move up by what would be below the screen: the answers are at the bottom."""
        screen = self.screen().availableGeometry()
        below = self.geometry().bottom() - screen.bottom()
        if below > 0:
            self.move(self.x(), max(screen.top(), self.y() - below))

    def _fitting_size(self) -> QSize:
        layout = self._body.layout()
        assert layout is not None
        layout.activate()
        width = max(self.width(), _WIDTH) if self.isVisible() else _WIDTH
        body = layout.heightForWidth(width) if layout.hasHeightForWidth() else layout.sizeHint().height()
        parent: QWidget | None = self.parentWidget()
        limit = min(_MAX_HEIGHT, parent.window().height() - _MARGIN_OF_WINDOW) if parent else _MAX_HEIGHT
        return QSize(width, min(limit, body + self._foot.sizeHint().height() + 1))


def _has_rules(request: ApprovalRequest) -> bool:
    """Whether rules with patterns can answer it. Those that come with variables, input or a shell are only exact."""
    return bool(request.rule_patterns) and not request.details
