"""How far a yes reaches: only this once, or also from now on, by rules that are made here."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.model import ApprovalRequest, ApprovalScope, Rule
from desktop_agent.ui.approvals.request_words import quoted
from desktop_agent.ui.approvals.rule_draft import allow_words, scope_words
from desktop_agent.ui.approvals.rule_editor import RuleEditor
from desktop_agent.ui.approvals.rule_maths import RuleContext
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox
from desktop_agent.ui.widgets.picker import Picker
from desktop_agent.ui.wording.model_words import one_line

_MOST_CHARS = 60


class ScopeChoice(QWidget):
    """Offers the scopes of a request. Where the user can make rules, their editor unfolds for all but this once.

    Signals:
        changed: a yes means something else now.
        grown: it needs more room.
    """

    changed = Signal()
    grown = Signal()

    def __init__(self, theme: Theme, request: ApprovalRequest, rules: RuleContext, parent: QWidget) -> None:
        """`rules` is what the user makes rules with, where the request has patterns for some."""
        super().__init__(parent)
        self._theme = theme
        self._rules = rules
        self._request = request
        self._is_unconfined = rules.maths.runs_unconfined(request)
        self._scopes: list[ApprovalScope] = ["once"]
        self._picker = Picker()
        self._picker.setObjectName("approvalScopePicker")
        self._picker.setAccessibleName(self.tr("What to allow"))
        self._can_make_rules = _has_rules(request)
        self._editor: RuleEditor | None = None
        """Where the user makes rules. Most answers are for once, so it is built when it is first needed."""
        self._fill()
        self._lay_out()
        self._picker.currentIndexChanged.connect(self._on_picked)

    @property
    def scope(self) -> ApprovalScope:
        """What is chosen."""
        return self._scopes[self._picker.currentIndex()]

    @property
    def makes_rules(self) -> bool:
        """Whether the user is making rules."""
        return self._can_make_rules and self.scope != "once"

    @property
    def lacks_rule(self) -> bool:
        """Whether the user is making rules, and nothing that was typed makes one."""
        return self.makes_rules and not self.patterns()

    def rules(self) -> tuple[Rule, ...]:
        """Make the rules that go with a yes."""
        return self._editor.rules() if self._editor is not None and self.makes_rules else ()

    def patterns(self) -> list[str]:
        """Return the patterns of these rules, each on one line."""
        usable = self._editor.usable_patterns() if self._editor is not None and self.makes_rules else ()
        return [one_line(pattern) for pattern in usable]

    def words(self, patterns: Sequence[str]) -> str:
        """Say what a yes means; `patterns` are those of the rules, cut as the room for the words wants it."""
        scope = self.scope
        if scope != "once" and self._request.tool_change is not None and not self._can_make_rules:
            return self._picker.currentText()  # no rule is made: one that stands holds again
        if scope == "once" or not patterns:
            return self.tr("Allow once") if scope == "once" and len(self._scopes) > 1 else self.tr("Allow")
        kind = self._request.rule_kind or "command"
        return allow_words(patterns, scope, kind, is_unconfined=self._is_unconfined)

    def allow_only_once(self, *, is_only_once: bool) -> None:
        """Let nothing else be chosen: a rule is made of the agent's command, not of one that the user edited."""
        if is_only_once:
            self._picker.setCurrentIndex(0)
        self._picker.setEnabled(not is_only_once)
        self._picker.setToolTip(self.tr("A modified command can only be allowed once") if is_only_once else "")

    def _fill(self) -> None:
        once = next((offer.label for offer in self._request.scopes if offer.scope == "once"), "")
        self._picker.addItem(self.tr("Only this once") if self._can_make_rules or not once else core_words(once))
        for offer in self._request.scopes:
            if offer.scope != "once":
                self._scopes.append(offer.scope)
                # What is allowed is said by the rules and the button, where the user makes them.
                words = scope_words(offer.scope) if self._can_make_rules else quoted(core_words(offer.label))
                self._picker.addItem(words)
        self._picker.fit(most_chars=_MOST_CHARS)

    def _lay_out(self) -> None:
        name = make_label(self.tr("If you allow:"), role="secondary")
        name.setBuddy(self._picker)
        scopes = hbox(name, self._picker, STRETCH, spacing=Space.S)
        self._layout = vbox(scopes, on=self, spacing=Space.S)
        if self._can_make_rules:
            self._layout.addSpacing(Space.XS)
        self.setVisible(len(self._scopes) > 1)

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
            self.updateGeometry()  # at once, not with the next event: the dialog measures it now
        self.changed.emit()


def _has_rules(request: ApprovalRequest) -> bool:
    """Whether rules with patterns can answer it.

    Commands that come with variables, input or a shell are only exact; of a tool, the details decide nothing.
    """
    return bool(request.rule_patterns) and (request.rule_kind == "tool" or not request.details)
