"""The roles of sub-agents: what each is for, what it is told, and which tools it has."""

from msgspec import Struct


class AgentRole(Struct, frozen=True, kw_only=True):
    """A role narrows what the session may do, and never widens it."""

    name: str
    description: str
    """When to use it, for the model."""
    instructions: str = ""
    only_reads: bool = False
    tools: tuple[str, ...] | None = None
    """The only tools that it has; `None` for all of the session's."""
    blocked_tools: tuple[str, ...] = ()
    model: str = ""
    """The name of a model of the session's provider; empty for the session's model."""
    effort: str = ""
    max_requests: int | None = None
    has_worktree: bool = False
    """Whether it works in a git worktree of its own."""
    agent: str = ""
    """The agent of another program that takes its place, by its name or command line; only in the user's own files."""
    path: str = ""
    """The file that defines it; empty for the application's own."""


GENERAL = AgentRole(
    name="general",
    description="Any task of several steps, also one that changes files or runs commands.",
)
EXPLORE = AgentRole(
    name="explore",
    description="Finds things out, and changes nothing: where something is, how it works, what uses it.",
    only_reads=True,
)
OWN_ROLES = (GENERAL, EXPLORE)
