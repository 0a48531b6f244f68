"""Selected text in a diff: on one side, from one place to another."""

from typing import NamedTuple

from desktop_agent.core.diff.rows import DiffRow, DiffRows, LineSide
from desktop_agent.core.diff.text import without_ending


class DiffPosition(NamedTuple):
    """Before character `offset` of the line that a row shows. Ordered from top to bottom."""

    row: int
    offset: int


class DiffSelection(NamedTuple):
    """From `anchor`, where it began, to `caret`. In a unified diff it has no side and takes all lines."""

    side: LineSide | None
    anchor: DiffPosition
    caret: DiffPosition

    @property
    def is_empty(self) -> bool:
        """Whether nothing is selected."""
        return self.anchor == self.caret

    @property
    def start(self) -> DiffPosition:
        """The upper end."""
        return min(self.anchor, self.caret)

    @property
    def end(self) -> DiffPosition:
        """The lower end."""
        return max(self.anchor, self.caret)

    def span(self, row: int, length: int) -> tuple[int, int] | None:
        """Return which characters of a row's line, `length` long, are selected; `None` for none."""
        start, end = self.start, self.end
        if not start.row <= row <= end.row or self.is_empty:
            return None
        first = min(start.offset, length) if row == start.row else 0
        last = min(end.offset, length) if row == end.row else length
        return first, last

    def text(self, rows: DiffRows) -> str:
        """Return the selected text exactly as it is in the file; lines that are folded away are not part of it."""
        start, end = self.start, self.end
        lines = list(rows.lines(start.row, end.row, self.side))
        if not lines:
            return ""
        if line_of(rows[end.row], self.side) is not None:
            lines[-1] = without_ending(lines[-1])[: end.offset]
        if line_of(rows[start.row], self.side) is not None:
            lines[0] = lines[0][start.offset :]
        return "".join(lines)


def everything(rows: DiffRows, side: LineSide | None) -> DiffSelection:
    """Select all of a side."""
    last = len(rows) - 1
    text = text_of(rows, last, side)
    return DiffSelection(side, DiffPosition(0, 0), DiffPosition(last, len(text or "")))


def line_of(row: DiffRow, side: LineSide | None) -> tuple[LineSide, int] | None:
    """Return the line that a row shows in the pane of `side`; without a side, in the only one."""
    if side != "old" and row.new is not None:
        return "new", row.new
    if side != "new" and row.old is not None:
        return "old", row.old
    return None


def text_of(rows: DiffRows, row: int, side: LineSide | None) -> str | None:
    """Return the line that the row at `row` shows in the pane of `side`, without its ending."""
    found = line_of(rows[row], side)
    if found is None:
        return None
    lines = rows.diff.old_lines if found[0] == "old" else rows.diff.new_lines
    return without_ending(lines[found[1]])
