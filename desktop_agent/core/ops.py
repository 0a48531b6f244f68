"""Ops: what a front may ask of a session. Imperative names; everything a person can do goes in here.

An op is a request, not a promise: what came of it is told by the events that follow.
"""

from dataclasses import dataclass
from typing import Literal

from desktop_agent.core.ids import CallId, PromptId
from desktop_agent.core.model import ApprovalPolicy, ChangeSelection, Decision, ModelRef, SandboxMode


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitPrompt:
    """Start a turn with this prompt, or queue it when one is running."""

    text: str
    type: Literal["submit_prompt"] = "submit_prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unqueue:
    """Take a queued prompt back before it starts."""

    prompt_id: PromptId
    type: Literal["unqueue"] = "unqueue"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerApproval:
    """Answer the pending approval of `call_id`. Late and double answers are ignored."""

    call_id: CallId
    decision: Decision
    type: Literal["answer_approval"] = "answer_approval"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupt:
    """Stop the running turn: the request in flight, its tools and every process they started."""

    type: Literal["interrupt"] = "interrupt"


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoChanges:
    """Put the selected changes' files back to what they were before. Refused while a turn is running."""

    selection: ChangeSelection
    type: Literal["undo_changes"] = "undo_changes"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedoChanges:
    """Apply the selected undone changes again. Refused while a turn is running."""

    selection: ChangeSelection
    type: Literal["redo_changes"] = "redo_changes"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMode:
    """Change the model, the approval policy or the sandbox from the next call on. `None` leaves one as it is."""

    model: ModelRef | None = None
    approval: ApprovalPolicy | None = None
    sandbox: SandboxMode | None = None
    type: Literal["set_mode"] = "set_mode"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameSession:
    """Give the session a title."""

    title: str
    type: Literal["rename_session"] = "rename_session"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopJob:
    """End a background command with everything it started."""

    job_id: str
    type: Literal["stop_job"] = "stop_job"


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeRule:
    """Take back what an earlier answer allowed or forbade for calls to come."""

    rule_id: str
    type: Literal["revoke_rule"] = "revoke_rule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shutdown:
    """Interrupt what runs, write what is pending, and close. The session accepts nothing after this."""

    type: Literal["shutdown"] = "shutdown"


Op = (
    SubmitPrompt
    | Unqueue
    | AnswerApproval
    | Interrupt
    | UndoChanges
    | RedoChanges
    | SetMode
    | RenameSession
    | StopJob
    | RevokeRule
    | Shutdown
)
