"""What the person decides about the file that is shown, and about hunks of it."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.review.change_list import ChangeList
from desktop_agent.ui.review.decisions import Decisions
from desktop_agent.ui.review.diff_pane import DiffPane
from desktop_agent.ui.review.git_listing import GitListing
from desktop_agent.ui.review.reviewed import Reviewed

if TYPE_CHECKING:
    from desktop_agent.core.ids import HunkKey
    from desktop_agent.core.model import ReviewState


class FileDecisions(QObject):
    """Hears the list and the diff, and makes of it decisions about the current file.

    Signals:
        open_requested: the person wants to open the file of this path.
        call_requested: the person wants to see the call of this id.
        started: something new is tried; what failed before is no news any more.
    """

    open_requested = Signal(str)
    call_requested = Signal(str)
    started = Signal()

    def __init__(
        self,
        files: ChangeList,
        pane: DiffPane,
        reviewed: Reviewed,
        git: GitListing,
        decisions: Decisions,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._parent = parent
        self._list = files
        self._reviewed = reviewed
        self._git = git
        self._decisions = decisions
        files.open_requested.connect(self._open)
        files.call_requested.connect(self._show_call)
        files.keep_requested.connect(self.keep)
        files.reopen_requested.connect(self._reopen)
        files.undo_requested.connect(self._undo_plainly)
        files.undo_with_word_requested.connect(self._undo_with_word)
        files.redo_requested.connect(self._redo)
        pane.call_clicked.connect(self._show_call)
        pane.keep_requested.connect(self._keep_hunks)
        pane.undecide_requested.connect(self._keep_hunks)
        pane.undo_requested.connect(self._undo_hunks)
        pane.redo_requested.connect(self._redo_hunks)
        pane.comment_added.connect(decisions.add_comment)
        pane.comment_removed.connect(decisions.remove_comment)
        pane.edit_saved.connect(self._save_edit)

    def keep(self) -> None:
        """Keep what is not undone of the file."""
        self._mark("kept")

    def undo(self, reason: str = "") -> None:
        """Undo what is shown of the file."""
        file = self._list.current_file
        if file is None or file.is_by_person or self._reviewed.is_running:
            return
        self.started.emit()
        if file.is_git:
            self._decisions.undo_git(self._git.folder, [file])
        else:
            self._decisions.undo(self._reviewed.selection_of_file(file), reason)

    def _undo_plainly(self) -> None:
        self.undo()

    def _undo_with_word(self) -> None:
        if file := self._list.current_file:
            from desktop_agent.ui.review.word_dialog import WordDialog

            dialog = WordDialog(self.tr("Undo {0}").format(file.path), self._parent)
            dialog.given.connect(self.undo)
            dialog.open()

    def _redo(self) -> None:
        if file := self._list.current_file:
            self._decisions.redo(self._reviewed.selection_of_file(file))

    def _reopen(self) -> None:
        self._mark("pending")

    def _mark(self, state: "ReviewState") -> None:
        if (file := self._list.current_file) and not file.is_by_person:
            self._decisions.mark_files([file], state)

    def _keep_hunks(self, keys: "tuple[HunkKey, ...]") -> None:
        if file := self._list.current_file:
            is_kept = all(key in self._reviewed.kept(file) for key in keys)
            self._decisions.mark(file, keys, "pending" if is_kept else "kept")

    def _undo_hunks(self, keys: "tuple[HunkKey, ...]") -> None:
        file = self._list.current_file
        if file is not None and file.is_git:
            self._decisions.undo_git(self._git.folder, [file], keys)
        elif file is not None:
            self._decisions.undo(self._reviewed.selection_of_file(file, keys))

    def _redo_hunks(self, keys: "tuple[HunkKey, ...]") -> None:
        if (file := self._list.current_file) and not file.is_git:
            self._decisions.redo(self._reviewed.selection_of_file(file, keys))

    def _save_edit(self, content: bytes) -> None:
        file, transcript = self._list.current_file, self._reviewed.transcript
        if file is not None and transcript is not None:
            self._decisions.save_edit(transcript, file, content)

    def _open(self) -> None:
        if file := self._list.current_file:
            self.open_requested.emit(file.path)

    def _show_call(self) -> None:
        file = self._list.current_file
        if file is not None and (record := self._reviewed.record_behind(file)) is not None:
            self.call_requested.emit(record.call_id)
