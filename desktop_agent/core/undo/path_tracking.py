"""Tracks at which path the file of a change is now, and which other names (hard links) it has. Pure."""

from collections.abc import Callable, Collection, Iterable, Sequence

from msgspec.structs import replace

from desktop_agent.core.base.ids import ChangeId, HunkKey
from desktop_agent.core.diff.hunks import RENAMING, WHOLE_FILE, all_keys
from desktop_agent.core.protocol.model import FileChange, FileDiff, FileImage
from desktop_agent.core.transcript import ChangeRecord


def in_force(records: Iterable[ChangeRecord]) -> set[ChangeId]:
    """A rename is in force as long as the file has its new name."""
    return {r.change.id for r in records if not r.is_undone and RENAMING not in r.undone_hunks}


def path_now(change: FileChange, recorded: Sequence[FileChange], standing: Collection[ChangeId]) -> str:
    """The present path of the file that `change` wrote. Only an undone rename changes the path.

    `recorded` are all changes, in the order made, and `standing` those in force.
    """
    here, came_from = change.path, ""
    was_undone: dict[ChangeId, bool] = {}
    place = next((at for at, other in enumerate(recorded) if other.id == change.id), -1)
    for other in reversed(recorded[: place + 1]):
        if other.author == "undo":
            for item in other.reverts:
                was_undone.setdefault(item.change_id, RENAMING in item.hunks if item.hunks else not item.is_redo)
            continue
        if other.path != here or (other.moved_from and was_undone.get(other.id)):
            continue
        if other.moved_from and other.id not in standing:
            here, came_from = other.moved_from, here
        elif other.moved_to and other.moved_to == came_from:
            continue  # the other half of the renaming
        elif other.moved_from or not (other.before and other.after):
            break  # the file was created here, or another file was here
    return here


def recorded_of(change: FileChange, records: Iterable[ChangeRecord]) -> list[FileChange]:
    """All changes at the present path of the file of `change`, in order. The last one led to the present file."""
    known = list(records)
    there = [record.change for record in known if record.change.path == change.path]
    if not any(other.moved_from for other in there):
        return there
    path = path_now(change, [record.change for record in known], in_force(known))
    return there if path == change.path else [record.change for record in known if record.change.path == path]


def as_edit(change: FileChange, others: Iterable[FileChange]) -> FileChange:
    """Return a rename as an edit. One of the `others` is its half that removed the file from its old path."""
    if not change.moved_from:
        return change
    left = [other for other in others if other.path == change.moved_from and other.moved_to == change.path]
    return replace(change, before=left[0].before, moved_from="", new_folders=()) if left else change


def parts_of(change: FileChange, diff: FileDiff) -> frozenset[HunkKey]:
    """The keys of all separately undoable parts. `diff` is the diff of the change's `as_edit`."""
    keys = frozenset(all_keys(diff))
    return keys - {WHOLE_FILE} | {RENAMING} if change.moved_from else keys


OtherNames = Callable[[str], tuple[str, ...]]
"""Returns the other names (hard links) of the file that is at a path now."""


def at_all_names(
    selected: Iterable[ChangeRecord], candidates: Sequence[ChangeRecord], other_names: OtherNames
) -> list[ChangeRecord]:
    """Add the same changes at the other names of the files. The result is in the order of `candidates`."""
    found = {record.change.id for record in selected}
    paths = {record.change.path for record in candidates if record.change.id in found}
    names = {path: others for path in paths if (others := other_names(path))}
    for record in [record for record in candidates if record.change.id in found and record.change.path in names]:
        found |= {r.change.id for r in candidates if r.change.path in names[record.change.path] and _is_same(r, record)}
    return [record for record in candidates if record.change.id in found]


def names_with_changes(
    change_ids: Iterable[ChangeId], records: Sequence[ChangeRecord], names: Iterable[str]
) -> tuple[str, ...]:
    known = {record.change.id: record for record in records}
    meant = [known[change_id] for change_id in change_ids if change_id in known]
    return tuple(
        name
        for name in names
        if meant and all(any(r.change.path == name and _is_same(r, record) for r in records) for record in meant)
    )


def paths_with_same_change(changes: Iterable[FileChange]) -> dict[ChangeId, tuple[str, ...]]:
    alike: dict[tuple[FileImage | None, FileImage | None], list[FileChange]] = {}
    for change in changes:
        alike.setdefault((change.before, change.after), []).append(change)
    return {
        change.id: tuple(other.path for other in group if other is not change)
        for group in alike.values()
        for change in group
    }


def _is_same(one: ChangeRecord, other: ChangeRecord) -> bool:
    if (one.turn, one.call_id, one.change.author) != (other.turn, other.call_id, other.change.author):
        return False
    is_alike = (one.change.before, one.change.after) == (other.change.before, other.change.after)
    return is_alike and not (one.change.is_new_name or other.change.is_new_name)
