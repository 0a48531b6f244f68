"""Taking files back before an earlier prompt is sent again, and hearing that it is done."""

import asyncio

from PySide6.QtCore import QObject

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.events import REFUSALS, ChangesUndone, Notice
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.ui.window.bridge import SessionBridge


async def take_back_since(bridge: SessionBridge, turn: int) -> None:
    """Undo what `turn` and those after it changed; what clashes with the user's work stays, and is shown there.

    Raises `AgentError` when the session cannot do it now.
    """
    transcript = bridge.transcript
    if transcript.turns.is_running:
        raise AgentError("The agent is working, so nothing was taken back.", hint="Stop it first, or keep the files.")
    if not any(record.turn >= turn for record in transcript.changed.active()):
        return
    waiting = _Undone(bridge)
    try:
        bridge.submit(ops.UndoChanges(selection=ChangeSelection(since_turn=turn)))
        problem = await waiting.done
    finally:
        waiting.stop()
    if problem is not None:
        raise AgentError(problem.title, hint=problem.hint, detail=problem.detail)


class _Undone(QObject):
    """Waits for the end of an undo, or for what says why it did not happen: a notice, or that nothing can."""

    def __init__(self, bridge: SessionBridge) -> None:
        super().__init__()
        self.done: asyncio.Future[Notice | None] = asyncio.get_running_loop().create_future()
        self._bridge = bridge
        bridge.happened.connect(self._on_happened)
        bridge.failed.connect(self._on_failed)

    def stop(self) -> None:
        """Hear nothing more."""
        self._bridge.happened.disconnect(self._on_happened)
        self._bridge.failed.disconnect(self._on_failed)

    def _on_happened(self, event: object) -> None:
        if self.done.done():
            return
        if isinstance(event, ChangesUndone):
            self.done.set_result(None)
        elif isinstance(event, Notice) and event.code in REFUSALS:
            self.done.set_result(event)

    def _on_failed(self, error: AgentError) -> None:
        """It was asked of a session that was still being opened, and could not be."""
        if not self.done.done():
            self.done.set_exception(error)
