"""What a call would change, file by file; or how the definition of its tool changed since it was allowed."""

from functools import partial

from PySide6.QtCore import QSize, QTimer, Signal
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.protocol.events import UNSTAMPED
from desktop_agent.core.protocol.model import ApprovalRequest, FileDiff
from desktop_agent.core.transcript import ChangeRecord
from desktop_agent.ui.review.changed_file_list import FileList
from desktop_agent.ui.review.changed_files import ChangedFile
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff_source import DiffSource, Spawn, shown_changes
from desktop_agent.ui.review.file_bar import FileBar
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.widgets.layouts import hbox, vbox

LOADING_DELAY_MS = 150
_MAX_LIST_ROWS = 4
_HEIGHT = 420
_TOOL_HEIGHT = 320
"""For a changed tool: more text stands above it than above files."""
_COMPACT_HEIGHT = 190


class ChangePreview(QWidget):
    """Fetches what a call would change and shows it file by file."""

    loaded = Signal()

    def __init__(
        self, theme: Theme, request: ApprovalRequest, source: DiffSource, spawn: Spawn, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._request = request
        self._source = source
        self._diffs: list[FileDiff] = []
        self.is_loaded = False
        self._height = _HEIGHT if request.tool_change is None else _TOOL_HEIGHT
        self._wanted_height = self._height
        self.setMinimumHeight(_COMPACT_HEIGHT)
        self._list = FileList(theme, "kind")
        self._list.setObjectName("approvalFileList")
        self._list.setAccessibleName(self.tr("Files that would change"))
        self._list.set_max_rows(_MAX_LIST_ROWS)
        changes = shown_changes(request)
        self._list.set_files(
            [ChangedFile.of(each.path, [ChangeRecord(each, 0, request.call_id, UNSTAMPED)]) for each in changes]
        )
        self._list.setVisible(len(changes) > 1)
        self._list.current_changed.connect(self._show_current)
        self.view = DiffView(theme)
        self._bar = FileBar(theme, self.view.keys)
        self._bar.mode.clicked.connect(self._on_mode_toggled)
        self.view.setObjectName("approvalDiffView")
        self.view.mode_changed.connect(self._show_mode)
        listed = hbox(self._list, margins=(Space.M, 0, Space.M, 0))
        vbox(listed, self._bar, (self.view, 1), on=self)
        self._show_current()
        self._patience = QTimer(self, interval=LOADING_DELAY_MS, singleShot=True)
        self._patience.timeout.connect(partial(self.view.show_message, self.tr("Loading…")))
        self._patience.start()
        spawn(self._fetch())

    def set_compact(self, *, is_compact: bool) -> None:
        self._wanted_height = _COMPACT_HEIGHT if is_compact else self._height
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._wanted_height)

    async def _fetch(self) -> None:
        try:
            diffs = await self._source.preview(self._request)
        except AgentError as error:
            self._fail(core_words(error.title), core_words(error.hint))
            return
        except Exception:
            self._fail(self.tr("The change could not be shown"), self.tr("It cannot be allowed here."))
            raise
        if isValid(self):
            self._patience.stop()
            self._diffs = diffs
            self.is_loaded = True
            self._show_current()
            self.loaded.emit()

    def _fail(self, title: str, hint: str) -> None:
        if isValid(self):
            self._patience.stop()
            self.view.show_message(title, hint)

    def _show_current(self) -> None:
        file = self._list.current_file
        if file is None:
            return
        self._bar.set_file(file.path, "")
        diff = next((diff for diff in self._diffs if diff.path == file.path), None)
        if diff is not None:
            self.view.show_diff(diff)
            self._bar.set_change_count(len(self.view.document.rows.changes))
        self._show_mode()

    def _on_mode_toggled(self) -> None:
        self.view.set_mode("unified" if self.view.document.mode == "side_by_side" else "side_by_side")
        self._show_mode()

    def _show_mode(self) -> None:
        self._bar.set_mode(self.view.document.mode, obstacle=self.view.document.mode_obstacle())
