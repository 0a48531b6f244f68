"""Files with several names (hard links): an undo or redo is one of the file, and so at every name that it is known at.

What the agent did to such a file is on record at all its names. They are undone together, and stay one file. A name at
which it is not on record, because the file became one with another since, keeps its content: written through, it would
change what no undo brings back.
"""

from collections.abc import Callable, Iterable, Sequence

from desktop_agent.core.base.ids import ChangeId
from desktop_agent.core.protocol.model import FileChange, FileImage
from desktop_agent.core.transcript import ChangeRecord

OtherNames = Callable[[str], tuple[str, ...]]
"""The other names of the file that is at a path now."""


def at_all_names(
    selected: Iterable[ChangeRecord], candidates: Sequence[ChangeRecord], other_names: OtherNames
) -> list[ChangeRecord]:
    """Return the `selected` changes with what they are at the other names of their files, in the order of `candidates`.

    The selected ones are among the candidates.
    """
    found = {record.change.id for record in selected}
    paths = {record.change.path for record in candidates if record.change.id in found}
    names = {path: others for path in paths if (others := other_names(path))}
    for record in [record for record in candidates if record.change.id in found and record.change.path in names]:
        found |= {r.change.id for r in candidates if r.change.path in names[record.change.path] and _is_same(r, record)}
    return [record for record in candidates if record.change.id in found]


def names_alike(
    change_ids: Iterable[ChangeId], records: Sequence[ChangeRecord], names: Iterable[str]
) -> tuple[str, ...]:
    """Return those of the other `names` of a file at which every one of the changes is on record."""
    known = {record.change.id: record for record in records}
    meant = [known[change_id] for change_id in change_ids if change_id in known]
    return tuple(
        name
        for name in names
        if meant and all(any(r.change.path == name and _is_same(r, record) for r in records) for record in meant)
    )


def written_along(changes: Iterable[FileChange]) -> dict[ChangeId, tuple[str, ...]]:
    """Return which other paths come from the same to the same content with each of the `changes`."""
    alike: dict[tuple[FileImage | None, FileImage | None], list[FileChange]] = {}
    for change in changes:
        alike.setdefault((change.before, change.after), []).append(change)
    return {
        change.id: tuple(other.path for other in group if other is not change)
        for group in alike.values()
        for change in group
    }


def _is_same(one: ChangeRecord, other: ChangeRecord) -> bool:
    """Whether they are one change of one file, on record at two names that it had before."""
    if (one.turn, one.call_id, one.change.author) != (other.turn, other.call_id, other.change.author):
        return False
    is_alike = (one.change.before, one.change.after) == (other.change.before, other.change.after)
    return is_alike and not (one.change.is_new_name or other.change.is_new_name)
