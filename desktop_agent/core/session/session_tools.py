"""What acts in a session: runs its calls, asks about them, and knows what they changed."""

from msgspec import Struct

from desktop_agent.core.approvals.pending import Approvals
from desktop_agent.core.approvals.rulebook import RuleBook
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.jobs.background import Jobs
from desktop_agent.core.tools.approval.live_judging import LiveJudging
from desktop_agent.core.tools.execution.effects import Effects
from desktop_agent.core.tools.execution.runtime import ToolRuntime


class SessionTools(Struct, frozen=True, kw_only=True):
    """One of each, made for each other."""

    approvals: Approvals
    judging: LiveJudging
    rulebook: RuleBook
    runtime: ToolRuntime
    jobs: Jobs
    ledger: Ledger
    effects: Effects
