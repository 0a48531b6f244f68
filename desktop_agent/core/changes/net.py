"""The net effect of several changes: one row of a review for each file, even if files were renamed. Pure.

A renamed file is one row at its last path; its `before` is its image at `moved_from`, the first path. Undos and redos
set only the `state` of rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.ids import ChangeId, Digest
from desktop_agent.core.protocol.model import Author, ChangeKind, FileChange, FileImage
from desktop_agent.core.transcript import ChangeRecord


class Life(Struct):
    """One file through all of its changes. `before` is None for a created file, `after` for a deleted one."""

    origin: str
    end: str
    before: FileImage | None
    after: FileImage | None
    places: set[int] = field(default_factory=set[int])

    @property
    def path(self) -> str:
        return self.origin if self.after is None and self.before is not None else self.end


def follow(changes: Sequence[FileChange]) -> list[Life]:
    """Changes are in the order they were made. The results have different paths."""
    departures = dict(pairs(changes))
    left = set(departures.values())
    here: dict[str, Life] = {}
    replaced: list[Life] = []
    for place, change in enumerate(changes):
        if place in left:
            continue  # with the other half of the rename
        there = here.get(change.path)
        if place in departures:
            if there is None and change.before is not None:
                there = Life(change.path, change.path, change.before, None)
            if there is not None:
                there.after = None
                replaced.append(there)
            departed = changes[departures[place]]
            life = here.pop(departed.path, None) or Life(departed.path, departed.path, departed.before, None)
            life.places.add(departures[place])
            life.end = change.path
        else:
            life = there or Life(change.path, change.path, change.before, change.after)
        life.after = change.after
        life.places.add(place)
        here[change.path] = life
    replaced_at = {life.end: life for life in replaced if life.origin == life.end}
    for place, change in enumerate(changes):
        if life := replaced_at.get(change.path):  # changes by others at the file's path belong to the file
            life.places.add(place)
    return _with_own_origins(_one_for_each_path([*replaced, *here.values()], changes))


def pairs(changes: Sequence[FileChange]) -> Iterator[tuple[int, int]]:
    """Yield both halves of every rename, as indices of the arrival and the departure."""
    leaving: dict[tuple[str, str], list[int]] = {}
    for place, change in enumerate(changes):
        if change.moved_to:
            leaving.setdefault((change.path, change.moved_to), []).append(place)
    for place, change in enumerate(changes):
        waiting = leaving.get((change.moved_from, change.path))
        if change.moved_from and waiting:
            yield place, waiting.pop(0)


def _one_for_each_path(lives: list[Life], changes: Sequence[FileChange]) -> list[Life]:
    """Merge a deleted file and the file that replaced it at its path.

    The replacing file then counts as deleted from its old path, where a third file may have come, and so on.
    """
    by_path: dict[str, Life] = {}
    waiting = list(lives)
    while waiting:
        life = waiting.pop(0)
        other = by_path.pop(life.path, None)
        if other is None:
            by_path[life.path] = life
        else:
            gone, there = (life, other) if life.after is None else (other, life)
            waiting += _met(gone, there, changes)
    return list(by_path.values())


def _met(gone: Life, there: Life, changes: Sequence[FileChange]) -> Iterator[Life]:
    if gone.before is None:  # it was not there at first, so nothing is missing
        there.places |= gone.places
        yield there
        return
    path = gone.path
    if there.before is not None and there.origin != path:
        places = {place for place in there.places if changes[place].path == there.origin}
        yield Life(there.origin, there.origin, there.before, None, places)
        there.places -= places
    yield Life(path, there.end, gone.before, there.after, gone.places | there.places)


def _with_own_origins(lives: list[Life]) -> list[Life]:
    """A second file with the same origin counts as new. It exists if a rename was undone by a change not included."""
    claimed: set[str] = set()
    for life in sorted(lives, key=lambda life: life.origin != life.path):
        if life.before is not None and life.origin in claimed:
            life.origin, life.before = life.end, None
        elif life.before is not None:
            claimed.add(life.origin)
    return lives


NetState = Literal["standing", "partly", "undone"]


class NetChange(Struct, frozen=True):
    """The net change of one file. Changes in `change` and `records` are in the order they were made."""

    change: FileChange
    records: tuple[ChangeRecord, ...]

    @property
    def path(self) -> str:
        return self.change.path

    @property
    def moved_from(self) -> str:
        return self.change.moved_from

    @property
    def change_ids(self) -> tuple[ChangeId, ...]:
        return tuple(record.change.id for record in self.records)

    @property
    def authors(self) -> tuple[Author, ...]:
        return tuple(dict.fromkeys(record.change.author for record in self.records))

    @property
    def state(self) -> NetState:
        return net_state(self.records)


def net_state(records: Iterable[ChangeRecord]) -> NetState:
    states: set[NetState] = {_state(record) for record in records}
    return states.pop() if len(states) == 1 else "partly"


def net_changes(records: Iterable[ChangeRecord], *, is_of_everyone: bool = False) -> list[NetChange]:
    """Return the net changes in the order of their first change. For the diff of a row, use its `change`.

    With `is_of_everyone`, the user's changes are in the rows of their files.
    """
    known = list(records)
    if is_of_everyone:
        return _rows([record for record in known if record.change.author != "undo"])
    rows = _rows([record for record in known if record.change.author not in ("person", "undo")])
    taken = {path for row in rows for path in (row.path, row.moved_from)}
    by_user = _rows([record for record in known if record.change.author == "person"])
    rows += [row for row in by_user if not taken & {row.path, row.moved_from or row.path}]
    order = {record.change.id: place for place, record in enumerate(known)}
    return sorted(rows, key=lambda row: order[row.records[0].change.id])


def net_change(changes: Sequence[FileChange]) -> FileChange:
    """Return the net effect of `changes` to one file, in the order made. Id and author are those of the last.

    Line counts are sums. The user's changes and undos count only if there are no others.
    """
    own = [change for change in changes if change.author not in ("person", "undo")] or list(changes)
    return _net(max(follow(own), key=lambda life: len(life.places)), own)


def net_of_call(changes: Sequence[FileChange]) -> tuple[FileChange, ...]:
    if not any(change.moved_from for change in changes):
        return tuple(changes)
    return tuple(_net(life, changes) for life in sorted(follow(changes), key=lambda life: min(life.places)))


def _rows(records: Sequence[ChangeRecord]) -> list[NetChange]:
    changes = [record.change for record in records]
    return [
        NetChange(_net(life, changes), tuple(records[place] for place in sorted(life.places)))
        for life in follow(changes)
    ]


def _net(life: Life, changes: Sequence[FileChange]) -> FileChange:
    own = [changes[place] for place in sorted(life.places)]
    is_moved = life.before is not None and life.origin != life.path
    if len(own) == 1 and not own[0].moved_from and not own[0].moved_to:
        return own[0]
    added, removed = _line_counts(own)
    return replace(
        own[-1],
        path=life.path,
        kind="renamed" if is_moved else _kind(life.before, life.after),
        before=life.before,
        after=life.after,
        added=added,
        removed=removed,
        is_binary=own[0].is_binary or own[-1].is_binary,
        moved_from=life.origin if is_moved else "",
        moved_to="",
    )


def _line_counts(changes: Sequence[FileChange]) -> tuple[int, int]:
    left = {(change.path, change.moved_to, _digest(change.before)) for change in changes if change.moved_to}
    arrived = {(change.moved_from, change.path, _digest(change.after)) for change in changes if change.moved_from}
    moved = left & arrived
    counted = [
        change
        for change in changes
        if (change.path, change.moved_to, _digest(change.before)) not in moved
        and (change.moved_from, change.path, _digest(change.after)) not in moved
    ]
    return sum(change.added for change in counted), sum(change.removed for change in counted)


def _digest(image: FileImage | None) -> Digest | None:
    return image.digest if image else None


def _kind(before: FileImage | None, after: FileImage | None) -> ChangeKind:
    if after is None:
        return "deleted"
    if before is None:
        return "created"
    is_same_content = (before.digest, before.kind) == (after.digest, after.kind)
    return "mode_changed" if is_same_content and before.mode != after.mode else "modified"


def _state(record: ChangeRecord) -> NetState:
    if record.is_undone:
        return "undone"
    return "partly" if record.undone_hunks else "standing"
