"""The content of the review panel: the files, one diff, and the decisions.

Decisions that need a comparison, git or a question to the user are in `review_decisions`.
"""

from collections.abc import Iterator
from functools import cached_property, partial
from itertools import takewhile

from PySide6.QtCore import QCoreApplication, QEvent, Qt, Signal
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.rows import RowMode
from desktop_agent.core.protocol.model import LineComment, ReviewState
from desktop_agent.core.protocol.ops import (
    AddComment,
    LookAtChanges,
    RedoChanges,
    RedoSteps,
    RemoveComment,
    SendComments,
    UndoCommit,
)
from desktop_agent.core.transcript import Transcript, UndoEntry, UndoStep
from desktop_agent.ui.part_keys import PartKeys
from desktop_agent.ui.review.change_listing import ChangeListing
from desktop_agent.ui.review.changed_file_list import FileAction
from desktop_agent.ui.review.changed_files import ChangedFile, ReviewBaseline, is_decided, progress
from desktop_agent.ui.review.clash_dialog import ClashDialog
from desktop_agent.ui.review.commit_sheet import Committing
from desktop_agent.ui.review.diff.diff_review import DiffReview
from desktop_agent.ui.review.diff.diff_words import HunkChoice, HunkDecisions
from desktop_agent.ui.review.diff_pane import DiffPane
from desktop_agent.ui.review.diff_source import DiffSource, GitSource, Spawn, Submit, turn_obstacle
from desktop_agent.ui.review.file_editing import FileSaving, edit_obstacle
from desktop_agent.ui.review.review_bars import BarState, Scope, UndoBar
from desktop_agent.ui.review.review_decisions import CommentsDialog, ReviewDecisions, WordDialog
from desktop_agent.ui.review.reviewed_changes import BothSources, GitListing, NetCounts, Reviewed
from desktop_agent.ui.runtime.pacing import Throttle
from desktop_agent.ui.theme import Height, Theme
from desktop_agent.ui.widgets.layouts import hairline, vbox

_tr = partial(QCoreApplication.translate, "FileDecisions")

_MIN_LIST_ROWS = 3
_LIST_SHARE = 0.35
_REDRAW_INTERVAL_MS = 100
"""The least time between redraws: a decision about 1,000 files comes as 1,000 events, each redrawing all files."""


class ReviewContent(QWidget):
    """Shows a transcript's changes or git's differences, and turns decisions into ops. Builds big widgets when idle."""

    file_open_requested = Signal(str)
    call_requested = Signal(str)
    diff_mode_changed = Signal(str)
    wrapping_changed = Signal(bool)
    enlarge_clicked = Signal()
    bring_back_clicked = Signal()

    def __init__(
        self, theme: Theme, diff_source: DiffSource, git: GitSource | None, spawn: Spawn, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._diff_source = diff_source
        self._spawn = spawn
        self._keys = PartKeys("diff", self)
        self._source = BothSources(diff_source, git)
        self._git = GitListing(git, spawn, self)
        self._counts = NetCounts(self._source, spawn, self)
        self._reviewed = Reviewed(self._git, self._counts)
        self._decisions = ReviewDecisions(self._reviewed, self._counts, diff_source, git, spawn, self)
        self.committing = Committing(theme, self._reviewed, diff_source, spawn, self)
        self._shown_state: object = None
        self._disk_state: object = None
        self._last_undo: UndoEntry | None = None
        self._comments_dialog: CommentsDialog | None = None
        self._gap = QWidget(self)
        self._redraw = Throttle(self._draw, self, _REDRAW_INTERVAL_MS)
        self._is_complete = False

    # -- its parts, each made when it is first needed --

    @cached_property
    def _listing(self) -> ChangeListing:
        return ChangeListing(self._theme, self._reviewed, self._git, self)

    @cached_property
    def _pane(self) -> DiffPane:
        return DiffPane(self._theme, self._source, self._spawn, self)

    @cached_property
    def _bar(self) -> UndoBar:
        return UndoBar(self._theme, self)

    @cached_property
    def _saving(self) -> FileSaving:
        return FileSaving(self._pane.editing, self._listing.files, self._reviewed, self._decisions)

    def made_in_pieces(self) -> Iterator[object]:
        yield self._listing, self._bar
        yield self._pane
        yield self.complete()
        yield self._pane.review

    def complete(self) -> None:
        if self._is_complete:
            return
        self._is_complete = True
        vbox(self._listing, hairline(), (self._pane, 1), (self._gap, 1), hairline(), self._bar, on=self)
        self._listing.picker.chosen.connect(self.choose)
        self._listing.picker.opened.connect(self._git.look)
        self._counts.changed.connect(self._on_counted)
        self._git.changed.connect(self._redraw.trigger)
        self._listing.listed.connect(self._on_listed)
        self._decisions.problem.connect(self._bar.set_problem)
        files, pane = self._listing.files, self._pane
        files.current_changed.connect(self._show_file)
        files.clicked.connect(self._pane.try_again)
        files.clicked.connect(self._look_at_jobs)
        files.requested.connect(self._on_file_action)
        pane.bar.mode_chosen.connect(self.diff_mode_changed)
        pane.bar.enlarge.clicked.connect(self.enlarge_clicked)
        pane.bar.call.clicked.connect(self._show_call_of_file)
        pane.bar.decided.connect(self._decide)
        pane.made.connect(self._on_review_made)
        pane.editing.saved.connect(self._saving.save)
        bar = self._bar
        bar.undo.clicked.connect(partial(self._undo, ""))
        bar.undo_with_word.triggered.connect(self._undo_with_word)
        bar.redo.clicked.connect(self._redo)
        bar.bring_back.clicked.connect(self.bring_back_clicked)
        bar.keep.clicked.connect(self.keep_all)
        bar.commit.clicked.connect(self.commit)
        bar.undo_commit.clicked.connect(self.undo_commit)
        bar.comments.clicked.connect(self.open_comments)
        bar.next.clicked.connect(self.go_to_undecided)

    def _on_review_made(self, review: DiffReview) -> None:
        review.hunks.requested.connect(self._decide)
        review.comments.added.connect(self._add_comment)
        review.comments.removed.connect(self._remove_comment)
        review.view.wrapping_chosen.connect(self.wrapping_changed)
        navigation = review.view.navigation
        for action, slot in (("next_change", navigation.next_change), ("previous_change", navigation.previous_change)):
            self._keys.bind(action, slot, self)

    # -- what it shows --

    def set_transcript(self, transcript: Transcript, submit: Submit) -> None:
        """Show another session's changes. Undos before that are not announced."""
        self.committing.close()
        self._reviewed.set_transcript(transcript)
        self._shown_state = self._disk_state = None
        self._pane.forget()
        self._counts.forget()
        self._decisions.submit = submit
        self._decisions.problem.emit("")
        self._listing.clear_filter()
        self._source.transcript = transcript
        self._git.set_folder(transcript.session.workspace)
        undos = transcript.changed.undos
        self._last_undo = undos[-1] if undos else None
        self._draw()

    def choose(self, baseline: ReviewBaseline) -> None:
        self._look_at_jobs()
        self._reviewed.baseline = baseline
        self._disk_state = None
        self._decisions.problem.emit("")
        self._draw()

    def offer_baselines(self) -> None:
        self._listing.picker.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._listing.picker.showPopup()

    def set_mode(self, mode: RowMode) -> None:
        self._pane.view.set_mode(mode)
        self._pane.bar.show_mode()

    def set_wrapped(self, *, is_wrapped: bool) -> None:
        self._pane.view.set_wrapped(is_wrapped=is_wrapped)

    def set_enlarged(self, keys: str, *, is_enlarged: bool) -> None:
        self._pane.bar.set_enlarged(keys, is_enlarged=is_enlarged)

    def refresh(self) -> None:
        """Show the transcript's current state. Throttled, and deferred while hidden."""
        undos = reversed(self._reviewed.transcript.changed.undos)
        for entry in reversed([*takewhile(lambda entry: entry is not self._last_undo, undos)]):
            self._last_undo = entry
            if not all(outcome.is_done for outcome in entry.outcomes):
                dialog = ClashDialog(self._theme, entry.purpose, entry.outcomes, self._diff_source, self._spawn, self)
                dialog.resolved.connect(self._decisions.settle)
                dialog.open()
        self._saving.look()
        self._redraw.trigger()

    def _draw(self) -> None:
        self._reviewed.update_turns()
        self._ask_git_again()
        state = self._reviewed.state(), self._last_undo
        if state != self._shown_state:
            self._shown_state = state
            to_compare = self._reviewed.update_files()
            self._listing.show_reviewed()
            self._counts.request(to_compare)
            self._show_comments()
            self._decisions.take_up_undo()

    def _on_listed(self) -> None:
        self._bar.set_state(self._state())
        found = self._reviewed.uncaptured()
        self._bar.set_uncaptured([missed.path for missed in found], "\n".join(f"{m.path}: {m.reason}" for m in found))
        has_files = bool(self._listing.files.files)
        self._gap.setVisible(not has_files)
        self._pane.setVisible(has_files)
        if not has_files:
            self._pane.forget()
        self._show_file()

    def _on_counted(self) -> None:
        self._shown_state = None
        self._redraw.trigger()

    def show_call(self, call_id: str, path: str = "", turn: int | None = None) -> bool:
        """Show a call's changes; return whether there are any. For the user's changes, `turn` replaces the call."""
        record = self._reviewed.record_of_call(call_id, path, turn)
        if record is None:
            return False
        if not self._reviewed.covers(record):
            self.choose(ReviewBaseline("turn", record.turn))
        path = record.change.moved_to or record.change.path
        if not self._listing.files.select(path):
            self._listing.clear_filter()
        return self._listing.files.select(path)

    # -- what was changed elsewhere --

    def _look_at_jobs(self) -> None:
        """Let the session record the changes of running background commands now, and not only when they end."""
        if any(job.state == "running" for job in self._reviewed.transcript.session.jobs):
            self._decisions.submit(LookAtChanges())

    def _ask_git_again(self) -> None:
        transcript = self._reviewed.transcript
        # Git may answer differently now.
        commits = transcript.changed.commits
        state = len(transcript.changes), transcript.turns.is_running, [one.commit for one in commits]
        if state != self._disk_state:
            self._disk_state = state
            self._git.look_at_commit(commits[-1] if commits else None)
            if self._reviewed.baseline.is_git:
                self._git.load(self._reviewed.baseline)

    # -- where the user goes --

    def go_to_undecided(self, *, backwards: bool = False) -> None:
        file = self._listing.files.current_file
        is_open = file is not None and not is_decided(file)
        if is_open and self._pane.go_to_undecided(backwards=backwards):
            return
        if self._listing.files.select_next_undecided(backwards=backwards) or is_open:
            self._pane.start_at_undecided(backwards=backwards)

    # -- undos that did not do all they were asked for --

    # -- the file that is shown --

    def _show_file(self) -> None:
        file, reviewed, pane = self._listing.files.current_file, self._reviewed, self._pane
        if file is None:
            return
        made = reviewed.record_behind(file)
        call = _tr("turn {0} · {1}").format(made.turn, made.tool) if made is not None and made.tool else ""
        pane.show_file(file, call)
        kept, undone = frozenset(reviewed.kept(file)), reviewed.undone(file)
        obstacle, is_undone = self._undo_obstacle(file), file.state == "undone"
        of_file = file.is_by_user, is_undone, file.is_offered, reviewed.committed(file), file.is_git
        pane.set_decisions(HunkDecisions(kept, undone, obstacle, *of_file))
        pane.review.problems.set_found(file.path, file.problems)
        comments = reviewed.transcript.changed.comments.values()
        pane.review.comments.set_comments(tuple(comment for comment in comments if comment.path == file.path))
        pane.editing.set_obstacle(edit_obstacle(reviewed.transcript, file))

    def _undo_obstacle(self, file: ChangedFile) -> str:
        if obstacle := turn_obstacle(is_running=self._reviewed.transcript.turns.is_working):
            return obstacle
        return _tr("You changed this yourself") if file.is_by_user else ""

    def _on_file_action(self, action: FileAction) -> None:
        file = self._listing.files.current_file
        if file is None:
            return
        match action:
            case "open":
                self.file_open_requested.emit(file.path)
            case "call":
                self._show_call_of_file()
            case "keep":
                self.keep_file()
            case "reopen":
                self._mark("pending")
            case "undo":
                self.undo_file()
            case "undo_with_word":
                dialog = WordDialog(_tr("Undo {0}").format(file.path), self)
                dialog.given.connect(self.undo_file)
                dialog.open()
            case "redo":
                self._decisions.submit(RedoChanges(selection=self._reviewed.selection_of_file(file)))

    def keep_file(self) -> None:
        self._mark("kept")

    def _mark(self, state: ReviewState) -> None:
        if (file := self._listing.files.current_file) and not (file.is_by_user or file.is_only_offered):
            self._decisions.mark_files([file], state)

    def undo_file(self, reason: str = "") -> None:
        file = self._listing.files.current_file
        if file is None or self._undo_obstacle(file):
            return
        self._decisions.problem.emit("")
        if file.is_git:
            self._decisions.undo_git([file], reason=reason)
        else:
            self._decisions.undo_file(file, reason=reason)

    def _decide(self, choice: HunkChoice, keys: tuple[HunkKey, ...] | None = None) -> None:
        """Carry out a choice about these hunks (`None`: all). Ignored while the previous file's diff is still shown."""
        file, submit = self._listing.files.current_file, self._decisions.submit
        keys = self._pane.review.hunks.keys if keys is None else keys
        if file is None or not self._pane.is_current(file):
            return
        match choice:
            case "undo" if file.is_git:
                self._decisions.undo_git([file], keys=keys)
            case "undo":
                authors = self._pane.authors_of(keys)
                self._decisions.undo_file(file, keys=keys, authors=authors)
            case "redo" if not file.is_git:
                submit(RedoChanges(selection=self._reviewed.selection_of_file(file, keys)))
            case "keep" | "undecide" if keys and not file.is_by_user:
                self._decisions.mark_hunks(file, keys, self._pane.view.document.diff)
            case _:
                pass

    def _add_comment(self, comment: LineComment) -> None:
        self._decisions.submit(AddComment(comment=comment))

    def _remove_comment(self, comment_id: str) -> None:
        self._decisions.submit(RemoveComment(comment_id=comment_id))

    def _show_call_of_file(self) -> None:
        file = self._listing.files.current_file
        if file is not None and (record := self._reviewed.record_behind(file)) is not None:
            self.call_requested.emit(record.call_id)

    # -- all that is listed --

    def _state(self) -> BarState:
        files, transcript = self._listing.files.files, self._reviewed.transcript
        decided, total = progress(files)
        step = self._last_step()
        return BarState(
            decided=decided,
            total=total,
            standing=sum(file.mark != "undone" and not (file.is_only_offered or file.is_by_user) for file in files),
            offered=sum(file.is_only_offered for file in files),
            has_worktree=transcript.session.worktree is not None,
            scope=self._scope(),
            is_running=transcript.turns.is_working,
            comments=len(transcript.changed.comments),
            redo_count=len(step.open_paths(transcript.changes)) if step is not None else 0,
            has_git=self._git.state is not None and not self._git.state.obstacle,
            last_commit=self._git.last_commit,
        )

    def _scope(self) -> Scope:
        if self._listing.is_filtered:
            return "filtered"
        kinds: dict[str, Scope] = {"session": "session", "since": "since", "uncommitted": "git", "branch": "git"}
        return kinds.get(self._reviewed.baseline.kind, "turn")

    def _last_step(self) -> UndoStep | None:
        """Return the undo that a redo would revert: the last undo that is still partly in force."""
        steps = self._reviewed.transcript.changed.steps
        return steps[-1] if steps else None

    def keep_all(self) -> None:
        files = self._listing.files.files
        self._decisions.mark_files([file for file in files if not (is_decided(file) or file.is_only_offered)], "kept")

    def commit(self) -> None:
        file = self._listing.files.current_file
        if self._bar.commit.isEnabled() and self._bar.commit.isVisibleTo(self) and file is not None:
            self.committing.open(self._listing.files.files, file.path, self._decisions.submit)

    def undo_commit(self) -> None:
        if commits := self._reviewed.transcript.changed.commits:
            self._decisions.submit(UndoCommit(commit=commits[-1].commit))

    def _undo(self, reason: str) -> None:
        self._decisions.problem.emit("")
        reviewed, files = self._reviewed, self._listing.files.files
        if reviewed.baseline.is_git:
            self._decisions.undo_git(files, reason=reason)
            return
        selection = reviewed.selection_of_files(files) if self._listing.is_filtered else reviewed.selection()
        self._decisions.undo(selection, reason)

    def _undo_with_word(self) -> None:
        dialog = WordDialog(QCoreApplication.translate("ListDecisions", "Undo everything that is listed"), self)
        dialog.given.connect(self._undo)
        dialog.open()

    def _redo(self) -> None:
        if self._state().offered:
            self._decisions.submit(RedoChanges(selection=self._reviewed.selection()))
        elif (step := self._last_step()) is not None:
            self._decisions.submit(RedoSteps(steps=(step.seq,)))

    def open_comments(self) -> None:
        if self._comments_dialog is None and self._reviewed.transcript.changed.comments:
            dialog = self._comments_dialog = CommentsDialog(self._theme, self)
            self._show_comments()
            dialog.removed.connect(self._remove_comment)
            dialog.sent.connect(self._send_comments)
            dialog.finished.connect(self._forget_comments_dialog)
            dialog.open()

    def _show_comments(self) -> None:
        if self._comments_dialog is not None:
            self._comments_dialog.set_comments(list(self._reviewed.transcript.changed.comments.values()))

    def _send_comments(self, text: str) -> None:
        self._decisions.submit(SendComments(text=text))

    def _forget_comments_dialog(self) -> None:
        self._comments_dialog = None

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._look_at_jobs()
        self._redraw.resume()

    def hideEvent(self, event: QHideEvent) -> None:
        self._redraw.pause()
        super().hideEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._is_complete:
            rows = int(self.height() * _LIST_SHARE) // Height.LIST_ROW
            self._listing.files.set_max_rows(max(_MIN_LIST_ROWS, rows))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and self.isVisible():
            # The user may have changed files in another window.
            self._look_at_jobs()
            self._git.look()
            if self._reviewed.baseline.is_git:
                self._git.load(self._reviewed.baseline)
