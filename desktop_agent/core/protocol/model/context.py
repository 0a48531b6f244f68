"""What the model sees beside the conversation itself: summaries of what went before, pins, and guidance from files."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

GuidanceScope = Literal["person", "workspace", "folder"]
"""Whose an AGENTS.md is: the user's own, the one at the root of the workspace, or one of a folder inside it."""


class Summary(Struct, frozen=True, kw_only=True):
    """What a compaction keeps of a conversation. Every item is one sentence or one name."""

    goals: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()


class Pin(Struct, frozen=True, kw_only=True):
    """A text that stays in the model's sight, whatever is compacted, until it is unpinned or expires."""

    id: str
    text: str
    expires_at: datetime | None = None


class GuidanceFile(Struct, frozen=True, kw_only=True):
    """An AGENTS.md as it was read."""

    path: str
    """Absolute for the user's own; else relative to the workspace, with `/`."""
    scope: GuidanceScope
    text: str
    is_cut: bool = False
    """Whether the file has more than may be loaded."""


class ContextUse(Struct, frozen=True, kw_only=True):
    """How full the model's context is: what the next request takes, out of what fits."""

    tokens: int
    window: int
    source: Literal["reported", "counted", "estimated"]
    """By the provider with an answer, by its counting endpoint, or by us."""
    server_tool_tokens: int = 0
    """About how many of them the definitions of MCP servers' tools take."""
    deferred_tools: int = 0
    """How many tools of servers are not in the request, because the model searches for them."""


SectionKind = Literal["system", "guidance", "tools", "pins", "summary", "conversation", "pictures"]


class ContextSection(Struct, frozen=True, kw_only=True):
    """One part of what the model sees, as a user can read it."""

    kind: SectionKind
    name: str = ""
    """Which one of its kind: the path of a file."""
    tokens: int
    text: str


class ContextReport(Struct, frozen=True, kw_only=True):
    """What the next request would hold, part by part, in the order in which it is sent."""

    sections: tuple[ContextSection, ...]
    use: ContextUse
    target: int
    """From how many tokens on the conversation is summarised by itself; 0 when it is not."""
    compaction_id: str = ""
    """The compaction whose summary is in force; empty for none."""
    summary: Summary | None = None
    """Its summary."""
    deferred_tools: tuple[str, ...] = ()
    """The names of the tools of servers that are not in the request, because the model searches for them."""
    deferred_tokens: int = 0
    """About how many tokens the definitions of these would take."""
