"""Roles: what an agent that does one kind of work may use, and its prompt. Each is data.

An orchestrator has every tool as long as there are no agents that it could have work done by.
"""

from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.paths import resource_path

Role = Literal["orchestrator", "researcher", "worker"]


class RoleProfile(Struct, frozen=True, kw_only=True):
    """What one role is."""

    only_reads: bool = False
    """Whether it gets no tool that changes anything."""
    prompt: str = ""
    """The file in `resources/prompts` that the system prompt ends with; empty for none."""

    @property
    def instructions(self) -> str:
        """What the system prompt ends with. Blocks shortly: it reads a shipped file."""
        return resource_path("prompts", self.prompt).read_text(encoding="utf-8").strip() if self.prompt else ""


ROLES: dict[Role, RoleProfile] = {
    "worker": RoleProfile(),
    "researcher": RoleProfile(only_reads=True, prompt="researcher.md"),
    "orchestrator": RoleProfile(prompt="orchestrator.md"),
}
"""The worker is what an agent is without a role."""
