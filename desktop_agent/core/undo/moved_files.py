"""Files that were renamed: both of their paths are undone together, and what was edited goes along."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import ChangeId, HunkKey
from desktop_agent.core.changes.stored_images import StoredImages
from desktop_agent.core.diff.diff import find_edits
from desktop_agent.core.diff.hunks import WHOLE_FILE
from desktop_agent.core.diff.text import as_utf8
from desktop_agent.core.merge.file_merge import ClashError, merge_states
from desktop_agent.core.system.files import FileState
from desktop_agent.core.undo.goals import Goals
from desktop_agent.core.undo.plan import Delta, Direction, FilePlan


class MovedFiles:
    """Plans of renamed files against the files as they are now."""

    def __init__(self, images: StoredImages, goals: Goals, now: Callable[[str], FileState | None]) -> None:
        """`now` returns the file at a path. It may raise `OSError`."""
        self._images = images
        self._goals = goals
        self._now = now

    def without_lost_way_back(self, plan: FilePlan) -> FilePlan:
        """Return the plan without the way back to the very bytes, if one path of a renamed file changed since.

        What was taken away there must not come back at the other path.
        """
        if plan.inverse is None or not any(change.moved_from or change.moved_to for change in plan.changes):
            return plan
        try:
            is_as_left = self._now(plan.path) == self._images.state(plan.inverse.base)
        except (OSError, StorageError):
            is_as_left = False
        return plan if is_as_left else replace(plan, inverse=None)

    def follow(self, plans: Sequence[FilePlan]) -> dict[str, FileState | None]:
        """Where a renamed file was edited, its content goes with it: what both paths of it become."""
        by_path = {plan.path: plan for plan in plans}
        results: dict[str, FileState | None] = {}
        for plan in plans:
            target = _end_of_moves(plan, by_path)
            if target is None or plan.hunks or len(plan.deltas) != 1:
                continue
            try:
                here, there = self._now(plan.path), self._now(target.path)
                source, (goal, *rest) = self._goals.of_step(plan.deltas[0]), map(self._goals.of_step, target.deltas)
                is_edited = here not in (None, source.base, source.wanted) and _is_version_of(here, source.base)
                if is_edited and there == goal.base and goal.wanted is not None:
                    result = merge_states(source.base, here, goal.wanted)
                    for step in rest:  # what was edited may be what is undone: redone at the new path
                        result = merge_states(step.base, result, step.wanted)
                    results |= {target.path: result, plan.path: source.wanted}
            except (OSError, StorageError, ClashError):
                continue
        return results


def in_one_step(direction: Direction, plan: FilePlan, undone: Mapping[ChangeId, frozenset[HunkKey]]) -> FilePlan:
    """Return the plan for a file that was renamed as one step, also where some of its edits are as wanted already.

    They were undone before the renaming, or redone at the old name. No change lies in between.
    """
    if len(plan.deltas) < 2 or not any(change.moved_from or change.moved_to for change in plan.changes):
        return plan
    ids = {change.id for change in plan.changes}
    chain = [change for change in plan.chain if change.author != "undo"]
    others = [change for change in chain if change.id not in ids]
    known = [undone.get(change.id) for change in others]
    is_as_wanted = all(keys is not None and (WHOLE_FILE in keys if direction == "undo" else not keys) for keys in known)
    is_known = is_as_wanted and all(change.is_by_agent for change in others)
    if not is_known or any(one.after != other.before for one, other in pairwise(chain)):
        return plan
    old, new = chain[0].before, chain[-1].after
    return replace(plan, deltas=(Delta(new, old) if direction == "undo" else Delta(old, new),))


def _end_of_moves(plan: FilePlan, by_path: Mapping[str, FilePlan]) -> FilePlan | None:
    """The plan of the path that the content goes to in the end: past those where it only was for a while."""
    passed = {plan.path}
    target = by_path.get(plan.moves_to)
    while target is not None and target.path not in passed:
        if target.deltas[0].wanted is not None or not target.moves_to:
            return target
        if len(target.deltas) > 1:
            return None
        passed.add(target.path)
        target = by_path.get(target.moves_to)
    return None


def _is_version_of(state: FileState | None, base: FileState | None) -> bool:
    """Whether a text is still more the other one than not, and so the same file, edited."""
    if state is None or base is None or state.kind != base.kind or state.kind != "file":
        return False
    old, new = as_utf8(base.content), as_utf8(state.content)
    if old is None or new is None:
        return False
    gone = sum(edit.old_end - edit.old_start for edit in find_edits(old, new))
    return 2 * gone <= old.count(b"\n") + 1
