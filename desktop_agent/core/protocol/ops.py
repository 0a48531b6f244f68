"""Ops: what a front end may ask of a session. Imperative names; the following events report the outcome."""

from collections.abc import Mapping
from typing import Literal, cast, get_args

from msgspec import ValidationError, convert

from desktop_agent.core.base.file_names import real_names
from desktop_agent.core.base.ids import CallId, Digest, HunkKey, PromptId
from desktop_agent.core.base.learned import learned
from desktop_agent.core.protocol.events import Tagged
from desktop_agent.core.protocol.model import (
    ApprovalPolicy,
    ChangeSelection,
    CommittedFile,
    Decision,
    FileImage,
    JsonObject,
    LineComment,
    ModelRef,
    Reverted,
    ReviewState,
    RewindScope,
    SandboxMode,
    Summary,
)


class SubmitPrompt(Tagged, frozen=True, kw_only=True):
    """Start a turn with this prompt, or queue it when a turn is running."""

    text: str
    include: tuple[str, ...] = ()
    """Paths of files to attach, relative to the workspace or absolute, also outside the workspace."""


class Unqueue(Tagged, frozen=True, kw_only=True):
    """Take a queued prompt back before it starts."""

    prompt_id: PromptId


class MoveQueued(Tagged, frozen=True, kw_only=True):
    """Move a queued prompt before another one, or to the end."""

    prompt_id: PromptId
    before: PromptId = ""


class SendQueued(Tagged, frozen=True, kw_only=True):
    """Start a turn with a queued prompt that was left waiting. Does nothing while a turn is running."""

    prompt_id: PromptId


class Steer(Tagged, frozen=True, kw_only=True):
    """Send this message to the running turn before its next request, never between a call and its result.

    If the turn ends first, the message becomes the next prompt; without a turn, it starts one.
    """

    text: str
    include: tuple[str, ...] = ()


class SteerQueued(Tagged, frozen=True, kw_only=True):
    """Send a queued prompt to the running turn, as `Steer` does. Does nothing when no turn runs."""

    prompt_id: PromptId


class AnswerApproval(Tagged, frozen=True, kw_only=True):
    """Answer the pending approval of `call_id`. Late and duplicate answers are ignored."""

    call_id: CallId
    decision: Decision


class JudgeCommand(Tagged, frozen=True, kw_only=True):
    """Report the judgement of `command`, the user's edit of the command that `call_id` asks about."""

    call_id: CallId
    command: str


class Interrupt(Tagged, frozen=True, kw_only=True):
    """Stop the running turn: the request in flight, its tools and every process they started. Or stop a commit."""

    spares_turn: bool = False
    """Whether to stop only a commit, or the writing of its message."""


class StopSubagent(Tagged, frozen=True, kw_only=True):
    """Stop the sub-agent that this call started. The turn continues with what it has found so far."""

    call_id: CallId


class TryNow(Tagged, frozen=True, kw_only=True):
    """Skip the running turn's wait before it asks the model again. Does nothing when no turn waits."""


class UndoChanges(Tagged, frozen=True, kw_only=True):
    """Undo the selected changes, in whatever order they were made. Refused while a turn is running."""

    selection: ChangeSelection
    reason: str = ""
    is_recovery: bool = False
    """Whether to restore also branches, tags and stash entries that the selected calls moved or dropped."""
    includes_others: bool = False
    """Whether to undo also changes that are not the agent's. The user must have been asked."""
    further: tuple[ChangeSelection, ...] = ()


class UndoDifferences(Tagged, frozen=True, kw_only=True):
    """Undo the differences between files and a commit, of every author. Refused while a turn is running.

    A file that changed since the user saw it is left alone, and so are others' changes, unless `includes_others`.
    """

    files: tuple[CommittedFile, ...]
    hunks: tuple[HunkKey, ...] = ()
    """Undo only these hunks of the difference of one file."""
    includes_others: bool = False
    reason: str = ""


class RedoChanges(Tagged, frozen=True, kw_only=True):
    """Apply the selected undone changes again. Refused while a turn is running."""

    selection: ChangeSelection
    reason: str = ""


class RedoSteps(Tagged, frozen=True, kw_only=True):
    """Take undos back exactly, byte for byte, where nothing changed since. Refused while a turn is running."""

    steps: tuple[int, ...] = ()
    is_all: bool = False
    reason: str = ""


class PrepareCommit(Tagged, frozen=True, kw_only=True):
    """Ask what a commit of these changes would take. `CommitPrepared` answers; nothing is changed."""

    selections: tuple[ChangeSelection, ...]


class DraftCommit(Tagged, frozen=True, kw_only=True):
    """Let the session's model write a message for a commit of these changes. `CommitDrafted` answers."""

    selections: tuple[ChangeSelection, ...]


class CommitChanges(Tagged, frozen=True, kw_only=True):
    """Commit the agent's selected standing changes with git, and nothing else. Refused while a turn is running."""

    selections: tuple[ChangeSelection, ...]
    message: str


class UndoCommit(Tagged, frozen=True, kw_only=True):
    """Remove a commit of this session from the tip of its branch, unless it was pushed. No file is touched."""

    commit: str


class WriteFile(Tagged, frozen=True, kw_only=True):
    """Write a file for the user: an edit in the diff, or the resolution of a clash.

    Nothing is written unless the file on disk still has the digest `expected` (`None`: there is no file).
    """

    path: str
    expected: Digest | None
    content: bytes | None
    """The whole new content; `None` removes the file."""
    like: FileImage | None = None
    """The kind and mode that the file gets. Without it, both stay unchanged."""
    reverts: tuple[Reverted, ...] = ()
    purpose: Literal["edit", "undo", "redo"] = "edit"


class MoveFile(Tagged, frozen=True, kw_only=True):
    """Move a file or folder within the workspace for the user. Refused while a turn is running.

    Nothing is done unless the file still has the digest `expected`, and nothing is at `to`. A folder has the digest of
    empty content; it is not moved if the move could not be undone exactly.
    """

    path: str
    to: str
    expected: Digest
    is_folder: bool = False
    """If a file is found instead of a folder, or the reverse, nothing is done."""


class MarkReviewed(Tagged, frozen=True, kw_only=True):
    """Keep hunks of a file, or make them undecided again."""

    path: str
    hunks: tuple[HunkKey, ...]
    state: ReviewState


class AddComment(Tagged, frozen=True, kw_only=True):
    """Write a remark on lines of a diff; one with the same id is replaced."""

    comment: LineComment


class RemoveComment(Tagged, frozen=True, kw_only=True):
    """Take a remark back."""

    comment_id: str


class SendComments(Tagged, frozen=True, kw_only=True):
    """Send all remarks to the agent as one prompt, with `text` in front."""

    text: str = ""


class RewindTo(Tagged, frozen=True, kw_only=True):
    """Go back to before `turn`: with the conversation, the files, or both. Refused while a turn is running."""

    turn: int
    scope: RewindScope


class SetMode(Tagged, frozen=True, kw_only=True):
    """Change the model, the approval policy, the sandbox or planning from the next call on. `None`: unchanged."""

    model: ModelRef | None = None
    approval: ApprovalPolicy | None = None
    sandbox: SandboxMode | None = None
    is_planning: bool | None = None


class SetAgentOption(Tagged, frozen=True, kw_only=True):
    """Set an option of the session's agent, if an agent of another program takes the turns."""

    option_id: str
    value: str | bool


class ReleaseAgents(Tagged, frozen=True, kw_only=True):
    """End the agents of other programs, so that these can continue their sessions. The next prompt starts one again.

    While a turn runs, nothing is done.
    """


class EditPlan(Tagged, frozen=True, kw_only=True):
    """Replace the plan with the user's text."""

    text: str


class CarryOutPlan(Tagged, frozen=True, kw_only=True):
    """End planning, pin the accepted plan, and let the agent carry it out. Without `text`, it is the present plan."""

    text: str = ""
    approval: ApprovalPolicy | None = None
    """The approval policy from then on. `None`: unchanged."""


class RenameSession(Tagged, frozen=True, kw_only=True):
    """Give the session a title."""

    title: str


class ArchiveSession(Tagged, frozen=True, kw_only=True):
    """Archive the session, or restore it."""

    is_archived: bool = True


class PinSession(Tagged, frozen=True, kw_only=True):
    """Pin the session to the top of the list, or unpin it."""

    is_pinned: bool = True


class Compact(Tagged, frozen=True, kw_only=True):
    """Summarise the conversation except its last turns, by asking the model. Refused while a turn is running."""

    focus: str = ""


class EditSummary(Tagged, frozen=True, kw_only=True):
    """Replace the summary of the last compaction."""

    summary: Summary


class UndoCompaction(Tagged, frozen=True, kw_only=True):
    """Take the last compaction back."""


class AddPin(Tagged, frozen=True, kw_only=True):
    """Keep `text` in the model's context, for `ttl_s` seconds or until it is removed."""

    text: str
    ttl_s: float | None = None


class RemovePin(Tagged, frozen=True, kw_only=True):
    """Remove a pin."""

    pin_id: str


class SwitchGuidance(Tagged, frozen=True, kw_only=True):
    """Switch a file of instructions on or off, from the next request on, in all sessions: the setting changes."""

    path: str
    """As in a `GuidanceFile`."""
    is_on: bool


class InspectContext(Tagged, frozen=True, kw_only=True):
    """Report what the model would see now, part by part, as `ContextInspected`."""


class RunCommand(Tagged, frozen=True, kw_only=True):
    """Run a slash command, with the answer in `CommandRun`. A command of the user's own becomes a prompt."""

    text: str


class LookAtChanges(Tagged, frozen=True, kw_only=True):
    """Record what background commands have changed so far, because the user looks at the review."""


class StopJob(Tagged, frozen=True, kw_only=True):
    """Stop a background command and everything it started."""

    job_id: str


class RevokeRule(Tagged, frozen=True, kw_only=True):
    """Revoke an earlier answer's decision about future calls."""

    rule_id: str


class Shutdown(Tagged, frozen=True, kw_only=True):
    """Interrupt running work, write pending records, and close. The session accepts no further ops."""

    when_idle: bool = False
    """Whether to close only when no turn runs and no prompt waits. Until then ops are accepted."""
    keeps_questions: bool = False
    """Whether a turn that waits only for the user stays open, so that the next opening asks again."""


Op = (
    SubmitPrompt
    | Unqueue
    | MoveQueued
    | SendQueued
    | Steer
    | SteerQueued
    | AnswerApproval
    | JudgeCommand
    | Interrupt
    | StopSubagent
    | TryNow
    | UndoChanges
    | UndoDifferences
    | RedoChanges
    | RedoSteps
    | PrepareCommit
    | DraftCommit
    | CommitChanges
    | UndoCommit
    | WriteFile
    | MoveFile
    | MarkReviewed
    | AddComment
    | RemoveComment
    | SendComments
    | RewindTo
    | SetMode
    | SetAgentOption
    | ReleaseAgents
    | EditPlan
    | CarryOutPlan
    | RenameSession
    | ArchiveSession
    | PinSession
    | Compact
    | EditSummary
    | UndoCompaction
    | AddPin
    | RemovePin
    | SwitchGuidance
    | InspectContext
    | RunCommand
    | LookAtChanges
    | StopJob
    | RevokeRule
    | Shutdown
)


class MalformedOpError(ValueError):
    """The input is not a JSON object with a known op type, or its fields do not match the type."""


def decode_op(fields: object) -> Op:
    if not isinstance(fields, dict):
        raise MalformedOpError("an op is a JSON object")
    given: JsonObject = real_names(cast("JsonObject", fields))
    kind = given.get("type")
    known = _OPS.get(kind) if isinstance(kind, str) else None
    if known is None:
        raise MalformedOpError(f"`type` must be one of {', '.join(_OPS)}")
    unknown = next((key for key in given if key != "type" and key not in known.__struct_fields__), None)
    if unknown is not None:
        raise MalformedOpError(f"{kind} has no field {unknown!r}")
    try:
        op = convert(given, learned(known))
    except ValidationError as error:
        raise MalformedOpError(f"{kind}: {error}") from error
    if isinstance(op, SubmitPrompt | Steer) and not op.text.strip():
        raise MalformedOpError(f"{kind}: the message is empty - at `$.text`")
    return op


_OPS: Mapping[str, type[Op]] = {kind.__struct_config__.tag: kind for kind in get_args(Op)}
