"""What the review is put together from. The bigger widgets are made one by one, in an idle window."""

from collections.abc import Iterator
from functools import cached_property

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.review.baseline_picker import BaselinePicker
from desktop_agent.ui.review.change_listing import ChangeListing, FilterButton
from desktop_agent.ui.review.changed_file_list import ChangedFileList
from desktop_agent.ui.review.diff_source import BothSources, DiffSource, GitSource, Spawn
from desktop_agent.ui.review.panel.decisions import ReviewDecisions, ReviewOutlets
from desktop_agent.ui.review.panel.diff_pane import DiffPane
from desktop_agent.ui.review.panel.undo_bar import UndoBar
from desktop_agent.ui.review.reviewed_changes import GitListing, NetCounts, Reviewed
from desktop_agent.ui.theme import Theme


class ReviewPage(QWidget):
    """Holds the parts from when they are made: a widget that is moved is styled anew, with all that is in it.

    Signals:
        shown, hidden: it came into sight, or left it.
        resized: it has another size.
        returned_to: the user came back to its window, and sees it.
    """

    shown = Signal()
    hidden = Signal()
    resized = Signal()
    returned_to = Signal()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()

    def hideEvent(self, event: QHideEvent) -> None:
        self.hidden.emit()
        super().hideEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and self.isVisible():
            self.returned_to.emit()


class ReviewParts:
    """Makes widgets on first use. What knows and decides is there at once; all ends with the page."""

    def __init__(
        self,
        theme: Theme,
        diff_source: DiffSource,
        git: GitSource | None,
        spawn: Spawn,
        outlets: ReviewOutlets,
        page: ReviewPage,
    ) -> None:
        self.page = page
        self.theme = theme
        self.spawn = spawn
        self.outlets = outlets
        self.diff_source = diff_source
        """Where versions for the clash dialog come from."""
        self.source = BothSources(diff_source, git)
        """Where the diffs that are shown come from."""
        self.git = GitListing(git, spawn, page)
        self.counts = NetCounts(self.source, spawn, page)
        self.reviewed = Reviewed(self.git, self.counts)
        self.decisions = ReviewDecisions(self.counts, diff_source, git, spawn, page)

    @cached_property
    def picker(self) -> BaselinePicker:
        """Which changes are reviewed."""
        return BaselinePicker()

    @cached_property
    def filter(self) -> FilterButton:
        """Which of the files are listed."""
        return FilterButton()

    @cached_property
    def listing(self) -> ChangeListing:
        """The changed files, below what says which."""
        files = ChangedFileList(self.theme)
        return ChangeListing(self.theme, self.picker, self.filter, files, self.reviewed, self.git, self.page)

    @cached_property
    def pane(self) -> DiffPane:
        """The diff of one of them."""
        return DiffPane(self.theme, self.page)

    @cached_property
    def bar(self) -> UndoBar:
        """The decisions about all of them."""
        return UndoBar(self.theme, self.page)

    def made_in_pieces(self) -> Iterator[object]:
        """Make the widgets, in steps that each take a part of a frame."""
        yield self.picker, self.filter
        yield self.listing, self.bar
        yield self.pane
