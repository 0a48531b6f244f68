"""Sessions as a list shows them and a search finds them, what they used, and how full their context is."""

from datetime import date, datetime
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.ids import CallId, SessionId

COST_DIGITS = 12
"""Of a sum of costs: far more than a price has, and fewer than a float, so that 0.1 + 0.2 is 0.3."""


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens of one request, or of several, and what they cost.

    The whole input is `input_tokens + cache_read_tokens + cache_write_tokens`. A difference takes away what was once
    added: `(a + b) - a` is `b`.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None
    """US dollars; None when no price is known. Nothing was paid for what a model on this machine answered: 0."""
    web_searches: int = 0
    """How often the provider searched the web, which it charges for apart."""
    unpriced_tokens: int = 0
    """How many tokens of a sum `cost_usd` leaves out, because the price of their request is not known."""

    @property
    def context_tokens(self) -> int:
        """How much of the context window the conversation takes after this request."""
        return self.all_input_tokens + self.output_tokens

    @property
    def all_input_tokens(self) -> int:
        """What was sent, from a cache or not."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def is_cost_partial(self) -> bool:
        """Whether it cost more than `cost_usd`; how much more is not known."""
        return self.unpriced_tokens > 0

    def __add__(self, other: "Usage") -> "Usage":
        return self._with(other, 1)

    def __sub__(self, other: "Usage") -> "Usage":
        return self._with(other, -1)

    def _with(self, other: "Usage", sign: int) -> "Usage":
        tokens = Usage(
            input_tokens=self.input_tokens + sign * other.input_tokens,
            output_tokens=self.output_tokens + sign * other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + sign * other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + sign * other.cache_write_tokens,
            web_searches=self.web_searches + sign * other.web_searches,
        )
        if self.cost_usd is None and other.cost_usd is None:
            return tokens
        unpriced = self._left_out + sign * other._left_out
        cost = round((self.cost_usd or 0.0) + sign * (other.cost_usd or 0.0), COST_DIGITS)
        if sign < 0 and not cost and unpriced == tokens.context_tokens:
            return tokens
        return replace(tokens, cost_usd=cost, unpriced_tokens=unpriced)

    def paid_elsewhere(self) -> "Usage":
        """Return the same tokens at no cost: another session sent these requests, or another program."""
        return replace(self, cost_usd=0.0, unpriced_tokens=0)

    @property
    def _left_out(self) -> int:
        return self.context_tokens if self.cost_usd is None else self.unpriced_tokens


CacheMissReason = Literal["model", "system", "tools", "messages", "compaction", "options", "unknown"]
"""What differed from the request before: the model, the system prompt, the tools, messages in the middle, a summary in
their place, or another option of the request. `unknown` is a miss of which the provider does not say why."""


class CacheMiss(Struct, frozen=True, kw_only=True):
    """A request read again what the provider had kept of the request before."""

    reason: CacheMissReason
    tokens: int = 0
    """About how many could have come from the cache; 0 when that is not known."""


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
