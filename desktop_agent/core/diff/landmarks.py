"""What drawing a diff needs to know of all its lines, found once and beside the window's thread."""

from msgspec.structs import replace

from desktop_agent.core.diff.hunks import converted_edits, review_hunks, surplus_of
from desktop_agent.core.diff.moved import moved_blocks
from desktop_agent.core.protocol.model import FileDiff, Landmarks


def landmarks_of(diff: FileDiff) -> Landmarks:
    """Return what there is to know of this diff. Takes time in proportion to its lines."""
    hunks = tuple(review_hunks(diff))
    return Landmarks(
        hunks=hunks,
        converted=tuple(converted_edits(diff)),
        moved=moved_blocks(diff),
        surplus=surplus_of(hunks),
    )


def with_landmarks(diff: FileDiff) -> FileDiff:
    """Return the same diff, with its landmarks."""
    return replace(diff, landmarks=landmarks_of(diff))
