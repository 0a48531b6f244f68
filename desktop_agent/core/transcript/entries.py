"""The entries of a transcript: what a person reads, one after the other."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from desktop_agent.core import events as ev
from desktop_agent.core.ids import CallId, HunkKey, PromptId, SessionId
from desktop_agent.core.model import (
    ApprovalRequest,
    Decision,
    FileChange,
    FileOutcome,
    OutsideFile,
    RefChange,
    RewindScope,
    Summary,
    ToolCall,
    ToolResult,
    ToolState,
    Uncaptured,
)


@dataclass(slots=True, kw_only=True)
class PromptEntry:
    """What the person asked."""

    prompt_id: PromptId
    text: str
    turn: int
    at: datetime
    kind: Literal["prompt"] = "prompt"


@dataclass(slots=True, kw_only=True)
class TextEntry:
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


@dataclass(slots=True, kw_only=True)
class ToolEntry:
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
    """Set while the call waits for the person."""
    decision: Decision | None = None
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
    kind: Literal["tool"] = "tool"

    @property
    def is_waiting(self) -> bool:
        """Whether the person is asked about this call right now."""
        return self.approval is not None and self.decision is None


@dataclass(slots=True, kw_only=True)
class NoticeEntry:
    """Something the person should know."""

    notice: ev.Notice
    kind: Literal["notice"] = "notice"


@dataclass(slots=True, kw_only=True)
class UndoEntry:
    """An undo or redo, file by file."""

    purpose: Literal["undo", "redo"]
    outcomes: tuple[FileOutcome, ...]
    at: datetime
    reason: str = ""
    refs: tuple[RefChange, ...] = ()
    """Branches, tags and stash entries that a recovery put back."""
    outside: tuple[OutsideFile, ...] = ()
    """Files outside the workspace, and git's own, that it put back."""
    kind: Literal["undo"] = "undo"


@dataclass(slots=True, kw_only=True)
class RewindEntry:
    """The person went back to before `turn`. What stands between is out of the model's sight."""

    turn: int
    scope: RewindScope
    at: datetime
    kind: Literal["rewind"] = "rewind"


@dataclass(slots=True, kw_only=True)
class TurnEndEntry:
    """How a turn ended, when that is worth a line: anything but `completed`."""

    turn: int
    reason: ev.TurnEndReason
    requests: int
    duration_s: float
    kind: Literal["turn_end"] = "turn_end"


@dataclass(slots=True, kw_only=True)
class CompactionEntry:
    """What stands above is summarised for the model."""

    compaction_id: str
    through_turn: int
    summary: Summary
    """As the person may have rewritten it."""
    tokens_before: int
    tokens_after: int
    at: datetime
    is_automatic: bool = False
    is_undone: bool = False
    is_in_force: bool = True
    """Whether it is this summary that the model sees."""
    shortened: int = 0
    """Of how many calls the model sees only the beginning and end of the result."""
    kind: Literal["compaction"] = "compaction"


@dataclass(slots=True, kw_only=True)
class CommandEntry:
    """A slash command and what it said."""

    text: str
    output: str
    is_error: bool
    at: datetime
    kind: Literal["command"] = "command"


@dataclass(slots=True, kw_only=True)
class ForkEntry:
    """The session began as a copy of another, which ends here."""

    source: SessionId
    title: str
    before_turn: int | None
    at: datetime
    kind: Literal["fork"] = "fork"


Entry = (
    PromptEntry
    | TextEntry
    | ToolEntry
    | NoticeEntry
    | UndoEntry
    | RewindEntry
    | CompactionEntry
    | CommandEntry
    | ForkEntry
    | TurnEndEntry
)


@dataclass(slots=True)
class ChangeRecord:
    """A recorded change and whether it is undone at the moment."""

    change: FileChange
    turn: int
    call_id: CallId
    at: datetime
    is_undone: bool = False
    """Whether nothing of it is in force any more."""
    undone_hunks: frozenset[HunkKey] = frozenset()
    """What is undone of it while the rest stands."""


@dataclass(frozen=True, slots=True)
class QueuedPrompt:
    """A prompt that waits for the running turn to end."""

    prompt_id: PromptId
    text: str
