"""The file that is shown: with what was decided about it, and what the user decides about it and its hunks."""

from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, QObject, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.protocol.model import ReviewState
from desktop_agent.core.transcript import NoticeEntry, Transcript
from desktop_agent.ui.review.changed_files import ChangedFile
from desktop_agent.ui.review.changes.change_list import ChangeList
from desktop_agent.ui.review.changes.git_listing import GitListing
from desktop_agent.ui.review.changes.reviewed import Reviewed
from desktop_agent.ui.review.diff.hunk_states import HunkChoice
from desktop_agent.ui.review.panel.decisions import ReviewDecisions, ReviewOutlets, newest_digest
from desktop_agent.ui.review.panel.diff_pane import DiffPane


class _Saving(NamedTuple):
    """An edit that the session was asked to write, and what it had said by then."""

    path: str
    change_count: int
    notice: NoticeEntry | None
    seq: int
    """The number of the last record then: an earlier notice may be loaded meanwhile."""


class FileDecisions(QObject):
    """Shows the current file of the list in the pane, hears both, and makes decisions of it.

    Signals:
        started: something new is tried; what failed before is no news any more.
    """

    started = Signal()

    def __init__(
        self,
        files: ChangeList,
        pane: DiffPane,
        reviewed: Reviewed,
        git: GitListing,
        decisions: ReviewDecisions,
        outlets: ReviewOutlets,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._parent = parent
        self._list = files
        self._pane = pane
        self._reviewed = reviewed
        self._git = git
        self._decisions = decisions
        self._outlets = outlets
        self._saving: _Saving | None = None
        files.open_requested.connect(self._open)
        files.call_requested.connect(self._show_call)
        files.keep_requested.connect(self.keep)
        files.reopen_requested.connect(self._reopen)
        files.undo_requested.connect(self._undo_plainly)
        files.undo_with_word_requested.connect(self._undo_with_word)
        files.redo_requested.connect(self._redo)
        pane.call_clicked.connect(self._show_call)
        pane.requested.connect(self._decide)
        pane.comment_added.connect(decisions.add_comment)
        pane.comment_removed.connect(decisions.remove_comment)
        pane.edit_saved.connect(self._save_edit)

    def show(self) -> None:
        """Show the current file, if there is one."""
        file, reviewed, pane = self._list.current_file, self._reviewed, self._pane
        if file is None:
            return
        tool = reviewed.tool_behind(file)
        pane.show_file(file, self.tr("turn {0} · {1}").format(*tool) if tool is not None else "")
        obstacle = self._undo_obstacle(file)
        pane.set_states(frozenset(reviewed.kept(file)), reviewed.undone(file), not obstacle, obstacle)
        pane.set_comments(tuple(comment for comment in reviewed.comments() if comment.path == file.path))
        obstacle = edit_obstacle(reviewed, file)
        pane.set_editable(not obstacle, obstacle)

    def look(self) -> None:
        """Look whether an edit has been written meanwhile, or why not."""
        saving, transcript = self._saving, self._reviewed.transcript
        if saving is None or transcript is None:
            return
        if entry := _failure_since(transcript, saving):
            self._saving = None
            self._pane.edit_failed(entry.notice.title)
        elif _is_written(transcript, saving):
            self._saving = None
            self._pane.edit_done()

    def _undo_obstacle(self, file: ChangedFile) -> str:
        if self._reviewed.is_running:
            return self.tr("Wait until the turn has ended, or stop it")
        return self.tr("You changed this yourself") if file.is_by_person else ""

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
            selection = self._reviewed.selection_of_file(file)
            self._decisions.undo_with_care(self._reviewed.transcript, selection, reason, self._parent)

    def _undo_plainly(self) -> None:
        self.undo()

    def _undo_with_word(self) -> None:
        if file := self._list.current_file:
            from desktop_agent.ui.review.panel.word_dialog import WordDialog

            dialog = WordDialog(self.tr("Undo {0}").format(file.path), self._parent)
            dialog.given.connect(self.undo)
            dialog.open()

    def _redo(self) -> None:
        if file := self._list.current_file:
            self._decisions.redo(self._reviewed.selection_of_file(file))

    def _reopen(self) -> None:
        self._mark("pending")

    def _mark(self, state: ReviewState) -> None:
        if (file := self._list.current_file) and not file.is_by_person:
            self._decisions.mark_files([file], state)

    def _decide(self, choice: HunkChoice, keys: tuple[HunkKey, ...]) -> None:
        """Do what the user wants with these hunks."""
        file = self._list.current_file
        if file is None:
            return
        match choice:
            case "undo" if file.is_git:
                self._decisions.undo_git(self._git.folder, [file], keys)
            case "undo":
                self._decisions.undo(self._reviewed.selection_of_file(file, keys))
            case "redo" if not file.is_git:
                self._decisions.redo(self._reviewed.selection_of_file(file, keys))
            case "keep" | "undecide":
                is_kept = all(key in self._reviewed.kept(file) for key in keys)
                self._decisions.mark(file, keys, "pending" if is_kept else "kept")
            case _:
                pass

    def _save_edit(self, content: bytes) -> None:
        file, transcript = self._list.current_file, self._reviewed.transcript
        if file is not None and transcript is not None:
            self._saving = _Saving(
                file.path, len(transcript.changes), _last_notice(transcript), transcript.session.last_seq
            )
            self._decisions.save_edit(transcript, file, content)

    def _open(self) -> None:
        if file := self._list.current_file:
            self._outlets.open_file(file.path)

    def _show_call(self) -> None:
        file = self._list.current_file
        if file is not None and (record := self._reviewed.record_behind(file)) is not None:
            self._outlets.show_call(record.call_id)


def edit_obstacle(reviewed: Reviewed, file: ChangedFile) -> str:
    """Return why this file cannot be edited where it is shown; empty when what is shown of it is what is on disk."""
    transcript = reviewed.transcript
    after = file.standing[-1].change.after
    if transcript is None or reviewed.is_running:
        return _tr("Wait until the turn has ended, or stop it")
    if after is None:
        return _tr("There is no file to edit")
    if file.mark == "undone" or file.state != "stands":
        return _tr("Some of what is shown is undone. Review uncommitted changes to edit the file as it is")
    if newest_digest(transcript, file) != after.digest:
        return _tr("The file has changed since. Review uncommitted changes to edit it as it is")
    return ""


def _last_notice(transcript: Transcript) -> NoticeEntry | None:
    return next((entry for entry in reversed(transcript.entries) if entry.kind == "notice"), None)


def _failure_since(transcript: Transcript, saving: _Saving) -> NoticeEntry | None:
    """The newest notice that says why a file was not written, if it came after the request to write it."""
    for entry in reversed(transcript.entries):
        if entry is saving.notice:
            return None
        if entry.kind != "notice" or entry.notice.code not in _NOT_WRITTEN:
            continue
        if not 0 < entry.notice.seq <= saving.seq:  # one that could not be recorded has no number
            return entry
    return None


def _is_written(transcript: Transcript, saving: _Saving) -> bool:
    since = list(transcript.changes.values())[saving.change_count :]
    return any(record.change.author == "person" and record.change.path == saving.path for record in since)


def _tr(text: str) -> str:
    return QCoreApplication.translate("FileDecisions", text)


_NOT_WRITTEN = ("not_written", "storage")
