"""The session that the window shows while another process writes it: read, followed, taken over when it is free."""

import asyncio
from contextlib import suppress

from PySide6.QtCore import QCoreApplication, QObject, Signal

from desktop_agent.composition.stored_sessions import POLL_S, ViewedSession
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import SessionBusyError, StorageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.ops import Op
from desktop_agent.core.transcript import Transcript, replay
from desktop_agent.ui.window.session_handle import SessionHandle


class Viewing(QObject):
    """At most one session that is only read.

    Signals:
        freed: whether the viewed session can be taken over now; emitted whenever that changes.
        refused: an `AgentError` that says why something cannot be done with it.
        lost: its journal was replaced; the session (id) should be reopened.
    """

    freed = Signal(bool)
    refused = Signal(object)
    lost = Signal(str)

    def __init__(self, bench: Workbench, clock: Clock, parent: QObject) -> None:
        super().__init__(parent)
        self._bench = bench
        self._clock = clock
        self._handle: SessionHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, session_id: SessionId) -> SessionHandle:
        """View this session instead of the one before. Raises `AgentError` when it cannot be read."""
        handle = SessionHandle(Transcript(), self._refuse, read_only=self.reason)
        viewed = await self._bench.view_session(session_id, sink=handle.deliver)
        handle.transcript = await asyncio.to_thread(replay, viewed.events)
        self.leave()  # only now: the user may have opened another one meanwhile
        self._handle = handle
        for work in (self._follow(viewed, handle), self._watch(viewed)):
            task = asyncio.create_task(work, name=f"view {session_id}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return handle

    def is_viewing(self, handle: SessionHandle) -> bool:
        return handle is self._handle

    def leave(self) -> None:
        """Stop following; nothing is delivered from now on."""
        for task in self._tasks:
            task.cancel()
        self._handle = None

    async def aclose(self) -> None:
        self.leave()
        for task in list(self._tasks):
            with suppress(asyncio.CancelledError):
                await task

    @property
    def reason(self) -> str:
        return QCoreApplication.translate("Viewing", "This session is open in another window. You can read it here.")

    def _refuse(self, _op: Op) -> None:
        title = QCoreApplication.translate("Viewing", "This session is read-only here. Nothing was done.")
        hint = QCoreApplication.translate("Viewing", "Close it in the other window, then take it over.")
        self.refused.emit(SessionBusyError(title, hint=hint))

    async def _follow(self, viewed: ViewedSession, handle: SessionHandle) -> None:
        try:
            await viewed.run()
        except StorageError:
            if self.is_viewing(handle):
                self.lost.emit(viewed.id)

    async def _watch(self, viewed: ViewedSession) -> None:
        """Tell whether it is free, each time that changes."""
        was_free = False
        while True:
            if (is_free := await viewed.is_free()) != was_free:
                was_free = is_free
                self.freed.emit(is_free)
            await self._clock.sleep(POLL_S)
