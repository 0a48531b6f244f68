"""What a decision is about: the facts of one call, and what surrounds it."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from desktop_agent.core.protocol.model import ApprovalPolicy, Capability, Rule, SandboxMode, ToolSource


class CallFacts(Struct, frozen=True, kw_only=True):
    tool: str
    capabilities: tuple[Capability, ...]
    command: str | None = None
    folder: str = ""
    """Where the command would run, absolute."""
    details: tuple[str, ...] = ()
    """What else decides what would run; the same command with another environment is another command."""
    paths: tuple[str, ...] = ()
    """The files that a reading or editing tool touches, relative to the workspace, symlinks followed."""
    disguised: tuple[tuple[str, str], ...] = ()
    """Which of `paths` are another name (a hard link) of a secret, each with the name that says so."""
    source: ToolSource = "workspace"
    server: str = ""
    tool_change: Literal["", "changed", "unknown"] = ""
    """How the server's tool differs from what the user allowed; as in `ToolChange.kind`, empty when it does not."""
    asks: str = ""
    """Why a tool wants the user's word itself; empty for all others."""
    wants_unconfined: bool = False
    justification: str = ""
    repository: str = ""
    """The repository that all of the command would run in, as in `Rule`; empty if it goes to another one."""
    repository_mark: str = ""


class PolicyContext(Struct, frozen=True, kw_only=True):
    """What the user chose, and what the system can do."""

    policy: ApprovalPolicy
    now: datetime
    sandbox: SandboxMode = "restricted"
    is_sandbox_available: bool = False
    """Whether the kernel really confines commands here. Never assumed."""
    rules: tuple[Rule, ...] = ()
    blocked_commands: tuple[str, ...] = ()
    workspace: str = ""
    """The folder, absolute; empty when it is not known, and then no path is inside."""
    shell: Literal["bash", "sh", ""] = "bash"
    """The shell that commands run in; empty if no shell reads a line as it is judged."""
    writable_folders: tuple[str, ...] = ()
    """Folders beside the workspace that the sandbox lets commands write, absolute."""

    @property
    def is_confined(self) -> bool:
        """Whether commands run in a sandbox that is really there."""
        return self.is_sandbox_available and self.sandbox != "none"
