"""What the user does with files through a session: undo, redo, write, go back. None of it while a turn runs."""

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from desktop_agent.core.base.errors import AgentError, StorageError, WorkspaceError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.event_log import EventLog
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.session.failure_notices import notice_of
from desktop_agent.core.session.session_state import SessionState
from desktop_agent.core.undo.execute import Undoing
from desktop_agent.core.undo.plan import Direction

_PAST: dict[Direction, str] = {"undo": "undone", "redo": "redone"}


class ChangeOps:
    """Carries these ops out for one session, whose mailbox calls it."""

    def __init__(
        self,
        state: SessionState,
        undoing: Undoing,
        log: EventLog,
        *,
        is_busy: Callable[[], bool],
        get_ready: Callable[[], Awaitable[None]],
        read_history: Callable[[], Awaitable[None]],
    ) -> None:
        """`get_ready` concludes what an earlier process left open; it is awaited before anything is done.

        `read_history` folds in what the history has not, because it was summarised.
        """
        self._state = state
        self._undoing = undoing
        self._log = log
        self._is_busy = is_busy
        self._get_ready = get_ready
        self._read_history = read_history

    async def undo(self, op: ops.UndoChanges) -> bool:
        """Undo what `op` selects. Whether it was carried out; a notice says why not."""
        where = " there" if op.selection != ChangeSelection() else ""
        return await self._revert("undo", lambda: self._undoing.revert("undo", op), where)

    async def redo(self, op: ops.RedoChanges | ops.RedoSteps) -> bool:
        """Redo what `op` selects, or take back the undos that it names. Likewise."""
        if isinstance(op, ops.RedoSteps):
            return await self._revert("redo", lambda: self._undoing.redo(op))
        where = " there" if op.selection != ChangeSelection() else ""
        return await self._revert("redo", lambda: self._undoing.revert("redo", op), where)

    async def _revert(self, direction: Direction, carry_out: Callable[[], Awaitable[bool]], where: str = "") -> bool:
        if self._is_busy():
            await self._notify("busy", f"The agent is working, so nothing was {_PAST[direction]}.", "Stop it first.")
            return False
        await self._get_ready()
        try:
            is_done = await carry_out()
        except WorkspaceError as error:
            await self._log.record(replace(notice_of(error, None), code=f"not_{_PAST[direction]}"))
            return False
        if not is_done:
            await self._notify("nothing_selected", f"There is nothing to {direction}{where}.", "")
        return is_done

    async def write_file(self, op: ops.WriteFile) -> None:
        """Write a file as the user wants it; a notice says why not."""
        if self._is_busy():
            await self._notify("not_written", f"The agent is working, so {op.path} was not written.", "Stop it first.")
            return
        await self._get_ready()
        try:
            await self._undoing.write(op)
        except StorageError:
            raise
        except AgentError as error:
            await self._log.record(replace(notice_of(error, None), code="not_written"))

    async def rewind(self, op: ops.RewindTo) -> None:
        """Go back to before a turn; a notice says why not."""
        if self._is_busy():
            await self._notify("busy", "The agent is working, so nothing was taken back.", "Stop it first.")
            return
        await self._get_ready()
        if not 1 <= op.turn <= self._state.transcript.turn:
            await self._notify("nothing_selected", f"There is no turn {op.turn} to go back to.", "")
            return
        if op.scope != "files" and not self._state.history.can_rewind_to(op.turn):
            await self._read_history()
        if op.scope != "conversation":
            try:
                await self._undoing.revert("undo", ops.UndoChanges(selection=ChangeSelection(since_turn=op.turn)))
            except WorkspaceError as error:
                await self._log.record(replace(notice_of(error, None), code="not_undone"))
                return
        await self._log.record(ev.Rewound(turn=op.turn, scope=op.scope))

    async def _notify(self, code: str, title: str, hint: str) -> None:
        await self._log.record(ev.Notice(level="warning", code=code, title=title, hint=hint))
