"""Editing the text of a file, over its diff or in the viewer. The session writes the result."""

import stat
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QTextCursor, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from desktop_agent.core.diff.edited_text import EditedText
from desktop_agent.core.diff.text import Text
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.core.protocol.ops import WriteFile
from desktop_agent.core.transcript import NoticeEntry, Transcript
from desktop_agent.ui.part_keys import claims_key
from desktop_agent.ui.review.changed_file_list import ChangedFileList
from desktop_agent.ui.review.changed_files import ChangedFile
from desktop_agent.ui.review.diff.comment_overlay import anchor_of_change
from desktop_agent.ui.review.diff.diff_painter import DiffOverlay
from desktop_agent.ui.review.diff.diff_review import DiffReview
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff_source import turn_obstacle
from desktop_agent.ui.review.review_bars import FileBar
from desktop_agent.ui.review.review_decisions import ReviewDecisions
from desktop_agent.ui.review.reviewed_changes import Reviewed
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.layouts import discard

_CHUNK_CHARS = 24_000
"""How much text an editor can insert and paint within a frame."""
_LINES_AROUND = 200
"""More lines than a screen shows. Once so many follow a line, the line can be shown in its final position."""


class FileEditor(QPlainTextEdit):
    save_pressed = Signal()
    cancel_pressed = Signal()

    def __init__(
        self, text: EditedText | str, theme: Theme, parent: QWidget | None = None, *, is_marked: bool = True
    ) -> None:
        """A `text` of type `str` is read-only. `is_marked` draws a bar that shows where editing takes place."""
        super().__init__(parent)
        self._theme = theme
        self._is_marked = is_marked
        self._edited = text if isinstance(text, EditedText) else None
        self._shown = text if isinstance(text, str) else text.shown
        self._line = 0
        self._is_placed = False
        self._chunks: Iterator[str] = iter(())
        self._is_restored = False
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._insert_chunk)
        self.is_ready = False
        self.setObjectName("fileEditor")
        self.setProperty("variant", "bare")
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        option = QTextOption(self.document().defaultTextOption())
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        self.document().setDefaultTextOption(option)
        self.document().setDocumentMargin(6)
        self.setCornerWidget(QWidget())
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    @property
    def is_changed(self) -> bool:
        return self.is_ready and self.document().isModified() and self.content() != self._shown

    def fill(self, line: int, content: str | None = None) -> None:
        self._line = line
        shown = self._shown if content is None else content
        self._is_restored = content is not None
        self._chunks = (shown[at : at + _CHUNK_CHARS] for at in range(0, len(shown), _CHUNK_CHARS))
        self.document().setUndoRedoEnabled(False)
        self.setReadOnly(True)
        self._insert_chunk()
        if not self.is_ready:
            self._timer.start(0)

    def content(self) -> str:
        # `toPlainText` would turn non-breaking blanks into plain blanks.
        return self.document().toRawText().replace("\u2029", "\n")

    def encoded(self) -> bytes:
        """Return the edited bytes. Raises `UnicodeEncodeError` if the text cannot be encoded."""
        assert self._edited is not None, "it is only shown"
        return self._edited.encoded(self.content())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Save):
            self.save_pressed.emit()
        elif event.key() == Qt.Key.Key_Escape and self._is_marked:
            self.cancel_pressed.emit()
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        return claims_key(event, _is_own) or super().event(event)

    def _insert_chunk(self) -> None:
        chunk = next(self._chunks, None)
        if chunk is not None:
            cursor = QTextCursor(self.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.insertText(chunk)
            if len(chunk) == _CHUNK_CHARS:
                if self.document().blockCount() > self._line + _LINES_AROUND:
                    self._place()
                return
        self._timer.stop()
        self._place()
        self.is_ready = True
        if self._edited is not None:
            self.setReadOnly(False)
            self.document().setUndoRedoEnabled(True)
        else:
            keyboard = Qt.TextInteractionFlag.TextSelectableByKeyboard
            self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse | keyboard)
        self.document().setModified(self._is_restored)

    def _place(self) -> None:
        """Go to the requested line, but only once, because the user may have moved since."""
        if not self._is_placed:
            self._is_placed = True
            self.setTextCursor(QTextCursor(self.document().findBlockByNumber(self._line)))
            self.centerCursor()

    def _on_theme_changed(self) -> None:
        self.setFont(self._theme.code_font(self._theme.sizes.diff, grows=False))
        self.setTabStopDistance(4 * self.fontMetrics().horizontalAdvance(" "))
        colours = self._theme.colours
        bar = f"2px solid {colours.accent}" if self._is_marked else "none"
        look = f"background: {colours.surface}; border: none; border-left: {bar}; padding: 0;"
        self.setStyleSheet(f"QPlainTextEdit, QPlainTextEdit:focus {{ {look} }}")


def _is_own(key: QKeyEvent) -> bool:
    return key.matches(QKeySequence.StandardKey.Save) or key.key() == Qt.Key.Key_Escape


_tr = partial(QCoreApplication.translate, "FileSaving")

MAX_EDITED_BYTES = 2_000_000


class FileEditing(DiffOverlay):
    """Edits the diff's new side. Keeps unsaved drafts. Does not save if the file has changed during editing."""

    saved = Signal(object)  # the new bytes of the file
    find_requested = Signal()

    def __init__(self, theme: Theme, bar: FileBar, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme
        self._bar = bar
        self._review: DiffReview | None = None
        self._editor: FileEditor | None = None
        self._diff: FileDiff | None = None
        self._saved: bytes | None = None
        self._is_stale = False
        self._drafts: dict[str, tuple[Sequence[str], str]] = {}
        """By path, the lines on which an edit was based, and then the user's unsaved text."""
        self._path = ""
        self._known_obstacle: str | None = None
        """Why the file cannot be edited, whichever view shows it. Empty if it can; None while that is not known."""
        bar.edit.clicked.connect(self.start)
        bar.save.clicked.connect(self.save)
        bar.cancel.clicked.connect(self.cancel)
        bar.discard.clicked.connect(self._close)
        bar.keep_editing.clicked.connect(self._keep_editing)

    @property
    def is_active(self) -> bool:
        return self._editor is not None

    def attach(self, review: DiffReview) -> None:
        self._review = review
        review.view.overlays.append(self)

    def set_path(self, path: str) -> None:
        if path != self._path:
            self._path = path
            self.leave()
            self._show_offer()

    def set_obstacle(self, obstacle: str) -> None:
        self._known_obstacle = obstacle
        self._show_offer()

    def on_diff_shown(self) -> None:
        diff = self._review.view.document.diff if self._review else None
        if self._diff is not None and self._editor is not None:
            if diff is None or diff.path != self._diff.path:
                self.leave()
            elif diff.new_lines != self._diff.new_lines:
                self._is_stale = True
                self._show_stage()
        self._show_offer()

    def start(self) -> None:
        review = self._review
        if review is None or review.view.document.diff is None or self._editor or self._obstacle():
            return
        diff = self._diff = review.view.document.diff
        text = Text("".join(diff.new_lines), diff.new_encoding)
        self._editor = FileEditor(EditedText(text), self._theme, review.view)
        self._editor.setAccessibleName(self.tr("Text of {0}").format(diff.path))
        self._editor.save_pressed.connect(self.save)
        self._editor.cancel_pressed.connect(self.cancel)
        lines, draft = self._drafts.pop(diff.path, (None, ""))
        content = draft if lines == diff.new_lines else None
        self._saved, self._is_stale = None, False
        review.hunks.set_covered(is_covered=True)
        self.place()
        self._editor.show()
        self._editor.fill(_marked_new_line(review.view), content)
        self._editor.setFocus()
        self._show_stage()

    def save(self) -> None:
        """The editor stays, read-only, until the file is known to be written or not."""
        editor = self._editor
        if editor is None or not editor.is_ready or self._is_stale or self._saved is not None:
            return
        if not editor.is_changed:
            self._close()
            return
        try:
            self._saved = editor.encoded()
        except UnicodeEncodeError:
            self._bar.show_editing("editing", self.tr("A character does not fit the file's encoding."))
            return
        editor.setReadOnly(True)
        self._show_stage()
        self.saved.emit(self._saved)

    def save_done(self) -> None:
        if self._saved is not None:
            self._close()

    def save_failed(self, reason: str) -> None:
        if self._editor and self._saved is not None:
            self._saved = None
            self._editor.setReadOnly(False)
            self._bar.show_editing("editing", reason)

    def cancel(self) -> None:
        if self._editor is None:
            return
        if self._editor.is_changed and self._saved is None:
            self._bar.show_editing("asking", self.tr("Discard your edits?"))
        else:
            self._close()

    def leave(self) -> None:
        if self._editor and self._diff:
            if self._editor.is_changed and self._saved is None:
                self._drafts[self._diff.path] = (self._diff.new_lines, self._editor.content())
            self._close()

    def _keep_editing(self) -> None:
        self._show_stage()
        if self._editor:
            self._editor.setFocus()

    def _close(self) -> None:
        editor, self._editor = self._editor, None
        self._diff = None
        self._saved = None
        if editor and self._review:
            if editor.hasFocus():
                self._review.view.setFocus()
            self._review.hunks.set_covered(is_covered=False)
            discard(editor)
        self._bar.show_editing("reading")

    def place(self) -> None:
        if self._editor and self._review:
            view, panes = self._review.view, self._review.view.scroller.panes
            left = panes[-1].left if panes else 0
            height = view.viewport().height() if left else view.height()  # the other side scrolls sideways
            self._editor.setGeometry(left, 0, view.width() - left, height)
            self._editor.raise_()

    def takes(self, action: str) -> bool:
        return action in ("find", "edit")

    def do(self, action: str) -> bool:
        match action:
            case "find":
                self.find_requested.emit()
            case "edit" if self._review and len(self._review.view.document.rows):
                self.start()
            case _:
                return False
        return True

    def _show_stage(self) -> None:
        if self._saved is not None:
            self._bar.show_editing("saving", self.tr("Saving…"))
        elif self._is_stale:
            note = self.tr("The file has changed meanwhile. Copy what you need, then cancel.")
            self._bar.show_editing("stale", note)
        else:
            self._bar.show_editing("editing")

    def _show_offer(self) -> None:
        self._bar.set_edit_obstacle(self._obstacle(), is_offered=self._known_obstacle is not None)

    def _obstacle(self) -> str:
        diff = self._review.view.document.diff if self._review else None
        if self._known_obstacle is None:
            return self.tr("The file has changed since it was shown")
        if self._known_obstacle:
            return self._known_obstacle
        if diff is None or diff.path != self._path:
            return self.tr("The file is being loaded")
        if diff.kind == "deleted":
            return self.tr("There is no file to edit")
        is_regular = stat.S_ISREG(diff.new_mode) or not stat.S_IFMT(diff.new_mode) if diff.new_mode else True
        if diff.is_binary or not is_regular:
            return self.tr("Only text can be edited here")
        if diff.new_size > MAX_EDITED_BYTES:
            return self.tr("Too large to edit here")
        if diff.new_size and not diff.new_lines:
            return self.tr("Only text can be edited here")
        return ""


def _marked_new_line(view: DiffView) -> int:
    """Return the new line at or after the marked row. On the bar of a change, return its first new line."""
    rows, marked = view.document.rows, view.navigation.row
    if len(rows) and rows[marked].kind == "hunk":
        anchor = anchor_of_change(rows, marked)
        if anchor.side == "new":
            return anchor.start
    for row in range(marked, len(rows)):
        if gap := rows.gap(row):
            return gap.new_start
        new = rows[row].new
        if new is not None:
            return new
    return max(0, len(rows.diff.new_lines) - 1)


_NOT_WRITTEN = ("not_written", "storage")


class _Saving(NamedTuple):
    path: str
    change_count: int
    notice: NoticeEntry | None
    seq: int
    """The number of the last record at that time. Notices up to it are ignored: old ones can be loaded later."""


class FileSaving:
    def __init__(
        self, editing: FileEditing, files: ChangedFileList, reviewed: Reviewed, decisions: ReviewDecisions
    ) -> None:
        self._editing = editing
        self._list = files
        self._reviewed = reviewed
        self._decisions = decisions
        self._saving: _Saving | None = None

    def look(self) -> None:
        saving, transcript = self._saving, self._reviewed.transcript
        if saving is None:
            return
        changes = transcript.changes
        if entry := _failure_since(transcript, saving):
            self._saving = None
            self._editing.save_failed(entry.notice.title)
        elif any(
            record.change.author == "person" and record.change.path == saving.path
            for record in list(changes.values())[saving.change_count :]
        ):
            self._saving = None
            self._editing.save_done()

    def save(self, content: bytes) -> None:
        if file := self._list.current_file:
            transcript = self._reviewed.transcript
            self._saving = _Saving(
                file.path,
                len(transcript.changes),
                next((entry for entry in reversed(transcript.entries) if isinstance(entry, NoticeEntry)), None),
                transcript.session.last_seq,
            )
            expected = _newest_digest(transcript, file)
            self._decisions.submit(WriteFile(path=file.path, expected=expected, content=content))


def edit_obstacle(transcript: Transcript, file: ChangedFile) -> str:
    """Return why this file cannot be edited now; empty if the shown version is the version on disk."""
    after = file.standing[-1].change.after
    if obstacle := turn_obstacle(is_running=transcript.turns.is_running):
        return obstacle
    if after is None:
        return _tr("There is no file to edit")
    if file.mark == "undone" or file.state != "stands":
        return _tr("Some of these changes are undone. To edit the file as it is on disk, review uncommitted changes")
    if _newest_digest(transcript, file) != after.digest:
        return _tr("The file has changed since. Review uncommitted changes to edit it as it is")
    return ""


def _newest_digest(transcript: Transcript, file: ChangedFile) -> str | None:
    """Return the digest of the file on disk, as long as no unrecorded change was made."""
    if file.is_git:
        after = file.standing[-1].change.after
    else:
        records = [record for record in transcript.changes.values() if record.change.path == file.path]
        after = records[-1].change.after if records else None
        if records and records[-1].is_undone:
            after = records[-1].change.before
    return after.digest if after is not None else None


def _failure_since(transcript: Transcript, saving: _Saving) -> NoticeEntry | None:
    for entry in reversed(transcript.entries):
        if entry is saving.notice:
            return None
        if not isinstance(entry, NoticeEntry) or entry.notice.code not in _NOT_WRITTEN:
            continue
        if not 0 < entry.notice.seq <= saving.seq:  # a notice that could not be recorded has no number
            return entry
    return None
