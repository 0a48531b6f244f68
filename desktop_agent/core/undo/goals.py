"""The steps of a plan with their contents at hand: what a file was, and what it is to be."""

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.changes.net import net_change
from desktop_agent.core.changes.stored_images import StoredImages
from desktop_agent.core.diff.hunks import MODE, all_keys
from desktop_agent.core.merge.hunk_edit import without_hunks
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.core.system.files import FileState
from desktop_agent.core.undo.plan import Delta, Direction, FilePlan
from desktop_agent.core.undo.whereabouts import as_edit


class Goal(Struct, frozen=True):
    """One step of a file with its contents at hand."""

    base: FileState | None
    wanted: FileState | None


class Goals:
    """Reads what plans are about."""

    def __init__(self, images: StoredImages) -> None:
        self._images = images

    def of_plan(self, direction: Direction, plan: FilePlan) -> tuple[FilePlan, list[Goal]]:
        """The steps of the plan; a plan that names all hunks of a file is one for the whole file.

        Raises `KeyError` when it names none.
        """
        if plan.hunks:
            diff = self.diff(plan)
            is_moved = plan.net is not None and plan.net.moved_from != ""
            if diff is not None and (is_moved or not set(all_keys(diff)) <= set(plan.hunks)):
                if not set(all_keys(diff)) & set(plan.hunks):
                    raise KeyError(plan.hunks)
                return plan, [self._partial_goal(direction, plan, diff)]
        return replace(plan, hunks=()), [self.of_step(delta) for delta in plan.deltas]

    def of_step(self, delta: Delta) -> Goal:
        """One step of a whole file. Raises `StorageError` when a content is missing."""
        return Goal(self._images.state(delta.base), self._images.state(delta.wanted))

    def diff(self, plan: FilePlan) -> FileDiff | None:
        """The diff that the user selected hunks of; None when there are no lines to tell apart."""
        if plan.changes[-1].after is None:
            return None
        return self._images.diff(plan.net or net_change(plan.changes))

    def _partial_goal(self, direction: Direction, plan: FilePlan, diff: FileDiff) -> Goal:
        after, before = self._images.state(plan.changes[-1].after), (plan.net or plan.changes[0]).before
        assert after is not None
        # Another change may have set the mode between the selected ones: that is not theirs to take back.
        edits = (as_edit(change, plan.elsewhere) for change in plan.changes)
        is_theirs = any(c.before and c.after and c.before.mode != c.after.mode for c in edits)
        mode = before.mode if before is not None and is_theirs and MODE in plan.hunks else after.mode
        without = replace(after, content=without_hunks(diff, plan.hunks), mode=mode)
        return Goal(after, without) if direction == "undo" else Goal(without, after)
