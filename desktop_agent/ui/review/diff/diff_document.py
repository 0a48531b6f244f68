"""The diff of a view, with its rows, their mode, and the selection."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.diff.rows import DiffRow, DiffRows, LineSide, RowMode
from desktop_agent.core.diff.text import without_ending
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.diff.diff_words import summary

_tr = partial(QCoreApplication.translate, "DiffDocument")

MIN_SIDE_BY_SIDE_WIDTH = 440
"""The least width for two columns, in pixels. A narrower view shows a unified diff whatever mode was chosen."""
NARROW_SIDE_BY_SIDE_WIDTH = 800
"""The width in pixels below which lines of code do not fit in two columns, so that only the user's choice makes two."""


class DiffDocument:
    """One diff as rows. `width` returns the available width in pixels, on which the mode depends by default."""

    def __init__(self, width: Callable[[], int]) -> None:
        self._width = width
        self._is_mode_chosen = False
        self.has_heads = False
        """Whether a change of something other than lines has a bar of its own, so that the user can decide about it."""
        self.wanted_mode: RowMode = "side_by_side"
        self.diff: FileDiff | None = None
        self.rows = DiffRows(_NO_DIFF, "side_by_side")
        self.heading, self.detail = "", ""

    @property
    def mode(self) -> RowMode:
        return self.rows.mode

    @property
    def has_lines(self) -> bool:
        return bool(self.rows.diff.old_lines or self.rows.diff.new_lines)

    @property
    def is_narrow(self) -> bool:
        return self._width() < MIN_SIDE_BY_SIDE_WIDTH

    @property
    def is_one_sided(self) -> bool:
        return self.diff is not None and bool(self.diff.old_lines) != bool(self.diff.new_lines)

    def mode_obstacle(self) -> str:
        if self.is_one_sided:
            return _tr("The file has only one version to show")
        return _tr("Too narrow for two columns") if self.is_narrow else ""

    def fitting_mode(self) -> RowMode:
        if self.is_narrow or self.is_one_sided:
            return "unified"
        is_tight = self._width() < NARROW_SIDE_BY_SIDE_WIDTH
        return "unified" if is_tight and not self._is_mode_chosen else self.wanted_mode

    def show(self, diff: FileDiff | None, *, keep_folds: bool) -> None:
        """Show a diff. With `keep_folds`, unfolded lines stay unfolded, for another state of the same file."""
        opened = self.rows.opened if keep_folds else frozenset[int]()
        self.diff = diff
        self.heading, self.detail = summary(diff) if diff else (_tr("Nothing to show"), "")
        self._build(diff or _NO_DIFF, self.fitting_mode(), opened)

    def choose_mode(self, mode: RowMode) -> None:
        """Set the user's mode, which takes effect at the next call of `fit`."""
        self.wanted_mode = mode
        self._is_mode_chosen = True

    def fit(self) -> None:
        self._build(self.rows.diff, self.fitting_mode(), self.rows.opened)

    def open_gap(self, row: int) -> bool:
        gap = self.rows.gap(row)
        if gap is not None:
            self._build(self.rows.diff, self.rows.mode, self.rows.opened | {gap.old_start})
        return gap is not None

    def _build(self, diff: FileDiff, mode: RowMode, opened: frozenset[int]) -> None:
        like = self.rows if diff is self.rows.diff else None
        self.rows = DiffRows(diff, mode, opened=opened, has_heads=self.has_heads, like=like)


_NO_DIFF = FileDiff(path="", kind="modified", author="agent")


class DiffPosition(NamedTuple):
    """The position before character `offset` of a row's line. Ordered from top to bottom."""

    row: int
    offset: int


class DiffSelection(NamedTuple):
    """A selection from `anchor`, where it began, to `caret`. In a unified diff, `side` is `None`."""

    side: LineSide | None
    anchor: DiffPosition
    caret: DiffPosition

    @property
    def is_empty(self) -> bool:
        return self.anchor == self.caret

    @property
    def start(self) -> DiffPosition:
        return min(self.anchor, self.caret)

    @property
    def end(self) -> DiffPosition:
        return max(self.anchor, self.caret)

    def span(self, row: int, length: int) -> tuple[int, int] | None:
        start, end = self.start, self.end
        if not start.row <= row <= end.row or self.is_empty:
            return None
        first = min(start.offset, length) if row == start.row else 0
        last = min(end.offset, length) if row == end.row else length
        return first, last

    def text(self, rows: DiffRows) -> str:
        """Return the selected text exactly as in the file, without folded lines."""
        start, end = self.start, self.end
        lines = list(rows.lines(start.row, end.row, self.side))
        if not lines:
            return ""
        if line_of(rows[end.row], self.side) is not None:
            lines[-1] = without_ending(lines[-1])[: end.offset]
        if line_of(rows[start.row], self.side) is not None:
            lines[0] = lines[0][start.offset :]
        return "".join(lines)


def line_of(row: DiffRow, side: LineSide | None) -> tuple[LineSide, int] | None:
    """Return the line that a row shows in the pane of `side`. `side` is `None` for a unified diff."""
    if side != "old" and row.new is not None:
        return "new", row.new
    if side != "new" and row.old is not None:
        return "old", row.old
    return None


def text_of(rows: DiffRows, row: int, side: LineSide | None) -> str | None:
    found = line_of(rows[row], side)
    if found is None:
        return None
    lines = rows.diff.old_lines if found[0] == "old" else rows.diff.new_lines
    return without_ending(lines[found[1]])
