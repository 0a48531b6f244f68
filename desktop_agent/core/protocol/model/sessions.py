"""Sessions as shown in lists and found by searches, what they used, and how full their context is."""

from datetime import date, datetime
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.ids import CallId, SessionId

COST_DIGITS = 12
"""To how many digits sums of costs are rounded: more than a price has, fewer than a float, so that 0.1 + 0.2 is 0.3."""


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens of one request, or of several, and what they cost.

    The whole input is `input_tokens + cache_read_tokens + cache_write_tokens`. Subtraction undoes addition: `(a + b) -
    a` is `b`.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None
    """The cost in US dollars; `None` if no price is known, 0 for the answers of a model on this machine."""
    web_searches: int = 0
    """How often the provider searched the web, which it charges for separately."""
    unpriced_tokens: int = 0
    """How many tokens `cost_usd` leaves out, because the price of their request is not known."""

    @property
    def context_tokens(self) -> int:
        """How many tokens of the context window the conversation takes after this request."""
        return self.all_input_tokens + self.output_tokens

    @property
    def all_input_tokens(self) -> int:
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def is_cost_partial(self) -> bool:
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
        """Return the same tokens without cost, for requests that another session or another program paid for."""
        return replace(self, cost_usd=0.0, unpriced_tokens=0)

    @property
    def _left_out(self) -> int:
        return self.context_tokens if self.cost_usd is None else self.unpriced_tokens


CacheMissReason = Literal["model", "system", "tools", "messages", "compaction", "options", "unknown"]
"""What differed from the previous request: the model, the system prompt, the tools, messages in the middle, a summary
in their place, or another option of the request. `unknown`: the provider does not say.
"""


class CacheMiss(Struct, frozen=True, kw_only=True):
    """A request that read again what the provider had cached for the previous one."""

    reason: CacheMissReason
    tokens: int = 0
    """About how many tokens could have come from the cache; 0 if not known."""


GuidanceScope = Literal["person", "workspace", "folder"]
"""Which kind of AGENTS.md it is: the user's own, the one at the root of the workspace, or one of a folder inside it."""


class Summary(Struct, frozen=True, kw_only=True):
    """What a compaction keeps of a conversation. Every item is one sentence or one name."""

    goals: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()


class Pin(Struct, frozen=True, kw_only=True):
    """A text that stays in the model's context despite compactions, until it is unpinned or expires."""

    id: str
    text: str
    expires_at: datetime | None = None


class GuidanceFile(Struct, frozen=True, kw_only=True):
    """An AGENTS.md as it was read."""

    path: str
    """The file's path: absolute for the user's own file, otherwise relative to the workspace, with `/`."""
    scope: GuidanceScope
    text: str
    is_cut: bool = False
    """Whether the file was longer than what may be loaded, so that the rest is missing."""


class ContextUse(Struct, frozen=True, kw_only=True):
    """How full the model's context is: how much of it the next request takes."""

    tokens: int
    window: int
    source: Literal["reported", "counted", "estimated"]
    """Where the figure comes from: a provider's answer, the provider's counting endpoint, or a local estimate."""
    server_tool_tokens: int = 0
    """About how many of the tokens are definitions of MCP servers' tools."""
    deferred_tools: int = 0
    """How many server tools are left out of the request, because the model searches for tools instead."""


SectionKind = Literal["system", "guidance", "tools", "pins", "summary", "conversation", "pictures"]


class ContextSection(Struct, frozen=True, kw_only=True):
    """One part of what the model sees, as a user can read it."""

    kind: SectionKind
    name: str = ""
    """Which section of its kind this is, such as the path of a file."""
    tokens: int
    text: str


class ContextReport(Struct, frozen=True, kw_only=True):
    """The content of the next request, part by part, in the order in which it is sent."""

    sections: tuple[ContextSection, ...]
    use: ContextUse
    target: int
    """The number of tokens from which the conversation is compacted automatically; 0 if it is not."""
    compaction_id: str = ""
    """The compaction whose summary is in force; empty for none."""
    summary: Summary | None = None
    deferred_tools: tuple[str, ...] = ()
    """The names of the server tools that are left out of the request, because the model searches for tools instead."""
    deferred_tokens: int = 0
    """About how many tokens the definitions of these tools would take."""


HitKind = Literal["title", "prompt", "reply", "command", "output", "change"]


class SearchQuery(Struct, frozen=True, kw_only=True):
    """What to search for: words in any order, `"quoted phrases"`; the last word can be a prefix."""

    text: str = ""
    workspace: str = ""
    """Find only sessions of this folder, an absolute path."""
    since: datetime | None = None
    until: datetime | None = None
    file: str = ""
    """Find only matches about a file whose path contains this."""
    tool: str = ""
    """Find only calls of this tool, with their output and changes."""
    kind: HitKind | None = None


class SearchHit(Struct, frozen=True, kw_only=True):
    """A match in a session."""

    session_id: SessionId
    seq: int
    turn: int
    """The turn that the match is in; 0 for none."""
    call_id: CallId
    """The tool call that the match belongs to; empty for none."""
    kind: HitKind
    at: datetime
    snippet: str
    """One line of text around the match."""
    marks: tuple[tuple[int, int], ...]
    """Start and end of each match in `snippet`."""
    tool: str = ""
    file: str = ""


SessionState = Literal["idle", "working", "waiting"]
"""`waiting` means that the session waits for an answer of the user."""

SessionPurpose = Literal["conversation", "call"]
"""What a session was created for: a conversation, or one manual tool call (`desktop-agent tools call`)."""


class FolderIdentity(Struct, frozen=True, kw_only=True):
    """Distinguishes a folder from any other that is later at the same path."""

    device: int
    inode: int
    born_ns: int | None = None
    """Creation time in nanoseconds since 1970; `None` if the system does not tell. It is needed because inode numbers
    of deleted folders are reused, and device numbers may differ after a restart.
    """

    def is_same(self, other: "FolderIdentity") -> bool:
        if self.born_ns is None or other.born_ns is None:
            return (self.device, self.inode) == (other.device, other.inode)
        return (self.inode, self.born_ns) == (other.inode, other.born_ns)


class Spending(Struct, frozen=True, kw_only=True):
    """What one day's requests to one model used and cost."""

    day: date
    """The day in UTC, as vendors count days."""
    provider: str
    model: str
    requests: int
    usage: Usage


class DayAllowance(Struct, frozen=True, kw_only=True):
    """How much all sessions together may spend on a day before the user is asked again, as the user agreed."""

    day: date
    """The day in UTC."""
    until_usd: float
    call_id: str = ""
    """The id of the question that is still open; empty once the user said yes."""


class SessionSummary(Struct, frozen=True, kw_only=True):
    """A session as a list shows it. `workspace` is an absolute path; all times are UTC."""

    id: SessionId
    title: str
    workspace: str
    created_at: datetime
    updated_at: datetime
    """When something was last written to the journal."""
    active_at: datetime
    """When something was last said or done in it; renaming, pinning or archiving does not count."""
    state: SessionState
    turns: int
    size_bytes: int
    """The size of the journal alone: all sessions share the contents of files and long outputs."""
    usage: Usage = field(default_factory=Usage)
    """The sum over all requests. The copied requests of a fork add no cost: the other session paid for them."""
    spending: tuple[Spending, ...] = ()
    """The session's own requests by day and model, oldest first; requests without a recorded model are left out."""
    allowance: DayAllowance | None = None
    """The allowance for a day and all sessions that the user last granted in this session."""
    asked_allowance: DayAllowance | None = None
    """The allowance for a day that an open question asks for."""
    is_title_given: bool = False
    is_pinned: bool = False
    is_archived: bool = False
    forked_from: SessionId = ""
    purpose: SessionPurpose = "conversation"
    asks: int = 0
    """How many questions of the session wait for an answer, whether or not a process has the session open."""
    failure: str = ""
    """The code of the notice with which its last turn failed (`authentication`, `no_key` …); empty if it did not."""

    @property
    def is_listed(self) -> bool:
        """Whether the session is listed as a conversation. A manual tool call is, only if the user did more with it."""
        is_more = self.turns > 1 or self.is_pinned or self.is_title_given or bool(self.forked_from)
        return self.purpose == "conversation" or is_more
