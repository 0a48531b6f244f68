"""What the user decides about everything that is listed: the bar below the diff, and the remarks to be sent."""

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.ops import RedoSteps, RemoveComment, SendComments
from desktop_agent.core.transcript import UndoStep
from desktop_agent.ui.review.changed_files import is_decided, progress
from desktop_agent.ui.review.panel.parts import ReviewParts
from desktop_agent.ui.review.panel.review_dialogs import CommentsDialog
from desktop_agent.ui.review.panel.undo_bar import BarState, Scope


class ListDecisions(QObject):
    """Offers in the bar what can be done with all that is listed, and makes ops of what the user chooses."""

    def __init__(self, parts: ReviewParts, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = parts.theme
        self._bar = bar = parts.bar
        self._listing = parts.listing
        self._reviewed = parts.reviewed
        self._decisions = parts.decisions
        self._parent = parent
        self._comments_dialog: CommentsDialog | None = None
        bar.undo_clicked.connect(self._undo)
        bar.undo_with_word_clicked.connect(self._undo_with_word)
        bar.redo_clicked.connect(self._redo)
        bar.keep_clicked.connect(self.keep)
        bar.comments_clicked.connect(self.open_comments)
        parts.decisions.problem.connect(bar.set_problem)
        parts.listing.listed.connect(self.show)

    def show(self) -> None:
        """Show in the bar how far the review is, and what can be done."""
        self._bar.set_state(self._state())
        found = self._reviewed.uncaptured()
        self._bar.set_uncaptured([missed.path for missed in found], "\n".join(f"{m.path}: {m.reason}" for m in found))

    def _state(self) -> BarState:
        files, transcript = self._listing.files.files, self._reviewed.transcript
        decided, total = progress(files)
        step = self._last_step()
        return BarState(
            decided=decided,
            total=total,
            standing=sum(file.mark != "undone" and not file.is_by_user for file in files),
            scope=self._scope(),
            is_running=transcript.turns.is_running,
            comments=len(transcript.changed.comments),
            redo_count=len(step.open_paths(transcript.changes)) if step is not None else 0,
        )

    def _scope(self) -> Scope:
        if self._listing.is_filtered:
            return "filtered"
        kinds: dict[str, Scope] = {"session": "session", "since": "since", "uncommitted": "git", "branch": "git"}
        return kinds.get(self._reviewed.baseline.kind, "turn")

    def _last_step(self) -> UndoStep | None:
        """The undo that a redo takes back: the last one of which anything still is undone."""
        steps = self._reviewed.transcript.changed.steps
        return steps[-1] if steps else None

    # -- what the user chooses --

    def keep(self) -> None:
        """Keep what is undecided of the listed files."""
        self._decisions.mark_files([file for file in self._listing.files.files if not is_decided(file)], "kept")

    def _undo(self, reason: str = "") -> None:
        self._decisions.problem.emit("")
        reviewed, files = self._reviewed, self._listing.files.files
        if reviewed.baseline.is_git:
            self._decisions.undo_git(reviewed.transcript, files, self._parent, reason=reason)
            return
        selection = reviewed.selection_of_files(files) if self._listing.is_filtered else reviewed.selection()
        self._decisions.undo_with_care(reviewed.transcript, selection, reason, self._parent)

    def _undo_with_word(self) -> None:
        from desktop_agent.ui.review.panel.review_dialogs import WordDialog

        dialog = WordDialog(self.tr("Undo everything that is listed"), self._parent)
        dialog.given.connect(self._undo)
        dialog.open()

    def _redo(self) -> None:
        """Take back the last undo, as the one step it was."""
        if (step := self._last_step()) is not None:
            self._decisions.submit(RedoSteps(steps=(step.seq,)))

    # -- remarks --

    def open_comments(self) -> None:
        """Show the remarks, to be sent."""
        if self._comments_dialog is None and self._reviewed.transcript.changed.comments:
            dialog = self._comments_dialog = CommentsDialog(self._theme, self._parent)
            self.show_comments()
            dialog.removed.connect(self._remove_comment)
            dialog.sent.connect(self._send_comments)
            dialog.finished.connect(self._forget_comments_dialog)
            dialog.open()

    def show_comments(self) -> None:
        """Show in the dialog what remarks there are now."""
        if self._comments_dialog is not None:
            self._comments_dialog.set_comments(list(self._reviewed.transcript.changed.comments.values()))

    def _remove_comment(self, comment_id: str) -> None:
        self._decisions.submit(RemoveComment(comment_id=comment_id))

    def _send_comments(self, text: str) -> None:
        self._decisions.submit(SendComments(text=text))

    def _forget_comments_dialog(self) -> None:
        self._comments_dialog = None
