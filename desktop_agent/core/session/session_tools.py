"""What acts in a session: runs its calls, asks about them, and knows what they changed."""

from contextlib import suppress
from typing import assert_never

from msgspec import Struct

from desktop_agent.core.approvals import Approvals, RuleBook
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.jobs import Jobs
from desktop_agent.core.protocol import ops
from desktop_agent.core.tools.execution.effects import Effects
from desktop_agent.core.tools.execution.runtime import ToolRuntime
from desktop_agent.core.tools.gate import LiveJudging

ToolOp = ops.JudgeCommand | ops.LookAtChanges | ops.StopJob | ops.RevokeRule


class SessionTools(Struct, frozen=True, kw_only=True):
    """One of each, made for each other."""

    approvals: Approvals
    judging: LiveJudging
    rulebook: RuleBook
    runtime: ToolRuntime
    jobs: Jobs
    ledger: Ledger
    effects: Effects

    async def carry_out(self, op: ToolOp) -> None:
        """Do what `op` asks for; events say what came of it."""
        match op:
            case ops.JudgeCommand(call_id=call_id, command=command):
                self.judging.want(call_id, command)
            case ops.LookAtChanges():
                await self.effects.jobs.look()
            case ops.StopJob(job_id=job_id):
                with suppress(KeyError):  # a job of an earlier process
                    self.jobs.ask_to_stop(job_id)
            case ops.RevokeRule(rule_id=rule_id):
                await self.rulebook.revoke(rule_id)
            case _:
                assert_never(op)
