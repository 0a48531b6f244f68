"""Ops: what a front end may ask of a session. Imperative names; everything a user can do goes in here.

An op is a request, not a promise: the events that follow report its outcome.
"""

from collections.abc import Mapping
from typing import Literal, cast, get_args

from msgspec import Struct, ValidationError, convert

from desktop_agent.core.base.ids import CallId, Digest, HunkKey, PromptId
from desktop_agent.core.base.learned import learned
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


class SubmitPrompt(Struct, frozen=True, kw_only=True):
    """Start a turn with this prompt, or queue it when one is running."""

    text: str
    include: tuple[str, ...] = ()
    """Paths of files to attach, relative to the workspace or absolute; they can be outside of it."""
    type: Literal["submit_prompt"] = "submit_prompt"


class Unqueue(Struct, frozen=True, kw_only=True):
    """Take a queued prompt back before it starts."""

    prompt_id: PromptId
    type: Literal["unqueue"] = "unqueue"


class MoveQueued(Struct, frozen=True, kw_only=True):
    """Move a queued prompt before another one, or to the end."""

    prompt_id: PromptId
    before: PromptId = ""
    type: Literal["move_queued"] = "move_queued"


class SendQueued(Struct, frozen=True, kw_only=True):
    """Start a turn with a queued prompt that was left waiting. Does nothing while a turn is running."""

    prompt_id: PromptId
    type: Literal["send_queued"] = "send_queued"


class Steer(Struct, frozen=True, kw_only=True):
    """Send this message to the running turn before its next request, never between a call and its result.

    Until then it waits like a queued prompt. If the turn ends first, it becomes the next prompt; without a turn, it
    starts one.
    """

    text: str
    include: tuple[str, ...] = ()
    """Paths of files to attach, as with `SubmitPrompt`."""
    type: Literal["steer"] = "steer"


class SteerQueued(Struct, frozen=True, kw_only=True):
    """Send a queued prompt to the running turn, as `Steer` does with a new message. Does nothing when no turn runs."""

    prompt_id: PromptId
    type: Literal["steer_queued"] = "steer_queued"


class AnswerApproval(Struct, frozen=True, kw_only=True):
    """Answer the pending approval of `call_id`. Late and duplicate answers are ignored."""

    call_id: CallId
    decision: Decision
    type: Literal["answer_approval"] = "answer_approval"


class JudgeCommand(Struct, frozen=True, kw_only=True):
    """Report what is known about `command`, the user's edit of the command that `call_id` asks about."""

    call_id: CallId
    command: str
    type: Literal["judge_command"] = "judge_command"


class Interrupt(Struct, frozen=True, kw_only=True):
    """Stop the running turn: the request in flight, its tools and every process they started."""

    type: Literal["interrupt"] = "interrupt"


class TryNow(Struct, frozen=True, kw_only=True):
    """Skip the running turn's wait before it asks the model again. Does nothing when no turn waits."""

    type: Literal["try_now"] = "try_now"


class UndoChanges(Struct, frozen=True, kw_only=True):
    """Undo the selected changes, whatever the order they were made in. Refused while a turn is running."""

    selection: ChangeSelection
    reason: str = ""
    """A message to the model, which learns of the undo with the next prompt."""
    is_recovery: bool = False
    """Whether branches, tags and stash entries that the selected calls moved or dropped are put back, too."""
    includes_others: bool = False
    """Whether changes that are not the agent's are undone, too, because the user was asked. Otherwise they are left
    alone.
    """
    further: tuple[ChangeSelection, ...] = ()
    """More selections, for other files, to undo in the same step."""
    type: Literal["undo_changes"] = "undo_changes"


class UndoDifferences(Struct, frozen=True, kw_only=True):
    """Undo the differences between files and a commit, whoever made them.

    Refused while a turn is running. A file that changed since the user saw it is left alone, and so are changes that
    are not the agent's, unless the op `includes_others`.
    """

    files: tuple[CommittedFile, ...]
    hunks: tuple[HunkKey, ...] = ()
    """Only these hunks of the single file's difference."""
    includes_others: bool = False
    """Whether changes that are not the agent's are undone, too, because the user was asked."""
    reason: str = ""
    """A message to the model, which learns of the undo with the next prompt."""
    type: Literal["undo_differences"] = "undo_differences"


class RedoChanges(Struct, frozen=True, kw_only=True):
    """Apply the selected undone changes again. Refused while a turn is running."""

    selection: ChangeSelection
    reason: str = ""
    type: Literal["redo_changes"] = "redo_changes"


class RedoSteps(Struct, frozen=True, kw_only=True):
    """Take undos back, each as one step: to the exact bytes from before it, where nothing changed since.

    Refused while a turn is running.
    """

    steps: tuple[int, ...] = ()
    """The undos, by the sequence numbers (`seq`) of their events; empty for the last one that was not taken back."""
    is_all: bool = False
    """Whether to take back all undos that were not yet, at once."""
    reason: str = ""
    type: Literal["redo_steps"] = "redo_steps"


class WriteFile(Struct, frozen=True, kw_only=True):
    """Write a file for the user: an edit in the diff, or the resolution of a clash.

    Nothing is written unless the file on disk still has the digest `expected` (`None`: there is no file).
    """

    path: str
    expected: Digest | None
    content: bytes | None
    """The whole new content; `None` removes the file."""
    like: FileImage | None = None
    """The kind and mode to write, even over something of another kind; without it, both stay as they are."""
    reverts: tuple[Reverted, ...] = ()
    """The changes that then count as undone or redone."""
    purpose: Literal["edit", "undo", "redo"] = "edit"
    type: Literal["write_file"] = "write_file"


class MoveFile(Struct, frozen=True, kw_only=True):
    """Move a file or folder within the workspace for the user. Refused while a turn is running.

    Nothing is done unless the file still has the digest `expected`, and nothing is at `to`. A folder has the digest of
    empty content; it moves with everything in it, or not at all if that could not be undone exactly.
    """

    path: str
    to: str
    expected: Digest
    is_folder: bool = False
    """Whether a folder is to be moved; a file there does not match, and vice versa."""
    type: Literal["move_file"] = "move_file"


class MarkReviewed(Struct, frozen=True, kw_only=True):
    """Keep hunks of a file, or make them undecided again."""

    path: str
    hunks: tuple[HunkKey, ...]
    state: ReviewState
    type: Literal["mark_reviewed"] = "mark_reviewed"


class AddComment(Struct, frozen=True, kw_only=True):
    """Write a remark on lines of a diff; one with the same id is replaced."""

    comment: LineComment
    type: Literal["add_comment"] = "add_comment"


class RemoveComment(Struct, frozen=True, kw_only=True):
    """Take a remark back."""

    comment_id: str
    type: Literal["remove_comment"] = "remove_comment"


class SendComments(Struct, frozen=True, kw_only=True):
    """Send all remarks to the agent as one prompt, with `text` in front."""

    text: str = ""
    type: Literal["send_comments"] = "send_comments"


class RewindTo(Struct, frozen=True, kw_only=True):
    """Go back to before `turn`: with the conversation, the files, or both. Refused while a turn is running."""

    turn: int
    scope: RewindScope
    type: Literal["rewind_to"] = "rewind_to"


class SetMode(Struct, frozen=True, kw_only=True):
    """Change the model, the approval policy or the sandbox from the next call on. `None` leaves one as it is."""

    model: ModelRef | None = None
    approval: ApprovalPolicy | None = None
    sandbox: SandboxMode | None = None
    type: Literal["set_mode"] = "set_mode"


class RenameSession(Struct, frozen=True, kw_only=True):
    """Give the session a title."""

    title: str
    type: Literal["rename_session"] = "rename_session"


class ArchiveSession(Struct, frozen=True, kw_only=True):
    """Archive the session, or restore it."""

    is_archived: bool = True
    type: Literal["archive_session"] = "archive_session"


class PinSession(Struct, frozen=True, kw_only=True):
    """Pin the session to the top of the list, or unpin it."""

    is_pinned: bool = True
    type: Literal["pin_session"] = "pin_session"


class Compact(Struct, frozen=True, kw_only=True):
    """Summarise the conversation except its last turns, by asking the model. Refused while a turn is running."""

    focus: str = ""
    """What to keep above all."""
    type: Literal["compact"] = "compact"


class EditSummary(Struct, frozen=True, kw_only=True):
    """Replace the summary of the last compaction by this one."""

    summary: Summary
    type: Literal["edit_summary"] = "edit_summary"


class UndoCompaction(Struct, frozen=True, kw_only=True):
    """Take the last compaction back."""

    type: Literal["undo_compaction"] = "undo_compaction"


class AddPin(Struct, frozen=True, kw_only=True):
    """Keep `text` in the model's context, for `ttl_s` seconds or until it is removed."""

    text: str
    ttl_s: float | None = None
    type: Literal["add_pin"] = "add_pin"


class RemovePin(Struct, frozen=True, kw_only=True):
    """Remove a pin."""

    pin_id: str
    type: Literal["remove_pin"] = "remove_pin"


class InspectContext(Struct, frozen=True, kw_only=True):
    """Report what the model would see now, part by part, as `ContextInspected`."""

    type: Literal["inspect_context"] = "inspect_context"


class RunCommand(Struct, frozen=True, kw_only=True):
    """Run a slash command; its answer comes as `CommandRun`. One of the user's own becomes a prompt."""

    text: str
    type: Literal["run_command"] = "run_command"


class LookAtChanges(Struct, frozen=True, kw_only=True):
    """Record what background commands have changed so far, because the user looks at the review."""

    type: Literal["look_at_changes"] = "look_at_changes"


class StopJob(Struct, frozen=True, kw_only=True):
    """Stop a background command and everything it started."""

    job_id: str
    type: Literal["stop_job"] = "stop_job"


class RevokeRule(Struct, frozen=True, kw_only=True):
    """Revoke what an earlier answer allowed or forbade for future calls."""

    rule_id: str
    type: Literal["revoke_rule"] = "revoke_rule"


class Shutdown(Struct, frozen=True, kw_only=True):
    """Interrupt what runs, write what is pending, and close. The session accepts no ops after this."""

    when_idle: bool = False
    """Whether to close only once no turn runs and no prompt waits for one. Until then ops are accepted."""
    keeps_questions: bool = False
    """Whether a turn that waits only for the user is left waiting: the next opening asks again."""
    type: Literal["shutdown"] = "shutdown"


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
    | TryNow
    | UndoChanges
    | UndoDifferences
    | RedoChanges
    | RedoSteps
    | WriteFile
    | MoveFile
    | MarkReviewed
    | AddComment
    | RemoveComment
    | SendComments
    | RewindTo
    | SetMode
    | RenameSession
    | ArchiveSession
    | PinSession
    | Compact
    | EditSummary
    | UndoCompaction
    | AddPin
    | RemovePin
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
    """Return the op that `fields`, read from JSON, describes. Raises `MalformedOpError` that names the field."""
    if not isinstance(fields, dict):
        raise MalformedOpError("an op is a JSON object")
    given = cast("JsonObject", fields)
    kind = given.get("type")
    known = _OPS.get(kind) if isinstance(kind, str) else None
    if known is None:
        raise MalformedOpError(f"`type` must be one of {', '.join(_OPS)}")
    unknown = next((key for key in given if key not in known.__struct_fields__), None)
    if unknown is not None:
        raise MalformedOpError(f"{kind} has no field {unknown!r}")
    try:
        op = convert(given, learned(known))
    except ValidationError as error:
        raise MalformedOpError(f"{kind}: {error}") from error
    if isinstance(op, SubmitPrompt | Steer) and not op.text.strip():
        raise MalformedOpError(f"{kind}: the message is empty - at `$.text`")
    return op


_OPS: Mapping[str, type[Op]] = {kind.__struct_defaults__[-1]: kind for kind in get_args(Op)}
"""By the default of `type`, which each op declares last."""
