"""Events: what happened in a session. Past-tense names; the journal of the durable ones *is* the session.

Durable events carry a sequence number (from 1, without gaps) and a time, both set by the session when it writes them.
Those about files are in `change_events`, the live ones in `live_events`; all of them are found here.
"""

from typing import Literal

from msgspec import field

from desktop_agent.core.base.ids import CallId, PromptId, SessionId
from desktop_agent.core.protocol.change_events import REFUSALS as REFUSALS
from desktop_agent.core.protocol.change_events import ChangePurpose as ChangePurpose
from desktop_agent.core.protocol.change_events import (
    ChangesPrepared,
    ChangesRecorded,
    ChangesRedone,
    ChangesUndone,
    CommentAdded,
    CommentsRemoved,
    ReviewMarked,
    Rewound,
)
from desktop_agent.core.protocol.durable import UNSTAMPED as UNSTAMPED
from desktop_agent.core.protocol.durable import DurableEvent
from desktop_agent.core.protocol.live_events import (
    CommandJudged,
    ContextInspected,
    ContextMeasured,
    HostedCallReported,
    JobsReported,
    ModelRequestReported,
    PromptRejected,
    RetryWaitReported,
    RulesReported,
    TextDelta,
    ThinkingDelta,
    ToolOutputDelta,
    ToolProgress,
)
from desktop_agent.core.protocol.model import (
    ApprovalPolicy,
    ApprovalRequest,
    AssistantBlock,
    Attachment,
    CacheMiss,
    Capability,
    Decision,
    Finite,
    FolderIdentity,
    GuidanceFile,
    JsonObject,
    ModelRef,
    Pin,
    SandboxMode,
    SessionPurpose,
    StopReason,
    Summary,
    ToolCall,
    ToolResult,
    ToolSource,
    Usage,
)

FORMAT_VERSION = 1
"""Version of a journal line. A reader keeps lines of a later version untouched and skips them."""

TurnEndReason = Literal[
    "completed",
    "max_turns",
    "tool_error",
    "fatal_tool_error",
    "approval_required",
    "provider_error",
    "storage_error",
    "interrupted",
    "limit",
    "refused",
    "workspace_error",
    "internal_error",
]
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
    """The identity of the folder at `workspace`, so that no other folder is later taken for it."""
    type: Literal["session_opened"] = "session_opened"


class FolderAccepted(DurableEvent, frozen=True, kw_only=True):
    """The session goes on in this folder at its path. Before, it was another one, or its identity was not known."""

    folder: FolderIdentity
    type: Literal["folder_accepted"] = "folder_accepted"


class SessionRenamed(DurableEvent, frozen=True, kw_only=True):
    """The session got a title."""

    title: str
    is_generated: bool = False
    """Whether the model made it up; a title that the user gave is never replaced by one of those."""
    type: Literal["session_renamed"] = "session_renamed"


class SessionForked(DurableEvent, frozen=True, kw_only=True):
    """Everything before this line but the first is a copy of another session's, which happened there."""

    source: SessionId
    title: str
    """Of the source, then."""
    before_turn: int | None = None
    """The first turn that was left out; None when everything was copied."""
    type: Literal["session_forked"] = "session_forked"


class SessionArchived(DurableEvent, frozen=True, kw_only=True):
    """The user put the session away, or took it back. It is listed apart; nothing of it is removed."""

    is_archived: bool
    type: Literal["session_archived"] = "session_archived"


class SessionPinned(DurableEvent, frozen=True, kw_only=True):
    """The user wants the session at the top of the list, or no longer."""

    is_pinned: bool
    type: Literal["session_pinned"] = "session_pinned"


class ModeSet(DurableEvent, frozen=True, kw_only=True):
    """The model, the approval policy or the sandbox changed; all are given as they are from now on."""

    model: ModelRef
    approval: ApprovalPolicy
    sandbox: SandboxMode = "restricted"
    type: Literal["mode_set"] = "mode_set"


class Notice(DurableEvent, frozen=True, kw_only=True):
    """Something the user should know: what happened, what to do, details on demand.

    `code` is stable and for programs (`retrying`, `authentication`, `torn_journal` …).
    """

    level: NoticeLevel
    code: str
    title: str
    hint: str = ""
    detail: str = ""
    turn: int | None = None
    type: Literal["notice"] = "notice"


# --- prompts and turns --------------------------------------------------------------------------------------------


class Queued(DurableEvent, frozen=True, kw_only=True):
    """A prompt waits for the running turn to end; one that waited before changes its place, or whether it steers."""

    prompt_id: PromptId
    text: str
    attachments: tuple[Attachment, ...] = ()
    """What it mentions, as that was when the prompt was sent."""
    is_steering: bool = False
    """Whether it waits only for the next request of the turn, and for its end if there is none."""
    before: PromptId = ""
    """The waiting prompt that it comes before; without one, it comes after all of them."""
    type: Literal["queued"] = "queued"


class Unqueued(DurableEvent, frozen=True, kw_only=True):
    """A queued prompt was taken back."""

    prompt_id: PromptId
    type: Literal["unqueued"] = "unqueued"


class PromptSubmitted(DurableEvent, frozen=True, kw_only=True):
    """A prompt entered the conversation as the start of `turn`."""

    turn: int
    prompt_id: PromptId
    text: str
    attachments: tuple[Attachment, ...] = ()
    """What it mentions, as that was when the prompt was sent."""
    type: Literal["prompt_submitted"] = "prompt_submitted"


class Steered(DurableEvent, frozen=True, kw_only=True):
    """A message of the user entered the conversation in the middle of `turn`: the next request has it."""

    turn: int
    prompt_id: PromptId
    text: str
    attachments: tuple[Attachment, ...] = ()
    """What it mentions, as that was when it was sent."""
    type: Literal["steered"] = "steered"


class TurnStarted(DurableEvent, frozen=True, kw_only=True):
    """The agent works on `turn`."""

    turn: int
    model: ModelRef
    type: Literal["turn_started"] = "turn_started"


class MessageDone(DurableEvent, frozen=True, kw_only=True):
    """The model finished one message: text, thinking and tool calls in their order."""

    turn: int
    message_id: str
    model: ModelRef
    content: tuple[AssistantBlock, ...]
    stop_reason: StopReason
    type: Literal["message_done"] = "message_done"


class UsageReported(DurableEvent, frozen=True, kw_only=True):
    """What one request cost."""

    turn: int
    usage: Usage
    model: ModelRef | None = None
    """Who answered it; None in a journal that is older than prices."""
    is_aside: bool = False
    """Whether the request was not the conversation: it says nothing about how full the context is."""
    cache_miss: CacheMiss | None = None
    """Why the provider's cache was not used, if it should have been."""
    type: Literal["usage_reported"] = "usage_reported"


class TurnEnded(DurableEvent, frozen=True, kw_only=True):
    """The turn is over; everything in it has been written."""

    turn: int
    reason: TurnEndReason
    requests: int
    duration_s: Finite
    """How long it worked, or a lower bound if it `is_cut_off`. 0: not known."""
    is_cut_off: bool = False
    """Whether the application ended in the middle of it, for instance was killed. Then the next opening recorded
    this."""
    type: Literal["turn_ended"] = "turn_ended"


# --- what the model sees ------------------------------------------------------------------------------------------


class Compacted(DurableEvent, frozen=True, kw_only=True):
    """The model sees `summary` from now on instead of everything up to and with `through_turn`.

    Nothing is removed from the journal. A second compaction summarises the first one's summary, too.
    """

    compaction_id: str
    through_turn: int
    summary: Summary
    focus: str = ""
    """What the user asked to keep above all."""
    is_automatic: bool = False
    tokens_before: int = 0
    tokens_after: int = 0
    """Both of the whole request, estimated."""
    shortened: tuple[CallId, ...] = ()
    """Calls in what is kept of whose results the model sees only the beginning and the end from now on."""
    type: Literal["compacted"] = "compacted"


class SummaryEdited(DurableEvent, frozen=True, kw_only=True):
    """The user rewrote the summary of a compaction; the model sees theirs."""

    compaction_id: str
    summary: Summary
    type: Literal["summary_edited"] = "summary_edited"


class CompactionUndone(DurableEvent, frozen=True, kw_only=True):
    """The last compaction was taken back: the model sees again what it had summarised."""

    compaction_id: str
    type: Literal["compaction_undone"] = "compaction_undone"


class Pinned(DurableEvent, frozen=True, kw_only=True):
    """A text was pinned; one with the same id is replaced."""

    pin: Pin
    type: Literal["pinned"] = "pinned"


class Unpinned(DurableEvent, frozen=True, kw_only=True):
    """A pin was removed, or its time was over."""

    pin_id: str
    is_expired: bool = False
    type: Literal["unpinned"] = "unpinned"


class GuidanceLoaded(DurableEvent, frozen=True, kw_only=True):
    """The AGENTS.md files that hold from now on, all of them; recorded whenever one of them changed."""

    files: tuple[GuidanceFile, ...]
    type: Literal["guidance_loaded"] = "guidance_loaded"


class CommandRun(DurableEvent, frozen=True, kw_only=True):
    """A slash command was carried out, without asking the model. The model does not see it."""

    text: str
    """As it was written: `/pin add --ttl=60 keep it short`."""
    output: str
    """What it says, as markdown."""
    is_error: bool = False
    opens: SessionId = ""
    """The session that a front end should show now, for a command that made one."""
    type: Literal["command_run"] = "command_run"


# --- tool calls ---------------------------------------------------------------------------------------------------


class ToolCallStarted(DurableEvent, frozen=True, kw_only=True):
    """A tool call was taken up: it is validated and, if it must, waits for an approval before it acts."""

    turn: int
    call: ToolCall
    title: str
    """One line for people: `src/app.py`, `pytest -q`."""
    source: ToolSource
    capabilities: tuple[Capability, ...]
    is_read_only: bool
    type: Literal["tool_call_started"] = "tool_call_started"


class ToolCallFinished(DurableEvent, frozen=True, kw_only=True):
    """A tool call came to its one result. Every `tool_use` of a message gets exactly one of these."""

    turn: int
    call_id: CallId
    state: Literal["completed", "failed"]
    result: ToolResult
    duration_s: Finite
    """Without the time it waited for the user."""
    type: Literal["tool_call_finished"] = "tool_call_finished"


class ApprovalRequested(DurableEvent, frozen=True, kw_only=True):
    """A call waits for the user."""

    turn: int
    request: ApprovalRequest
    type: Literal["approval_requested"] = "approval_requested"


class ApprovalResolved(DurableEvent, frozen=True, kw_only=True):
    """The wait is over. Always follows an `approval_requested`, whatever happened."""

    turn: int
    call_id: CallId
    decision: Decision
    type: Literal["approval_resolved"] = "approval_resolved"


class RuleRevoked(DurableEvent, frozen=True, kw_only=True):
    """The user took back a rule that they had made of an answer."""

    rule_id: str
    type: Literal["rule_revoked"] = "rule_revoked"


# --- what this program does not know ------------------------------------------------------------------------------


class UnknownEvent(DurableEvent, frozen=True, kw_only=True):
    """A line of a kind or version that this program does not know. Kept whole, and skipped by every fold."""

    payload: JsonObject = field(default_factory=dict[str, object])
    type: str = "unknown"


LiveEvent = (
    TextDelta
    | ThinkingDelta
    | ToolOutputDelta
    | ToolProgress
    | HostedCallReported
    | CommandJudged
    | PromptRejected
    | RetryWaitReported
    | ModelRequestReported
    | JobsReported
    | RulesReported
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
    | Notice
    | Queued
    | Unqueued
    | PromptSubmitted
    | Steered
    | TurnStarted
    | MessageDone
    | UsageReported
    | TurnEnded
    | Compacted
    | SummaryEdited
    | CompactionUndone
    | Pinned
    | Unpinned
    | GuidanceLoaded
    | CommandRun
    | ToolCallStarted
    | ToolCallFinished
    | ApprovalRequested
    | ApprovalResolved
    | RuleRevoked
    | ChangesPrepared
    | ChangesRecorded
    | ChangesUndone
    | ChangesRedone
    | ReviewMarked
    | CommentAdded
    | CommentsRemoved
    | Rewound
)
JournalEvent = KnownEvent | UnknownEvent
Event = JournalEvent | LiveEvent
