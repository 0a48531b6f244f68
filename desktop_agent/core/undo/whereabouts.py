"""Where a file is while some of its renamings are undone, and what a renaming did to its content. Pure.

A renaming and the edits of the file are undone and redone apart. What edited a renamed file is at its old name while
the renaming is undone, and so is every hunk of it.
"""

from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from desktop_agent.core.base.ids import ChangeId, HunkKey
from desktop_agent.core.diff.hunks import RENAMING, WHOLE_FILE, all_keys
from desktop_agent.core.protocol.model import FileChange, FileDiff
from desktop_agent.core.transcript import ChangeRecord


def in_force(records: Iterable[ChangeRecord]) -> set[ChangeId]:
    """Return the changes that are in force. One that renamed a file is while the file is renamed."""
    return {r.change.id for r in records if not r.is_undone and RENAMING not in r.undone_hunks}


def path_now(change: FileChange, recorded: Sequence[FileChange], standing: Collection[ChangeId]) -> str:
    """Return where the file that `change` left is when no later renaming counts: back where undone ones took it from.

    `recorded` are all changes, in the order made, and `standing` those in force. A renaming that was undone by the time
    of `change` had not brought the file here: it is another one.
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
            break  # here it came into being, or another file was here
    return here


def recorded_of(change: FileChange, records: Iterable[ChangeRecord]) -> list[FileChange]:
    """Return everything recorded of the path at which the file that `change` left is now, as far as `path_now` knows.

    The last of it is the file as it stands.
    """
    known = list(records)
    there = [record.change for record in known if record.change.path == change.path]
    if not any(other.moved_from for other in there):
        return there
    path = path_now(change, [record.change for record in known], in_force(known))
    return there if path == change.path else [record.change for record in known if record.change.path == path]


def as_edit(change: FileChange, others: Iterable[FileChange]) -> FileChange:
    """Return what a change that renamed a file did to the content, as an edit; any other change as it is.

    One of the `others` is the half that took the file away from its old path.
    """
    if not change.moved_from:
        return change
    left = [other for other in others if other.path == change.moved_from and other.moved_to == change.path]
    return replace(change, before=left[0].before, moved_from="", new_folders=()) if left else change


def parts_of(change: FileChange, diff: FileDiff) -> frozenset[HunkKey]:
    """Return everything that can be undone of a change by itself. `diff` shows it `as_edit`."""
    keys = frozenset(all_keys(diff))
    return keys - {WHOLE_FILE} | {RENAMING} if change.moved_from else keys
