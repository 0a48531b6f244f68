"""The session that the window shows while another process writes it: read, followed, taken over when it is free."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from PySide6.QtCore import QCoreApplication

from desktop_agent.app.controller import Controller, WindowContext
from desktop_agent.composition.stored_sessions import POLL_S, ViewedSession
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import SessionBusyError, StorageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.ops import Op
from desktop_agent.core.transcript import Transcript, replay
from desktop_agent.ui.window.session_handle import SessionHandle


class Viewing(Controller):
    """At most one session that is only read."""

    def __init__(self, context: WindowContext, lost: Callable[[SessionId], None]) -> None:
        """`lost` is called when the journal was replaced: the session should be reopened."""
        super().__init__(context)
        self._lost = lost
        self._handle: SessionHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, session_id: SessionId) -> SessionHandle:
        """View this session instead of the one before. Raises `AgentError` when it cannot be read."""
        handle = SessionHandle(Transcript(), self._refuse, read_only=_reason())
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

    def _refuse(self, _op: Op) -> None:
        title = QCoreApplication.translate("Viewing", "This session is read-only here. Nothing was done.")
        hint = QCoreApplication.translate("Viewing", "Close it in the other window, then take it over.")
        self._panels.conversation.banner.show_error(SessionBusyError(title, hint=hint))

    async def _follow(self, viewed: ViewedSession, handle: SessionHandle) -> None:
        try:
            await viewed.run()
        except StorageError:
            if self.is_viewing(handle):
                self._lost(viewed.id)

    async def _watch(self, viewed: ViewedSession) -> None:
        clock, was_free = SystemClock(), False
        while True:
            if (is_free := await viewed.is_free()) != was_free:
                was_free = is_free
                self._panels.conversation.viewing_bar.show_state(is_free=is_free)
                take_over = QCoreApplication.translate(
                    "WindowSessions", "Take this session over to go on with it here."
                )
                self._panels.composer.set_blocked(take_over if is_free else _reason())
            await clock.sleep(POLL_S)


def _reason() -> str:
    return QCoreApplication.translate("Viewing", "This session is open in another window. You can read it here.")
