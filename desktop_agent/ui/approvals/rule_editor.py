"""Makes rules from an answer: what they cover, when they expire, and which past calls they would have allowed."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, time, timedelta
from functools import partial
from typing import Literal

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QCompleter, QFormLayout, QFrame, QListWidget, QListWidgetItem, QSizePolicy, QWidget

from desktop_agent.core.base.ids import new_id
from desktop_agent.core.protocol.model import ApprovalRequest, Rule, RuleKind, RuleScope
from desktop_agent.ui.approvals.rule_judging import RuleContext, subjects_of
from desktop_agent.ui.runtime.pacing import GradualWork, Throttle
from desktop_agent.ui.theme import Height, Space, Theme
from desktop_agent.ui.translation import plural
from desktop_agent.ui.widgets.buttons import Picker
from desktop_agent.ui.widgets.labels import make_label, show_text
from desktop_agent.ui.widgets.layouts import hbox, vbox
from desktop_agent.ui.wording import in_quotes, one_line, plain_tooltip

_tr = partial(QCoreApplication.translate, "RuleEditor")

Expiry = Literal["never", "hour", "today", "week", "month"]
ALL_FILES = "**"


def expiry_moment(expiry: Expiry, now: datetime) -> datetime | None:
    """Return when a rule made `now` expires; `today` ends at midnight in the user's time zone."""
    if expiry == "today":
        tomorrow = now.astimezone().date() + timedelta(days=1)
        return datetime.combine(tomorrow, time.min).astimezone().astimezone(UTC)
    after = {"hour": timedelta(hours=1), "week": timedelta(days=7), "month": timedelta(days=30)}.get(expiry)
    return now + after if after is not None else None


def expiry_choices() -> list[tuple[str, Expiry]]:
    return [
        (_tr("Never"), "never"),
        (_tr("In 1 hour"), "hour"),
        (_tr("At the end of today"), "today"),
        (_tr("In 7 days"), "week"),
        (_tr("In 30 days"), "month"),
    ]


def scope_words(scope: RuleScope) -> str:
    texts: dict[RuleScope, str] = {
        "session": _tr("Also from now on in this session"),
        "project": _tr("Also from now on in this folder"),
        "always": _tr("Also from now on everywhere"),
    }
    return texts[scope]


def allow_words(
    patterns: Sequence[str], scope: RuleScope, kind: RuleKind = "command", *, is_unconfined: bool = False
) -> str:
    match len(patterns):
        case 1:
            what = in_quotes(patterns[0])
        case 2:
            what = _tr("“{0}” and “{1}”").format(*patterns)
        case count:
            what = _tr("“{0}” and {1} more").format(patterns[0], count - 1)
    if kind == "edit":
        what = _tr("all edits") if ALL_FILES in patterns else _tr("edits of {0}").format(what)
    if is_unconfined:
        what = _tr("{0} outside the sandbox").format(what)
    match scope:
        case "session":
            return _tr("Allow {0} in this session").format(what)
        case "project":
            return _tr("Allow {0} in this folder").format(what)
        case "always":
            return _tr("Always allow {0}").format(what)


PATTERN_HEIGHT = Height.BUTTON + 2


class PatternRow(QWidget):
    changed = Signal()

    def __init__(self, theme: Theme, name: str, patterns: Sequence[str]) -> None:
        super().__init__()
        self.field = Picker(object_name="rulePatternEdit", min_chars=24, is_editable=True)
        # A completer without words: completing a pattern would widen the typed rule.
        self.field.setCompleter(QCompleter(self))
        self.field.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.field.addItems(list(patterns))
        # The application's style sheet would reset the font of the field.
        families = ", ".join(f"'{family}'" for family in theme.code_font().families())
        self.field.setStyleSheet(f"QComboBox {{ font-family: {families}; }}")
        self.field.setFixedHeight(PATTERN_HEIGHT)
        self.rename(name)  # its line edit gets the focus
        self.field.edit.setCursorPosition(0)
        self._problem = make_label(role="error", object_name="ruleProblem", wraps=True, is_plain=True)
        self._problem.hide()
        vbox(self.field, self._problem, on=self, spacing=Space.XS)
        self.field.editTextChanged.connect(self.changed)

    @property
    def pattern(self) -> str:
        return self.field.currentText().strip()

    def rename(self, name: str) -> None:
        self.field.setAccessibleName(name)
        self.field.edit.setAccessibleName(name)

    def show_problem(self, problem: str) -> None:
        show_text(self._problem, problem)
        self.field.setAccessibleDescription(problem)


Verdict = bool | None
"""Whether rules would have allowed a call; None if it needs no question anyway."""

_ROWS = 4
_ROW_HEIGHT = 22
_MAX_CHARS = 300


class RulePreview(QWidget):
    finished = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.verdicts: dict[str, Verdict] = {}
        self.work = GradualWork(self)
        self._allowed = _Half(theme, self.tr("Would have been allowed"), "ruleAllowedList")
        self._asking = _Half(theme, self.tr("Would still ask"), "ruleAskingList")
        hbox((self._allowed, 1), (self._asking, 1), on=self, spacing=Space.M)

    def judge(self, subjects: Sequence[str], would_allow: Callable[[str], Verdict]) -> None:
        self.verdicts = {}
        self.work.begin(self._judge(subjects, would_allow))

    def _judge(self, subjects: Sequence[str], would_allow: Callable[[str], Verdict]) -> Iterator[None]:
        for subject in subjects:
            self.verdicts[subject] = would_allow(subject)
            yield
        self._allowed.show_subjects([subject for subject, is_allowed in self.verdicts.items() if is_allowed])
        self._asking.show_subjects([subject for subject, is_allowed in self.verdicts.items() if is_allowed is False])
        self.finished.emit()


class _Half(QFrame):
    def __init__(self, theme: Theme, title: str, name: str) -> None:
        super().__init__()
        self._title = title
        self._heading = make_label(role="heading")
        self._list = QListWidget()
        self._list.setObjectName(name)
        self._list.setFont(theme.code_font())
        self._list.setFrameShape(QFrame.Shape.NoFrame)
        self._list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._list.setSelectionMode(QListWidget.SelectionMode.NoSelection)
        self._list.setUniformItemSizes(True)
        self._list.setFixedHeight(_ROWS * _ROW_HEIGHT + Space.XS)
        self._list.setStyleSheet(f"QListView::item {{ min-height: {_ROW_HEIGHT}px; padding: 0; margin-left: -3px; }}")
        vbox(self._heading, self._list, on=self, spacing=Space.XS)
        self.show_subjects([])

    def show_subjects(self, subjects: Sequence[str]) -> None:
        heading = f"{self._title} · {len(subjects)}"
        self._heading.setText(heading)
        self._list.setAccessibleName(heading)
        self._list.clear()
        for subject in subjects:
            item = QListWidgetItem(one_line(subject[:_MAX_CHARS]))
            item.setToolTip(plain_tooltip(subject[:_MAX_CHARS]))
            self._list.addItem(item)


TYPING_MS = 120
_ASKED: dict[RuleKind, str] = {
    "edit": "You were asked %n times for edits like this.",
    "tool": "You were asked %n times for calls like this.",
    "command": "You were asked %n times for commands like this.",
}


class RuleEditor(QWidget):
    """Edits the rules that an answer makes. Only for requests with `rule_patterns`."""

    def __init__(
        self, theme: Theme, request: ApprovalRequest, context: RuleContext, on_changed: Callable[[], None]
    ) -> None:
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
        name = self.tr("When the rule ends")
        self._expiry = Picker(
            object_name="ruleExpiryPicker", accessible_name=name, choices=expiry_choices(), min_chars=18
        )
        self._expiry.fit()
        self._asked = make_label(role="secondary", object_name="ruleAskedLine")
        self.preview = RulePreview(theme)
        self.preview.setVisible(bool(context.past.subjects))  # the first question has no earlier calls
        self._refresh = Throttle(self._judge, self, TYPING_MS)
        self._refresh.pause()  # until it is visible
        self._lay_out()
        for row in self._rows:
            row.changed.connect(self._on_changed)
        self.preview.finished.connect(self._show_asked)
        self._show_problems()

    def usable_patterns(self) -> tuple[str, ...]:
        patterns = [row.pattern for row in self._rows]
        sound = (text for text, problem in zip(patterns, self.problems(), strict=True) if text and not problem)
        return tuple(dict.fromkeys(sound))

    def problems(self) -> tuple[str, ...]:
        kind, maths, patterns = self._request.rule_kind, self._context.maths, [row.pattern for row in self._rows]
        if kind is None:
            return tuple("" for _ in patterns)
        return tuple(
            (maths.validate_pattern(kind, text) or "") if text and not self._is_exact(text) else "" for text in patterns
        )

    def rules(self) -> tuple[Rule, ...]:
        """Return the rules. Parts of the request with an empty or invalid pattern get no rule."""
        kind = self._request.rule_kind
        return tuple(self._rule(kind, pattern) for pattern in self.usable_patterns()) if kind is not None else ()

    def _rule(self, kind: RuleKind, pattern: str) -> Rule:
        now, request, scope = self._context.now(), self._request, self._scope
        is_exact = self._is_exact(pattern)
        return Rule(
            id=new_id("r"),
            effect="allow",
            kind=kind,
            pattern=request.command if is_exact and request.command else pattern,
            scope=scope,
            created_at=now,
            is_exact=is_exact,
            folder=request.cwd if is_exact else "",
            workspace=self._context.workspace if scope == "project" else "",
            expires_at=None if scope == "session" else expiry_moment(self._expiry.currentData(), now),
            is_unconfined=self._context.maths.runs_unconfined(request),
        )

    def _is_exact(self, pattern: str) -> bool:
        """Whether a pattern is the whole command line, so that its rule frees no other command from the sandbox."""
        line = (self._request.command or "").strip()
        return bool(line) and pattern == line and self._context.maths.runs_unconfined(self._request)

    def set_scope(self, scope: RuleScope) -> None:
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
        commands = self.tr("Commands that begin with")
        return {"edit": self.tr("Edits of"), "tool": self.tr("Calls of"), "command": commands}[self._kind]

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
        for index, (name, row) in enumerate(zip(self._names, self._rows, strict=True)):
            first = self.tr("Exactly this command") if self._is_exact(row.pattern) else self._name()
            name.setText(first if index == 0 else self.tr("and"))
            row.rename(first)
        for row, problem in zip(self._rows, self.problems(), strict=True):
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
        judge = self._context.maths.would_allow
        narrowest = (patterns[0] for patterns in self._request.rule_patterns if patterns)
        return all(any(judge(self._kind, (rule,), part) for rule in rules) for part in narrowest)

    def _show_asked(self) -> None:
        verdicts = self.preview.verdicts
        if any(verdicts.get(subject) is False for subject in subjects_of(self._request)) and self.usable_patterns():
            self._asked.setText(self.tr("This rule does not match this request: you would be asked again."))
            self._asked.show()
            return
        questions = (subjects_of(self._request), *self._context.past.questions)
        answers = ([verdicts.get(subject, False) for subject in question] for question in questions)
        times = sum(True in answer and False not in answer for answer in answers)  # all parts are allowed
        self._asked.setText(plural("RuleEditor", times, _ASKED[self._kind], _ASKED[self._kind]))
        self._asked.setVisible(times >= 2)
