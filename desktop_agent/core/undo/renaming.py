"""Plans the renames of files and folders that the user asks for."""

import errno
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.file_names import name_on_a_line
from desktop_agent.core.base.ids import ChangeId
from desktop_agent.core.changes.folder_moves import UNTOUCHED, look_into, require_reachable, transitions_of
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import FileChange
from desktop_agent.core.system.files import FileState, FileTransition


class Move(Struct, frozen=True):
    transitions: Iterable[FileTransition]
    """For a folder, these are read from the disk lazily, one at a time."""
    count: int
    is_folder: bool
    carry_out: Callable[[Sequence[FileChange]], object]
    """Raises `ToolError`, and then nothing has changed."""

    def record(self, ledger: Ledger, ids: Sequence[ChangeId]) -> tuple[FileChange, ...]:
        """Blocks. Raises `OSError`."""
        with ledger.recorder(finds_folders=not self.is_folder) as recorder:
            for change_id, transition in zip(ids, self.transitions, strict=True):
                recorder.add(transition, author="person", change_id=change_id)
        return recorder.changes


def plan_move(ledger: Ledger, op: ops.MoveFile) -> Move:
    """Blocks. Raises `AgentError` if the path changed meanwhile, or the rename cannot be undone."""
    files = ledger.files
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
    return _of_folder(ledger, op) if op.is_folder else _of_file(ledger, op, before)


def _of_file(ledger: Ledger, op: ops.MoveFile, state: FileState) -> Move:
    transitions = (
        FileTransition(op.to, before=None, after=state, moved_from=op.path),
        FileTransition(op.path, before=state, after=None, moved_to=op.to),
    )
    return Move(transitions, len(transitions), is_folder=False, carry_out=ledger.apply)


def _of_folder(ledger: Ledger, op: ops.MoveFile) -> Move:
    for path in (op.path, op.to):
        if ".git" in path.lower().split("/"):
            raise AgentError(f"{name_on_a_line(path)} belongs to git.", hint=UNTOUCHED)
    contents = look_into(ledger.files.root, op.path)
    require_reachable(ledger.files.root, contents, op.to)

    def carry_out(_changes: Sequence[FileChange]) -> None:
        ledger.move_folder(contents, op.to)

    transitions = transitions_of(ledger.files, contents, op.to)
    return Move(transitions, contents.change_count, is_folder=True, carry_out=carry_out)


def is_a_name(path: str) -> bool:
    """Whether a change can have this path: relative to the workspace, without `..`, and storable on disk."""
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:
        return False
    is_storable = b"\0" not in name and os.fsdecode(name) == path
    return is_storable and PurePosixPath(path).as_posix() == path and ".." not in path.split("/") and path[:1] != "/"
