"""Makes the judges of rules. The policy is imported with the first one: the window shows sessions before that."""

from collections.abc import Callable

from desktop_agent.core.settings.sections import ExecutionSettings
from desktop_agent.core.system.processes.shell import ShellKind
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.approvals.rule_judging import RuleMaths


class RuleJudges:
    """Makes the judges of rules, one for each session that asks."""

    def __init__(self, execution_in: Callable[[str], ExecutionSettings]) -> None:
        self.is_sandbox_available = False
        """Whether commands can be confined on this machine; false until a search for a sandbox found one."""
        self.shell: ShellKind = "bash"
        self.execution_in = execution_in

    def judge(self, transcript: Transcript) -> RuleMaths:
        from desktop_agent.app.review.rule_judge import RuleJudge

        return RuleJudge(transcript, self.is_sandbox_available, self.shell, self.execution_in)
