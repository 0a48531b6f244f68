"""The stored sessions: read, copied, filed, deleted, exported and imported, open or not."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from msgspec import Struct

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import SessionBusyError, SessionNotFoundError
from desktop_agent.core.base.ids import SessionId, new_session_id
from desktop_agent.core.base.package import __version__
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.export import ExportForm, Progress, export_session
from desktop_agent.core.importing import Imported, ImportPlan, import_conversation
from desktop_agent.core.protocol.events import JournalEvent
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.session.recorder import Sink
from desktop_agent.core.session.resume import LONG_BYTES
from desktop_agent.core.session.session import Session
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.store.collect import SessionUse
from desktop_agent.core.store.journal.records import Follower, Yielder, find_pages, read_last_page, read_page
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.store.session_folder import is_locked
from desktop_agent.core.store.session_upkeep import (
    Filing,
    Fork,
    file_session,
    fork_journal,
    remove_session,
    session_use,
)
from desktop_agent.core.system.workspace import usable_workspace
from desktop_agent.core.transcript import JournalPage, Transcript

P = ParamSpec("P")
T = TypeVar("T")


class StoredSessions:
    """All sessions of one data folder. Methods work in a thread and access only the given session."""

    def __init__(
        self,
        *,
        paths: AppPaths,
        catalog: SessionCatalog,
        live: LiveSettings,
        clock: Clock,
        default_model: Callable[[], ModelRef],
    ) -> None:
        self._paths = paths
        self._catalog = catalog
        self._blobs = catalog.blobs
        self._live = live
        self._clock = clock
        self._default_model = default_model

    async def read_end(self, session_id: SessionId) -> Transcript:
        """Return the end of a session quickly, however long it is. Raises `SessionNotFoundError` or `StorageError`."""
        return await self._with_journal(session_id, read_last_page, self._blobs, yield_gil=Yielder())

    async def read_page(self, session_id: SessionId, page: JournalPage) -> Transcript:
        """Return the fold of one page, for `Transcript.expand`. Raises `SessionNotFoundError` or `StorageError`."""
        return await self._with_journal(session_id, read_page, self._blobs, page, yield_gil=Yielder())

    async def find_pages(self, session_id: SessionId, pages: Sequence[JournalPage], text: str) -> list[int]:
        """Return the indices of the `pages` that may show `text`. Raises `SessionNotFoundError` or `StorageError`."""
        return await self._with_journal(session_id, find_pages, pages, text, yield_gil=Yielder())

    async def is_long(self, session_id: SessionId) -> bool:
        """Whether opening takes so long that the end should be shown first. `False` for a session open elsewhere."""
        return await self._with_journal(session_id, _is_long)

    async def fork(self, source_id: SessionId, before_turn: int | None = None) -> SessionId:
        """Copy a session into a new, independent one and return its id. The source may be open, here or elsewhere.

        Everything before `before_turn` is copied, or all finished turns. Raises `SessionNotFoundError`, `UsageError`
        when there is no such turn, or `StorageError`.
        """
        now = self._clock.now()
        fork = Fork(session_id=new_session_id(now), app_version=__version__, at=now, before_turn=before_turn)
        await self._with_journal(source_id, fork_journal, self._paths.sessions, fork, self._blobs)
        return fork.session_id

    async def file(self, session_id: SessionId, filing: Filing) -> None:
        """Rename, pin or archive a session that is not open. Submit the op to an open session instead.

        Raises `SessionNotFoundError`, `SessionBusyError` when it is open somewhere, or `StorageError`.
        """
        await self._with_journal(session_id, file_session, filing, self._clock.now(), self._blobs)

    async def delete(self, session_id: SessionId) -> None:
        """Remove a session with its undo history and its sub-agents' sessions; files of the workspace stay.

        A sub-agent's session that the user continued stays. Raises `SessionNotFoundError`, `SessionBusyError` when
        it is open somewhere, or `StorageError`.
        """
        await self._with_journal(session_id, lambda path: remove_session(path.parent))
        await asyncio.to_thread(self._remove_subagents, session_id)

    def _remove_subagents(self, session_id: SessionId) -> None:
        for one in self._catalog.summaries():
            if one.task is not None and one.task.session_id == session_id and not one.is_listed:
                with suppress(SessionNotFoundError, SessionBusyError):
                    remove_session(self._catalog.journal_path(one.id).parent)
                    self._remove_subagents(one.id)

    async def size(self, session_id: SessionId) -> SessionUse:
        """The space of a session, including contents that only it needs. Reads all journals."""
        return await asyncio.to_thread(session_use, self._paths.sessions, session_id, self._blobs)

    async def export(
        self,
        session_id: SessionId,
        form: ExportForm,
        target: Path,
        *,
        overwrites: bool = False,
        progress: Progress = lambda _: None,
    ) -> int:
        """Write the session's present state to `target`; return the size of the file in bytes.

        `progress` is called in a thread with the number of bytes so far. If it raises, the export ends without a file.
        Raises `SessionNotFoundError`, `UsageError` when the file exists, or `StorageError`.
        """
        return await self._with_journal(
            session_id, export_session, form, self._blobs, target, overwrites=overwrites, progress=progress
        )

    async def import_file(
        self, file: Path, *, workspace: Path | None = None, fallback: Path | None = None, is_again: bool = False
    ) -> Imported:
        """Create a session from a conversation of Claude Code or Codex, or from an export.

        The session continues in `workspace`, or else in the folder that the file names, or else in `fallback`. Raises
        `UsageError` for any other file or without a folder, `AlreadyImportedError` unless `is_again`, and
        `StorageError`.
        """
        root = await asyncio.to_thread(usable_workspace, workspace) if workspace is not None else None
        now, settings = self._clock.now(), self._live.current
        plan = ImportPlan(
            session_id=new_session_id(now),
            now=now,
            model=self._default_model(),
            approval=settings.execution.approval,
            sandbox=settings.execution.sandbox,
            app_version=__version__,
            workspace=root,
            fallback=fallback,
            is_again=is_again,
        )
        return await asyncio.to_thread(import_conversation, file, self._paths.data, self._blobs, plan)

    async def _with_journal(
        self, session_id: SessionId, work: Callable[Concatenate[Path, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Do `work` with a session's journal in a thread. Raises `SessionNotFoundError`."""
        return await asyncio.to_thread(lambda: work(self._catalog.journal_path(session_id), *args, **kwargs))


def _is_long(path: Path) -> bool:
    return path.stat().st_size > LONG_BYTES and not is_locked(path.parent)


class OpenedSession(Struct, frozen=True):
    """A reopened session, and its transcript so far, in which earlier pages may be placeholders."""

    session: Session
    transcript: Transcript


POLL_S = 0.5
"""How many seconds the view lags behind at most. A poll costs one `stat` when nothing was written."""


class ViewedSession:
    """A session that another process writes, opened for reading. It takes no ops."""

    def __init__(
        self,
        session_id: SessionId,
        events: Sequence[JournalEvent],
        *,
        follower: Follower,
        folder: Path,
        clock: Clock,
        sink: Sink,
        take_over: Callable[[Sink], Awaitable[OpenedSession]],
    ) -> None:
        self.id = session_id
        self.events = events
        """The events up to the opening; later ones go to the sink."""
        self._follower = follower
        self._folder = folder
        self._clock = clock
        self._sink = sink
        self._take_over = take_over

    async def run(self) -> None:
        """Pass the recorded events of the other process to the sink, until cancelled. Live events do not arrive.

        Raises `StorageError` when the journal can no longer be followed; then open a new view of the session.
        """
        while True:
            for event in await asyncio.to_thread(self._follower.read):
                self._sink(event)
            await self._clock.sleep(POLL_S)

    async def is_free(self) -> bool:
        """Whether no process is writing the session now."""
        return not await asyncio.to_thread(is_locked, self._folder)

    async def try_take_over(self, sink: Sink) -> OpenedSession | None:
        """Open the session to continue it; `None` while another process still writes it. Stop `run` first.

        Raises `StorageError` when the session cannot be opened.
        """
        try:
            return await self._take_over(sink)
        except SessionBusyError:
            return None
