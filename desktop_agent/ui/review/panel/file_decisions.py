"""The file that is shown: with what was decided about it, and what the user decides about it and its hunks."""

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.protocol.model import LineComment, ReviewState
from desktop_agent.core.protocol.ops import AddComment, MarkReviewed, RedoChanges, RemoveComment
from desktop_agent.ui.review.changed_files import ChangedFile
from desktop_agent.ui.review.diff.diff_words import HunkChoice, HunkDecisions
from desktop_agent.ui.review.diff_source import turn_obstacle
from desktop_agent.ui.review.overlays.diff_review import DiffReview
from desktop_agent.ui.review.panel.diff_loader import DiffLoader
from desktop_agent.ui.review.panel.file_saving import edit_obstacle
from desktop_agent.ui.review.panel.parts import ReviewParts


class FileDecisions(QObject):
    """Shows in the pane what was decided about the current file of the list, hears both, and makes ops of it."""

    def __init__(self, parts: ReviewParts, loader: DiffLoader, parent: QWidget) -> None:
        super().__init__(parent)
        self._parent = parent
        self._loader = loader
        self._list = files = parts.listing.files
        self._pane = pane = parts.pane
        self._reviewed = parts.reviewed
        self._decisions = parts.decisions
        self._outlets = parts.outlets
        files.current_changed.connect(self.show)
        files.clicked.connect(loader.try_again)
        files.open_requested.connect(self._open)
        files.call_requested.connect(self._show_call)
        files.keep_requested.connect(self.keep)
        files.reopen_requested.connect(self._reopen)
        files.undo_requested.connect(self.undo)
        files.undo_with_word_requested.connect(self._undo_with_word)
        files.redo_requested.connect(self._redo)
        pane.bar.call_clicked.connect(self._show_call)
        pane.bar.decided.connect(self._decide_all)
        pane.made.connect(self._hear)

    def _hear(self, review: DiffReview) -> None:
        review.hunks.requested.connect(self._decide)
        review.comments.blocks.added.connect(self._add_comment)
        review.comments.blocks.removed.connect(self._remove_comment)

    def show(self) -> None:
        """Show the current file, if there is one, what was decided about it, and what can be."""
        file, reviewed, pane = self._list.current_file, self._reviewed, self._pane
        if file is None:
            return
        tool = reviewed.tool_behind(file)
        self._loader.show_file(file, self.tr("turn {0} · {1}").format(*tool) if tool is not None else "")
        obstacle = self._undo_obstacle(file)
        kept, undone = frozenset(reviewed.kept(file)), reviewed.undone(file)
        pane.set_decisions(HunkDecisions(kept, undone, can_revert=not obstacle, reason=obstacle))
        comments = reviewed.transcript.changed.comments.values()
        pane.review.comments.set_comments(tuple(comment for comment in comments if comment.path == file.path))
        obstacle = edit_obstacle(reviewed.transcript, file)
        pane.editing.set_editable(not obstacle, obstacle)

    def _undo_obstacle(self, file: ChangedFile) -> str:
        if obstacle := turn_obstacle(is_running=self._reviewed.transcript.turns.is_running):
            return obstacle
        return self.tr("You changed this yourself") if file.is_by_user else ""

    # -- the whole file --

    def keep(self) -> None:
        """Keep what is not undone of the file."""
        self._mark("kept")

    def _reopen(self) -> None:
        self._mark("pending")

    def _mark(self, state: ReviewState) -> None:
        if (file := self._list.current_file) and not file.is_by_user:
            self._decisions.mark_files([file], state)

    def undo(self, reason: str = "") -> None:
        """Undo what is shown of the file."""
        file = self._list.current_file
        if file is None or self._undo_obstacle(file):
            return
        self._decisions.problem.emit("")
        if file.is_git:
            self._decisions.undo_git(self._reviewed.transcript, [file], self._parent, reason=reason)
        else:
            self._decisions.undo_file(self._reviewed, file, self._parent, reason=reason)

    def _undo_with_word(self) -> None:
        if file := self._list.current_file:
            from desktop_agent.ui.review.panel.review_dialogs import WordDialog

            dialog = WordDialog(self.tr("Undo {0}").format(file.path), self._parent)
            dialog.given.connect(self.undo)
            dialog.open()

    def _redo(self) -> None:
        if file := self._list.current_file:
            self._decisions.submit(RedoChanges(selection=self._reviewed.selection_of_file(file)))

    # -- its hunks and lines --

    def _decide_all(self, choice: HunkChoice) -> None:
        self._decide(choice, self._pane.review.hunks.keys)

    def _decide(self, choice: HunkChoice, keys: tuple[HunkKey, ...]) -> None:
        """Do what the user wants with these hunks, unless it is the file before that is still there for a moment."""
        file, submit = self._list.current_file, self._decisions.submit
        if file is None or self._pane.shown_path != file.path:
            return
        match choice:
            case "undo" if file.is_git:
                self._decisions.undo_git(self._reviewed.transcript, [file], self._parent, keys=keys)
            case "undo":
                authors = self._pane.authors_of(keys)
                self._decisions.undo_file(self._reviewed, file, self._parent, keys=keys, authors=authors)
            case "redo" if not file.is_git:
                submit(RedoChanges(selection=self._reviewed.selection_of_file(file, keys)))
            case "keep" | "undecide" if keys:
                is_kept = all(key in self._reviewed.kept(file) for key in keys)
                submit(MarkReviewed(path=file.path, hunks=keys, state="pending" if is_kept else "kept"))
            case _:
                pass

    def _add_comment(self, comment: LineComment) -> None:
        self._decisions.submit(AddComment(comment=comment))

    def _remove_comment(self, comment_id: str) -> None:
        self._decisions.submit(RemoveComment(comment_id=comment_id))

    # -- where else it is seen --

    def _open(self) -> None:
        if file := self._list.current_file:
            self._outlets.open_file(file.path)

    def _show_call(self) -> None:
        file = self._list.current_file
        if file is not None and (record := self._reviewed.record_behind(file)) is not None:
            self._outlets.show_call(record.call_id)
