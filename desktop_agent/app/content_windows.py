"""Opens windows for contents too large for the conversation: printed output, pictures, plans, and the usage report."""

import asyncio
import os
import threading
from datetime import UTC, date, timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from desktop_agent.app.controller import Controller, WindowContext, in_background
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.model import Attachment, BlobRef, Job
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat.cards.tool_body import decoded
from desktop_agent.ui.chat.cards.tool_output import TerminalBody, readable, with_controls_named
from desktop_agent.ui.jobs_panel import SubagentJob
from desktop_agent.ui.terminal.output_window import MAX_CHARS, OutputWindow, PrintedDocument
from desktop_agent.ui.translation import error_words
from desktop_agent.ui.widgets.picture_canvas import PictureWindow
from desktop_agent.ui.widgets.picture_decoding import MOST
from desktop_agent.ui.window.plan_window import PlanWindow

if TYPE_CHECKING:
    from desktop_agent.core.usage.journal_usage import UsageReader
    from desktop_agent.core.usage.report import SessionFigures
    from desktop_agent.ui.usage.usage_report import Shown
    from desktop_agent.ui.usage.usage_window import UsageWindow

_MAX_LOG_BYTES = 20_000_000


class ContentWindows(Controller):
    def __init__(self, context: WindowContext) -> None:
        super().__init__(context)
        entries = self._panels.transcript.entry_actions
        entries.output_requested.connect(in_background(self._launch, self._show_output))
        entries.attachment_requested.connect(in_background(self._launch, self._show_attachment))
        entries.picture_requested.connect(in_background(self._launch, self._show_picture))
        self._panels.window.actions_.open_plan.triggered.connect(self._open_plan)
        self._panels.conversation.plan.opened.connect(self._open_plan)
        self._panels.conversation.todos.plan_requested.connect(self._open_plan)
        self._panels.jobs.output_requested.connect(in_background(self._launch, self._show_job_output))

    async def show_draft_content(self, name: str, content: bytes, *, is_picture: bool) -> None:
        if is_picture:
            await self._show_read(content, named(name))
        else:
            await self._show_text(named(name), await asyncio.to_thread(content.decode, "utf-8", "replace"))

    async def _show_attachment(self, attachment: Attachment) -> None:
        title = named(attachment.name or attachment.uri)
        if attachment.images:
            await self._show_read(await self._content(attachment.images[0]), title)
            return
        text = attachment.text if attachment.content is None else await self._text(attachment.content)
        await self._show_text(f"{title}:{attachment.lines}" if attachment.lines else title, text)

    async def _show_output(self, entry: ToolEntry) -> None:
        is_whole = bool(entry.output_tail) and entry.output_chars == len(entry.output_tail)
        text = entry.output_tail if entry.result is None or is_whole else entry.result.content
        if entry.result is not None and entry.result.output is not None:
            text = await self._text(entry.result.output)
        await self._show_text(entry.title, text, is_printed=TerminalBody.fits(entry))

    async def _show_job_output(self, job: Job) -> None:
        if isinstance(job, SubagentJob):
            self._panels.transcript.entry_actions.session_requested.emit(job.session_id)
            return
        await self._show_text(job.command, await asyncio.to_thread(_read_log, job.log), is_printed=True)

    def _open_plan(self) -> None:
        panels, transcript = self._panels, self._panels.transcript
        window = panels.window.findChild(PlanWindow) or PlanWindow(
            self._theme,
            panels.conversation.plan,
            transcript.row_layout.files,
            transcript.entry_actions,
            panels.diffs.compare,
            panels.spawner.spawn,
        )
        window.show()
        window.activateWindow()

    async def _show_text(self, title: str, text: str, *, is_printed: bool = False) -> None:
        printed = await asyncio.to_thread(_read_printed, text, is_printed=is_printed)
        OutputWindow(self._theme, title, printed, self._panels.window, is_cut=len(text) > MAX_CHARS).show()

    async def _show_picture(self, ref: BlobRef, entry: ToolEntry) -> None:
        await self._show_read(await self._content(ref), entry.title)

    async def _show_read(self, content: bytes, title: str) -> None:
        picture = await decoded(content, MOST)
        if not picture.problem:
            PictureWindow(self._theme, title, picture, self._panels.window).show()

    async def _text(self, ref: BlobRef) -> str:
        return await asyncio.to_thread((await self._content(ref)).decode, "utf-8", "replace")

    async def _content(self, ref: BlobRef) -> bytes:
        return await asyncio.to_thread(self._bench.blobs.get, ref.blob, size=ref.size)


def _read_printed(text: str, *, is_printed: bool) -> PrintedDocument:
    shown = readable(text[-MAX_CHARS:])
    return PrintedDocument.read(shown if is_printed else with_controls_named(shown))


def _read_log(path: Path) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _MAX_LOG_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError as error:
        raise StorageError(
            f"The output cannot be read: {error.strerror or error}.",
            hint="The output is kept only while the session is open.",
        ) from error


_CORE = ("core.usage.journal_usage", "core.usage.report")
_WIDGETS = ("ui.usage.usage_figures", "ui.usage.usage_report", "ui.usage.usage_plots", "ui.usage.usage_window")
"""The modules with widgets. Each is imported in its own turn of the loop, so that no turn takes a frame."""


class UsageDisplay(Controller):
    def __init__(self, context: WindowContext) -> None:
        super().__init__(context)
        self._clock = SystemClock()
        self._reader: UsageReader | None = None
        self._window: UsageWindow | None = None
        self._reading = asyncio.Lock()
        self._stopped = threading.Event()
        self._sessions: tuple[SessionFigures, ...] = ()
        self._choice = 0
        """The number of the user's latest choice. Only that is shown, whichever choice is ready first."""

    def open(self) -> None:
        self._launch(self._open())

    def stop(self) -> None:
        self._stopped.set()

    async def _open(self) -> None:
        reader = self._reader = self._reader or await self._make_reader()
        if (window := self._window) is None:
            self._window = window = self._make_window()
            await asyncio.sleep(0)  # building the window was enough for one turn of the loop
        if self._window is window:
            window.show()
            window.raise_()
            window.activateWindow()
            await self._read(window, reader)

    async def _make_reader(self) -> "UsageReader":
        for module in _CORE:
            await asyncio.to_thread(import_module, f"desktop_agent.{module}")
        for module in _WIDGETS:
            await asyncio.sleep(0)
            import_module(f"desktop_agent.{module}")
        from desktop_agent.core.usage.journal_usage import UsageReader

        return UsageReader.of(self._bench.paths, self._bench.catalog)

    def _make_window(self) -> "UsageWindow":
        from desktop_agent.ui.usage.usage_window import UsageWindow

        window = UsageWindow(self._theme, self._panels.window)
        window.period_chosen.connect(self._on_period)
        window.cancelled.connect(self.stop)
        window.finished.connect(self._on_closed)
        return window

    def _on_closed(self) -> None:
        self._window = None
        self._sessions = ()
        self.stop()

    def _on_period(self, days: int | None) -> None:
        if self._window is not None:
            self._launch(self._show(self._window, days))

    async def _read(self, window: "UsageWindow", reader: "UsageReader") -> None:
        self._stopped.set()
        async with self._reading:
            if self._window is not window:
                return
            self._stopped = stopped = threading.Event()
            loop, said = asyncio.get_running_loop(), -1

            def progress(done: int, total: int) -> None:
                nonlocal said
                if (percent := 100 * done // total) != said:
                    said = percent
                    loop.call_soon_threadsafe(self._on_progress, window, done, total)

            try:
                sessions = await asyncio.to_thread(reader.read, progress=progress, is_stopped=stopped.is_set)
            except StorageError as error:
                if self._window is window:
                    window.show_problem(error_words(error))
                return
            if self._window is window:
                self._sessions = sessions
                await self._show(window, window.period, is_part=stopped.is_set())

    def _on_progress(self, window: "UsageWindow", done: int, total: int) -> None:
        if self._window is window:
            window.show_reading(done, total)

    async def _show(self, window: "UsageWindow", days: int | None, *, is_part: bool = False) -> None:
        self._choice = choice = self._choice + 1
        today = self._clock.now().astimezone(UTC).date()
        first = today - timedelta(days=days - 1) if days is not None else None
        shown = await asyncio.to_thread(_shown, self._sessions, first, today)
        if self._window is window and choice == self._choice:
            note = self.tr("Not all sessions are counted: reading was stopped.") if is_part else ""
            window.show_figures(shown, note)


def _shown(sessions: "tuple[SessionFigures, ...]", first: date | None, today: date) -> "Shown":
    from desktop_agent.core.usage.report import report_of
    from desktop_agent.ui.usage.usage_report import shown_of

    return shown_of(report_of(sessions, first, today))
