"""The dialog that asks before a call acts: the effects, the reason for asking, and the possible answers."""

from collections.abc import Iterator, Sequence
from functools import partial

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QDialog, QPushButton, QScrollArea, QWidget
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.protocol.events import UNSTAMPED, CommandJudged
from desktop_agent.core.protocol.model import ApprovalRequest, ApprovalScope, Decision, Denied, FileDiff, Rule
from desktop_agent.core.transcript import ChangeRecord
from desktop_agent.ui.approvals.question_head import QuestionHead, quoted
from desktop_agent.ui.approvals.rule_editor import RuleEditor, allow_words, scope_words
from desktop_agent.ui.approvals.rule_judging import RuleContext
from desktop_agent.ui.open_question import OpenQuestion
from desktop_agent.ui.part_keys import ALLOW_KEYS, DENY_KEYS, native_keys
from desktop_agent.ui.review.changed_file_list import FileList
from desktop_agent.ui.review.changed_files import ChangedFile
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff_source import DiffSource, Spawn, shown_changes
from desktop_agent.ui.review.review_bars import FileBar
from desktop_agent.ui.runtime.pacing import one_shot
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.buttons import (
    ARMING_DELAY_MS,
    Arming,
    Picker,
    ShortcutButton,
    answer_shortcut,
    cut_to_fit,
    make_line,
)
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, scroll_down, set_names, vbox
from desktop_agent.ui.wording import one_line, plain_tooltip

_HEIGHT = 420
_TOOL_HEIGHT = 320
"""The height for the definition of a changed tool, above which there is more text than above files."""
_COMPACT_HEIGHT = 190


class ChangePreview(QWidget):
    loaded = Signal()

    def __init__(
        self, theme: Theme, request: ApprovalRequest, source: DiffSource, spawn: Spawn, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._request = request
        self._source = source
        self._diffs: list[FileDiff] = []
        self.is_loaded = False
        self._height = _HEIGHT if request.tool_change is None else _TOOL_HEIGHT
        self._wanted_height = self._height
        self.setMinimumHeight(_COMPACT_HEIGHT)
        self._list = FileList(theme, "kind")
        set_names(self._list, "approvalFileList", self.tr("Files that would change"))
        self._list.set_max_rows(4)
        changes = shown_changes(request)
        self._list.set_files(
            [ChangedFile.of(each.path, [ChangeRecord(each, 0, request.call_id, UNSTAMPED)]) for each in changes]
        )
        self._list.setVisible(len(changes) > 1)
        self._list.current_changed.connect(self._show_current)
        self.view = DiffView(theme)
        self._bar = FileBar(theme, self.view.keys)
        self._bar.attach(self.view)
        self.view.setObjectName("approvalDiffView")
        vbox(hbox(self._list, margins=(Space.M, 0, Space.M, 0)), self._bar, (self.view, 1), on=self)
        self._show_current()
        self._patience = one_shot(self, 150, partial(self.view.show_message, self.tr("Loading…")))
        self._patience.start()
        spawn(self._fetch())

    def set_compact(self, *, is_compact: bool) -> None:
        self._wanted_height = _COMPACT_HEIGHT if is_compact else self._height
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._wanted_height)

    async def _fetch(self) -> None:
        try:
            diffs = await self._source.preview(self._request)
        except AgentError as error:
            self._fail(core_words(error.title), core_words(error.hint))
            return
        except Exception:
            self._fail(self.tr("The change could not be shown"), self.tr("It cannot be allowed without being shown."))
            raise
        if isValid(self):
            self._patience.stop()
            self._diffs = diffs
            self.is_loaded = True
            self._show_current()
            self.loaded.emit()

    def _fail(self, title: str, hint: str) -> None:
        if isValid(self):
            self._patience.stop()
            self.view.show_message(title, hint)

    def _show_current(self) -> None:
        file = self._list.current_file
        if file is None:
            return
        self._bar.set_file(file.path, "")
        diff = next((diff for diff in self._diffs if diff.path == file.path), None)
        if diff is not None:
            self.view.show_diff(diff)
            self._bar.show_counts(self.view.document.rows)
        self._bar.show_mode()


_WIDTH = 800
_MAX_HEIGHT = 700
_MARGIN_OF_WINDOW = 24
_MAX_ALLOW_WIDTH = 320


class ScopeChoice(QWidget):
    """Offers the scopes of a request. Where rules are possible, every scope but *once* opens the rule editor."""

    changed = Signal()
    grown = Signal()

    def __init__(self, theme: Theme, request: ApprovalRequest, rules: RuleContext, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rules = rules
        self._request = request
        self._is_unconfined = rules.maths.runs_unconfined(request)
        self._scopes: list[ApprovalScope] = ["once"]
        self._picker = Picker(object_name="approvalScopePicker", accessible_name=self.tr("What to allow"))
        # Rules with patterns answer no commands with variables, input or a shell: those match exactly.
        self._can_make_rules = bool(request.rule_patterns) and (request.rule_kind == "tool" or not request.details)
        self._editor: RuleEditor | None = None
        once = next((offer.label for offer in self._request.scopes if offer.scope == "once"), "")
        self._picker.addItem(self.tr("Only this once") if self._can_make_rules or not once else core_words(once))
        for offer in self._request.scopes:
            if offer.scope != "once":
                self._scopes.append(offer.scope)
                # The rules and the button say what is allowed.
                words = scope_words(offer.scope) if self._can_make_rules else quoted(core_words(offer.label))
                self._picker.addItem(words)
        self._picker.fit(most_chars=60)
        name = make_label(self.tr("If you allow:"), role="secondary")
        name.setBuddy(self._picker)
        scopes = hbox(name, self._picker, STRETCH, spacing=Space.S)
        self._layout = vbox(scopes, on=self, spacing=Space.S)
        if self._can_make_rules:
            self._layout.addSpacing(Space.XS)
        self.setVisible(len(self._scopes) > 1)
        self._picker.currentIndexChanged.connect(self._on_picked)

    @property
    def scope(self) -> ApprovalScope:
        return self._scopes[self._picker.currentIndex()]

    @property
    def makes_rules(self) -> bool:
        return self._can_make_rules and self.scope != "once"

    def rules(self) -> tuple[Rule, ...]:
        return self._editor.rules() if self._editor is not None and self.makes_rules else ()

    def patterns(self) -> list[str]:
        usable = self._editor.usable_patterns() if self._editor is not None and self.makes_rules else ()
        return [one_line(pattern) for pattern in usable]

    def words(self, patterns: Sequence[str]) -> str:
        """Return the label of the button that allows the call. `patterns` are the rules' patterns, shortened to fit."""
        scope = self.scope
        if scope != "once" and self._request.tool_change is not None and not self._can_make_rules:
            return self._picker.currentText()  # no rule is made: an existing rule applies again
        if scope == "once" or not patterns:
            return self.tr("Allow once") if scope == "once" and len(self._scopes) > 1 else self.tr("Allow")
        kind = self._request.rule_kind or "command"
        return allow_words(patterns, scope, kind, is_unconfined=self._is_unconfined)

    def allow_only_once(self, *, is_only_once: bool) -> None:
        """Restrict the answer to the scope *once*, or lift the restriction. Rules never come from an edited command."""
        if is_only_once:
            self._picker.setCurrentIndex(0)
        self._picker.setEnabled(not is_only_once)
        self._picker.setToolTip(self.tr("A modified command can only be allowed once") if is_only_once else "")

    def _build_editor(self) -> RuleEditor:
        editor = self._editor = RuleEditor(self._theme, self._request, self._rules, self.changed.emit)
        editor.hide()
        editor.preview.finished.connect(self.grown)
        self._layout.insertWidget(1, editor)
        return editor

    def _on_picked(self) -> None:
        scope = self.scope
        if self._can_make_rules:
            editor = self._editor or self._build_editor()
            if scope != "once":
                editor.set_scope(scope)
            editor.setVisible(scope != "once")
            self.updateGeometry()  # at once, because the dialog measures it now
        self.changed.emit()


class ApprovalDialog(QDialog):
    """Asks about one call. Show it with `open()` once it is built. Closing it gives no answer."""

    decided = Signal(str, object)  # the call's id and a Decision, at most once
    edited = Signal(str, str)  # the call's id and the command, which is to be judged

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
        super().__init__(parent)
        set_names(self, "approvalDialog", self.tr("Approval"))
        self.setWindowTitle(self.tr("Approval"))
        self._request = request
        self.call_id = request.call_id
        self._question = OpenQuestion(request, self)
        self._is_done = False
        self._arming = Arming(arming_delay_ms, self)
        self.pieces = self._make(theme, diff_source, spawn, rules)
        """The steps that build the dialog, each of which fits into a frame. Run them all before it is shown."""

    def _make(self, theme: Theme, diff_source: DiffSource, spawn: Spawn, rules: RuleContext) -> Iterator[None]:
        # From the outside in: Qt restyles all children of a widget that gets a parent.
        scroll = QScrollArea(self)
        body = self._body = QWidget()
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll_down(scroll, body)
        self._answers = QWidget(self)
        self._allow = ShortcutButton(theme, self.tr("Allow"), native_keys(ALLOW_KEYS), colour_role="on_accent")
        set_names(self._allow, "approveButton", self.tr("Allow"))
        self._allow.setProperty("variant", "primary")
        self._deny = ShortcutButton(theme, self.tr("Deny"), native_keys(DENY_KEYS), colour_role="muted")
        set_names(self._deny, "denyButton", self.tr("Deny"))
        self._deny.setProperty("variant", "destructive")
        self._quiet = make_label(role="secondary", object_name="approvalQuietLine", wraps=True)
        self._answers.setAutoFillBackground(True)
        margins = (Space.XL, Space.M, Space.XL, Space.M)
        hbox(self._allow, (self._quiet, 1), self._deny, on=self._answers, spacing=Space.M, margins=margins)
        vbox((scroll, 1), hairline(), self._answers, on=self)
        self._head = QuestionHead(theme, self._question, rules.maths, body)
        yield
        has_changes = bool(shown_changes(self._request))
        self._preview = ChangePreview(theme, self._request, diff_source, spawn, body) if has_changes else None
        if has_changes:
            yield
        self._scope = ScopeChoice(theme, self._request, rules, body)
        words = self.tr("Message to the agent if you deny"), self.tr("If you deny: why, or what to do instead")
        self._message = make_line("denyMessageEdit", *words, parent=body)
        margins = (Space.XL, Space.M, Space.XL, Space.L)
        fields = vbox(self._scope, self._message, spacing=Space.S, margins=margins)
        below = (hairline(), (self._preview, 1), hairline(), fields) if self._preview else (fields, STRETCH)
        vbox(self._head, *below, on=body)
        self._connect()
        self._update_answers()
        yield
        self.ensurePolished()
        yield
        self.resize(self._fitting_size())
        harmless = self._preview.view if self._preview else self._head.heading
        harmless.setFocus()

    @property
    def can_allow(self) -> bool:
        """Whether the call can be allowed now: the dialog was visible for a moment, and the user saw its content."""
        return self._arming.is_armed and not self._obstacle()

    def close_if(self, call_id: str) -> None:
        if call_id == self._request.call_id:
            self.reject()

    def _fit(self) -> None:
        wanted = self._fitting_size().height()
        if wanted > self.height():
            self.resize(self.width(), wanted)
            screen = self.screen().availableGeometry()
            below = self.geometry().bottom() - screen.bottom()
            if below > 0:  # the answers are at the bottom
                self.move(self.x(), max(screen.top(), self.y() - below))

    def _fitting_size(self) -> QSize:
        layout = self._body.layout()
        assert layout is not None
        layout.activate()
        width = max(self.width(), _WIDTH) if self.isVisible() else _WIDTH
        body = layout.heightForWidth(width) if layout.hasHeightForWidth() else layout.sizeHint().height()
        parent: QWidget | None = self.parentWidget()
        limit = min(_MAX_HEIGHT, parent.window().height() - _MARGIN_OF_WINDOW) if parent else _MAX_HEIGHT
        return QSize(width, min(limit, body + self._answers.sizeHint().height() + 1))

    def allow(self) -> None:
        if self.can_allow:
            self._decide(self._question.allowed(self._scope.scope, self._scope.rules()))

    def deny(self) -> None:
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
        if obstacle := self._question.obstacle:
            return obstacle
        lacks_rule = self._scope.makes_rules and not self._scope.patterns()
        return self.tr("The rule is not valid yet. Correct it, or allow only once") if lacks_rule else ""

    def _update_answers(self) -> None:
        self._question.are_changes_shown = self._preview is None or self._preview.is_loaded
        self._scope.allow_only_once(is_only_once=self._question.edited is not None)
        patterns = self._scope.patterns()
        whole = self._scope.words(patterns)
        shown = cut_to_fit(self._scope.words, patterns, self._allow, _MAX_ALLOW_WIDTH)
        self._allow.setText(shown.replace("&", "&&"))
        self._allow.setAccessibleName(whole)
        self._allow.setToolTip(plain_tooltip(whole) if shown != whole else "")
        obstacle, is_refusal = self._obstacle(), self._question.is_refused
        self._allow.setEnabled(not obstacle)
        # Without a description, Qt uses the tool tip, which contains markup if the text is cut.
        about = obstacle or (self._allow.accessibleName() if self._allow.toolTip() else "")
        self._allow.setAccessibleDescription(about)
        if obstacle:
            self._allow.setToolTip(plain_tooltip(obstacle) if is_refusal else obstacle)
        quiet = self.tr("Closing this leaves the question open in the conversation.")
        self._quiet.setText(obstacle if is_refusal else quiet)

    def _on_command_changed(self) -> None:
        if (edited := self._question.edited) is None:
            self._head.show_request(self._request)
        else:
            self.edited.emit(self._request.call_id, edited)
        self._update_answers()

    def show_judgement(self, judged: CommandJudged) -> None:
        if not self._question.take_judgement(judged):
            return
        if judged.request is not None:
            self._head.show_request(judged.request)
        self._update_answers()
        self._fit()

    def _on_scope_changed(self) -> None:
        if self._preview:
            self._preview.set_compact(is_compact=self._scope.makes_rules)
        self._update_answers()
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()  # widgets that are shown for the first time get their fonts only now

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

    def _connect(self) -> None:
        self._allow.clicked.connect(self.allow)
        self._deny.clicked.connect(self.deny)
        self._message.returnPressed.connect(self._deny_with_message)
        self._scope.changed.connect(self._on_scope_changed)
        self._scope.grown.connect(self._fit)
        if self._head.command:
            self._head.command.field.textChanged.connect(self._on_command_changed)
        for fold in self._question.folds:
            fold.changed.connect(self._update_answers)
            fold.resize_wanted.connect(self._fit)
        if self._preview:
            self._preview.loaded.connect(self._update_answers)
        answer_shortcut(ALLOW_KEYS, self.allow, self)
        answer_shortcut(DENY_KEYS, self.deny, self)
