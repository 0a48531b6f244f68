"""What requests and answers hold around the vocabulary of the protocol, which is used as it is."""

from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.errors import ToolErrorType
from desktop_agent.core.base.ids import CallId, ChangeId, SessionId
from desktop_agent.core.changes.net import NetState
from desktop_agent.core.protocol.model import (
    ApprovalPolicy,
    ApprovalRequest,
    Author,
    ChangeSelection,
    FileChange,
    FileOutcome,
    Job,
    JsonObject,
    SandboxMode,
    SessionSummary,
)

# -- what is asked --


class NewSession(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A session to start; what is left out is as the settings say."""

    workspace: str | None = None
    """The folder; without it, the one that the server was started in."""
    provider: str | None = None
    model: str | None = None
    approval: ApprovalPolicy | None = None
    sandbox: SandboxMode | None = None


class Prompt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A prompt; it waits its turn while one is running."""

    text: str
    """Not empty."""
    include: tuple[str, ...] = ()
    """Paths of files that come along, relative to the workspace or absolute."""


class Archiving(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a session is put away, or taken back."""

    is_archived: bool = True


class Reversal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to redo; without a selection, the last undo."""

    selection: ChangeSelection | None = None
    reason: str = ""
    """A word to the model, which learns of it with the next prompt."""


class Undo(Reversal, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to undo; without a selection, everything that the agent changed."""

    includes_others: bool = False
    """Whether what is not, or may not be, the agent's is undone, too. Otherwise it is left alone and reported."""


class Execution(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One call of a tool, without a model."""

    arguments: JsonObject
    workspace: str | None = None
    approval: ApprovalPolicy | None = None
    sandbox: SandboxMode | None = None


# -- what is answered --


class SessionList(Struct, frozen=True, kw_only=True):
    """Sessions, the last used first."""

    sessions: tuple[SessionSummary, ...]


class SessionView(Struct, frozen=True, kw_only=True):
    """A session now."""

    id: SessionId
    summary: SessionSummary
    is_open: bool
    """Whether this server has it open. Ops open it."""
    last_seq: int
    """The number of its last event."""
    is_running: bool
    """Whether a turn runs."""
    approvals: tuple[ApprovalRequest, ...] = ()
    """What waits for the user, the oldest first."""


class Accepted(Struct, frozen=True, kw_only=True):
    """An op was handed to its session. What comes of it are events: those after `after`, among others."""

    session_id: SessionId
    after: int


class PendingApproval(Struct, frozen=True, kw_only=True):
    """A question that waits in a session."""

    session_id: SessionId
    session_title: str
    request: ApprovalRequest


class PendingApprovals(Struct, frozen=True, kw_only=True):
    """Questions that wait, the oldest of each session first."""

    approvals: tuple[PendingApproval, ...]


class AcceptedAnswer(Struct, frozen=True, kw_only=True):
    """An answer was handed to its session; `approval_resolved` says what came of it."""

    session_id: SessionId
    call_id: CallId
    after: int


class ChangedFile(Struct, frozen=True, kw_only=True):
    """What all changes of one file come to, and what to name to undo them."""

    change: FileChange
    change_ids: tuple[ChangeId, ...]
    authors: tuple[Author, ...]
    state: NetState


class ChangeList(Struct, frozen=True, kw_only=True):
    """The files that a session changed."""

    changes: tuple[ChangedFile, ...]


class Outcomes(Struct, frozen=True, kw_only=True):
    """What an undo or redo came to, file by file."""

    outcomes: tuple[FileOutcome, ...]


class JobList(Struct, frozen=True, kw_only=True):
    """The background commands of an open session, oldest first. They end with it."""

    jobs: tuple[Job, ...]


class JobOutput(Struct, frozen=True, kw_only=True):
    """The end of what a background command printed."""

    job_id: str
    output: str


class ToolList(Struct, frozen=True, kw_only=True):
    """The tools that can be called without a model, as `tools list --json` has them."""

    tools: tuple[JsonObject, ...]


class CallAnswer(Struct, frozen=True, kw_only=True):
    """What a call came to."""

    tool: str
    status: Literal["completed", "failed"]
    content: str
    is_error: bool
    error_type: ToolErrorType | None
    metadata: JsonObject
    changes: tuple[FileChange, ...]
    session_id: SessionId
    """Where it is on record, and can be undone."""
