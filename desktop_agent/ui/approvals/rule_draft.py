"""Rules in the making: what the user chose, and the rules and words that come of it. No widgets."""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Literal

from msgspec import Struct
from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.ids import new_rule_id
from desktop_agent.core.protocol.model import ApprovalRequest, Rule, RuleKind, RuleScope
from desktop_agent.ui.approvals.rule_maths import RuleContext, RuleMaths
from desktop_agent.ui.wording.quoted_code import in_quotes

Expiry = Literal["never", "hour", "today", "week", "month"]
ALL_FILES = "**"
"""The pattern of a rule for the edits of every file."""

EXPIRIES: tuple[Expiry, ...] = ("never", "hour", "today", "week", "month")


def _tr(text: str) -> str:
    return QCoreApplication.translate("RuleDraft", text)


class RuleDraft(Struct, frozen=True):
    """What is typed and chosen. A part whose pattern is empty or faulty gets no rule."""

    request: ApprovalRequest
    scope: RuleScope
    patterns: tuple[str, ...]
    expiry: Expiry = "never"

    def problems(self, maths: RuleMaths) -> tuple[str, ...]:
        """Say for every pattern what is wrong with it: nothing, when it is fine or empty."""
        kind = self.request.rule_kind
        if kind is None:
            return tuple("" for _ in self.patterns)
        return tuple(
            (maths.validate_pattern(kind, text) or "") if text and not self.is_exact(text, maths) else ""
            for text in self.patterns
        )

    def is_exact(self, pattern: str, maths: RuleMaths) -> bool:
        """Whether a pattern is the whole line, and its rule lets nothing else out of the sandbox."""
        line = (self.request.command or "").strip()
        return bool(line) and pattern == line and maths.runs_unconfined(self.request)

    def usable(self, maths: RuleMaths) -> tuple[str, ...]:
        """Return the patterns that rules can be made of, each once."""
        sound = (
            text for text, problem in zip(self.patterns, self.problems(maths), strict=True) if text and not problem
        )
        return tuple(dict.fromkeys(sound))

    def rules(self, context: RuleContext) -> tuple[Rule, ...]:
        """Return the rules as they would be made right now."""
        kind = self.request.rule_kind
        if kind is None:
            return ()
        return tuple(self._rule(kind, pattern, context) for pattern in self.usable(context.maths))

    def _rule(self, kind: RuleKind, pattern: str, context: RuleContext) -> Rule:
        now, request = context.now(), self.request
        is_exact = self.is_exact(pattern, context.maths)
        return Rule(
            id=new_rule_id(),
            effect="allow",
            kind=kind,
            pattern=request.command if is_exact and request.command else pattern,
            scope=self.scope,
            created_at=now,
            is_exact=is_exact,
            folder=request.cwd if is_exact else "",
            workspace=context.workspace if self.scope == "project" else "",
            expires_at=None if self.scope == "session" else expiry_moment(self.expiry, now),
            is_unconfined=context.maths.runs_unconfined(request),
        )


def expiry_moment(expiry: Expiry, now: datetime) -> datetime | None:
    """Return when a rule made `now` ends; `today` is over at midnight where the user is."""
    match expiry:
        case "never":
            return None
        case "hour":
            return now + timedelta(hours=1)
        case "today":
            tomorrow = now.astimezone().date() + timedelta(days=1)
            return datetime.combine(tomorrow, time.min).astimezone().astimezone(UTC)
        case "week":
            return now + timedelta(days=7)
        case "month":
            return now + timedelta(days=30)


def expiry_words(expiry: Expiry) -> str:
    """Name an expiry."""
    match expiry:
        case "never":
            return _tr("Never")
        case "hour":
            return _tr("In 1 hour")
        case "today":
            return _tr("At the end of today")
        case "week":
            return _tr("In 7 days")
        case "month":
            return _tr("In 30 days")


def scope_words(scope: RuleScope) -> str:
    """Say how far a rule reaches, as a choice."""
    match scope:
        case "session":
            return _tr("Also from now on in this session")
        case "project":
            return _tr("Also from now on in this folder")
        case "always":
            return _tr("Also from now on everywhere")


def allow_words(
    patterns: Sequence[str], scope: RuleScope, kind: RuleKind = "command", *, is_unconfined: bool = False
) -> str:
    """Say what pressing the button allows from now on."""
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
