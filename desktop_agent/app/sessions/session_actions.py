"""What the window does with whole sessions: pin, archive, copy, export, import and delete."""

import asyncio
import threading
from functools import partial
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QLocale, QObject, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QProgressDialog, QWidget

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.sessions.sessions import LiveSessions
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import SessionBusyError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.export import ExportForm
from desktop_agent.core.importing import AlreadyImportedError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.store.filing import Filing
from desktop_agent.ui.sessions.questions import DeleteQuestion, ImportedAlreadyQuestion

_PATIENCE_MS = 500
"""After this an export says how far it is."""


class SessionActions(QObject):
    """Carries out what the user asks for with a session of the list.

    Signals:
        listed: the list of sessions is another one now.
        session_wanted: show this session (its id).
        removed: this session is gone (its id).
    """

    listed = Signal()
    session_wanted = Signal(str)
    removed = Signal(str)

    def __init__(self, window: QWidget, bench: Workbench, live: LiveSessions, try_: Try) -> None:
        super().__init__(window)
        self._window = window
        self._bench = bench
        self._live = live
        self._try = try_
        self.workspace: Path | None = None
        """The open folder: where an imported conversation goes on when its own is not here."""

    def run(self, action: str, session_id: SessionId) -> None:
        """Do what the user asks for; `action` is one of `SESSION_ACTIONS`."""
        match action:
            case "pin" | "unpin":
                self.file(session_id, ev.SessionPinned(is_pinned=action == "pin"))
            case "archive" | "unarchive":
                self.file(session_id, ev.SessionArchived(is_archived=action == "archive"))
            case "copy":
                self._try(self._copy(session_id))
            case "export":
                self.export(session_id)
            case "folder":
                folder = self._bench.catalog.session_folder(session_id)
                QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
            case "delete":
                self._try(self._ask_to_delete(session_id))
            case _:
                raise AssertionError(action)

    # -- filing --

    def file(self, session_id: SessionId, filing: Filing) -> None:
        """Rename, pin or archive a session, whether it is open here or not."""
        self._try(self._file(session_id, filing))

    async def _file(self, session_id: SessionId, filing: Filing) -> None:
        if await self._live.file(session_id, filing):
            self.listed.emit()

    async def _copy(self, session_id: SessionId) -> None:
        copied = await self._bench.stored.fork(session_id)
        self.listed.emit()
        self.session_wanted.emit(copied)

    # -- deleting --

    async def _ask_to_delete(self, session_id: SessionId) -> None:
        summary = await asyncio.to_thread(self._bench.catalog.summary, session_id)
        if summary is None:
            return
        self._refuse_running(session_id)
        size = await self._bench.stored.size(session_id)
        question = DeleteQuestion(summary, size.journal_bytes + size.own_bytes, self._window)
        question.confirmed.connect(partial(self._on_delete_confirmed, session_id))
        question.open()

    def _on_delete_confirmed(self, session_id: SessionId) -> None:
        self._try(self._delete(session_id))

    async def _delete(self, session_id: SessionId) -> None:
        self._refuse_running(session_id)
        await self._live.close(session_id)
        await self._bench.stored.delete(session_id)
        self.listed.emit()
        self.removed.emit(session_id)

    def _refuse_running(self, session_id: SessionId) -> None:
        if self._live.is_running(session_id):
            raise SessionBusyError("The agent works in this session, so it was not deleted.", hint="Stop it first.")

    # -- exporting --

    def export(self, session_id: SessionId) -> None:
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
        dialog.fileSelected.connect(partial(self._on_export_chosen, session_id, dialog, forms))
        dialog.open()

    def _on_export_chosen(
        self, session_id: SessionId, dialog: QFileDialog, forms: dict[str, ExportForm], path: str
    ) -> None:
        self._try(self._export(session_id, forms[dialog.selectedNameFilter()], Path(path)))

    async def _export(self, session_id: SessionId, form: ExportForm, target: Path) -> None:
        progress = _ExportProgress(self._window)
        try:
            # The file dialog has asked already whether to overwrite.
            export = self._bench.stored.export
            await export(session_id, form, target, overwrites=True, progress=progress.tell)
        except _CancelledError:
            pass
        finally:
            progress.end()

    # -- importing --

    def import_file(self) -> None:
        """Ask for the file of a conversation, and make a session of it."""
        dialog = QFileDialog(self._window, self.tr("Import a conversation"))
        dialog.setObjectName("importDialog")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilter(self.tr("Conversations of Claude Code, Codex and Desktop Agent (*.jsonl)"))
        dialog.fileSelected.connect(self._on_import_chosen)
        dialog.open()

    def _on_import_chosen(self, path: str) -> None:
        self._try(self._import(Path(path), is_again=False))

    async def _import(self, file: Path, *, is_again: bool) -> None:
        try:
            imported = await self._bench.stored.import_file(file, fallback=self.workspace, is_again=is_again)
        except AlreadyImportedError as error:
            question = ImportedAlreadyQuestion(self._window)
            question.opening.connect(partial(self.session_wanted.emit, error.session_id))
            question.importing.connect(partial(self._import_again, file))
            question.open()
            return
        self.listed.emit()
        self.session_wanted.emit(imported.session_id)  # its last line says what was left out

    def _import_again(self, file: Path) -> None:
        self._try(self._import(file, is_again=True))


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
