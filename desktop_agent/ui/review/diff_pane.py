"""One changed file's diff, fetched from where it is computed and shown when it is there."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget
from shiboken6 import isValid

from desktop_agent.core.errors import AgentError
from desktop_agent.ui.review.file_bar import FileBar
from desktop_agent.ui.theme import Theme

if TYPE_CHECKING:
    from desktop_agent.core.changes.rows import RowMode
    from desktop_agent.core.ids import HunkKey
    from desktop_agent.core.model import LineComment
    from desktop_agent.ui.review.changed_files import ChangedFile
    from desktop_agent.ui.review.diff_view import DiffView
    from desktop_agent.ui.review.source import DiffSource, Spawn

LOADING_DELAY_MS = 150
"""A diff that takes no longer than this comes without a word about it."""


class DiffPane(QWidget):
    """Shows the diff of a changed file. Results that come too late, for a file shown before, are dropped.

    Signals:
        mode_chosen: the person wants diffs shown in the other mode from now on; ask `wanted_mode`.
        call_clicked: the person wants to see the call behind the change.
        keep_requested, undo_requested, redo_requested: the person wants this for the hunks of these keys (a tuple).
        comment_added: the person wrote a `LineComment`.
        comment_removed: the person takes the comment of this id back.
        edit_saved: the person edited the file in the diff; carries its whole new content as bytes.
    """

    mode_chosen = Signal()
    call_clicked = Signal()
    keep_requested = Signal(object)
    undo_requested = Signal(object)
    redo_requested = Signal(object)
    comment_added = Signal(object)
    comment_removed = Signal(str)
    edit_saved = Signal(object)

    def __init__(self, theme: Theme, source: "DiffSource", spawn: "Spawn", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._source = source
        self._spawn = spawn
        self._wanted_mode: RowMode = "side_by_side"
        self._file: ChangedFile | None = None
        self._key: tuple[str, ...] = ()
        self._request = 0
        self._has_failed = False
        self._view: DiffView | None = None
        self._bar = FileBar(theme)
        self._bar.mode_toggled.connect(self._on_mode_toggled)
        self._bar.call_clicked.connect(self.call_clicked)
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
    def wanted_mode(self) -> "RowMode":
        """How the person wants diffs to be shown, where there is room."""
        return self._wanted_mode

    @property
    def view(self) -> "DiffView":
        """The diff itself. Made when first needed: the empty window does without it."""
        if self._view is None:
            from desktop_agent.ui.review.diff_view import DiffView

            self._view = DiffView(self._theme, self)
            self._view.setObjectName("diffView")
            self._view.set_mode(self._wanted_mode)
            self._view.mode_changed.connect(self._show_mode)
            self._column.addWidget(self._view, 1)
        return self._view

    def set_mode(self, mode: "RowMode") -> None:
        """Show diffs in this mode from now on."""
        self._wanted_mode = mode
        self.view.set_mode(mode)
        self._show_mode()

    def show_file(self, file: "ChangedFile", call: str) -> None:
        """Show this file's diff. `call` is what to say of the call behind it. Does nothing when it is shown already."""
        self._bar.set_file(file.path, call)
        self._file = file
        if file.key != self._key:
            self._key = file.key
            self._load(file)

    def set_states(self, kept: "frozenset[HunkKey]", undone: "frozenset[HunkKey]", can_revert: bool) -> None:
        """Say which hunks are kept and undone, and whether undo and redo can be asked for now."""
        self._states = kept, undone, can_revert

    def set_comments(self, comments: "tuple[LineComment, ...]") -> None:
        """Show these remarks of the person's on the file."""
        self._comments = comments

    def next_undecided(self) -> bool:
        """Go to the next undecided hunk of the file; whether there was one."""
        return False

    def forget(self) -> None:
        """Forget what is shown: the next file may have the same name and mean another session's."""
        self._file = None
        self._key = ()
        self._request += 1
        self._patience.stop()
        if self._view:
            self._view.show_diff(None)

    def try_again(self) -> None:
        """Ask once more for a diff that could not be had."""
        if self._file and self._has_failed:
            self._load(self._file)

    def _load(self, file: "ChangedFile") -> None:
        self._has_failed = False
        self._request += 1
        self._patience.start()
        self._spawn(self._fetch(file, self._request))

    async def _fetch(self, file: "ChangedFile", request: int) -> None:
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
            is_same_file = self.view.diff is not None and self.view.diff.path == diff.path
            self.view.show_diff(diff, keep_place=is_same_file)
            self._bar.set_change_count(len(self.view.rows.changes))
            self._show_mode()

    def _fail(self, request: int, title: str, hint: str) -> None:
        if self._is_current(request):
            self._patience.stop()
            self._has_failed = True
            self._bar.set_change_count(0)
            self.view.show_message(title, hint)

    def _is_current(self, request: int) -> bool:
        return isValid(self) and request == self._request

    def _on_taking_long(self) -> None:
        self._bar.set_change_count(0)
        self.view.show_message(self.tr("Loading…"))

    def _on_mode_toggled(self) -> None:
        self.set_mode("unified" if self._wanted_mode == "side_by_side" else "side_by_side")
        self.mode_chosen.emit()

    def _show_mode(self) -> None:
        self._bar.set_mode(self.view.mode, obstacle=self.view.mode_obstacle())
