"""Writing the file that the user edited in its diff: when it can be edited, and what became of a save."""

from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, QObject

from desktop_agent.core.protocol.ops import WriteFile
from desktop_agent.core.transcript import NoticeEntry, Transcript
from desktop_agent.ui.review.changed_file_list import ChangedFileList
from desktop_agent.ui.review.changed_files import ChangedFile
from desktop_agent.ui.review.diff_source import turn_obstacle
from desktop_agent.ui.review.panel.decisions import ReviewDecisions
from desktop_agent.ui.review.panel.file_editing import FileEditing
from desktop_agent.ui.review.reviewed_changes import Reviewed

_NOT_WRITTEN = ("not_written", "storage")


class _Saving(NamedTuple):
    """An edit that the session was asked to write, and what it had said by then."""

    path: str
    change_count: int
    notice: NoticeEntry | None
    seq: int
    """The number of the last record then: an earlier notice may be loaded meanwhile."""


class FileSaving(QObject):
    """Has the session write what was edited, if the file was not changed since, and says when that is over."""

    def __init__(
        self, editing: FileEditing, files: ChangedFileList, reviewed: Reviewed, decisions: ReviewDecisions
    ) -> None:
        super().__init__(editing)
        self._editing = editing
        self._list = files
        self._reviewed = reviewed
        self._decisions = decisions
        self._saving: _Saving | None = None
        editing.saved.connect(self._save)

    def look(self) -> None:
        """Look whether an edit has been written meanwhile, or why not."""
        saving, transcript = self._saving, self._reviewed.transcript
        if saving is None:
            return
        if entry := _failure_since(transcript, saving):
            self._saving = None
            self._editing.save_failed(entry.notice.title)
        elif _is_written(transcript, saving):
            self._saving = None
            self._editing.save_done()

    def _save(self, content: bytes) -> None:
        if file := self._list.current_file:
            transcript = self._reviewed.transcript
            self._saving = _Saving(
                file.path, len(transcript.changes), _last_notice(transcript), transcript.session.last_seq
            )
            expected = _newest_digest(transcript, file)
            self._decisions.submit(WriteFile(path=file.path, expected=expected, content=content))


def edit_obstacle(transcript: Transcript, file: ChangedFile) -> str:
    """Return why this file cannot be edited where it is shown; empty when what is shown of it is what is on disk."""
    after = file.standing[-1].change.after
    if obstacle := turn_obstacle(is_running=transcript.turns.is_running):
        return obstacle
    if after is None:
        return _tr("There is no file to edit")
    if file.mark == "undone" or file.state != "stands":
        return _tr("Some of what is shown is undone. Review uncommitted changes to edit the file as it is")
    if _newest_digest(transcript, file) != after.digest:
        return _tr("The file has changed since. Review uncommitted changes to edit it as it is")
    return ""


def _newest_digest(transcript: Transcript, file: ChangedFile) -> str | None:
    """The digest that the file on disk has unless it was changed without a record."""
    if file.is_git:
        after = file.standing[-1].change.after
    else:
        records = [record for record in transcript.changes.values() if record.change.path == file.path]
        after = records[-1].change.after if records else None
        if records and records[-1].is_undone:
            after = records[-1].change.before
    return after.digest if after is not None else None


def _last_notice(transcript: Transcript) -> NoticeEntry | None:
    return next((entry for entry in reversed(transcript.entries) if isinstance(entry, NoticeEntry)), None)


def _failure_since(transcript: Transcript, saving: _Saving) -> NoticeEntry | None:
    """The newest notice that says why a file was not written, if it came after the request to write it."""
    for entry in reversed(transcript.entries):
        if entry is saving.notice:
            return None
        if not isinstance(entry, NoticeEntry) or entry.notice.code not in _NOT_WRITTEN:
            continue
        if not 0 < entry.notice.seq <= saving.seq:  # one that could not be recorded has no number
            return entry
    return None


def _is_written(transcript: Transcript, saving: _Saving) -> bool:
    since = list(transcript.changes.values())[saving.change_count :]
    return any(record.change.author == "person" and record.change.path == saving.path for record in since)


def _tr(text: str) -> str:
    return QCoreApplication.translate("FileSaving", text)
