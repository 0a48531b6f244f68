"""Undos as steps that can be taken back: what each of them undid, of which changes, and what it wrote. Pure.

A step is open while any change that it undid is still undone, however the others were applied again. So the steps of a
journal follow from its undos and redos alone, also in journals of versions that knew no steps.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from msgspec import Struct

from desktop_agent.core.base.ids import ChangeId, HunkKey
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import FileOutcome, Reverted
from desktop_agent.core.transcript.entries import ChangeRecord

Undone = frozenset[HunkKey] | None
"""The hunks of a change that are undone; `None` for all of it."""

NOTHING: frozenset[HunkKey] = frozenset()


class StepPart(Struct, frozen=True):
    """What of one change was undone before a step and after it."""

    change_id: ChangeId
    before: frozenset[HunkKey]
    after: Undone

    def stands(self, now: Undone) -> bool:
        """Whether any of what it undid still is, when `now` is undone of the change."""
        if now is None:
            return True
        return bool(now - self.before if self.after is None else now & (self.after - self.before))

    def taken_back(self, now: Undone, every: Callable[[], frozenset[HunkKey]]) -> frozenset[HunkKey]:
        """Return what of `now` is undone without it. `every` hunk of the change is asked for only if that matters."""
        if now == self.after:
            return self.before
        if self.after is None:
            return NOTHING if now is None else now & self.before
        return (every() if now is None else now) - (self.after - self.before)


class UndoStep(Struct, frozen=True):
    """An undo that was not taken back yet, or not all of it."""

    seq: int
    """The number of its event: what names it."""
    at: datetime
    outcomes: tuple[FileOutcome, ...]
    """What it did, file by file."""
    parts: tuple[StepPart, ...]
    writes: tuple[ChangeId, ...]
    """The changes by `undo` that are its exact before and after; none in journals of old."""

    def open_paths(self, records: Mapping[ChangeId, ChangeRecord]) -> set[str]:
        """Return the files in which something that it undid still is undone."""
        ids = {
            part.change_id
            for part in self.parts
            if part.change_id in records and part.stands(undone_of(records[part.change_id]))
        }
        written = [records[change_id].change for change_id in self.writes if change_id in records]
        named = {item.change_id: change.path for change in written for item in change.reverts}
        return {named.get(change_id, records[change_id].change.path) for change_id in ids}

    def stands(self, records: Mapping[ChangeId, ChangeRecord]) -> bool:
        """Whether any of what it undid still is undone."""
        return any(part.stands(undone_of(records[part.change_id])) for part in self.parts if part.change_id in records)


class Turned(Struct, frozen=True):
    """What one undo or redo turned, where among the records, and what was undone of each change before and after."""

    start: int
    """How many changes were on record before it."""
    written: int
    """How many it recorded itself."""
    before: dict[ChangeId, Undone]
    after: dict[ChangeId, Undone]
    kept: frozenset[str] = frozenset()
    """Folders that were to go, and stay because of the files in them."""
    is_recorded: bool = True
    """Whether what it wrote is on record; in journals of old it is not."""


def undone_of(record: ChangeRecord) -> Undone:
    """Return what is undone of a change."""
    return None if record.is_undone else record.undone_hunks


def changes_named(event: ev.ChangesUndone | ev.ChangesRedone) -> Iterable[ChangeId]:
    """Return the changes of which an undo or redo says what is undone of them now, each once."""
    return dict.fromkeys((*event.change_ids, *(reverted.change_id for reverted in reverts_of(event))))


def reverts_of(event: ev.ChangesUndone | ev.ChangesRedone) -> list[Reverted]:
    """Return what an undo or redo says of parts of changes: where it wrote, then where there was nothing to write."""
    written = [reverted for change in event.changes for reverted in change.reverts]
    return written + [reverted for outcome in event.outcomes if outcome.is_done for reverted in outcome.reverts]


def step_of(
    event: ev.ChangesUndone, before: Mapping[ChangeId, Undone], records: Mapping[ChangeId, ChangeRecord]
) -> UndoStep | None:
    """Return the step that an undo was, if it undid anything; `before` is what was undone of each change until then."""
    parts: list[StepPart] = []
    for change_id, was in before.items():
        now = undone_of(records[change_id])
        if was is not None and (now is None or now - was):
            parts.append(StepPart(change_id, was, now))
    if not parts:
        return None
    writes = tuple(change.id for change in event.changes)
    return UndoStep(event.seq, event.at, event.outcomes, tuple(parts), writes)
