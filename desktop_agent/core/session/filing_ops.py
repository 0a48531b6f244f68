"""Ops that only put something on record: titles, places in the list, marks and remarks of the review."""

from typing import assert_never

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops

FilingOp = (
    ops.RenameSession | ops.ArchiveSession | ops.PinSession | ops.MarkReviewed | ops.AddComment | ops.RemoveComment
)


def event_of(op: FilingOp) -> ev.KnownEvent:
    """Return what to record for `op`."""
    match op:
        case ops.RenameSession(title=title):
            return ev.SessionRenamed(title=title.strip())
        case ops.ArchiveSession(is_archived=is_archived):
            return ev.SessionArchived(is_archived=is_archived)
        case ops.PinSession(is_pinned=is_pinned):
            return ev.SessionPinned(is_pinned=is_pinned)
        case ops.MarkReviewed(path=path, hunks=hunks, state=state):
            return ev.ReviewMarked(path=path, hunks=hunks, state=state)
        case ops.AddComment(comment=comment):
            return ev.CommentAdded(comment=comment)
        case ops.RemoveComment(comment_id=comment_id):
            return ev.CommentsRemoved(comment_ids=(comment_id,))
        case _:
            assert_never(op)
