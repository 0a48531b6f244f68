"""Sessions as a list shows them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from desktop_agent.core.ids import SessionId

SessionState = Literal["idle", "working", "waiting"]
"""What a session is doing: nothing, running a turn, or waiting for an answer of the person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """A session as a list shows it. `workspace` is an absolute path; both times are UTC."""

    id: SessionId
    title: str
    workspace: str
    created_at: datetime
    updated_at: datetime
    state: SessionState
    turns: int
    size_bytes: int
    """Of the journal alone."""
