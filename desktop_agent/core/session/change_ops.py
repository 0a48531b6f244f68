"""What the user does with files through a session: undo, redo, write, go back. None of it while a turn runs."""

from collections.abc import Awaitable, Callable
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import AgentError, StorageError, WorkspaceError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.session.failure_notices import notice_of
from desktop_agent.core.session.session_state import SessionState
from desktop_agent.core.undo.execute import Undoing
from desktop_agent.core.undo.refusals import Direction
from desktop_agent.core.undo.renaming import Renaming

_PAST: dict[Direction, str] = {"undo": "undone", "redo": "redone"}


ChangeOp = (
    ops.UndoChanges
    | ops.UndoDifferences
    | ops.RedoChanges
    | ops.RedoSteps
    | ops.WriteFile
    | ops.MoveFile
    | ops.RewindTo
)


class ChangeOps(Struct, frozen=True, kw_only=True, eq=False):
    """Carries these ops out for one session, whose mailbox calls it."""

    state: SessionState
    undoing: Undoing
    renaming: Renaming
    log: EventLog
    is_busy: Callable[[], bool]
    get_ready: Callable[[], Awaitable[None]]
    """Concludes what an earlier process left open; it is awaited before anything is done."""
    read_history: Callable[[], Awaitable[None]]
    """Folds in what the history has not, because it was summarised."""

    async def carry_out(self, op: ChangeOp) -> None:
        """Do what `op` asks for; events say what came of it."""
        match op:
            case ops.UndoChanges():
                await self.undo(op)
            case ops.UndoDifferences():
                await self._revert("undo", lambda: self.undoing.undo_differences(op), " there")
            case ops.RedoChanges() | ops.RedoSteps():
                await self.redo(op)
            case ops.WriteFile():
                await self.write_file(op)
            case ops.MoveFile():
                await self.move_file(op)
            case ops.RewindTo():
                await self.rewind(op)
            case _:
                assert_never(op)

    async def undo(self, op: ops.UndoChanges) -> bool:
        """Undo what `op` selects. Whether it was carried out; a notice says why not."""
        if await self._is_unclear(op.selection):
            return False
        where = " there" if op.selection != ChangeSelection() else ""
        return await self._revert("undo", lambda: self.undoing.revert("undo", op), where)

    async def redo(self, op: ops.RedoChanges | ops.RedoSteps) -> bool:
        """Redo what `op` selects, or take back the undos that it names. Likewise."""
        if isinstance(op, ops.RedoSteps):
            return await self._revert("redo", lambda: self.undoing.redo(op))
        if await self._is_unclear(op.selection):
            return False
        where = " there" if op.selection != ChangeSelection() else ""
        return await self._revert("redo", lambda: self.undoing.revert("redo", op), where)

    async def _is_unclear(self, selection: ChangeSelection) -> bool:
        """Whether the selection uses an id that several changes have. If so, record a notice."""
        names = [names for one in selection.change_ids if (names := self.state.transcript.changed.namesakes(one))]
        if not names:
            return False
        one, _, _ = names[0][0].rpartition("~")
        title = f"The id {one} belongs to several changes of this session, so it is not clear which one is meant."
        await self._notify("unclear_selection", title, f"Name the one you mean: {' or '.join(names[0])}.")
        return True

    async def _revert(self, direction: Direction, carry_out: Callable[[], Awaitable[bool]], where: str = "") -> bool:
        if not await self._begin("busy", f"nothing was {_PAST[direction]}"):
            return False
        try:
            is_done = await carry_out()
        except WorkspaceError as error:
            await self.log.record(replace(notice_of(error, None), code=f"not_{_PAST[direction]}"))
            return False
        if not is_done:
            await self._notify("nothing_selected", f"There is nothing to {direction}{where}.", "")
        return is_done

    async def write_file(self, op: ops.WriteFile) -> None:
        """Write a file as the user wants it; a notice says why not."""
        await self._perform(f"{op.path} was not written", lambda: self.undoing.write(op))

    async def move_file(self, op: ops.MoveFile) -> None:
        """Give a file another path; a notice says why not."""
        await self._perform(f"{op.path} was not renamed", lambda: self.renaming.rename(op))

    async def _perform(self, consequence: str, act: Callable[[], Awaitable[None]]) -> None:
        if not await self._begin("not_written", consequence):
            return
        try:
            await act()
        except StorageError:
            raise
        except AgentError as error:
            await self.log.record(replace(notice_of(error, None), code="not_written"))

    async def rewind(self, op: ops.RewindTo) -> None:
        """Go back to before a turn; a notice says why not."""
        if not await self._begin("busy", "nothing was taken back"):
            return
        if not 1 <= op.turn <= self.state.transcript.turn:
            await self._notify("nothing_selected", f"There is no turn {op.turn} to go back to.", "")
            return
        if op.scope != "files" and not self.state.history.can_rewind_to(op.turn):
            await self.read_history()
        if op.scope != "conversation":
            try:
                await self.undoing.revert("undo", ops.UndoChanges(selection=ChangeSelection(since_turn=op.turn)))
            except WorkspaceError as error:
                await self.log.record(replace(notice_of(error, None), code="not_undone"))
                return
        await self.log.record(ev.Rewound(turn=op.turn, scope=op.scope))

    async def _begin(self, code: str, consequence: str) -> bool:
        """Get ready and return True; while a turn runs, say that and return False."""
        if self.is_busy():
            await self._notify(code, f"The agent is working, so {consequence}.", "Stop it first.")
            return False
        await self.get_ready()
        return True

    async def _notify(self, code: str, title: str, hint: str) -> None:
        await self.log.record(ev.Notice(level="warning", code=code, title=title, hint=hint))
