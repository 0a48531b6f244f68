"""One changed file's diff, fetched from where it is computed and shown when it is there: as text, or as a picture."""

from collections.abc import Iterator
from typing import Literal

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.rows import RowMode
from desktop_agent.core.protocol.model import FileDiff, LineComment
from desktop_agent.ui.review.changed_files import ChangedFile
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff.hunk_states import HunkChoice
from desktop_agent.ui.review.media.stack import MediaStack
from desktop_agent.ui.review.overlays.diff_review import DiffReview
from desktop_agent.ui.review.panel.diff_find_bar import DiffFindBar
from desktop_agent.ui.review.panel.file_bar import FileBar
from desktop_agent.ui.review.panel.file_editing import FileEditing
from desktop_agent.ui.review.source import DiffSource, Spawn
from desktop_agent.ui.theme import Theme

LOADING_DELAY_MS = 150
"""A diff that takes no longer than this comes without a word about it."""


_Undecided = Literal["", "first", "last"]


class DiffPane(QWidget):
    """Shows the diff of a changed file. Results that come too late, for a file shown before, are dropped.

    Signals:
        mode_chosen: the user wants diffs shown in this mode from now on.
        call_clicked: the user wants to see the call behind the change.
        requested: the user wants this `HunkChoice` for these hunks of the file, a tuple of `HunkKey`.
        comment_added: carries a `LineComment`; one with a known id replaces the one that is there.
        comment_removed: carries the id of a comment.
        edit_saved: the user edited the file, which shall be these `bytes`.
    """

    mode_chosen = Signal(str)
    call_clicked = Signal()
    requested = Signal(str, object)
    comment_added = Signal(object)
    comment_removed = Signal(str)
    edit_saved = Signal(object)

    def __init__(self, theme: Theme, source: DiffSource, spawn: Spawn, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._source = source
        self._spawn = spawn
        self._wanted_mode: RowMode | None = None
        self._file: ChangedFile | None = None
        self._key: tuple[str, ...] = ()
        self._request = 0
        self._has_failed = False
        self._is_loading = False
        self._review: DiffReview | None = None
        self._stack: MediaStack | None = None
        self._find: DiffFindBar | None = None
        self._bar = FileBar(theme)
        self._bar.mode_toggled.connect(self._on_mode_toggled)
        self._bar.call_clicked.connect(self.call_clicked)
        self._bar.keep_clicked.connect(self._on_keep_file)
        self._bar.undo_clicked.connect(self._on_undo_file)
        self._bar.redo_clicked.connect(self._on_redo_file)
        self._editing = FileEditing(theme, self._bar, self)
        self._editing.saved.connect(self.edit_saved)
        self._wants_undecided: _Undecided = ""
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(LOADING_DELAY_MS)
        self._patience.timeout.connect(self._on_taking_long)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(self._bar)
        self._column.addStretch(0)

    @property
    def review(self) -> DiffReview:
        """The diff, with what it can be decided by. Made when first needed: the empty window does without it."""
        for _ in self.made_in_pieces():
            pass
        assert self._review is not None
        return self._review

    @property
    def view(self) -> DiffView:
        """The diff itself."""
        return self.review.view

    def made_in_pieces(self) -> Iterator[None]:
        """Make the diff, unless it is there, in steps that each take a part of a frame."""
        if self._review is None:
            self._review = DiffReview(self._theme, self)
            self._furnish(self._review)
            yield
        if self._stack is None:
            self._stack = MediaStack(self._theme, self._review.view)
            self._stack.switched.connect(self._on_switched)
            self._column.addWidget(self._stack, 1)
            yield

    def _furnish(self, review: DiffReview) -> None:
        view = review.view
        view.setObjectName("diffView")
        if self._wanted_mode is not None:
            view.set_mode(self._wanted_mode)
        view.mode_changed.connect(self._show_mode)
        review.hunks.requested.connect(self._on_requested)
        review.comments.blocks.added.connect(self.comment_added)
        review.comments.blocks.removed.connect(self.comment_removed)
        review.editing.find_requested.connect(self._open_find)
        self._editing.set_review(review)

    def set_mode(self, mode: RowMode) -> None:
        """Show diffs in this mode from now on."""
        self._wanted_mode = mode
        self.view.set_mode(mode)
        self._show_mode()

    def set_states(
        self,
        kept: frozenset[HunkKey],
        undone: frozenset[HunkKey],
        can_revert: bool,
        reason: str = "",
    ) -> None:
        """Say what was decided about the hunks of the file, and why nothing can be undone now, if so."""
        self.review.hunks.set_states(kept, undone, can_revert, reason)
        self._bar.set_can_revert(reason, can_revert=can_revert)
        self._show_counts()

    def set_comments(self, comments: tuple[LineComment, ...]) -> None:
        """Show these comments, as far as they are about the file."""
        self.review.comments.set_comments(comments)

    def set_editable(self, is_editable: bool, reason: str = "") -> None:
        """Say whether the file is on disk as it is shown, and can be edited; and why not, if so."""
        self._editing.set_editable(is_editable, reason)

    def edit_done(self) -> None:
        """Say that what was edited is saved, also when the diff that is shown does not come to it."""
        self._editing.save_done()

    def edit_failed(self, reason: str) -> None:
        """Say why what was edited could not be saved. The text is still there."""
        self._editing.save_failed(reason)

    def go_to_undecided(self, *, backwards: bool = False) -> bool:
        """Go to the next hunk without decision, with the keyboard; whether there is one.

        The marked hunk is the next one when the keyboard was elsewhere: its mark could not be seen.
        """
        go = self.review.hunks.previous_undecided if backwards else self.review.hunks.next_undecided
        is_found = go(with_current=not self.isAncestorOf(self.window().focusWidget() or self))
        if is_found:
            self._take_keyboard()
        return is_found

    def start_at_undecided(self, *, backwards: bool = False) -> None:
        """Go to the first hunk without decision of the file that is shown, or the last, as soon as its diff is there.

        The keyboard goes there, too.
        """
        if self._is_loading:
            self._wants_undecided = "last" if backwards else "first"
        else:
            self._start_at("last" if backwards else "first")
        self._take_keyboard()

    def _start_at(self, wanted: _Undecided) -> None:
        if wanted == "first":
            self.review.hunks.next_undecided(from_start=True)
        elif wanted == "last":
            self.review.hunks.previous_undecided(from_end=True)

    def _take_keyboard(self) -> None:
        """What is shown gets the keys that decide about it: the lines, or the buttons where it is a picture."""
        if self._editing.is_active:
            return
        if self._stack is None or self._stack.is_text_shown:
            self.view.setFocus(Qt.FocusReason.ShortcutFocusReason)
        else:
            self._bar.take_keyboard()

    def show_file(self, file: ChangedFile, call: str) -> None:
        """Show this file's diff. `call` is what to say of the call behind it. Does nothing when it is shown already."""
        self._bar.set_file(file.path, call)
        self._editing.set_path(file.path)
        self._file = file
        if file.key != self._key:
            self._key = file.key
            self._load(file)

    def forget(self) -> None:
        """Forget what is shown: the next file may have the same name and mean another session's."""
        self._file = None
        self._key = ()
        self._request += 1
        self._is_loading = False
        self._patience.stop()
        if self._review:
            self._editing.set_path("")
            self._review.view.show_diff(None)
            self._show_text()
            self._editing.on_diff_shown()

    def try_again(self) -> None:
        """Ask once more for a diff that could not be had."""
        if self._file and self._has_failed:
            self._load(self._file)

    def _load(self, file: ChangedFile) -> None:
        self._has_failed = False
        self._is_loading = True
        self._request += 1
        self._wants_undecided = ""
        self._patience.start()
        self._spawn(self._fetch(file, self._request))

    async def _fetch(self, file: ChangedFile, request: int) -> None:
        try:
            diff = await self._source.diff(file.standing)
        except AgentError as error:
            self._fail(request, error.title, error.hint)
            return
        except Exception:
            self._fail(request, self.tr("The change could not be shown"), self.tr("The log has the details."))
            raise
        if self._is_current(request):
            self._patience.stop()
            self._is_loading = False
            is_same_file = self.view.document.diff is not None and self.view.document.diff.path == diff.path
            self.view.show_diff(diff, keep_place=is_same_file)
            self._show_counts()
            self._show_mode()
            self._editing.on_diff_shown()
            wanted, self._wants_undecided = self._wants_undecided, ""
            self._start_at(wanted)
            await self._show_better(file, diff, request, is_same_file=is_same_file)
            if wanted and self._is_current(request):
                self._take_keyboard()  # a picture took the place of the lines

    async def _show_better(self, file: ChangedFile, diff: FileDiff, request: int, *, is_same_file: bool) -> None:
        """Show a picture or a notebook in place of its text. The one that is there stays until the next one comes."""
        from desktop_agent.ui.review.media.kinds import may_be_media

        is_media = may_be_media(diff)
        if not (is_media and is_same_file):
            self._show_text()
        if not is_media:
            return
        try:
            before, after = await self._source.versions(file.standing)
        except AgentError:
            if self._is_current(request):
                self._show_text()  # it says at least how large the file is
            return
        if self._is_current(request) and self._stack:
            await self._stack.show_change(diff, before, after)

    def _show_text(self) -> None:
        if self._stack:
            self._stack.show_text()

    def _on_switched(self) -> None:
        if self._stack:
            self._editing.leave()
            self._bar.set_text_shown(is_shown=self._stack.is_text_shown)

    def _fail(self, request: int, title: str, hint: str) -> None:
        if self._is_current(request):
            self._patience.stop()
            self._is_loading = False
            self._has_failed = True
            self.view.show_message(title, hint)
            self._show_text()
            self._show_counts()
            self._editing.on_diff_shown()

    def _is_current(self, request: int) -> bool:
        return isValid(self) and request == self._request

    def _on_taking_long(self) -> None:
        if self._editing.is_active:
            return
        self.view.show_message(self.tr("Loading…"))
        self._show_text()
        self._show_counts()

    def _on_mode_toggled(self) -> None:
        mode: RowMode = "unified" if self.view.document.mode == "side_by_side" else "side_by_side"
        self.set_mode(mode)
        self.mode_chosen.emit(mode)

    def _on_keep_file(self) -> None:
        self._on_requested("keep", self.review.hunks.keys)

    def _on_undo_file(self) -> None:
        self._on_requested("undo", self.review.hunks.keys)

    def _on_redo_file(self) -> None:
        self._on_requested("redo", self.review.hunks.keys)

    def _on_requested(self, choice: HunkChoice, keys: tuple[HunkKey, ...]) -> None:
        """Pass on what the user wants, unless it is about the file before: that is still there for a moment."""
        diff = self.view.document.diff
        if diff is not None and self._file is not None and diff.path == self._file.path:
            self.requested.emit(choice, keys)

    def _open_find(self) -> None:
        if self._find is None:
            self._find = DiffFindBar(self)
            self._find.find_requested.connect(self._find_next)
            self._find.closed.connect(self.view.setFocus)
            self._column.insertWidget(1, self._find)
        self._find.open_bar()

    def _find_next(self) -> None:
        if self._find:
            self._find.show_result(self.view.finder.find(self._find.text))

    def _show_counts(self) -> None:
        kept, undone = self.review.hunks.counts()
        self._bar.set_change_count(len(self.view.document.rows.changes), kept=kept, undone=undone)

    def _show_mode(self) -> None:
        self._bar.set_mode(self.view.document.mode, obstacle=self.view.document.mode_obstacle())
