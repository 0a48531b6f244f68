"""One changed file: what can be done about it, its diff or the picture that it is, and the editor over it."""

from collections.abc import Collection, Iterator

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.rows import RowMode
from desktop_agent.core.protocol.model import Author, FileDiff
from desktop_agent.ui.keys.part_keys import PartKeys
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff.diff_words import HunkDecisions
from desktop_agent.ui.review.media.media_view import MediaStack
from desktop_agent.ui.review.overlays.diff_review import DiffReview
from desktop_agent.ui.review.panel.diff_find_bar import DiffFindBar
from desktop_agent.ui.review.panel.file_bar import FileBar
from desktop_agent.ui.review.panel.file_editing import FileEditing
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.layouts import STRETCH, vbox


class DiffPane(QWidget):
    """Draws the file it is given, and decides nothing: `bar`, `review` and `editing` say what the user wants.

    Signals:
        mode_chosen: the user wants diffs shown in this mode from now on.
        made: the diff is there, to hear what the user wants; carries its `DiffReview`.
    """

    mode_chosen = Signal(str)
    made = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._wanted_mode: RowMode | None = None
        self._review: DiffReview | None = None
        self._is_review_held = False
        self._stack: MediaStack | None = None
        self._find: DiffFindBar | None = None
        self.bar = FileBar(theme, PartKeys("diff", self))
        """What is above the diff."""
        self.bar.mode_toggled.connect(self._on_mode_toggled)
        self.editing = FileEditing(theme, self.bar, self)
        """Where the file is edited."""
        self._column = vbox(self.bar, STRETCH, on=self)

    # -- the diff, made when first needed: the empty window does without it --

    def made_in_pieces(self) -> Iterator[None]:
        """Make the diff, unless it is there, in steps that each take a part of a frame."""
        if self._stack is None:
            self._stack = MediaStack(self._theme, self)
            self._stack.switched.connect(self._on_switched)
            self._column.addWidget(self._stack, 1)
            yield
        if self._review is None:
            self._review = DiffReview(self._theme, self._stack)
            yield
        if not self._is_review_held:
            self._is_review_held = True
            self._stack.hold(self._review.view)
            self._connect(self._review)
            yield

    def _connect(self, review: DiffReview) -> None:
        review.view.setObjectName("diffView")
        if self._wanted_mode is not None:
            review.view.set_mode(self._wanted_mode)
        review.view.mode_changed.connect(self._show_mode)
        review.editing.find_requested.connect(self._open_find)
        self.editing.set_review(review)
        self.made.emit(review)

    def _made(self) -> tuple[DiffReview, MediaStack]:
        for _ in self.made_in_pieces():
            pass
        assert self._review is not None
        assert self._stack is not None
        return self._review, self._stack

    @property
    def review(self) -> DiffReview:
        """The diff, with what it can be decided by."""
        return self._made()[0]

    @property
    def view(self) -> DiffView:
        """The diff itself."""
        return self.review.view

    @property
    def stack(self) -> MediaStack:
        """The place of the diff, in which a picture may be shown instead."""
        return self._made()[1]

    # -- what is shown --

    @property
    def shown_path(self) -> str:
        """The file whose diff is shown, which may be the one before for a moment."""
        diff = self.view.document.diff
        return diff.path if diff is not None else ""

    def authors_of(self, keys: Collection[HunkKey]) -> set[Author]:
        """Return who wrote these hunks; known only if more than one changed the file."""
        diff = self.view.document.diff
        return {
            author for key, authors in (diff.authors if diff is not None else ()) if key in keys for author in authors
        }

    def show_diff(self, diff: FileDiff, *, keep_place: bool) -> None:
        """Show this diff; with `keep_place` it is another state of the same file."""
        self.view.show_diff(diff, keep_place=keep_place)
        self._show_counts()
        self._show_mode()
        self.editing.on_diff_shown()

    def show_message(self, heading: str, detail: str = "") -> None:
        """Show a few words in place of a diff."""
        self.view.show_message(heading, detail)
        self.stack.show_text()
        self._show_counts()

    def clear(self) -> None:
        """Show nothing, and edit nothing."""
        if self._review is not None:
            self.editing.set_path("")
            self.view.show_diff(None)
            self.stack.show_text()
            self.editing.on_diff_shown()

    def set_mode(self, mode: RowMode) -> None:
        """Show diffs in this mode from now on."""
        self._wanted_mode = mode
        self.view.set_mode(mode)
        self._show_mode()

    def set_decisions(self, decisions: HunkDecisions) -> None:
        """Say what was decided about the hunks of the file, and why nothing can be undone now, if so."""
        self.review.hunks.set_decisions(decisions)
        self.bar.set_can_revert(decisions.reason, can_revert=decisions.can_revert)
        self._show_counts()

    # -- the keyboard --

    def go_to_undecided(self, *, backwards: bool = False) -> bool:
        """Go to the next hunk without decision, with the keyboard; whether there is one.

        The marked hunk is the next one when the keyboard was elsewhere: its mark could not be seen.
        """
        has_keyboard = self.isAncestorOf(self.window().focusWidget() or self)
        is_found = self.review.hunks.go_to_undecided(backwards=backwards, with_current=not has_keyboard)
        if is_found:
            self.take_keyboard()
        return is_found

    def take_keyboard(self) -> None:
        """What is shown gets the keys that decide about it: the lines, or the buttons where it is a picture."""
        if self.editing.is_active:
            return
        if self.stack.is_text_shown:
            self.view.setFocus(Qt.FocusReason.ShortcutFocusReason)
        else:
            self.bar.take_keyboard()

    def _open_find(self) -> None:
        if self._find is None:
            self._find = DiffFindBar(self.view, self)
            self._column.insertWidget(1, self._find)
        self._find.open_bar()

    # -- what happens in its parts --

    def _on_mode_toggled(self) -> None:
        mode: RowMode = "unified" if self.view.document.mode == "side_by_side" else "side_by_side"
        self.set_mode(mode)
        self.mode_chosen.emit(mode)

    def _on_switched(self) -> None:
        self.editing.leave()
        self.bar.set_text_shown(is_shown=self.stack.is_text_shown)

    def _show_counts(self) -> None:
        kept, undone = self.review.hunks.counts()
        self.bar.set_change_count(len(self.view.document.rows.changes), kept=kept, undone=undone)

    def _show_mode(self) -> None:
        self.bar.set_mode(self.view.document.mode, obstacle=self.view.document.mode_obstacle())
