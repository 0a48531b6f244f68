"""Renaming a file as the user wants it: on record like what an agent renames, so that an undo takes it back."""

import asyncio
import os
from pathlib import PurePosixPath

from desktop_agent.core.base.errors import AgentError, ToolError
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.event_log import EventLog
from desktop_agent.core.protocol.model import FileChange
from desktop_agent.core.system.files import FileTransition
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.tools.execution.effects import Effects
from desktop_agent.core.transcript import Transcript

_UNTOUCHED = "Nothing was renamed."


class Renaming:
    """The renamings of one session by its user."""

    def __init__(self, transcript: Transcript, ledger: Ledger, effects: Effects, log: EventLog) -> None:
        self._transcript = transcript
        self._ledger = ledger
        self._effects = effects
        self._log = log

    async def rename(self, op: ops.MoveFile) -> None:
        """Give a file another path. Raises `AgentError` when it is not what the user saw, or there is something."""
        await self._effects.jobs.look()
        transitions = await asyncio.to_thread(self._transitions, op)
        await unhurried(self._write(op, transitions))

    def _transitions(self, op: ops.MoveFile) -> tuple[FileTransition, FileTransition]:
        self._ledger.require_root()
        files = self._ledger.files
        for path in (op.path, op.to):
            if not is_a_name(path) or not files.is_inside(path):
                raise AgentError(f"{path} does not lie in the folder of this conversation.", hint=_UNTOUCHED)
        try:
            before, there = files.current(op.path), files.current(op.to)
        except OSError as error:
            raise AgentError(f"{op.path} cannot be read.", hint=_UNTOUCHED, detail=str(error)) from error
        if before is None or before.digest != op.expected:
            raise AgentError(f"{op.path} was changed in the meantime.", hint=f"{_UNTOUCHED} Look at it again.")
        if before.kind not in ("file", "symlink"):
            raise AgentError(f"{op.path} is a {before.kind}; only files can be renamed here.", hint=_UNTOUCHED)
        if there is not None:
            raise AgentError(f"There already is a {op.to}.", hint=f"{_UNTOUCHED} Choose another name.")
        return (
            FileTransition(op.to, before=None, after=before, moved_from=op.path),
            FileTransition(op.path, before=before, after=None, moved_to=op.to),
        )

    async def _write(self, op: ops.MoveFile, transitions: tuple[FileTransition, ...]) -> None:
        turn = self._transcript.turn
        ids = self._effects.recording.reserve_ids(turn, len(transitions))
        changes = await asyncio.to_thread(self._record, transitions, ids)
        await self._log.record(ev.ChangesPrepared(turn=turn, call_id="", purpose="apply", changes=changes))
        self._effects.note_written({change.path: change.after for change in changes})
        problem = ""
        try:
            await asyncio.to_thread(self._ledger.apply, changes)
        except ToolError as error:
            problem = str(error)
        await self._log.record(ev.ChangesRecorded(turn=turn, call_id="", changes=() if problem else changes))
        if problem:
            hint = "It changed on disk, or cannot be written there. All is as it was."
            raise AgentError(f"{op.path} was not renamed.", hint=hint, detail=problem)

    def _record(self, transitions: tuple[FileTransition, ...], ids: tuple[str, ...]) -> tuple[FileChange, ...]:
        with self._ledger.recorder() as recorder:
            for change_id, transition in zip(ids, transitions, strict=True):
                recorder.add(transition, author="person", change_id=change_id)
        return recorder.changes


def is_a_name(path: str) -> bool:
    """Whether changes name files so: from the workspace on, without detours, and as bytes that a disk can have."""
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:
        return False
    is_storable = b"\0" not in name and os.fsdecode(name) == path
    return is_storable and PurePosixPath(path).as_posix() == path and ".." not in path.split("/") and path[:1] != "/"
