"""Actions on whole sessions: pin, archive, copy, export, import and delete."""

import asyncio
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QLocale, QObject, QProcess, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QProgressDialog, QWidget

from desktop_agent.app.controller import Controller, WindowContext, in_background
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.sessions.open_sessions import LiveSessions
from desktop_agent.app.sessions.window_sessions import SessionListUpdater
from desktop_agent.core.base.errors import AgentError, SessionBusyError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.regex import regex
from desktop_agent.core.export import ExportForm
from desktop_agent.core.importing import AlreadyImportedError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.store.session_upkeep import Filing
from desktop_agent.core.system.session_bus import ChosenFiles, FileQuestion
from desktop_agent.ui.sessions.session_panel import ask_to_delete, ask_to_import_again
from desktop_agent.ui.widgets.file_chooser import choose_files

_PATIENCE_MS = 500

_NOT_IN_NAMES = regex(r"[^\w .,+()&!'-]")
_MOST_NAME_CHARS = 60


class _CancelledError(Exception):
    pass


class _ExportProgress(QObject):
    _written = Signal(object)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._is_cancelled = threading.Event()
        self._timer = QElapsedTimer()
        self._timer.start()
        self._dialog = QProgressDialog(self.tr("Exporting…"), self.tr("Cancel"), 0, 0, window)
        self._dialog.setObjectName("exportProgress")
        self._dialog.setWindowTitle(self.tr("Export the conversation"))
        self._dialog.setMinimumDuration(2**31 - 1)  # shown by this class, and only if the export takes long
        self._dialog.reset()
        self._dialog.canceled.connect(self._is_cancelled.set)
        self._written.connect(self._show, Qt.ConnectionType.QueuedConnection)

    def tell(self, written: int) -> None:
        """Show how much was written. Raise `_CancelledError` if the user cancelled. Called in the writing thread."""
        if self._is_cancelled.is_set():
            raise _CancelledError
        self._written.emit(written)

    def end(self) -> None:
        self._written.disconnect(self._show)
        self._dialog.deleteLater()
        self.deleteLater()

    def _show(self, written: int) -> None:
        if self._timer.elapsed() >= _PATIENCE_MS and not self._is_cancelled.is_set():
            size = QLocale().formattedDataSize(written)
            self._dialog.setLabelText(self.tr("Exporting… {0}").format(size))
            self._dialog.show()


def open_window(*arguments: str) -> None:
    """Start another process of the application with these arguments. Raises `AgentError` if it cannot be started."""
    started, _ = QProcess.startDetached(sys.executable, ["-P", "-m", "desktop_agent", "--new-window", *arguments], "")
    if not started:
        raise AgentError("The new window could not be started.", hint="Close other programs, and try again.")


class SessionActions(Controller):
    def __init__(
        self, context: WindowContext, live: LiveSessions, listed: SessionListUpdater, navigator: Navigator
    ) -> None:
        super().__init__(context)
        panels = self._panels
        self._window = panels.window
        self._session = panels.session
        self._live = live
        self._listed = listed
        self._navigator = navigator
        self._file_soon = in_background(self._launch, self._file)
        actions = panels.window.actions_
        actions.import_session.triggered.connect(self._choose_import)
        actions.export_session.triggered.connect(self._export_shown)
        actions.new_window.triggered.connect(in_background(self._launch, self._open_window))
        panels.sessions.rename_requested.connect(self._on_rename)
        panels.sessions.action_requested.connect(self._on_action)

    def _on_action(self, action: str, session_ids: Sequence[SessionId]) -> None:
        if action == "delete":
            self._launch(self._ask_to_delete(session_ids))
            return
        for session_id in session_ids:
            match action:
                case "pin" | "unpin":
                    self._file_soon(session_id, ev.SessionPinned(is_pinned=action == "pin"))
                case "archive" | "unarchive":
                    self._file_soon(session_id, ev.SessionArchived(is_archived=action == "archive"))
                case "release":
                    self._live.submit(session_id, ops.ReleaseAgents())
                case "copy":
                    self._launch(self._copy(session_id))
                case "export":
                    self._ask_to_export(session_id)
                case "folder":
                    folder = self._bench.catalog.session_folder(session_id)
                    QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
                case "window":
                    self._launch(self._move_to_new_window(session_id))
                case _:
                    raise AssertionError(action)

    async def _move_to_new_window(self, session_id: SessionId) -> None:
        """Close the session here and open it in another window, because only one window at a time can write it."""
        summary = await asyncio.to_thread(self._bench.catalog.summary, session_id)
        if summary is None:
            return
        self._refuse_running(session_id, "so it stays in this window")
        await self._close(session_id)
        open_window(summary.workspace, "--resume", session_id)

    async def _close(self, session_id: SessionId) -> None:
        await self._live.close(session_id)
        if self._session.transcript.session.session_id == session_id:
            self._navigator.begin()

    def _on_rename(self, session_id: SessionId, title: str) -> None:
        self._file_soon(session_id, ev.SessionRenamed(title=title))

    async def _file(self, session_id: SessionId, filing: Filing) -> None:
        if await self._live.file(session_id, filing):
            self._launch(self._listed.refresh())

    async def _copy(self, session_id: SessionId) -> None:
        copied = await self._bench.stored.fork(session_id)
        self._launch(self._listed.refresh())
        self._navigator.go_to(copied)

    async def _ask_to_delete(self, session_ids: Sequence[SessionId]) -> None:
        found = [await asyncio.to_thread(self._bench.catalog.summary, session_id) for session_id in session_ids]
        summaries = [summary for summary in found if summary is not None]
        if not summaries:
            return
        size_bytes = 0
        for summary in summaries:
            self._refuse_running(summary.id, "so nothing was deleted")
            size = await self._bench.stored.size(summary.id)
            size_bytes += size.journal_bytes + size.own_bytes
        delete = partial(in_background(self._launch, self._delete), [summary.id for summary in summaries])
        ask_to_delete(summaries, size_bytes, self._window, delete)

    async def _delete(self, session_ids: Sequence[SessionId]) -> None:
        try:
            for session_id in session_ids:
                self._refuse_running(session_id, "so it was not deleted")
                await self._close(session_id)
                await self._bench.stored.delete(session_id)
        finally:
            self._launch(self._listed.refresh())

    def _refuse_running(self, session_id: SessionId, consequence: str) -> None:
        if self._live.is_running(session_id):
            raise SessionBusyError(f"The agent is working in this session, {consequence}.", hint="Stop it first.")

    async def _open_window(self) -> None:
        open_window(*([str(self._navigator.home)] if self._navigator.home is not None else []))

    def _export_shown(self) -> None:
        if session_id := self._session.transcript.session.session_id:
            self._ask_to_export(session_id)

    def _ask_to_export(self, session_id: SessionId) -> None:
        forms: dict[str, ExportForm] = {
            self.tr("Web page (*.html)"): "html",
            self.tr("Markdown (*.md)"): "md",
            self.tr("JSON lines, to import elsewhere (*.jsonl)"): "jsonl",
            self.tr("Patch of the changes (*.patch)"): "patch",
        }
        known = self._listed.known().get(session_id)
        folder = known.workspace if known is not None and Path(known.workspace).is_dir() else ""
        title = _NOT_IN_NAMES.sub(" ", known.title if known is not None else "")
        name = " ".join(title.split())[:_MOST_NAME_CHARS].strip(" .") or session_id
        question = FileQuestion(
            kind="save",
            title=self.tr("Export the conversation"),
            folder=folder,
            name=f"{name}.html",
            filters=tuple(forms),
        )
        export = partial(self._on_export_chosen, session_id, forms)
        choose_files(self._window, question, export, object_name="exportDialog")

    def _on_export_chosen(self, session_id: SessionId, forms: dict[str, ExportForm], chosen: ChosenFiles) -> None:
        target = Path(chosen.paths[0])
        named: list[ExportForm] = [form for form in forms.values() if target.suffix == f".{form}"]
        form = named[0] if named else forms[chosen.filter]
        self._launch(self._export(session_id, form, target))

    async def _export(self, session_id: SessionId, form: ExportForm, target: Path) -> None:
        progress, export = _ExportProgress(self._window), self._bench.stored.export
        try:
            # The file dialog has asked already whether to overwrite.
            await export(session_id, form, target, overwrites=True, progress=progress.tell)
        except _CancelledError:
            pass
        finally:
            progress.end()

    def _choose_import(self) -> None:
        filters = (self.tr("Conversations of Claude Code, Codex and Desktop Agent (*.jsonl)"),)
        question = FileQuestion(kind="file", title=self.tr("Import a conversation"), filters=filters)
        read = in_background(self._launch, self._import)
        choose_files(self._window, question, lambda chosen: read(chosen.paths[0]), object_name="importDialog")

    async def _import(self, path: str, *, is_again: bool = False) -> None:
        try:
            imported = await self._bench.stored.import_file(
                Path(path), fallback=self._navigator.home, is_again=is_again
            )
        except AlreadyImportedError as error:
            import_again = partial(in_background(self._launch, self._import), path, is_again=True)
            ask_to_import_again(self._window, partial(self._navigator.go_to, error.session_id), import_again)
            return
        self._launch(self._listed.refresh())
        self._navigator.go_to(imported.session_id)  # its last line lists what was left out
