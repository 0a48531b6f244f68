"""Evaluates draft rules with the policy itself, so that the rule editor's preview is exact."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.policy.call import CallFacts, PolicyContext
from desktop_agent.core.policy.engine import Allow, decide
from desktop_agent.core.policy.offers import is_unconfined
from desktop_agent.core.policy.rules import validate_pattern
from desktop_agent.core.protocol.model import ApprovalRequest, Rule, RuleKind
from desktop_agent.core.settings.sections import ExecutionSettings
from desktop_agent.core.system.processes.shell import ShellKind
from desktop_agent.core.transcript import Transcript

_HERE = "here"
"""The repository given to draft rules and calls, so that draft rules count as made in the folder they are judged in."""


class RuleJudge(Struct, frozen=True):
    transcript: Transcript
    is_sandbox_available: bool
    shell: ShellKind
    execution_in: Callable[[str], ExecutionSettings]

    def would_allow(self, kind: RuleKind, rules: Sequence[Rule], subject: str) -> bool:
        """Whether `subject` would need no approval if `rules` were in force in addition to the current rules."""
        transcript = self.transcript
        rules = tuple(replace(rule, repository=_HERE, repository_mark=_HERE) for rule in rules)
        execution = self.execution_in(transcript.session.workspace)
        context = PolicyContext(
            policy=transcript.session.approval,
            now=datetime.now(UTC),
            sandbox=transcript.session.sandbox,
            is_sandbox_available=self.is_sandbox_available,
            shell=self.shell,
            rules=(*transcript.session.rules, *rules),
            workspace=transcript.session.workspace,
            blocked_commands=execution.blocked_commands,
            writable_folders=execution.allowed_paths,
        )
        exact = next((rule.folder for rule in rules if rule.is_exact and rule.pattern == subject), "")
        return isinstance(decide(self._call(kind, subject, exact), context), Allow)

    def validate_pattern(self, kind: RuleKind, pattern: str) -> str | None:
        return validate_pattern(kind, pattern)

    def runs_unconfined(self, request: ApprovalRequest) -> bool:
        return request.command is not None and is_unconfined(request)

    def _call(self, kind: RuleKind, subject: str, folder: str) -> CallFacts:
        match kind:
            case "command":
                return CallFacts(
                    tool="run_terminal_cmd",
                    capabilities=("exec_shell",),
                    command=subject,
                    folder=folder or self.transcript.session.workspace,
                    repository=_HERE,
                    repository_mark=_HERE,
                )
            case "edit":
                return CallFacts(tool="edit_file", capabilities=("write_fs",), paths=(subject,))
            case "tool":
                return CallFacts(tool=subject, capabilities=("network",))
            case _:
                assert_never(kind)
