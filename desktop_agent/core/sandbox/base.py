"""What a sandbox is: a command goes in, the same command, confined, comes out."""

from typing import Protocol

from desktop_agent.core.sandbox.confinement import ConfinementSpec
from desktop_agent.core.sandbox.guarded import Guards
from desktop_agent.core.system.processes.runner import Command


class Sandbox(Protocol):
    """One way to confine commands, found to work on this machine."""

    @property
    def name(self) -> str: ...

    @property
    def guards(self) -> Guards:
        """What it hides and protects, whatever folder is open."""
        ...

    def wrap(self, command: Command, confinement: ConfinementSpec) -> Command:
        """Return the command that runs `command` confined: same arguments, folder, environment and input. Blocks.

        Raises `SandboxError` when `confinement` cannot be enforced for it.
        """
        ...
