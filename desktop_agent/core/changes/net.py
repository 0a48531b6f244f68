"""Several changes to one file seen as one: from before the first to after the last."""

from collections.abc import Sequence
from dataclasses import replace

from desktop_agent.core.model import ChangeKind, FileChange


def net_change(changes: Sequence[FileChange]) -> FileChange:
    """Return what `changes` to one path, in the order they were made, come to.

    Identity and author are those of the last one. Line counts are added up, which overstates lines that were changed
    twice: only a comparison of the two images knows the net counts. A file that was created and deleted again is
    absent on both sides.
    """
    first, last = changes[0], changes[-1]
    if first is last:
        return first
    return replace(
        last,
        kind=_kind(first, last),
        before=first.before,
        added=sum(change.added for change in changes),
        removed=sum(change.removed for change in changes),
        is_binary=first.is_binary or last.is_binary,
    )


def _kind(first: FileChange, last: FileChange) -> ChangeKind:
    if last.after is None:
        return "deleted"
    if first.before is None:
        return "created"
    is_same_content = (first.before.digest, first.before.kind) == (last.after.digest, last.after.kind)
    return "mode_changed" if is_same_content and first.before.mode != last.after.mode else "modified"
