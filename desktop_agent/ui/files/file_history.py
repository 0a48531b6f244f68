"""The changes of a file by turn, across renames. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.ids import ChangeId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import FileChange
from desktop_agent.core.transcript import ChangeRecord

_tr = partial(QCoreApplication.translate, "FileTurns")

MOST_LISTED = 20


class FileTurn(NamedTuple):
    turn: int
    call_id: str
    """The first call that changed it in that turn; empty for the user's own change."""
    path: str
    added: int
    removed: int
    is_mine: bool
    is_undone: bool


def turns_of(path: str, records: Iterable[ChangeRecord]) -> list[FileTurn]:
    """Return the turns that changed the file now at `path`, under any of its names, latest first."""
    found: dict[int, FileTurn] = {}
    names = {path}
    for record in reversed(list(records)):
        change = record.change
        if change.path not in names or change.author == "undo":
            continue
        if change.moved_from:
            names.add(change.moved_from)
        later = found.get(record.turn)
        mine, is_undone = change.author == "person", record.is_undone
        found[record.turn] = FileTurn(
            record.turn,
            record.call_id,
            change.moved_to or change.path,
            (change.added or 0) + (later.added if later else 0),
            (change.removed or 0) + (later.removed if later else 0),
            mine and (later is None or later.is_mine),
            is_undone and (later is None or later.is_undone),
        )
    return list(found.values())[:MOST_LISTED]


def turn_words(turn: FileTurn) -> str:
    """Return the turn as a line of text: `Turn 3 · +12 −4 · undone`."""
    before = _tr("Before the first message")
    parts = [_tr("Turn {0}").format(turn.turn) if turn.turn else before]
    if turn.is_mine:
        parts.append(_tr("you"))
    if turn.added or turn.removed:
        parts.append(f"+{turn.added} −{turn.removed}")
    if turn.is_undone:
        parts.append(_tr("undone"))
    return " · ".join(parts)


def new_paths(event: ev.Event, known: Mapping[ChangeId, ChangeRecord]) -> dict[str, str]:
    """Return the new path of each file that `event` renamed or renamed back. `known` holds all changes."""
    match event:
        case ev.ChangesRecorded(changes=changes):
            return {change.path: change.moved_to for change in changes if change.moved_to}
        case ev.ChangesUndone(changes=changes) | ev.ChangesRedone(changes=changes):
            return dict(_moved_back(changes, known))
        case _:
            return {}


def _moved_back(changes: Iterable[FileChange], known: Mapping[ChangeId, ChangeRecord]) -> Iterator[tuple[str, str]]:
    for change in changes:
        for item in change.reverts if change.after is None else ():
            record = known.get(item.change_id)
            if record is not None and record.change.path == change.path:
                path = record.change.moved_to if item.is_redo else record.change.moved_from
                if path:
                    yield change.path, path
