"""Exporting a session: where to, in which form, and how far it is."""

import threading
from functools import partial
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QLocale, QObject, Qt, Signal
from PySide6.QtWidgets import QFileDialog, QProgressDialog, QWidget

from desktop_agent.app.background_tasks import Try
from desktop_agent.composition.stored_sessions import StoredSessions
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.export import ExportForm

_PATIENCE_MS = 500
"""After this an export says how far it is."""


class Exporting(QObject):
    """Asks where to export a session to, and writes it there."""

    def __init__(self, window: QWidget, stored: StoredSessions, try_: Try) -> None:
        super().__init__(window)
        self._window = window
        self._stored = stored
        self._try = try_

    def ask(self, session_id: SessionId) -> None:
        """Ask where to, and in which form, and write the session there."""
        forms: dict[str, ExportForm] = {
            self.tr("Web page (*.html)"): "html",
            self.tr("Markdown (*.md)"): "md",
            self.tr("JSON lines, to import elsewhere (*.jsonl)"): "jsonl",
            self.tr("Patch of the changes (*.patch)"): "patch",
        }
        dialog = QFileDialog(self._window, self.tr("Export the conversation"))
        dialog.setObjectName("exportDialog")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters(list(forms))
        dialog.setDefaultSuffix("html")
        dialog.selectFile(f"{session_id}.html")
        dialog.filterSelected.connect(partial(_fit_suffix, dialog, forms))
        dialog.fileSelected.connect(partial(self._on_chosen, session_id, dialog, forms))
        dialog.open()

    def _on_chosen(self, session_id: SessionId, dialog: QFileDialog, forms: dict[str, ExportForm], path: str) -> None:
        self._try(self._export(session_id, forms[dialog.selectedNameFilter()], Path(path)))

    async def _export(self, session_id: SessionId, form: ExportForm, target: Path) -> None:
        progress = _ExportProgress(self._window)
        try:
            # The file dialog has asked already whether to overwrite.
            export = self._stored.export
            await export(session_id, form, target, overwrites=True, progress=progress.tell)
        except _CancelledError:
            pass
        finally:
            progress.end()


class _CancelledError(Exception):
    """The user does not want the export any more."""


class _ExportProgress(QObject):
    """Says how much of an export is written when it takes a while, and lets the user stop it."""

    _written = Signal(object)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._is_cancelled = threading.Event()
        self._timer = QElapsedTimer()
        self._timer.start()
        self._dialog = QProgressDialog(self.tr("Exporting…"), self.tr("Cancel"), 0, 0, window)
        self._dialog.setObjectName("exportProgress")
        self._dialog.setWindowTitle(self.tr("Export the conversation"))
        self._dialog.setMinimumDuration(2**31 - 1)  # shown from here, and only when it takes a while
        self._dialog.reset()
        self._dialog.canceled.connect(self._is_cancelled.set)
        self._written.connect(self._show, Qt.ConnectionType.QueuedConnection)

    def tell(self, written: int) -> None:
        """Called in the thread that writes."""
        if self._is_cancelled.is_set():
            raise _CancelledError
        self._written.emit(written)

    def end(self) -> None:
        """The export is over."""
        self._written.disconnect(self._show)
        self._dialog.deleteLater()
        self.deleteLater()

    def _show(self, written: int) -> None:
        if self._timer.elapsed() >= _PATIENCE_MS and not self._is_cancelled.is_set():
            size = QLocale().formattedDataSize(written)
            self._dialog.setLabelText(self.tr("Exporting… {0}").format(size))
            self._dialog.show()


def _fit_suffix(dialog: QFileDialog, forms: dict[str, ExportForm], chosen: str) -> None:
    """Let the name end as the chosen form does."""
    form = forms[chosen]
    dialog.setDefaultSuffix(form)
    if selected := dialog.selectedFiles():
        dialog.selectFile(Path(selected[0]).with_suffix(f".{form}").name)
