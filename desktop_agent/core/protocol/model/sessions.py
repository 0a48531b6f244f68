"""Sessions as shown in lists and found by searches, their usage, and how full their context is."""

from datetime import date, datetime
from pathlib import PurePath
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.ids import CallId, SessionId

COST_DIGITS = 12


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens and cost of one or more requests.

    The whole input is `input_tokens + cache_read_tokens + cache_write_tokens`. `(a + b) - a` is `b`.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None
    """In US dollars; `None` if no price is known, 0 for a model on this machine."""
    web_searches: int = 0
    """Web searches by the provider, which charges for them separately."""
    unpriced_tokens: int = 0
    """Tokens of requests without a known price, which `cost_usd` omits."""

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
        """Return the same tokens without cost, for requests that another session or program paid for."""
        return replace(self, cost_usd=0.0, unpriced_tokens=0)

    @property
    def _left_out(self) -> int:
        return self.context_tokens if self.cost_usd is None else self.unpriced_tokens


CacheMissReason = Literal["model", "system", "tools", "messages", "compaction", "options", "unknown"]
"""What differed from the previous request. `options`: another field. `unknown`: the provider does not say."""


class CacheMiss(Struct, frozen=True, kw_only=True):
    """A request that read again what the provider had cached for the previous one."""

    reason: CacheMissReason
    tokens: int = 0
    """About how many tokens could have come from the cache; 0 if unknown."""


HookEvent = Literal[
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "PreCompact", "PostCompact",
    "SubagentStart", "SubagentStop", "Stop", "SessionEnd", "Notification",
]  # fmt: skip
"""The events at which hooks run, by Claude Code's names."""

HookState = Literal["completed", "failed", "timed_out", "flooded", "not_started", "changed", "stopped"]
"""How a run ended. `changed`: it did not run, because it is no longer what the user trusted."""

HookDecision = Literal["", "allow", "ask", "deny", "block", "stop"]
"""What a hook decided. `block`: this does not happen, or the turn goes on; `stop`: the turn ends."""

GuidanceScope = Literal["person", "workspace", "folder", "skills"]
"""`person`: the user's own. `workspace`: of its folder, or one above. `folder`: of one below, or for some files.

`skills`: the list of them, which is no file.
"""


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
    """A file of instructions, such as AGENTS.md, as it was read."""

    path: str
    """Relative to the workspace, with `/`, inside it and its repository; otherwise absolute."""
    scope: GuidanceScope
    text: str
    is_cut: bool = False
    holds_for: str = ""
    """What a file of scope `folder` applies to, if not to its own folder: another one, ending in `/`, or globs."""


class ContextUse(Struct, frozen=True, kw_only=True):
    """How much of the model's context the next request takes."""

    tokens: int
    window: int
    source: Literal["reported", "counted", "estimated"]
    """`reported`: by an answer. `counted`: by the provider's counting endpoint. `estimated`: locally."""
    server_tool_tokens: int = 0
    """About how many of the tokens are definitions of MCP servers' tools."""
    deferred_tools: int = 0
    """How many server tools are not in the request, because the model searches for tools instead."""


SectionKind = Literal["system", "guidance", "tools", "pins", "summary", "conversation", "pictures"]


class ContextSection(Struct, frozen=True, kw_only=True):
    """One readable part of the model's context."""

    kind: SectionKind
    name: str = ""
    tokens: int
    text: str
    is_off: bool = False
    """Whether the user switched this file of instructions off, so that it is not sent."""


class ContextReport(Struct, frozen=True, kw_only=True):
    """The content of the next request, part by part, in the order in which it is sent."""

    sections: tuple[ContextSection, ...]
    use: ContextUse
    target: int
    """The number of tokens from which the conversation is compacted automatically; 0 for never."""
    compaction_id: str = ""
    summary: Summary | None = None
    deferred_tools: tuple[str, ...] = ()
    """The names of the server tools that are not in the request, because the model searches for tools instead."""
    deferred_tokens: int = 0


HitKind = Literal["title", "prompt", "reply", "command", "output", "change"]


class SearchQuery(Struct, frozen=True, kw_only=True):
    """What to search for: words in any order, `"quoted phrases"`; the last word can be a prefix."""

    text: str = ""
    workspace: str = ""
    since: datetime | None = None
    until: datetime | None = None
    file: str = ""
    tool: str = ""
    kind: HitKind | None = None


class SearchHit(Struct, frozen=True, kw_only=True):
    """A match in a session."""

    session_id: SessionId
    seq: int
    turn: int
    call_id: CallId
    kind: HitKind
    at: datetime
    snippet: str
    marks: tuple[tuple[int, int], ...]
    tool: str = ""
    file: str = ""


SessionState = Literal["idle", "working", "waiting"]
"""`waiting`: for an answer of the user."""

SessionPurpose = Literal["conversation", "call", "subagent"]
"""`call`: created for one manual tool call (`desktop-agent tools call`). `subagent`: for a sub-agent (`TaskOrigin`)."""


class TaskOrigin(Struct, frozen=True, kw_only=True):
    """The call of another session that a sub-agent's session was started for."""

    session_id: SessionId
    call_id: CallId
    role: str
    """The name of the sub-agent's role."""


class FolderIdentity(Struct, frozen=True, kw_only=True):
    """Distinguishes a folder from any other that is later at the same path."""

    device: int
    inode: int
    born_ns: int | None = None
    """Creation time in nanoseconds since 1970; `None` if unknown. Needed because inode numbers are reused."""

    def is_same(self, other: "FolderIdentity") -> bool:
        if self.born_ns is None or other.born_ns is None:
            return (self.device, self.inode) == (other.device, other.inode)
        return (self.inode, self.born_ns) == (other.inode, other.born_ns)


class WorktreeOrigin(Struct, frozen=True, kw_only=True):
    """The git worktree that a session was started in."""

    name: str
    main: str
    """The folder of the repository that the worktree was made from, to which its changes are brought back."""
    branch: str
    base: str
    """The commit that the branch started from."""

    def home_of(self, workspace: str) -> str:
        """Return the folder of the user's checkout that corresponds to a `workspace` in the worktree."""
        _, _, inside = PurePath(workspace).as_posix().partition(f"/worktrees/{self.name}/")
        return str(PurePath(self.main, *PurePath(inside).parts[1:]))


class AgentChoice(Struct, frozen=True, kw_only=True):
    value: str
    name: str
    description: str = ""


class AgentOption(Struct, frozen=True, kw_only=True):
    """An option of another program's agent, as the agent describes it."""

    id: str
    name: str
    category: str = ""
    """`mode`, `model` and `thought_level` are known; other agents have other categories, or none."""
    description: str = ""
    value: str | bool
    choices: tuple[AgentChoice, ...] = ()
    """The values to choose from; empty if the option is on or off."""


class AgentCommand(Struct, frozen=True, kw_only=True):
    """A command of another program's agent, which is sent to it as a prompt: `/name …`."""

    name: str
    description: str = ""
    hint: str = ""
    """What to write after the name; empty if nothing is expected."""


class AgentSession(Struct, frozen=True, kw_only=True):
    """The session of another program's agent that has a conversation."""

    agent: str
    """The name or the command line of the agent, as in `ModelRef.model`; empty while no agent here has taken it up."""
    id: str
    kind: str = ""
    """The name of a known agent, which can have another name here; empty for others."""
    through_turn: int = 0
    """The last turn that it had from the beginning. Of later ones, it has those that it answered."""


class SaidElsewhere(Struct, frozen=True, kw_only=True):
    """What was said to another program's agent in its own program, and what it answered there."""

    prompt: str
    answer: str = ""


class AgentSignIn(Struct, frozen=True, kw_only=True):
    """A way to sign in with another program's agent."""

    agent: str
    """The name or the command line by which the session names the agent, as in `ModelRef.model`."""
    id: str
    name: str
    is_in_terminal: bool = False
    """Whether a program that needs a terminal signs in; otherwise the agent does it by itself, perhaps in a browser."""


class Spending(Struct, frozen=True, kw_only=True):
    """One day's usage and cost of one model."""

    day: date
    provider: str
    model: str
    requests: int
    usage: Usage


class DayAllowance(Struct, frozen=True, kw_only=True):
    """How much all sessions together may spend on a day before the user is asked again."""

    day: date
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
    active_at: datetime
    """The last activity, without renaming, pinning or archiving."""
    state: SessionState
    turns: int
    size_bytes: int
    usage: Usage = field(default_factory=Usage)
    """The sum over all requests. Copied requests of a fork add no cost."""
    spending: tuple[Spending, ...] = ()
    allowance: DayAllowance | None = None
    asked_allowance: DayAllowance | None = None
    is_title_given: bool = False
    is_pinned: bool = False
    is_archived: bool = False
    forked_from: SessionId = ""
    purpose: SessionPurpose = "conversation"
    task: TaskOrigin | None = None
    """Set for a sub-agent's session. What its first turn used counts as its parent's."""
    worktree: WorktreeOrigin | None = None
    agent_sessions: tuple[AgentSession, ...] = ()
    asks: int = 0
    failure: str = ""
    """The code of the notice with which its last turn failed (`authentication`, `no_key` …); empty if it did not."""

    @property
    def home(self) -> str:
        """The folder that the session belongs to, even if it works in a worktree."""
        return self.worktree.home_of(self.workspace) if self.worktree is not None else self.workspace

    @property
    def is_listed(self) -> bool:
        """Whether the session is listed. If it is no conversation, only once the user continued, pinned or named it."""
        is_more = self.turns > 1 or self.is_pinned or self.is_title_given or bool(self.forked_from)
        return self.purpose == "conversation" or is_more
