"""Where files went by renamings, so that what is open of them can follow."""

from collections.abc import Iterable, Iterator, Mapping

from desktop_agent.core.base.ids import ChangeId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import FileChange
from desktop_agent.core.transcript import ChangeRecord


def new_paths(event: ev.Event, known: Mapping[ChangeId, ChangeRecord]) -> dict[str, str]:
    """Return the new path of each file that `event` says was renamed, or renamed back. `known` are all changes."""
    match event:
        case ev.ChangesRecorded(changes=changes):
            return {change.path: change.moved_to for change in changes if change.moved_to}
        case ev.ChangesUndone(changes=changes) | ev.ChangesRedone(changes=changes):
            return dict(_moved_back(changes, known))
        case _:
            return {}


def _moved_back(changes: Iterable[FileChange], known: Mapping[ChangeId, ChangeRecord]) -> Iterator[tuple[str, str]]:
    """What an undo or redo took away from a path is where the renaming that it is about came from, or led to."""
    for change in changes:
        for item in change.reverts if change.after is None else ():
            record = known.get(item.change_id)
            if record is not None and record.change.path == change.path:
                path = record.change.moved_to if item.is_redo else record.change.moved_from
                if path:
                    yield change.path, path
