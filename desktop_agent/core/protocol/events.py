"""Events: what happened in a session. Past-tense names; the journal of the durable ones *is* the session.

Durable events have a sequence number (from 1, without gaps) and a time. Live events exist only while something runs.
"""

import re
from datetime import UTC, datetime
from typing import Final, Literal, Protocol, Self

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.errors import ProviderFault
from desktop_agent.core.base.ids import CallId, ChangeId, Digest, HunkKey, PromptId, SessionId
from desktop_agent.core.protocol.model import (
    AgentCommand,
    AgentOption,
    AgentSignIn,
    ApprovalPolicy,
    ApprovalRequest,
    AssistantBlock,
    Attachment,
    Author,
    CacheMiss,
    Capability,
    ChangeSelection,
    ContextReport,
    ContextUse,
    Decision,
    FileChange,
    FileDiagnostics,
    FileOutcome,
    Finite,
    Flaw,
    FolderIdentity,
    GuidanceFile,
    HookDecision,
    HookEvent,
    HookState,
    HostedCall,
    Job,
    JsonObject,
    LeftOut,
    LineComment,
    ModelRef,
    OutsideFile,
    Pin,
    RefChange,
    ReviewState,
    RewindScope,
    Rule,
    SaidElsewhere,
    SandboxMode,
    SessionPurpose,
    StopReason,
    Summary,
    TaskOrigin,
    ToolCall,
    ToolResult,
    ToolSource,
    Uncaptured,
    Usage,
    WorktreeOrigin,
)

UNSTAMPED = datetime.fromtimestamp(0, UTC)


def _in_snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


class Tagged(Struct, frozen=True, kw_only=True, tag_field="type", tag=_in_snake_case):
    """An event or an op, which its `type` names in JSON: `tool_call_started` for `ToolCallStarted`."""

    @property
    def type(self) -> str:
        return str(self.__struct_config__.tag)


class DurableEvent(Tagged, frozen=True, kw_only=True):
    """An event that is written to the journal before any front end receives it."""

    seq: int = 0
    at: datetime = UNSTAMPED

    def stamped(self, seq: int, at: datetime) -> Self:
        return replace(self, seq=seq, at=at)


FORMAT_VERSION = 1
"""Version of a journal line. A reader keeps lines of a later version untouched and skips them."""

TurnEndReason = Literal[
    "completed", "max_turns", "tool_error", "fatal_tool_error", "approval_required", "provider_error",
    "storage_error", "interrupted", "limit", "refused", "workspace_error", "internal_error", "hook",
]  # fmt: skip
NoticeLevel = Literal["info", "warning", "error"]


# --- the session --------------------------------------------------------------------------------------------------


class SessionOpened(DurableEvent, frozen=True, kw_only=True):
    """The first line of every journal."""

    session_id: SessionId
    workspace: str
    model: ModelRef
    approval: ApprovalPolicy
    app_version: str
    sandbox: SandboxMode = "restricted"
    purpose: SessionPurpose = "conversation"
    format: int = FORMAT_VERSION
    folder: FolderIdentity | None = None
    """The identity of the folder at `workspace`, to recognise another folder at the same path."""
    worktree: WorktreeOrigin | None = None
    task: TaskOrigin | None = None
    """Set for a sub-agent's session."""
    instructions: str = ""
    """The instructions of a sub-agent about its role, after the common ones."""


class FolderAccepted(DurableEvent, frozen=True, kw_only=True):
    """The session continues in this folder, although it is another one, or of unknown identity."""

    folder: FolderIdentity


class SessionRenamed(DurableEvent, frozen=True, kw_only=True):
    """The session got a title."""

    title: str
    is_generated: bool = False


class SessionForked(DurableEvent, frozen=True, kw_only=True):
    """All records between the first line and this one are copies from another session."""

    source: SessionId
    title: str
    before_turn: int | None = None


class SessionArchived(DurableEvent, frozen=True, kw_only=True):
    """The user archived or restored the session. Nothing is removed."""

    is_archived: bool


class SessionPinned(DurableEvent, frozen=True, kw_only=True):
    """The user pinned the session to the top of the list, or unpinned it."""

    is_pinned: bool


class ModeSet(DurableEvent, frozen=True, kw_only=True):
    """The model, the approval policy, the sandbox or planning changed; all four are given."""

    model: ModelRef
    approval: ApprovalPolicy
    sandbox: SandboxMode = "restricted"
    is_planning: bool = False
    """Whether the agent only reads, and writes a plan."""


class PlanEdited(DurableEvent, frozen=True, kw_only=True):
    """The user replaced the plan."""

    text: str


class PlanAccepted(DurableEvent, frozen=True, kw_only=True):
    """The user lets the agent carry out the plan. Its steps become the to-do list."""

    text: str


IMPORTED_WORDS = "imported_words"
"""The code of a notice with words that the user wrote in the program from which the session was imported."""


class Notice(DurableEvent, frozen=True, kw_only=True):
    """A notice to the user. `code` is stable, for programs: `retrying`, `authentication`, `torn_journal` …"""

    level: NoticeLevel
    code: str
    title: str
    hint: str = ""
    detail: str = ""
    turn: int | None = None
    sign_ins: tuple[AgentSignIn, ...] = ()
    """How the user can sign in with the agent of another program that failed for that."""


# --- prompts and turns --------------------------------------------------------------------------------------------


class Queued(DurableEvent, frozen=True, kw_only=True):
    """A prompt waits for the running turn to end, or a waiting prompt was moved or became steering."""

    prompt_id: PromptId
    text: str
    attachments: tuple[Attachment, ...] = ()
    is_steering: bool = False
    """Whether the prompt waits only for the turn's next request, or if there is none, for its end."""
    before: PromptId = ""
    """The waiting prompt that follows it; empty if it is the last."""


class Unqueued(DurableEvent, frozen=True, kw_only=True):
    """A queued prompt was taken back."""

    prompt_id: PromptId


class PromptSubmitted(DurableEvent, frozen=True, kw_only=True):
    """A prompt entered the conversation as the start of `turn`."""

    turn: int
    prompt_id: PromptId
    text: str
    attachments: tuple[Attachment, ...] = ()


class Steered(DurableEvent, frozen=True, kw_only=True):
    """A message of the user entered the conversation in the middle of `turn`; the next request includes it."""

    turn: int
    prompt_id: PromptId
    text: str
    attachments: tuple[Attachment, ...] = ()


class TurnStarted(DurableEvent, frozen=True, kw_only=True):
    """The agent began to work on `turn`."""

    turn: int
    model: ModelRef


class MessageDone(DurableEvent, frozen=True, kw_only=True):
    """The model finished one message: text, thinking and tool calls in order."""

    turn: int
    message_id: str
    model: ModelRef
    content: tuple[AssistantBlock, ...]
    stop_reason: StopReason
    mended: tuple[Flaw, ...] = ()
    """Mended flaws of the answer. Each kind is named once in a session."""


class UsageReported(DurableEvent, frozen=True, kw_only=True):
    """The usage and cost of one request."""

    turn: int
    usage: Usage
    model: ModelRef | None = None
    """The model that answered; `None` in a journal from before prices were recorded."""
    is_aside: bool = False
    """Whether the request was not part of the conversation, so that it does not measure the context."""
    call_id: CallId = ""
    """The call whose sub-agent sent the request; empty for the session's own requests."""
    cache_miss: CacheMiss | None = None


class TurnEnded(DurableEvent, frozen=True, kw_only=True):
    """The turn is over; everything in it has been written."""

    turn: int
    reason: TurnEndReason
    requests: int
    duration_s: Finite
    """How long the turn worked. A lower bound if it `is_cut_off`; 0 if unknown."""
    is_cut_off: bool = False
    """Whether the application ended during the turn, so that the next opening recorded this event."""


class AgentSessionOpened(DurableEvent, frozen=True, kw_only=True):
    """A session of another program's agent has this conversation; the agent takes its turns from now on in it."""

    agent: str
    """The name or the command line by which the session names the agent, as in `ModelRef.model`."""
    agent_session: str
    """The agent's id for it, to open it again."""
    name: str = ""
    version: str = ""
    kind: str = ""
    """As in `AgentSession`, and so are `through_turn` and an empty `agent`."""
    through_turn: int = 0
    said: tuple[SaidElsewhere, ...] = ()
    """What was said in it since it was last open here, by the agent's own program."""


class AgentOptionSet(DurableEvent, frozen=True, kw_only=True):
    """The user set an option of another program's agent. It is set again whenever that agent starts."""

    agent: str
    """The name or the command line by which the session names the agent, as in `ModelRef.model`."""
    option_id: str
    value: str | bool


# --- what the model sees ------------------------------------------------------------------------------------------


class Compacted(DurableEvent, frozen=True, kw_only=True):
    """From now on, the model sees `summary` instead of everything up to and including `through_turn`."""

    compaction_id: str
    through_turn: int
    summary: Summary
    focus: str = ""
    is_automatic: bool = False
    tokens_before: int = 0
    tokens_after: int = 0
    """Estimated size of the next request, like `tokens_before`."""
    shortened: tuple[CallId, ...] = ()


class SummaryEdited(DurableEvent, frozen=True, kw_only=True):
    """The user rewrote the summary of a compaction."""

    compaction_id: str
    summary: Summary


class CompactionUndone(DurableEvent, frozen=True, kw_only=True):
    """The last compaction was undone: the model sees the summarised part again."""

    compaction_id: str


class Pinned(DurableEvent, frozen=True, kw_only=True):
    """A text was pinned; one with the same id is replaced."""

    pin: Pin


class Unpinned(DurableEvent, frozen=True, kw_only=True):
    """A pin was removed, or expired."""

    pin_id: str
    is_expired: bool = False


class GuidanceLoaded(DurableEvent, frozen=True, kw_only=True):
    """All AGENTS.md files in force from now on; recorded whenever one of them changed."""

    files: tuple[GuidanceFile, ...]


class CommandRun(DurableEvent, frozen=True, kw_only=True):
    """A slash command was run without asking the model. The model does not see it."""

    text: str
    output: str
    is_error: bool = False
    opens: SessionId = ""
    """The session that a front end should show now, if the command created one."""


# --- tool calls ---------------------------------------------------------------------------------------------------


class ToolCallStarted(DurableEvent, frozen=True, kw_only=True):
    """The handling of a tool call began. The call is validated, and may wait for an approval."""

    turn: int
    call: ToolCall
    title: str
    source: ToolSource
    capabilities: tuple[Capability, ...]
    is_read_only: bool


class ToolCallFinished(DurableEvent, frozen=True, kw_only=True):
    """A tool call got its one result. Every `tool_use` of a message gets exactly one."""

    turn: int
    call_id: CallId
    state: Literal["completed", "failed"]
    result: ToolResult
    duration_s: Finite
    """How long the call took, without waiting for the user."""


class SubagentStarted(DurableEvent, frozen=True, kw_only=True):
    """A call started a sub-agent, which works in a session of its own."""

    turn: int
    call_id: CallId
    session_id: SessionId
    role: str
    model: ModelRef


class SubagentEnded(DurableEvent, frozen=True, kw_only=True):
    """A sub-agent in the background ended, and its result entered the conversation; the next request includes it."""

    turn: int
    call_id: CallId
    state: Literal["completed", "failed"]
    result: ToolResult
    duration_s: Finite


class ApprovalRequested(DurableEvent, frozen=True, kw_only=True):
    """A call waits for the user."""

    turn: int
    request: ApprovalRequest


class ApprovalResolved(DurableEvent, frozen=True, kw_only=True):
    """The wait is over. Always follows an `approval_requested`."""

    turn: int
    call_id: CallId
    decision: Decision


class HookRan(DurableEvent, frozen=True, kw_only=True):
    """A hook ran at an event of the session, or should have."""

    turn: int
    moment: HookEvent
    command: str
    path: str
    """The file that defines the hook."""
    call_id: CallId = ""
    """The call that it ran for, if any."""
    state: HookState = "completed"
    exit_code: int | None = None
    duration_s: Finite = 0.0
    decision: HookDecision = ""
    reason: str = ""
    message: str = ""
    """What the hook says to the user."""
    changed: JsonObject | None = None
    """The call's whole input as the hook wants it, in Claude Code's fields."""
    context: str = ""
    """What the hook says to the model, which reads it from here on."""
    output: str = ""
    """The beginning and end of what it printed."""
    drops_prompt: bool = False
    """Whether the model never sees the prompt that began the turn."""


class RuleRevoked(DurableEvent, frozen=True, kw_only=True):
    """The user revoked a rule that an earlier answer had made."""

    rule_id: str


# --- what this program does not know ------------------------------------------------------------------------------


class UnknownEvent(DurableEvent, frozen=True, kw_only=True):
    """A line of an unknown kind or version. Kept whole, and skipped by every fold."""

    payload: JsonObject = field(default_factory=dict[str, object])

    @property
    def type(self) -> str:
        return str(self.payload.get("type", "unknown"))


ChangePurpose = Literal["apply", "undo", "redo"]

REFUSALS: Final = frozenset({"busy", "nothing_selected", "unclear_selection", "not_undone", "not_redone", "storage"})
"""The notice codes of an undo or redo that was not carried out."""


class ChangesPrepared(DurableEvent, frozen=True, kw_only=True):
    """Files are about to be written; their images are durable. The write-ahead record of a change, undo or redo."""

    turn: int
    call_id: CallId
    purpose: ChangePurpose
    changes: tuple[FileChange, ...]
    snapshot: int | None = None
    is_background: bool = False
    author: Author = "shell"


class ChangesRecorded(DurableEvent, frozen=True, kw_only=True):
    """A call changed these files. Without a call, the user did, as was noticed before the agent's next change."""

    turn: int
    call_id: CallId
    changes: tuple[FileChange, ...]
    uncaptured: tuple[Uncaptured, ...] = ()
    refs: tuple[RefChange, ...] = ()
    """Branches, tags and stash entries of the git repository that the call moved or dropped."""
    outside: tuple[OutsideFile, ...] = ()
    is_recoverable: bool = False
    is_last_look: bool = False
    """Whether a background command has ended, so that no more changes will follow."""
    is_offered: bool = False
    """Whether the changes were made in a worktree, and count as undone here until they are redone."""


class DiagnosticsFound(DurableEvent, frozen=True, kw_only=True):
    """Language servers checked files that the agent had changed."""

    turn: int
    call_id: CallId
    """The call whose result tells the model what is new."""
    files: tuple[FileDiagnostics, ...]


class ChangesUndone(DurableEvent, frozen=True, kw_only=True):
    """Changes were undone. Files that changed since in the same place were left alone and are listed."""

    selection: ChangeSelection
    change_ids: tuple[ChangeId, ...]
    outcomes: tuple[FileOutcome, ...]
    changes: tuple[FileChange, ...] = ()
    """The written changes, by `undo`. Each names the change that it reverts."""
    reason: str = ""
    refs: tuple[RefChange, ...] = ()
    outside: tuple[OutsideFile, ...] = ()


class ChangesRedone(DurableEvent, frozen=True, kw_only=True):
    """Undone changes were applied again."""

    selection: ChangeSelection
    change_ids: tuple[ChangeId, ...]
    outcomes: tuple[FileOutcome, ...]
    changes: tuple[FileChange, ...] = ()
    reason: str = ""


class ChangesCommitted(DurableEvent, frozen=True, kw_only=True):
    """Selected changes were committed with git. They stay undoable, as edits of the files."""

    selections: tuple[ChangeSelection, ...]
    commit: str
    parent: str = ""
    """Empty for the first commit of a branch."""
    branch: str = ""
    """The full name of the branch; empty while detached."""
    subject: str
    message: str = ""
    """The whole message, as hooks and git left it; empty in old journals."""
    paths: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()
    hooks_output: str = ""
    changed_by_hooks: tuple[str, ...] = ()


class CommitUndone(DurableEvent, frozen=True, kw_only=True):
    """A commit of this session's changes was removed from the tip of its branch. Files and staged changes stayed."""

    commit: str


class ReviewMarked(DurableEvent, frozen=True, kw_only=True):
    """The user decided about hunks of a file, or took a decision back."""

    path: str
    hunks: tuple[HunkKey, ...]
    state: ReviewState


class CommentAdded(DurableEvent, frozen=True, kw_only=True):
    """The user wrote, or rewrote, a remark on lines of a diff."""

    comment: LineComment


class CommentsRemoved(DurableEvent, frozen=True, kw_only=True):
    """Remarks were taken back, or sent to the agent."""

    comment_ids: tuple[str, ...]


class Rewound(DurableEvent, frozen=True, kw_only=True):
    """The user went back to before `turn`: with the conversation, the files, or both. The journal keeps both."""

    turn: int
    scope: RewindScope


RequestPurpose = Literal["turn", "summary", "title", "server", "commit"]
"""`server`: a question of an MCP server."""


# A provider streams the next four events without `turn` and `at`; the turn adds these when it emits them.


class TextDelta(Tagged, frozen=True, kw_only=True):
    """More text of the message being written."""

    turn: int = 0
    text: str


class ThinkingDelta(Tagged, frozen=True, kw_only=True):
    """More thinking of the message being written."""

    turn: int = 0
    text: str


class ToolProgress(Tagged, frozen=True, kw_only=True):
    """The progress of something slow: a call the model is still writing, a search, a scan."""

    turn: int = 0
    call_id: CallId
    name: str
    message: str


class HostedCallReported(Tagged, frozen=True, kw_only=True):
    """One of the provider's own tools began or ended, in the message being written."""

    turn: int = 0
    at: datetime = UNSTAMPED
    call: HostedCall


class ToolOutputDelta(Tagged, frozen=True, kw_only=True):
    """More output of a running call, as it was written."""

    turn: int
    call_id: CallId
    text: str


class GitOutputDelta(Tagged, frozen=True, kw_only=True):
    """More output of git, or of a hook, while it does what the user asked for."""

    step: str
    """The name of the hook, or the command of git: `pre-commit`."""
    text: str


class PromptRejected(Tagged, frozen=True, kw_only=True):
    """A prompt was rejected, as a notice says. The event returns its text, so that it is not lost."""

    text: str


class RetryWaitReported(Tagged, frozen=True, kw_only=True):
    """A turn waits before it asks the model again, or no longer waits."""

    turn: int
    is_waiting: bool
    delay_s: Finite = 0.0
    """How long the wait lasts, unless the user skips it; 0 when it is over."""


class ModelRequestReported(Tagged, frozen=True, kw_only=True):
    """A request was sent to a model, or has ended; reported for each try, also outside the conversation."""

    turn: int
    request_id: str
    """Identifies the request in both of its events. Every try has a new one."""
    model: ModelRef
    state: Literal["sent", "answered", "failed", "stopped"]
    purpose: RequestPurpose = "turn"
    fault: ProviderFault | None = None
    message_id: str = ""
    stop_reason: StopReason | None = None
    usage: Usage | None = None


class JobsReported(Tagged, frozen=True, kw_only=True):
    """The session's background commands, oldest first."""

    jobs: tuple[Job, ...]


class RulesReported(Tagged, frozen=True, kw_only=True):
    """The rules in force in this session, the session's own first."""

    rules: tuple[Rule, ...]


class AgentReported(Tagged, frozen=True, kw_only=True):
    """What the running agent of another program offers now: its options with their values, and its commands."""

    agent: str
    """The name or the command line by which the session names the agent, as in `ModelRef.model`."""
    title: str = ""
    """What the agent calls itself."""
    options: tuple[AgentOption, ...] = ()
    commands: tuple[AgentCommand, ...] = ()


class ContextMeasured(Tagged, frozen=True, kw_only=True):
    """How full the context is now."""

    use: ContextUse | None
    """`None` if it is not known, as after a switch to an agent of another program."""


class ContextInspected(Tagged, frozen=True, kw_only=True):
    """What the model would see now; the answer to `InspectContext`."""

    report: ContextReport


class CommitPrepared(Tagged, frozen=True, kw_only=True):
    """What a commit of these changes would take, and how git would make it: the answer to `PrepareCommit`."""

    selections: tuple[ChangeSelection, ...]
    paths: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    branch: str = ""
    """The full name of the branch; empty while detached."""
    author: str = ""
    """The name and address of the author; empty if git knows none."""
    is_signed: bool = False
    hooks: tuple[str, ...] = ()
    obstacle: str = ""
    """Why no commit can be made; empty if one can."""
    hint: str = ""


class CommitDrafted(Tagged, frozen=True, kw_only=True):
    """The model's message for a commit: the answer to `DraftCommit`. Without text, it was stopped or failed."""

    text: str = ""
    obstacle: str = ""
    """Why there is no text; empty if the user stopped it."""
    hint: str = ""


class CommandJudged(Tagged, frozen=True, kw_only=True):
    """The judgement of an edited command: the answer to `JudgeCommand`, in one or two steps."""

    call_id: CallId
    command: str
    request: ApprovalRequest | None
    """The question about the edited command; `None` if it must not run."""
    digest: Digest | None = None
    """The value for `Allowed.judged`; `None` until the safety copy is determined."""
    obstacle: str = ""


LiveEvent = (
    TextDelta
    | ThinkingDelta
    | ToolOutputDelta
    | ToolProgress
    | HostedCallReported
    | CommandJudged
    | GitOutputDelta
    | CommitPrepared
    | CommitDrafted
    | PromptRejected
    | RetryWaitReported
    | ModelRequestReported
    | JobsReported
    | RulesReported
    | AgentReported
    | ContextMeasured
    | ContextInspected
)
KnownEvent = (
    SessionOpened
    | FolderAccepted
    | SessionRenamed
    | SessionForked
    | SessionArchived
    | SessionPinned
    | ModeSet
    | PlanEdited
    | PlanAccepted
    | Notice
    | Queued
    | Unqueued
    | PromptSubmitted
    | Steered
    | TurnStarted
    | MessageDone
    | UsageReported
    | TurnEnded
    | AgentSessionOpened
    | AgentOptionSet
    | Compacted
    | SummaryEdited
    | CompactionUndone
    | Pinned
    | Unpinned
    | GuidanceLoaded
    | CommandRun
    | ToolCallStarted
    | SubagentStarted
    | SubagentEnded
    | ToolCallFinished
    | ApprovalRequested
    | ApprovalResolved
    | HookRan
    | RuleRevoked
    | ChangesPrepared
    | ChangesRecorded
    | DiagnosticsFound
    | ChangesUndone
    | ChangesRedone
    | ChangesCommitted
    | CommitUndone
    | ReviewMarked
    | CommentAdded
    | CommentsRemoved
    | Rewound
)
JournalEvent = KnownEvent | UnknownEvent
Event = JournalEvent | LiveEvent


class EventLog(Protocol):
    """The only way to record and emit events."""

    async def record(self, event: KnownEvent) -> None:
        """Write `event`, send it to the front end, return. On a `StorageError` the caller must not act."""
        ...

    def emit(self, event: LiveEvent) -> None:
        """Send a live event to the front end at once; it is never written."""
        ...
