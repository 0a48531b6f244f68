"""What the model sees beside the conversation itself: summaries of what went before, pins, and guidance from files."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

GuidanceScope = Literal["person", "workspace", "folder"]
"""Whose an AGENTS.md is: the user's own, the one at the root of the workspace, or one of a folder inside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a compaction keeps of a conversation. Every item is one sentence or one name."""

    goals: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """A text that stays in the model's sight, whatever is compacted, until it is unpinned or expires."""

    id: str
    text: str
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidanceFile:
    """An AGENTS.md as it was read."""

    path: str
    """Absolute for the user's own; else relative to the workspace, with `/`."""
    scope: GuidanceScope
    text: str
    is_cut: bool = False
    """Whether the file has more than may be loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextUse:
    """How full the model's context is: what the next request takes, out of what fits."""

    tokens: int
    window: int
    source: Literal["reported", "counted", "estimated"]
    """By the provider with an answer, by its counting endpoint, or by us."""


SectionKind = Literal["system", "guidance", "tools", "pins", "summary", "conversation", "pictures"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSection:
    """One part of what the model sees, as a user can read it."""

    kind: SectionKind
    name: str = ""
    """Which one of its kind: the path of a file."""
    tokens: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextReport:
    """What the next request would hold, part by part, in the order in which it is sent."""

    sections: tuple[ContextSection, ...]
    use: ContextUse
    target: int
    """From how many tokens on the conversation is summarised by itself; 0 when it is not."""
    compaction_id: str = ""
    """The compaction whose summary is in force; empty for none."""
    summary: Summary | None = None
    """Its summary."""
