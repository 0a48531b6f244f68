"""What is known of a session besides its entries: its head. It stays small however long the conversation gets."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from desktop_agent.core.base.ids import CallId, ChangeId, HunkKey, SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    ApprovalPolicy,
    ApprovalRequest,
    ContextUse,
    FileImage,
    GuidanceFile,
    Job,
    LineComment,
    ModelRef,
    OutsideFile,
    Pin,
    RefChange,
    Rule,
    SandboxMode,
    SessionPurpose,
    TodoItem,
    Uncaptured,
    Usage,
)
from desktop_agent.core.transcript.entries import (
    ChangeRecord,
    CompactionEntry,
    Destroyed,
    QueuedPrompt,
    UndoEntry,
)
from desktop_agent.core.transcript.steps import UndoStep

Status = Literal["idle", "working", "waiting"]


@dataclass(slots=True)
class Head:
    """A session without its entries. Only the fold changes it."""

    session_id: SessionId = ""
    workspace: str = ""
    title: str = ""
    model: ModelRef | None = None
    approval: ApprovalPolicy = "on_write"
    sandbox: SandboxMode = "restricted"
    jobs: tuple[Job, ...] = ()
    """The background commands of the running session; a journal alone has none."""
    rules: tuple[Rule, ...] = ()
    """The rules in force, as the running session last reported them."""
    todos: tuple[TodoItem, ...] = ()
    """The agent's plan as it last wrote it."""
    opened_at: datetime = ev.UNSTAMPED
    updated_at: datetime = ev.UNSTAMPED
    last_seq: int = 0
    turn: int = 0
    """The number of the last turn; 0 before the first."""
    is_running: bool = False
    last_end: ev.TurnEndReason | None = None
    activity: str = ""
    """What happens right now beyond the entries: `writing edit_file (3.2 kB)`."""
    usage: Usage = field(default_factory=Usage)
    """Sum over all requests."""
    context_tokens: int = 0
    """How full the context was after the last request."""
    context: ContextUse | None = None
    """The same against the model's window, as the running session last reported it."""
    is_title_given: bool = False
    """Whether the user gave the title."""
    is_archived: bool = False
    is_pinned: bool = False
    """Whether the user wants the session at the top of the list."""
    forked_from: SessionId = ""
    purpose: SessionPurpose = "conversation"
    pins: dict[str, Pin] = field(default_factory=dict[str, Pin])
    """What stays in the model's sight, by id, oldest first."""
    guidance: tuple[GuidanceFile, ...] = ()
    """The AGENTS.md files that hold."""
    compactions: dict[str, int] = field(default_factory=dict[str, int])
    """The summaries neither taken back nor rewound, each with the last turn it covers. The model sees the last."""
    changes: dict[ChangeId, ChangeRecord] = field(default_factory=dict[ChangeId, ChangeRecord])
    """In the order they were made, with the user's and with undos and redos."""
    kept: dict[str, set[HunkKey]] = field(default_factory=dict[str, set[HunkKey]])
    """By path, the hunks that the user decided to keep."""
    comments: dict[str, LineComment] = field(default_factory=dict[str, LineComment])
    """The user's remarks that are not sent yet, by id, oldest first."""
    rewound: set[int] = field(default_factory=set[int])
    """The turns that the model does not see any more."""
    queued: list[QueuedPrompt] = field(default_factory=list[QueuedPrompt])
    """Prompts that wait for the running turn, oldest first."""
    prompts: dict[int, str] = field(default_factory=dict[int, str])
    """What the user asked, by turn. Of a long one on an earlier page only the beginning."""
    cut_prompts: set[int] = field(default_factory=set[int])
    """The turns of those."""
    undos: list[UndoEntry] = field(default_factory=list[UndoEntry])
    """All undos and redos, oldest first."""
    steps: list[UndoStep] = field(default_factory=list[UndoStep])
    """The undos that can be taken back, oldest first."""
    uncaptured: list[tuple[int, Uncaptured]] = field(default_factory=list[tuple[int, Uncaptured]])
    """What was changed and could not be recorded, each with its turn."""
    destroyed: dict[CallId, Destroyed] = field(default_factory=dict[CallId, Destroyed])
    """What calls destroyed that changes alone cannot tell, by the call."""
    put_back: set[tuple[CallId, RefChange | OutsideFile]] = field(
        default_factory=set[tuple[CallId, RefChange | OutsideFile]]
    )
    """What recoveries put back besides the changes, by the call that destroyed it."""
    waiting: dict[CallId, ApprovalRequest] = field(default_factory=dict[CallId, ApprovalRequest])
    """The questions without an answer, oldest first."""

    @property
    def status(self) -> Status:
        """`waiting` when a running turn needs the user."""
        if not self.is_running:
            return "idle"
        return "waiting" if self.waiting else "working"

    @property
    def pending_approvals(self) -> list[ApprovalRequest]:
        """What waits for the user, oldest first."""
        return list(self.waiting.values()) if self.is_running else []

    def is_in_force(self, entry: CompactionEntry) -> bool:
        """Whether the model sees this summary."""
        return entry.compaction_id == next(reversed(self.compactions), None)

    def active_changes(self, turn: int | None = None) -> list[ChangeRecord]:
        """The agent's changes that stand (are not undone), of one turn or of all."""
        return [record for record in self._agent_records(turn) if not record.is_undone]

    def undone_changes(self) -> list[ChangeRecord]:
        """The agent's changes that are undone at the moment, wholly or in part."""
        return [record for record in self._agent_records(None) if record.is_undone or record.undone_hunks]

    def _agent_records(self, turn: int | None) -> Iterator[ChangeRecord]:
        records = (record for record in self.changes.values() if record.change.is_by_agent)
        return (record for record in records if turn in (None, record.turn))

    def last_images(self) -> dict[str, FileImage | None]:
        """How the records left each file that they name."""
        images: dict[str, FileImage | None] = {}
        for record in self.changes.values():
            change = record.change
            if record.is_undone:  # what the undo wrote follows as a record of its own, except in old journals
                images.setdefault(change.path, change.before)
            else:
                images[change.path] = change.after
        return images
