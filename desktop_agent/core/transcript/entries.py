"""The entries of a transcript: what a user reads, one after the other."""

from datetime import datetime
from typing import Literal

from msgspec import Struct, field

from desktop_agent.core.base.ids import CallId, ChangeId, HunkKey, PromptId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    Allowed,
    ApprovalRequest,
    Attachment,
    Decision,
    FileChange,
    FileOutcome,
    OutsideFile,
    RefChange,
    Summary,
    ToolCall,
    ToolResult,
    ToolState,
    Uncaptured,
)


class TextEntry(Struct, kw_only=True):
    """Markdown the model wrote, or its thinking. Grows while `is_open`."""

    turn: int
    chunks: list[str]
    is_open: bool
    kind: Literal["text", "thinking"]

    @property
    def text(self) -> str:
        """The whole text so far."""
        if len(self.chunks) > 1:
            self.chunks[:] = ["".join(self.chunks)]
        return self.chunks[0] if self.chunks else ""


class ToolEntry(Struct, kw_only=True):
    """A tool call: what was asked, what it printed, what it changed, what it came to."""

    turn: int
    call: ToolCall
    title: str
    is_read_only: bool
    started_at: datetime
    state: ToolState = "started"
    output_tail: str = ""
    output_chars: int = 0
    """All output so far, also what `output_tail` no longer holds."""
    result: ToolResult | None = None
    duration_s: float | None = None
    approval: ApprovalRequest | None = None
    """Set while the call waits for the user."""
    decision: Decision | None = None
    judged: ev.CommandJudged | None = None
    """What is known of the command as the user edits it, while it waits."""
    asked_command: str | None = None
    """The command as the model wrote it, if the user was asked about one."""
    permission: tuple[ApprovalRequest | None, Decision | None] = (None, None)
    """How the call was let through, while its server asks the user something."""
    waiting_since: datetime | None = None
    waited_s: float = 0.0
    """How long it waited for answers: that is not its own time."""
    changes: tuple[FileChange, ...] = ()
    uncaptured: tuple[Uncaptured, ...] = ()
    refs: tuple[RefChange, ...] = ()
    """Branches, tags and stash entries that it moved or dropped."""
    outside: tuple[OutsideFile, ...] = ()
    """Files outside the workspace, and git's own, that it destroyed."""
    is_recoverable: bool = False
    """Whether it destroyed something of which a safety copy was made."""
    is_recovered: bool = False
    """Whether all of that is back."""

    @property
    def is_waiting(self) -> bool:
        """Whether the user is asked about this call right now."""
        return self.approval is not None and self.decision is None

    @property
    def edited_command(self) -> str | None:
        """The command that the user made of the model's, if that one was allowed."""
        if self.approval is None or not isinstance(self.decision, Allowed):
            return None
        command = self.decision.edited_command or self.approval.command
        return command if command != self.asked_command else None

    def ask(self, request: ApprovalRequest, at: datetime) -> None:
        """Begin to wait for an answer."""
        if request.question is not None:
            self.permission = self.approval, self.decision
        self.approval, self.decision, self.judged = request, None, None
        self.waiting_since = at
        if self.asked_command is None:
            self.asked_command = request.command

    def resolve(self, decision: Decision, at: datetime) -> None:
        """Wait no more."""
        self.decision, self.judged = decision, None
        if self.approval is not None and self.approval.question is not None:
            self.approval, self.decision = self.permission
        if self.waiting_since is not None:
            self.waited_s += max(0.0, (at - self.waiting_since).total_seconds())
        self.waiting_since = None

    def record(self, event: ev.ChangesRecorded) -> None:
        """Take in what it changed, which may come in several events."""
        self.changes += event.changes
        self.uncaptured += event.uncaptured
        self.refs += event.refs
        self.outside += event.outside
        self.is_recoverable = self.is_recoverable or event.is_recoverable


class SpendingEntry(Struct, kw_only=True):
    """The user is asked whether to spend more than a limit, and then what they said."""

    turn: int
    request: ApprovalRequest
    decision: Decision | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether there is no answer yet."""
        return self.decision is None


class NoticeEntry(Struct, kw_only=True):
    """Something the user should know."""

    notice: ev.Notice
    is_waiting: bool = False
    """Whether the running session waits before it tries again, as the notice says, and the user can skip the wait."""
    wait_s: float = 0.0
    """How long it waits, from when it began to."""


class UndoEntry(Struct, kw_only=True):
    """An undo or redo, file by file."""

    purpose: Literal["undo", "redo"]
    outcomes: tuple[FileOutcome, ...]
    at: datetime
    reason: str = ""
    refs: tuple[RefChange, ...] = ()
    """Branches, tags and stash entries that a recovery put back."""
    outside: tuple[OutsideFile, ...] = ()
    """Files outside the workspace, and git's own, that it put back."""


class CompactionEntry(Struct, kw_only=True):
    """What stands above is summarised for the model."""

    event: ev.Compacted
    summary: Summary
    """As the user may have rewritten it."""
    is_undone: bool = False
    is_in_force: bool = True
    """Whether it is this summary that the model sees."""


class PageEntry(Struct, kw_only=True):
    """Stands for entries that are not loaded. `Transcript.pages` says where they are."""

    number: int
    """Which page, from 0."""
    entries: int
    """How many entries it stands for."""
    characters: int
    """How much text they show unfolded: for how high they are."""


Entry = (
    PageEntry
    | ev.PromptSubmitted
    | ev.Steered
    | TextEntry
    | ToolEntry
    | SpendingEntry
    | NoticeEntry
    | UndoEntry
    | ev.Rewound
    | CompactionEntry
    | ev.CommandRun
    | ev.SessionForked
    | ev.TurnEnded
)
"""Where there is no more to read than an event says, the entry is the event."""


class ChangeRecord(Struct):
    """A recorded change and whether it is undone at the moment."""

    change: FileChange
    turn: int
    call_id: CallId
    at: datetime
    is_undone: bool = False
    """Whether nothing of it is in force any more."""
    undone_hunks: frozenset[HunkKey] = frozenset()
    """What is undone of it while the rest stands."""
    tool: str = ""
    """The tool of the call."""
    seq: int = 0
    """The number of the event that recorded it."""


class Destroyed(Struct):
    """What a call destroyed: changes, and what stands outside of them."""

    changes: tuple[ChangeId, ...] = ()
    refs: tuple[RefChange, ...] = ()
    outside: tuple[OutsideFile, ...] = ()
    is_recoverable: bool = False
    """Whether a safety copy was made."""
    is_recovered: bool = False
    """Whether all of it is back."""


class JournalPage(Struct, frozen=True, kw_only=True):
    """A stretch of the journal whose entries are read together: the lines from byte `start` to `end`."""

    start: int
    end: int
    first_seq: int
    first_turn: int
    """The turn that runs where it begins, or ran last."""
    entries: int
    characters: int
    calls: dict[CallId, str] = field(default_factory=dict[CallId, str])
    """The tool calls that it shows, each with the name of its tool; without one, a question that is about no call."""
    compactions: tuple[str, ...] = ()
    late: tuple[int, ...] = ()
    """Where lines begin that stand later in the journal and concern entries of this page."""


class QueuedPrompt(Struct, frozen=True):
    """A prompt that waits for the running turn to end, or for its next request."""

    prompt_id: PromptId
    text: str
    attachments: tuple[Attachment, ...] = ()
    is_steering: bool = False
    """Whether the running turn takes it before its next request."""
