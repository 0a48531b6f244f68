"""The diff that a view shows: its rows, and the mode that they are in."""

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.diff.rows import DiffRows, RowMode
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.diff.diff_words import summary

MIN_SIDE_BY_SIDE_WIDTH = 440
"""Narrower than this, two columns would show no code: the diff is unified, whatever was asked for."""
NARROW_SIDE_BY_SIDE_WIDTH = 800
"""Narrower than this, lines of code do not fit into two columns: side by side only for those who chose it."""


class DiffDocument:
    """Holds one diff as rows, in the mode that was asked for or that fits. `width` returns the room in pixels."""

    def __init__(self, width: Callable[[], int]) -> None:
        self._width = width
        self._is_mode_chosen = False
        self._has_heads = False
        self.wanted_mode: RowMode = "side_by_side"
        """What was asked for."""
        self.diff: FileDiff | None = None
        self.rows = DiffRows(_NO_DIFF, "side_by_side")
        self.heading, self.detail = "", ""
        """The words in place of a diff."""

    @property
    def mode(self) -> RowMode:
        """How it is shown: what was asked for, but unified when there is no room or no other side."""
        return self.rows.mode

    @property
    def has_lines(self) -> bool:
        """Whether the file has lines on either side."""
        return bool(self.rows.diff.old_lines or self.rows.diff.new_lines)

    @property
    def is_narrow(self) -> bool:
        """Whether there is no room for two columns."""
        return self._width() < MIN_SIDE_BY_SIDE_WIDTH

    @property
    def is_one_sided(self) -> bool:
        """Whether the file has lines on one side only."""
        return self.diff is not None and bool(self.diff.old_lines) != bool(self.diff.new_lines)

    def mode_obstacle(self) -> str:
        """Return why the mode cannot be chosen now; empty when it can."""
        if self.is_one_sided:
            return _tr("The file has only one side")
        return _tr("Too narrow for two sides") if self.is_narrow else ""

    def fitting_mode(self) -> RowMode:
        """Return the mode for this width. A file that was created or deleted has one side and needs no other."""
        if self.is_narrow or self.is_one_sided:
            return "unified"
        is_tight = self._width() < NARROW_SIDE_BY_SIDE_WIDTH
        return "unified" if is_tight and not self._is_mode_chosen else self.wanted_mode

    def show(self, diff: FileDiff | None, *, keep_folds: bool) -> None:
        """Take this diff. With `keep_folds` it is another state of the same file: what was unfolded stays so."""
        opened = self.rows.opened if keep_folds else frozenset[int]()
        self.diff = diff
        self.heading, self.detail = summary(diff) if diff else (_tr("Nothing to show"), "")
        self._build(diff or _NO_DIFF, self.fitting_mode(), opened)

    def choose_mode(self, mode: RowMode) -> None:
        """Ask for this mode from now on; `fit` brings it about."""
        self.wanted_mode = mode
        self._is_mode_chosen = True

    def fit(self) -> None:
        """Show the rows in the mode for this width."""
        self._build(self.rows.diff, self.fitting_mode(), self.rows.opened)

    def add_heads(self) -> None:
        """Give rows of their own to what can be decided about and is no lines."""
        self._has_heads = True
        self._build(self.rows.diff, self.rows.mode, self.rows.opened)

    def open_gap(self, row: int) -> bool:
        """Unfold the lines that the gap at `row` hides; whether there is a gap."""
        gap = self.rows.gap(row)
        if gap is not None:
            self._build(self.rows.diff, self.rows.mode, self.rows.opened | {gap.old_start})
        return gap is not None

    def _build(self, diff: FileDiff, mode: RowMode, opened: frozenset[int]) -> None:
        like = self.rows if diff is self.rows.diff else None
        self.rows = DiffRows(diff, mode, opened=opened, has_heads=self._has_heads, like=like)


def _tr(text: str) -> str:
    return QCoreApplication.translate("DiffDocument", text)


_NO_DIFF = FileDiff(path="", kind="modified", author="agent")
