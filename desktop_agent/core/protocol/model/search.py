"""A search through all sessions, and what it finds."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.ids import CallId, SessionId

HitKind = Literal["title", "prompt", "reply", "command", "output", "change"]
"""What a session is called, what the user wrote, what the model wrote, what was run, what a tool gave back, and what
was changed in a file."""


class SearchQuery(Struct, frozen=True, kw_only=True):
    """What is looked for. Words in any order, `"quoted ones"` side by side; the last may be a beginning."""

    text: str = ""
    workspace: str = ""
    """Only sessions of this folder, an absolute path."""
    since: datetime | None = None
    until: datetime | None = None
    file: str = ""
    """Only what is about a file whose path has this in it."""
    tool: str = ""
    """Only calls of this tool, and what they gave back or changed."""
    kind: HitKind | None = None


class SearchHit(Struct, frozen=True, kw_only=True):
    """One place in one session."""

    session_id: SessionId
    seq: int
    turn: int
    """0 for what belongs to no turn."""
    call_id: CallId
    """Empty for what is no tool call's."""
    kind: HitKind
    at: datetime
    snippet: str
    """One line of text around the match."""
    marks: tuple[tuple[int, int], ...]
    """Begin and end of each match in `snippet`."""
    tool: str = ""
    file: str = ""
