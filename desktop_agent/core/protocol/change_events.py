"""Events about files: what calls, undos and redos changed, and what the user decided about it."""

from typing import Final, Literal

from desktop_agent.core.base.ids import CallId, ChangeId, HunkKey
from desktop_agent.core.protocol.durable import DurableEvent
from desktop_agent.core.protocol.model import (
    Author,
    ChangeSelection,
    FileChange,
    FileOutcome,
    LineComment,
    OutsideFile,
    RefChange,
    ReviewState,
    RewindScope,
    Uncaptured,
)

ChangePurpose = Literal["apply", "undo", "redo"]

REFUSALS: Final = frozenset({"busy", "nothing_selected", "unclear_selection", "not_undone", "not_redone", "storage"})
"""The codes of notices that an undo or redo was not carried out. It ends with one of them, or with its record."""


class ChangesPrepared(DurableEvent, frozen=True, kw_only=True):
    """Files are about to be written; their images are durable. The write-ahead record of a change, an undo or a redo.

    If the process dies here, the files tell how far it got: each is either its before- or its after-image.
    """

    turn: int
    call_id: CallId
    purpose: ChangePurpose
    changes: tuple[FileChange, ...]
    snapshot: int | None = None
    """For a command, whose changes are not known before: the snapshot of the folder that shows them afterwards."""
    is_background: bool = False
    """Whether the command goes on in the background: it is looked at again and again, until a last time."""
    author: Author = "shell"
    """Whose work the changes are that the snapshot will show."""
    type: Literal["changes_prepared"] = "changes_prepared"


class ChangesRecorded(DurableEvent, frozen=True, kw_only=True):
    """A call changed these files; what could not be captured is named.

    Without a call they are the user's own changes, noticed before something of the agent's came on top of them.
    """

    turn: int
    call_id: CallId
    changes: tuple[FileChange, ...]
    uncaptured: tuple[Uncaptured, ...] = ()
    refs: tuple[RefChange, ...] = ()
    """Branches, tags and stash entries of the git repository that the call moved or dropped."""
    outside: tuple[OutsideFile, ...] = ()
    """Files outside the workspace, and git's own, that it destroyed; only a recovery puts them back."""
    is_recoverable: bool = False
    """Whether the command was one that destroys, and a safety copy was made before it ran."""
    is_last_look: bool = False
    """Whether a background command has ended, so that nothing more of it will come."""
    type: Literal["changes_recorded"] = "changes_recorded"


class ChangesUndone(DurableEvent, frozen=True, kw_only=True):
    """Changes were taken back; files that changed since in the same place were left alone and are listed."""

    selection: ChangeSelection
    change_ids: tuple[ChangeId, ...]
    outcomes: tuple[FileOutcome, ...]
    changes: tuple[FileChange, ...] = ()
    """What was written, as entries of the ledger like any other: by `undo`, each with what it reverts."""
    reason: str = ""
    """A word of the user's to the model."""
    refs: tuple[RefChange, ...] = ()
    """Branches, tags and stash entries that were put back."""
    outside: tuple[OutsideFile, ...] = ()
    """Files outside the workspace, and git's own, that were put back."""
    type: Literal["changes_undone"] = "changes_undone"


class ChangesRedone(DurableEvent, frozen=True, kw_only=True):
    """Undone changes were applied again."""

    selection: ChangeSelection
    change_ids: tuple[ChangeId, ...]
    outcomes: tuple[FileOutcome, ...]
    changes: tuple[FileChange, ...] = ()
    reason: str = ""
    type: Literal["changes_redone"] = "changes_redone"


class ReviewMarked(DurableEvent, frozen=True, kw_only=True):
    """The user decided about hunks of a file, or took a decision back."""

    path: str
    hunks: tuple[HunkKey, ...]
    state: ReviewState
    type: Literal["review_marked"] = "review_marked"


class CommentAdded(DurableEvent, frozen=True, kw_only=True):
    """The user wrote, or rewrote, a remark on lines of a diff."""

    comment: LineComment
    type: Literal["comment_added"] = "comment_added"


class CommentsRemoved(DurableEvent, frozen=True, kw_only=True):
    """Remarks were taken back, or sent to the agent."""

    comment_ids: tuple[str, ...]
    type: Literal["comments_removed"] = "comments_removed"


class Rewound(DurableEvent, frozen=True, kw_only=True):
    """The user went back to before `turn`: with the conversation, the files, or both.

    A rewound conversation is still in the journal; the model does not see it any more.
    """

    turn: int
    scope: RewindScope
    type: Literal["rewound"] = "rewound"
