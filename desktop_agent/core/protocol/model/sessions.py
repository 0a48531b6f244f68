"""Sessions as a list shows them."""

from datetime import date, datetime
from typing import Literal

from msgspec import Struct, field

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.model.usage import Usage

SessionState = Literal["idle", "working", "waiting"]
"""What a session is doing: nothing, running a turn, or waiting for an answer of the user."""

SessionPurpose = Literal["conversation", "call"]
"""What a session was made for: a conversation, or one tool call by hand (`desktop-agent tools call`)."""


class FolderIdentity(Struct, frozen=True, kw_only=True):
    """Tells a folder from any other that is later at the same path."""

    device: int
    inode: int
    born_ns: int | None = None
    """When it was created, in nanoseconds since 1970; None where the system does not tell. Inode numbers of deleted
    folders are used again, and device numbers may differ after a restart."""

    def is_same(self, other: "FolderIdentity") -> bool:
        """Whether both are one folder."""
        if self.born_ns is None or other.born_ns is None:
            return (self.device, self.inode) == (other.device, other.inode)
        return (self.inode, self.born_ns) == (other.inode, other.born_ns)


class Spending(Struct, frozen=True, kw_only=True):
    """What the requests of one day to one model took and cost."""

    day: date
    """In UTC, as vendors count them."""
    provider: str
    model: str
    requests: int
    usage: Usage


class DayAllowance(Struct, frozen=True, kw_only=True):
    """How much all sessions together may spend on a day before the user is asked again, because they said yes."""

    day: date
    """In UTC."""
    until_usd: float
    call_id: str = ""
    """The question, while the user has not answered it; empty once they said yes."""


class SessionSummary(Struct, frozen=True, kw_only=True):
    """A session as a list shows it. `workspace` is an absolute path; all times are UTC."""

    id: SessionId
    title: str
    workspace: str
    created_at: datetime
    updated_at: datetime
    """Of the last thing that was written down."""
    active_at: datetime
    """When something was last said or done in it. To rename, pin or archive it does not count."""
    state: SessionState
    turns: int
    size_bytes: int
    """Of the journal alone: contents of files and long outputs are shared by all sessions."""
    usage: Usage = field(default_factory=Usage)
    """Sum over all requests. What the copied ones of a fork cost is the other session's."""
    spending: tuple[Spending, ...] = ()
    """The session's own requests by day and model, oldest first; without those of which no model is recorded."""
    allowance: DayAllowance | None = None
    """What the user last allowed in this session for a day of all sessions."""
    asked_allowance: DayAllowance | None = None
    """What it asks them to allow, while the question waits."""
    is_title_given: bool = False
    """Whether the user gave the title."""
    is_pinned: bool = False
    is_archived: bool = False
    forked_from: SessionId = ""
    purpose: SessionPurpose = "conversation"
    asks: int = 0
    """How many questions wait in it, in this process, another one, or none: they wait until they are answered."""

    @property
    def is_listed(self) -> bool:
        """Whether it is shown among the conversations: a call by hand only when the user made more of it."""
        is_more = self.turns > 1 or self.is_pinned or self.is_title_given or bool(self.forked_from)
        return self.purpose == "conversation" or is_more
