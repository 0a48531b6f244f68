"""Where in a diff a comment stands, also after the lines it is about have moved. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from desktop_agent.core.diff.rows import DiffRows, LineSide
from desktop_agent.core.diff.text import split_lines
from desktop_agent.core.protocol.model import LineComment

_MAX_QUOTED_LINES = 200
_SEARCHED_LINES = 2_000
"""How far away lines are looked for that are not where they were."""


class CommentAnchor(NamedTuple):
    """Lines of one side, 0-based and half open; none of them means the whole file."""

    side: LineSide
    start: int
    end: int


def row_of(rows: DiffRows, comment: LineComment) -> int:
    """Return the row below which the comment stands; the gap that hides its lines, if they are folded away."""
    lines = rows.diff.old_lines if comment.side == "old" else rows.diff.new_lines
    if comment.start == comment.end or not lines:
        return rows.changes[0] if rows.changes else 0
    size = comment.end - comment.start
    start = _found(lines, comment)
    return rows.find(comment.side, min(start + size, len(lines)) - 1)


def quote_of(rows: DiffRows, spot: CommentAnchor) -> str:
    """Return the text of these lines, or of as many as are enough to know them again."""
    lines = rows.diff.old_lines if spot.side == "old" else rows.diff.new_lines
    return "".join(lines[spot.start : min(spot.end, spot.start + _MAX_QUOTED_LINES)])


def spot_of_change(rows: DiffRows, row: int) -> CommentAnchor:
    """Return the lines of the change that `row` is the head of: its new ones, or the old ones when there are none."""
    hunk = rows.hunk(row)
    if hunk is None:
        return CommentAnchor("new", 0, 0)
    first, last = hunk.edits[0], hunk.edits[-1]
    if any(edit.new_start < edit.new_end for edit in hunk.edits):
        return CommentAnchor("new", first.new_start, last.new_end)
    return CommentAnchor("old", first.old_start, last.old_end)


def _found(lines: Sequence[str], comment: LineComment) -> int:
    """The line where the quoted lines are now: the nearest one, or where they were when they are nowhere."""
    quoted = split_lines(comment.quote)
    size = len(quoted)
    if not quoted or tuple(lines[comment.start : comment.start + size]) == quoted:
        return comment.start
    for away in range(1, _SEARCHED_LINES):
        for start in (comment.start - away, comment.start + away):
            if 0 <= start < len(lines) and lines[start] == quoted[0] and tuple(lines[start : start + size]) == quoted:
                return start
    return min(comment.start, len(lines) - 1)
