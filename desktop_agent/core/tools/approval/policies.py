"""What a decision is made under: what the user chose, and what this machine can do, gathered when a call asks."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from desktop_agent.core.approvals.rulebook import RuleBook
from desktop_agent.core.base.clock import Clock
from desktop_agent.core.policy.call import CallFacts, PolicyContext
from desktop_agent.core.protocol.model import ApprovalPolicy, SandboxMode
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.core.tools.execution.confiner import Confiner


class Policies(Struct, frozen=True, kw_only=True):
    """The source of every decision's context. One per session."""

    approval: Callable[[], ApprovalPolicy]
    sandbox: Callable[[], SandboxMode]
    rulebook: RuleBook
    confiner: Confiner
    workspace: Path
    settings: WorkspaceSettings
    clock: Clock

    async def context_for(self, call: CallFacts) -> PolicyContext:
        """Return what to decide `call` under. Only a command makes the machine's sandbox be looked for."""
        await self.rulebook.refresh()
        await self.settings.refresh()
        execution = self.settings.current.execution
        return PolicyContext(
            policy=self.approval(),
            now=self.clock.now(),
            sandbox=self.sandbox(),
            is_sandbox_available=call.command is not None and await self.confiner.is_available(),
            rules=self.rulebook.rules,
            blocked_commands=execution.blocked_commands,
            workspace=str(self.workspace),
            writable_folders=execution.allowed_paths,
        )
