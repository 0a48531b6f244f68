from datetime import datetime
from typing import Literal

from msgspec import Struct

from desktop_agent.core.protocol.model import ApprovalPolicy, Capability, Rule, SandboxMode, ToolSource


class CallFacts(Struct, frozen=True, kw_only=True):
    tool: str
    capabilities: tuple[Capability, ...]
    command: str | None = None
    folder: str = ""
    details: tuple[str, ...] = ()
    """What else decides what runs: the same command with another environment is a different command."""
    paths: tuple[str, ...] = ()
    """The files that a reading or editing tool touches, relative to the workspace, with symlinks followed."""
    disguised: tuple[tuple[str, str], ...] = ()
    """Those of `paths` that are hard links to a secret, each with the name that reveals it."""
    source: ToolSource = "workspace"
    server: str = ""
    tool_change: Literal["", "changed", "unknown"] = ""
    """As in `ToolChange.kind`; empty if the tool is as the user allowed it."""
    asks: str = ""
    agent: str = ""
    """The agent of another program that runs the call by itself."""
    wants_unconfined: bool = False
    justification: str = ""
    repository: str = ""
    """The repository that the whole command runs in, as in `Rule`; empty if any part runs elsewhere."""
    repository_mark: str = ""


class PolicyContext(Struct, frozen=True, kw_only=True):
    policy: ApprovalPolicy
    now: datetime
    sandbox: SandboxMode = "restricted"
    is_sandbox_available: bool = False
    """Whether the kernel really confines commands on this machine, which is never assumed."""
    rules: tuple[Rule, ...] = ()
    blocked_commands: tuple[str, ...] = ()
    workspace: str = ""
    """Empty if unknown, and then no path counts as inside."""
    shell: Literal["bash", "sh", ""] = "bash"
    """Empty if the policy cannot parse the shell's language."""
    writable_folders: tuple[str, ...] = ()

    @property
    def is_confined(self) -> bool:
        return self.is_sandbox_available and self.sandbox != "none"
