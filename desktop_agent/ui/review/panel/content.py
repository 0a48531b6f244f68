"""What the review panel holds once there is something to review: the files, the diff of one of them, the decisions."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QHideEvent, QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.review.changed_files import ChangedFile, ReviewBaseline
from desktop_agent.ui.review.changes.filters import FileFilter
from desktop_agent.ui.review.changes.git_listing import GitListing
from desktop_agent.ui.review.changes.net_counts import NetCounts
from desktop_agent.ui.review.changes.reviewed import Reviewed
from desktop_agent.ui.review.changes.verdicts import is_decided, progress
from desktop_agent.ui.review.comments.comments_dialog import CommentsDialog
from desktop_agent.ui.review.panel.decisions import ReviewDecisions, ReviewOutlets, last_step
from desktop_agent.ui.review.panel.file_decisions import FileDecisions
from desktop_agent.ui.review.panel.header import header_row
from desktop_agent.ui.review.panel.parts import ReviewParts
from desktop_agent.ui.review.panel.undo_bar import BarState, Scope
from desktop_agent.ui.review.panel.undo_news import UndoNews
from desktop_agent.ui.review.source import GitSource, Spawn
from desktop_agent.ui.runtime.throttle import Throttle
from desktop_agent.ui.theme import Height, Space, TypeSize
from desktop_agent.ui.widgets.hairline import hairline

_MIN_LIST_ROWS = 3
_LIST_SHARE = 0.35
_FIELD_FROM_FILES = 9
"""With so many files or more, the field that filters them is there without being asked for."""
_REDRAW_INTERVAL_MS = 100
"""Deciding about 1,000 files at once is 1,000 pieces of news; each would have all of them drawn anew."""


class ReviewContent(QWidget):
    """Draws the changes of a transcript, or what git finds different, and asks for what the user decides."""

    def __init__(
        self,
        parts: ReviewParts,
        git: GitSource | None,
        spawn: Spawn,
        outlets: ReviewOutlets,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme = parts.theme
        self._outlets = outlets
        self._shown_state: object = None
        self._disk_state: object = None
        self._comments_dialog: CommentsDialog | None = None
        self._source = source = parts.source
        self._git = GitListing(git, spawn, self)
        self._counts = NetCounts(source, spawn, self)
        self._reviewed = Reviewed(self._git, self._counts)
        self._decisions = ReviewDecisions(outlets.submit, self._counts, git, spawn, self)
        self._picker = parts.picker
        self._filter = parts.filter
        self._field = QLineEdit()
        self._added, self._removed = QLabel(), QLabel()
        self._list = parts.files
        self._note = QLabel()
        self.pane = parts.pane
        self._news = UndoNews(theme, source, spawn, self._decisions, self)
        self.file = FileDecisions(self._list, self.pane, self._reviewed, self._git, self._decisions, outlets, self)
        """The decisions about the file that is shown."""
        self._gap = QWidget()
        self._bar = parts.bar
        self._redraw = Throttle(self._draw, self, _REDRAW_INTERVAL_MS)
        self._lay_out()
        self._connect()
        self._on_theme_changed()

    # -- what it shows --

    def set_transcript(self, transcript: Transcript) -> None:
        """Show the changes of this transcript. What was undone in it before is no news."""
        self._reviewed.set_transcript(transcript)
        self._shown_state = self._disk_state = None
        self.pane.forget()
        self._counts.forget()
        self._decisions.forget()
        self._bar.set_problem("")
        self._clear_filter()
        self._source.set_transcript(transcript)
        self._git.set_folder(transcript.session.workspace)
        self._news.set_transcript(transcript)
        self._draw()

    def choose(self, baseline: ReviewBaseline) -> None:
        """Review this from now on."""
        self._look_at_jobs()
        self._reviewed.baseline = baseline
        self._disk_state = None
        self._bar.set_problem("")
        self._draw()

    def refresh(self) -> None:
        """Look at the transcript again: at once, but not more often than the eye needs, and not while hidden."""
        self._news.look()
        self.file.look()
        self._redraw.trigger()

    def _draw(self) -> None:
        """Draw what changed. Costs next to nothing when nothing that is shown has changed."""
        self._reviewed.update_turns()
        self._ask_git_again()
        state = self._reviewed.state(), self._news.last, self._decisions.git_redo_count
        if state == self._shown_state:
            return
        self._shown_state = state
        reviewed = self._reviewed
        self._picker.set_choices(reviewed.turns, reviewed.prompts(), self._git.state, reviewed.baseline)
        self._show_files()
        if self._comments_dialog is not None:
            self._comments_dialog.set_comments(reviewed.comments())

    def show_call(self, call_id: str) -> bool:
        """Show what this call changed; whether it changed anything."""
        record = self._reviewed.record_of_call(call_id)
        if record is None:
            return False
        if not self._reviewed.covers(record):
            self.choose(ReviewBaseline("turn", record.turn))
        path = record.change.moved_to or record.change.path
        if not self._list.select(path):
            self._clear_filter()
        return self._list.select(path)

    def look_again(self) -> None:
        """Ask git again: the user was elsewhere, and may have changed files there."""
        self._look_at_jobs()
        self._git.look()
        if self._reviewed.baseline.is_git:
            self._git.load(self._reviewed.baseline)

    def _look_at_jobs(self) -> None:
        """Have it recorded what background commands have changed; otherwise it shows when they end."""
        if self._reviewed.has_running_jobs:
            from desktop_agent.core.protocol.ops import LookAtChanges

            self._outlets.submit(LookAtChanges())

    def _show_files(self) -> None:
        to_compare = self._reviewed.update_files()
        files = self._wanted_filter().select(self._reviewed.files)
        self._list.set_files(files)
        self._show_totals(files)
        self._show_note(files)
        self.file.show()
        self._list.set_can_revert(not self._reviewed.is_running)
        is_long = len(self._reviewed.files) >= _FIELD_FROM_FILES
        self._field.setVisible(is_long or self._field.hasFocus() or bool(self._field.text()))
        self._filter.set_has_authors(has_authors=not self._reviewed.baseline.is_git)
        self._bar.set_state(self._bar_state(files))
        found = self._reviewed.uncaptured()
        self._bar.set_uncaptured([missed.path for missed in found], "\n".join(f"{m.path}: {m.reason}" for m in found))
        self._counts.request(to_compare)

    def _wanted_filter(self) -> FileFilter:
        return self._filter.chosen._replace(text=self._field.text())

    def _show_totals(self, files: list[ChangedFile]) -> None:
        counts = [file.counts for file in files if file.mark != "undone"]
        added, removed = sum(added for added, _ in counts), sum(removed for _, removed in counts)
        self._added.setText(f"+{added}" if added else "")
        self._added.setAccessibleName(self.tr("{0} lines added").format(added))
        self._removed.setText(f"−{removed}" if removed else "")
        self._removed.setAccessibleName(self.tr("{0} lines removed").format(removed))

    def _show_note(self, files: list[ChangedFile]) -> None:
        self._note.setText("" if files else self._empty_words())
        for widget in (self._note, self._gap):
            widget.setVisible(not files)
        for widget in (self._list, self.pane):
            widget.setVisible(bool(files))
        if not files:
            self.pane.forget()

    def _empty_words(self) -> str:
        if self._reviewed.files:
            return self.tr("No changed file matches.") + f' <a href="#all">{self.tr("Show all files")}</a>'
        if not self._reviewed.baseline.is_git:
            return self.tr("Nothing changed here.")
        if self._git.is_loading:
            return self.tr("Looking…")
        return self._git.problem or self.tr("No differences: the files on disk are as committed.")

    def _bar_state(self, files: Sequence[ChangedFile]) -> BarState:
        is_git = self._reviewed.baseline.is_git
        decided, total = progress(files)
        transcript = self._reviewed.transcript
        step = last_step(transcript)
        redo = len(step.open_paths(transcript.changes)) if transcript is not None and step is not None else 0
        return BarState(
            decided=decided,
            total=total,
            standing=sum(file.mark != "undone" and not file.is_by_person for file in files),
            scope=self._scope(),
            is_running=self._reviewed.is_running,
            comments=len(self._reviewed.comments()),
            redo_count=self._decisions.git_redo_count if is_git else redo,
        )

    def _scope(self) -> Scope:
        if not self._wanted_filter().is_empty:
            return "filtered"
        kinds: dict[str, Scope] = {"session": "session", "since": "since", "uncommitted": "git", "branch": "git"}
        return kinds.get(self._reviewed.baseline.kind, "turn")

    def _ask_git_again(self) -> None:
        """Ask git when files were changed from here: its answer is of before."""
        state = self._reviewed.disk_state()
        if state != self._disk_state:
            self._disk_state = state
            if self._reviewed.baseline.is_git:
                self._git.load(self._reviewed.baseline)

    # -- what the user decides about everything that is listed --

    def keep_all(self) -> None:
        """Keep what is undecided of the listed files."""
        self._decisions.mark_files([file for file in self._list.files if not is_decided(file)], "kept")

    def undo_all(self, reason: str = "") -> None:
        """Undo everything that is listed."""
        self._bar.set_problem("")
        is_filtered = not self._wanted_filter().is_empty
        if self._reviewed.baseline.is_git:
            self._decisions.undo_git(self._git.folder, self._list.files)
        elif is_filtered:
            selection = self._reviewed.selection_of_files(self._list.files)
            self._decisions.undo_with_care(self._reviewed.transcript, selection, reason, self)
        else:
            self._decisions.undo_with_care(self._reviewed.transcript, self._reviewed.selection(), reason, self)

    def redo(self) -> None:
        """Take back the last undo, as the one step it was."""
        if self._reviewed.baseline.is_git:
            self._decisions.redo_git()
        elif (step := last_step(self._reviewed.transcript)) is not None:
            self._decisions.redo_step(step)

    def go_to_undecided(self, *, backwards: bool = False) -> None:
        """Go to the next undecided place, with the keyboard: in this file, else in the next one, round the end."""
        file = self._list.current_file
        is_open = file is not None and not is_decided(file)
        if is_open and self.pane.go_to_undecided(backwards=backwards):
            return
        if self._list.select_next_undecided(backwards=backwards) or is_open:
            self.pane.start_at_undecided(backwards=backwards)

    def open_comments(self) -> None:
        """Show the remarks, to be sent."""
        if self._comments_dialog is not None or not self._reviewed.comments():
            return

        dialog = self._comments_dialog = CommentsDialog(self._theme, self)
        dialog.set_comments(self._reviewed.comments())
        dialog.removed.connect(self._decisions.remove_comment)
        dialog.sent.connect(self._decisions.send_comments)
        dialog.finished.connect(self._forget_comments_dialog)
        dialog.open()

    def _forget_comments_dialog(self) -> None:
        self._comments_dialog = None

    def _undo_all_plainly(self) -> None:
        self.undo_all()

    def _undo_all_with_word(self) -> None:
        from desktop_agent.ui.review.panel.word_dialog import WordDialog

        dialog = WordDialog(self.tr("Undo everything that is listed"), self)
        dialog.given.connect(self.undo_all)
        dialog.open()

    # -- what the user looks for --

    def _on_counted(self) -> None:
        self._shown_state = None
        self._redraw.trigger()

    def _clear_filter(self) -> None:
        self._filter.clear()
        self._field.clear()

    def _ask_for_text(self) -> None:
        self._field.show()
        self._field.setFocus()

    def _next_change(self) -> None:
        self.pane.view.navigation.next_change()

    def _previous_change(self) -> None:
        self.pane.view.navigation.previous_change()

    def _forget_problem(self) -> None:
        self._bar.set_problem("")

    # -- how it is built --

    def _lay_out(self) -> None:
        self._field.setObjectName("reviewFilterEdit")
        self._field.setAccessibleName(self.tr("Filter the files by path"))
        self._field.setPlaceholderText(self.tr("Filter by path"))
        self._field.setClearButtonEnabled(True)
        self._field.hide()
        self._note.setObjectName("reviewNote")
        self._note.setProperty("role", "secondary")
        self._note.setWordWrap(True)
        self._note.setContentsMargins(Space.M, Space.S, Space.M, Space.S)
        totals = QHBoxLayout()
        totals.setSpacing(Space.S)
        totals.addWidget(self._added)
        totals.addWidget(self._removed)
        header = header_row()
        header.insertWidget(1, self._picker)
        header.insertWidget(2, self._filter)
        header.addLayout(totals)
        margins = QVBoxLayout()
        margins.setContentsMargins(Space.S - 1, 0, Space.S - 1, Space.XS)
        margins.setSpacing(Space.XS)
        margins.addWidget(self._field)
        margins.addWidget(self._list)
        margins.addWidget(self._note)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(header)
        column.addLayout(margins)
        column.addWidget(hairline())
        column.addWidget(self.pane, 1)
        column.addWidget(self._gap, 1)
        column.addWidget(hairline())
        column.addWidget(self._bar)

    def _connect(self) -> None:
        self._picker.chosen.connect(self.choose)
        self._picker.opened.connect(self._git.look)
        self._filter.changed.connect(self._show_files)
        self._filter.text_requested.connect(self._ask_for_text)
        self._field.textChanged.connect(self._show_files)
        self._note.linkActivated.connect(self._clear_filter)
        self._git.changed.connect(self._redraw.trigger)
        self._counts.changed.connect(self._on_counted)
        self._decisions.failed.connect(self._bar.set_problem)
        self._theme.changed.connect(self._on_theme_changed)
        self._list.current_changed.connect(self.file.show)
        self._list.clicked.connect(self.pane.try_again)
        self._list.clicked.connect(self._look_at_jobs)
        self.pane.mode_chosen.connect(self._outlets.choose_mode)
        self.file.started.connect(self._forget_problem)
        self._connect_bar()
        for key, slot in (("F7", self._next_change), ("Shift+F7", self._previous_change)):
            shortcut = QShortcut(QKeySequence(key), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(slot)

    def _connect_bar(self) -> None:
        self._bar.undo_clicked.connect(self._undo_all_plainly)
        self._bar.undo_with_word_clicked.connect(self._undo_all_with_word)
        self._bar.redo_clicked.connect(self.redo)
        self._bar.keep_clicked.connect(self.keep_all)
        self._bar.next_clicked.connect(self.go_to_undecided)
        self._bar.comments_clicked.connect(self.open_comments)

    def _on_theme_changed(self) -> None:
        for label, role in ((self._added, "added_text"), (self._removed, "removed_text")):
            label.setFont(self._theme.code_font(TypeSize.HEAD))
            label.setStyleSheet(f"color: {getattr(self._theme.colours, role)};")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        rows = int(self.height() * _LIST_SHARE) // Height.LIST_ROW
        self._list.set_max_rows(max(_MIN_LIST_ROWS, rows))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._look_at_jobs()
        self._redraw.resume()

    def hideEvent(self, event: QHideEvent) -> None:
        self._redraw.pause()
        super().hideEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and self.isVisible():
            self.look_again()
