"""The bigger widgets of the review: made on first use, so that an idle window can make one after another."""

from collections.abc import Iterator
from functools import cached_property

from desktop_agent.ui.review.changes.baseline_picker import BaselinePicker
from desktop_agent.ui.review.changes.change_list import ChangeList
from desktop_agent.ui.review.changes.filter_button import FilterButton
from desktop_agent.ui.review.panel.diff_pane import DiffPane
from desktop_agent.ui.review.panel.undo_bar import UndoBar
from desktop_agent.ui.review.source import BothSources, DiffSource, GitSource, Spawn
from desktop_agent.ui.theme import Theme


class ReviewParts:
    """What a `ReviewContent` is put together from."""

    def __init__(self, theme: Theme, diff_source: DiffSource, git: GitSource | None, spawn: Spawn) -> None:
        self.theme = theme
        self.source = BothSources(diff_source, git)
        """Where diffs come from."""
        self._spawn = spawn

    @cached_property
    def picker(self) -> BaselinePicker:
        """Which changes are reviewed."""
        return BaselinePicker()

    @cached_property
    def filter(self) -> FilterButton:
        """Which of the files are listed."""
        return FilterButton()

    @cached_property
    def files(self) -> ChangeList:
        """The changed files."""
        return ChangeList(self.theme)

    @cached_property
    def pane(self) -> DiffPane:
        """The diff of one of them."""
        return DiffPane(self.theme, self.source, self._spawn)

    @cached_property
    def bar(self) -> UndoBar:
        """The decisions about all of them."""
        return UndoBar(self.theme)

    def made_in_pieces(self) -> Iterator[object]:
        """Make them, in steps that each take a part of a frame."""
        yield self.picker, self.filter
        yield self.files, self.bar
        yield self.pane
