"""Where in a diff a comment stands, also after the lines it is about have moved. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from desktop_agent.core.diff.rows import DiffRows, LineSide
from desktop_agent.core.diff.text import split_lines
from desktop_agent.core.protocol.model import LineComment
from desktop_agent.ui.review.diff.diff_document import DiffSelection, line_of

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


def anchor_of_row(rows: DiffRows, row: int, side: LineSide | None) -> CommentAnchor:
    """Return the line that a row shows, on `side` if it has one there; on the bar of a change, its lines."""
    if found := line_of(rows[row], side) or line_of(rows[row], None):
        return CommentAnchor(found[0], found[1], found[1] + 1)
    return spot_of_change(rows, row)


def anchor_of_selection(rows: DiffRows, selection: DiffSelection | None) -> CommentAnchor | None:
    """Return the lines that are selected: without a side, the new ones if there are any. `None` for no lines."""
    if selection is None or selection.is_empty:
        return None
    first, last = selection.start.row, selection.end.row
    if selection.end.offset == 0 and last > first:
        last -= 1
    sides: tuple[LineSide, ...] = (selection.side,) if selection.side else ("new", "old")
    for side in sides:
        start = _first_line(rows, range(first, last + 1), side)
        end = _first_line(rows, range(last, first - 1, -1), side)
        if start is not None and end is not None:
            return CommentAnchor(side, start, end + 1)
    return None


def _first_line(rows: DiffRows, order: range, side: LineSide) -> int | None:
    found = (line_of(rows[row], side) for row in order)
    return next((line[1] for line in found if line), None)


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
