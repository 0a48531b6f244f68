import asyncio
import errno
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from desktop_agent.core.base.errors import AgentError, ToolError
from desktop_agent.core.base.file_names import name_on_a_line
from desktop_agent.core.changes.folder_moves import UNTOUCHED, look_into, require_reachable, transitions_of
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import FileChange
from desktop_agent.core.system.files import FileState, FileTransition
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.tools.execution.effects import Effects
from desktop_agent.core.transcript import Transcript


class _Move(Struct, frozen=True):
    transitions: Iterable[FileTransition]
    """For a folder, these are read from the disk lazily, one at a time."""
    count: int
    carry_out: Callable[[Sequence[FileChange]], None]
    """Raises `ToolError`, and then nothing has changed."""


class Renaming:
    def __init__(self, transcript: Transcript, ledger: Ledger, effects: Effects, log: EventLog) -> None:
        self._transcript = transcript
        self._ledger = ledger
        self._effects = effects
        self._log = log

    async def rename(self, op: ops.MoveFile) -> None:
        """Rename for the user. Raises `AgentError` if the path changed meanwhile, or the rename cannot be undone."""
        await unhurried(self._rename(op))

    async def _rename(self, op: ops.MoveFile) -> None:
        async with self._effects.jobs.undisturbed():
            await self._write(op, await asyncio.to_thread(self._plan, op))

    def _plan(self, op: ops.MoveFile) -> _Move:
        self._ledger.require_root()
        files = self._ledger.files
        name, to = name_on_a_line(op.path), name_on_a_line(op.to)
        for path, said in ((op.path, name), (op.to, to)):
            if not is_a_name(path) or not files.is_inside(path):
                raise AgentError(f"{said} is not in the folder of this conversation.", hint=UNTOUCHED)
        try:
            before, there = files.current(op.path), files.current(op.to)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise AgentError(f"{to} is too long a name.", hint=UNTOUCHED, detail=str(error)) from error
            raise AgentError(f"{name} cannot be read.", hint=UNTOUCHED, detail=str(error)) from error
        if before is None or before.digest != op.expected:
            raise AgentError(f"{name} was changed in the meantime.", hint=f"{UNTOUCHED} Check it, then try again.")
        if before.kind not in (("folder",) if op.is_folder else ("file", "symlink")):
            raise AgentError(f"{name} has become a {before.kind}.", hint=f"{UNTOUCHED} Check it, then try again.")
        if op.is_folder and op.to.startswith(f"{op.path}/"):
            raise AgentError(f"{name} cannot be moved into itself.", hint=f"{UNTOUCHED} Choose another name.")
        if there is not None:
            raise AgentError(f"There is already a {to}.", hint=f"{UNTOUCHED} Choose another name.")
        return self._folder(op) if op.is_folder else self._file(op, before)

    def _file(self, op: ops.MoveFile, state: FileState) -> _Move:
        transitions = (
            FileTransition(op.to, before=None, after=state, moved_from=op.path),
            FileTransition(op.path, before=state, after=None, moved_to=op.to),
        )
        return _Move(transitions, len(transitions), self._ledger.apply)

    def _folder(self, op: ops.MoveFile) -> _Move:
        for path in (op.path, op.to):
            if ".git" in path.lower().split("/"):
                raise AgentError(f"{name_on_a_line(path)} belongs to git.", hint=UNTOUCHED)
        contents = look_into(self._ledger.files.root, op.path)
        require_reachable(self._ledger.files.root, contents, op.to)

        def carry_out(_changes: Sequence[FileChange]) -> None:
            self._ledger.move_folder(contents, op.to)

        return _Move(transitions_of(self._ledger.files, contents, op.to), contents.change_count, carry_out)

    async def _write(self, op: ops.MoveFile, move: _Move) -> None:
        turn = self._transcript.turn
        ids = self._effects.recording.reserve_ids(turn, move.count)
        try:
            changes = await asyncio.to_thread(self._record, move, ids, finds_folders=not op.is_folder)
        except OSError as error:
            name = name_on_a_line(op.path)
            raise AgentError(f"{name} cannot be read completely.", hint=UNTOUCHED, detail=str(error)) from error
        await self._log.record(ev.ChangesPrepared(turn=turn, call_id="", purpose="apply", changes=changes))
        written = {change.path: change.after for change in changes}
        await asyncio.to_thread(self._effects.note_written, written)
        problem = ""
        try:
            await asyncio.to_thread(move.carry_out, changes)
        except ToolError as error:
            problem = str(error)
        await self._log.record(ev.ChangesRecorded(turn=turn, call_id="", changes=() if problem else changes))
        if problem:
            hint = "It changed on disk or cannot be written. Nothing was changed."
            raise AgentError(f"{name_on_a_line(op.path)} was not renamed.", hint=hint, detail=problem)

    def _record(self, move: _Move, ids: Sequence[str], *, finds_folders: bool) -> tuple[FileChange, ...]:
        with self._ledger.recorder(finds_folders=finds_folders) as recorder:
            for change_id, transition in zip(ids, move.transitions, strict=True):
                recorder.add(transition, author="person", change_id=change_id)
        return recorder.changes


def is_a_name(path: str) -> bool:
    """Whether a change can have this path: relative to the workspace, without `..`, and storable on disk."""
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:
        return False
    is_storable = b"\0" not in name and os.fsdecode(name) == path
    return is_storable and PurePosixPath(path).as_posix() == path and ".." not in path.split("/") and path[:1] != "/"
