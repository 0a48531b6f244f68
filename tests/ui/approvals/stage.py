"""Rules judged by a command's first words, simple but real enough for previews."""

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from msgspec.structs import replace
from PySide6.QtWidgets import QPlainTextEdit

from desktop_agent.core.protocol.events import CommandJudged
from desktop_agent.core.protocol.model import ApprovalRequest, Rule, RuleKind, ScopeOffer
from desktop_agent.ui.approvals.approval_dialog import ApprovalDialog
from desktop_agent.ui.approvals.rule_judging import PastCalls, RuleContext

JUDGED = "j" * 64
"""The digest of the displayed judgement of an edited command."""
NOT_CONFINED = "Not confined"
NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


class WordRules:
    def would_allow(self, kind: RuleKind, rules: Sequence[Rule], subject: str) -> bool:
        if kind != "command":
            return any(fnmatchcase(subject, rule.pattern) for rule in rules)
        parts = [shlex.split(part) for part in subject.split("&&")]
        return all(any(_begins(part, shlex.split(rule.pattern)) for rule in rules) for part in parts)

    def runs_unconfined(self, request: ApprovalRequest) -> bool:
        return request.is_escalation or request.confinement == NOT_CONFINED

    def validate_pattern(self, kind: RuleKind, pattern: str) -> str | None:
        if kind == "command" and "&&" in pattern:
            return "This rule never matches because && stands between commands."
        return None


def judged(request: ApprovalRequest, command: str) -> CommandJudged:
    return CommandJudged(
        call_id=request.call_id, command=command, request=replace(request, command=command), digest=JUDGED
    )


def judge_edits(dialog: ApprovalDialog, request: ApprovalRequest) -> None:
    def answer(_call_id: str, command: str) -> None:
        dialog.show_judgement(judged(request, command))

    dialog.edited.connect(answer)


def make(dialog: ApprovalDialog) -> ApprovalDialog:
    for _ in dialog.pieces:
        pass
    return dialog


def marks_in(field: QPlainTextEdit) -> list[str]:
    return [mark.cursor.selectedText().rstrip("\u2029") for mark in field.extraSelections()]  # pyright: ignore[reportAttributeAccessIssue] - PySide6 leaves the fields of ExtraSelection out


def _begins(words: list[str], start: list[str]) -> bool:
    return words[: len(start)] == start


def context(past: PastCalls | None = None) -> RuleContext:
    return RuleContext(WordRules(), "/srv/project", past or PastCalls(), lambda: NOW)


SCOPES = tuple(
    ScopeOffer(scope=scope, label=f"the policy's words for {scope}")
    for scope in ("once", "session", "project", "always")
)


def push(*, is_escalation: bool = False, confinement: str = "In the sandbox: no network") -> ApprovalRequest:
    return ApprovalRequest(
        call_id="c1",
        tool="run_terminal_cmd",
        title="Run this command?",
        reason="`git push` uses the network.",
        arguments_digest="0" * 64,
        command="git add -A && git commit -m x && git push origin",
        cause="git push origin",
        cwd="/srv/project",
        scopes=SCOPES,
        confinement=confinement,
        is_escalation=is_escalation,
        rule_kind="command",
        rule_patterns=(("git push origin", "git push", "git"),),
    )
