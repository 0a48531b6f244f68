"""Makes rules of an answer: what they cover, when they end, and what they would have done so far."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFormLayout, QWidget

from desktop_agent.core.protocol.model import ApprovalRequest, Rule, RuleKind, RuleScope
from desktop_agent.ui.approvals.past_calls import subjects_of
from desktop_agent.ui.approvals.pattern_row import PATTERN_HEIGHT, PatternRow
from desktop_agent.ui.approvals.rule_draft import EXPIRIES, RuleDraft, expiry_words
from desktop_agent.ui.approvals.rule_maths import RuleContext
from desktop_agent.ui.approvals.rule_preview import RulePreview, Verdict
from desktop_agent.ui.runtime.throttle import Throttle
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation.plurals import plural
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import vbox
from desktop_agent.ui.widgets.picker import Picker

TYPING_MS = 120
"""How often at most the preview is made anew while a pattern is typed."""


class RuleEditor(QWidget):
    """One field per part that needs a rule. Only for questions that have `rule_patterns`."""

    def __init__(
        self, theme: Theme, request: ApprovalRequest, context: RuleContext, on_changed: Callable[[], None]
    ) -> None:
        """`on_changed` is called when other rules would be made."""
        super().__init__()
        self.setObjectName("ruleEditor")
        self._request = request
        self._context = context
        self._tell_changed = on_changed
        self._kind: RuleKind = request.rule_kind or "command"
        self._scope: RuleScope = "session"
        self._subjects = tuple(dict.fromkeys((*subjects_of(request), *context.past.subjects)))
        self._rows = [PatternRow(theme, self._name(), patterns) for patterns in request.rule_patterns]
        self._names = [make_label(role="secondary") for _ in self._rows]
        self._expiry_label = make_label(self.tr("Ends"), role="secondary")
        self._expiry = Picker(min_chars=18)
        self._expiry.setObjectName("ruleExpiryPicker")
        self._expiry.setAccessibleName(self.tr("When the rule ends"))
        for expiry in EXPIRIES:
            self._expiry.addItem(expiry_words(expiry), expiry)
        self._expiry.fit()
        self._asked = make_label(role="secondary", object_name="ruleAskedLine")
        self.preview = RulePreview(theme)
        """What the rules would have done."""
        self.preview.setVisible(bool(context.past.subjects))  # of the first question ever nothing can be claimed
        self._refresh = Throttle(self._judge, self, TYPING_MS)
        self._refresh.pause()  # until it is in sight
        self._lay_out()
        for row in self._rows:
            row.changed.connect(self._on_changed)
        self.preview.finished.connect(self._show_asked)
        self._show_problems()

    @property
    def draft(self) -> RuleDraft:
        """What is typed and chosen."""
        patterns = tuple(row.pattern for row in self._rows)
        return RuleDraft(self._request, self._scope, patterns, self._expiry.currentData())

    def usable_patterns(self) -> tuple[str, ...]:
        """Return the patterns that would become rules."""
        return self.draft.usable(self._context.maths)

    def rules(self) -> tuple[Rule, ...]:
        """Make the rules."""
        return self.draft.rules(self._context)

    def set_scope(self, scope: RuleScope) -> None:
        """Make rules of this reach. A rule of a session ends with it, so there is nothing to choose about that."""
        self._scope = scope
        self._expiry.setVisible(scope != "session")
        self._expiry_label.setVisible(scope != "session")
        self._refresh.trigger()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._refresh.resume()

    def hideEvent(self, event: QHideEvent) -> None:
        self._refresh.pause()
        super().hideEvent(event)

    def _name(self) -> str:
        match self._kind:
            case "edit":
                return self.tr("Edits of")
            case "tool":
                return self.tr("Calls of")
            case "command":
                return self.tr("Commands that begin with")

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.setContentsMargins(0, 0, 0, 0)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        form.setHorizontalSpacing(Space.M)
        form.setVerticalSpacing(Space.S)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for name, row in zip(self._names, self._rows, strict=True):
            name.setFixedHeight(PATTERN_HEIGHT)
            name.setBuddy(row.field)
            form.addRow(name, row)
        self._expiry_label.setFixedHeight(PATTERN_HEIGHT)
        self._expiry_label.setBuddy(self._expiry)
        form.addRow(self._expiry_label, self._expiry)
        vbox(form, self._asked, self.preview, on=self, spacing=Space.S)

    def _on_changed(self) -> None:
        self._show_problems()
        self._tell_changed()
        self._refresh.trigger()

    def _show_problems(self) -> None:
        draft, maths = self.draft, self._context.maths
        for index, (name, row) in enumerate(zip(self._names, self._rows, strict=True)):
            is_exact = draft.is_exact(row.pattern, maths)
            first = self.tr("Exactly this command") if is_exact else self._name()
            name.setText(first if index == 0 else self.tr("and"))
            row.rename(first)
        for row, problem in zip(self._rows, self.draft.problems(self._context.maths), strict=True):
            row.show_problem(problem)

    def _judge(self) -> None:
        rules = self.rules()
        would_allow = partial(self._context.maths.would_allow, self._kind, rules)
        self.preview.judge(self._subjects, partial(self._would_allow, would_allow, self._covers_request(rules)))

    def _would_allow(self, would_allow: Callable[[str], bool], covers_request: bool, subject: str) -> Verdict:
        is_present = subject in subjects_of(self._request)
        if not is_present and self._context.maths.would_allow(self._kind, (), subject):
            return None
        return would_allow(subject) or (is_present and covers_request)

    def _covers_request(self, rules: tuple[Rule, ...]) -> bool:
        """Whether each part that needs a rule would have one. The other parts of a command line need none."""
        judge = self._context.maths.would_allow
        narrowest = (patterns[0] for patterns in self._request.rule_patterns if patterns)
        return all(any(judge(self._kind, (rule,), part) for rule in rules) for part in narrowest)

    def _show_asked(self) -> None:
        """Say how often the user was asked what these rules would have answered, this time included."""
        verdicts = self.preview.verdicts
        if any(verdicts.get(subject) is False for subject in subjects_of(self._request)) and self.usable_patterns():
            self._asked.setText(self.tr("This rule does not match this request: you would be asked again."))
            self._asked.show()
            return
        questions = (subjects_of(self._request), *self._context.past.questions)
        times = sum(_is_answered([verdicts.get(subject, False) for subject in question]) for question in questions)
        match self._kind:
            case "edit":
                words = "You were asked %n times for edits like this."
            case "tool":
                words = "You were asked %n times for calls like this."
            case "command":
                words = "You were asked %n times for commands like this."
        self._asked.setText(plural("RuleEditor", times, words, words))
        self._asked.setVisible(times >= 2)


def _is_answered(verdicts: Sequence[Verdict]) -> bool:
    """Whether rules answer a question about these: they allow what of it still needs a yes."""
    return True in verdicts and False not in verdicts
