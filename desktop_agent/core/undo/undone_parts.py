"""What is undone of each change of a file once the file is written."""

from collections.abc import Mapping, Sequence

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import ChangeId, HunkKey
from desktop_agent.core.changes.stored_images import StoredImages
from desktop_agent.core.diff.hunks import MODE, WHOLE_FILE
from desktop_agent.core.merge.hunk_edit import missing_keys
from desktop_agent.core.protocol.model import FileDiff, Reverted
from desktop_agent.core.system.files import FileState
from desktop_agent.core.undo.goals import Goal
from desktop_agent.core.undo.plan import Direction, FilePlan
from desktop_agent.core.undo.whereabouts import as_edit, parts_of


class UndoneParts:
    """Follows which hunks of changes are undone."""

    def __init__(self, images: StoredImages, undone: Mapping[ChangeId, frozenset[HunkKey]]) -> None:
        """`undone` are the hunks that are undone already; `WHOLE_FILE` among them means all."""
        self._images = images
        self._undone = undone

    def after(
        self, direction: Direction, plan: FilePlan, yours: FileState | None, result: FileState | None
    ) -> tuple[Reverted, ...]:
        """What of each selected change is undone once the file is `result`."""
        is_undo = direction == "undo"
        if plan.restores is not None:
            return plan.restores
        if not plan.hunks:
            return tuple(Reverted(change_id=change_id, is_redo=not is_undo) for change_id in plan.change_ids)
        reverts: list[Reverted] = []
        others = (*plan.elsewhere, *plan.changes)
        edits = [change for change in plan.elsewhere if change.after and as_edit(change, others).before]
        for change in (*edits, *plan.changes):
            edit = as_edit(change, others)
            diff = self._images.diff(edit)
            every = parts_of(change, diff)
            before = (
                every if WHOLE_FILE in self._undone.get(change.id, ()) else self._undone.get(change.id, every - every)
            )
            is_only = len(plan.changes) == 1 and not edits
            touched = frozenset(plan.hunks) & every
            if not is_only:
                touched = touched & {MODE} | _touched(diff, yours, result)
            undone = before | touched if is_undo else before - touched
            if undone != before or touched:
                is_whole = undone == every if is_undo else not undone
                hunks = () if is_whole else tuple(sorted(undone))
                reverts.append(Reverted(change_id=change.id, hunks=hunks, is_redo=not is_undo))
        return tuple(reverts)

    def once_settled(self, direction: Direction, plan: FilePlan, goals: Sequence[Goal]) -> tuple[Reverted, ...]:
        """What of each change is undone once the user has settled a clash over some hunks of it."""
        if not plan.hunks:
            return plan.restores or ()
        try:
            return self.after(direction, plan, goals[0].base, goals[-1].wanted)
        except StorageError:
            return ()


def _touched(diff: FileDiff, yours: FileState | None, result: FileState | None) -> frozenset[HunkKey]:
    """The hunks of one change that came or went from `yours` to `result`."""
    there, here = (missing_keys(diff, state.content) if state else frozenset[HunkKey]() for state in (yours, result))
    return there ^ here
