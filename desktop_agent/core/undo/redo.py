"""What taking undos back would write: each path to the very bytes from before them, where nothing changed since.

What an undo wrote is a change like any other, with its exact before and after. To take it back is to undo that change:
three-way where the file was edited since, with a clash where that was the same place. What is undone of the agent's
changes afterwards is what was undone of them before the step, also where that was a part.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import ChangeId, HunkKey
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import FileChange, FileOutcome, Reverted
from desktop_agent.core.transcript import Transcript, UndoStep, undone_of
from desktop_agent.core.undo.draft import Drafter, UndoDraft
from desktop_agent.core.undo.plan import FilePlan, plan_revert
from desktop_agent.core.undo.whereabouts import as_edit, in_force, parts_of

Left = Mapping[ChangeId, frozenset[HunkKey]]
"""What is undone of each change afterwards; only changes of which that is less than before."""


def steps_meant(transcript: Transcript, op: ops.RedoSteps) -> list[UndoStep]:
    """Return the undos that `op` takes back, oldest first; fewer where some were taken back already."""
    if op.is_all:
        return list(transcript.changed.steps)
    if op.steps:
        return [step for step in transcript.changed.steps if step.seq in op.steps]
    return transcript.changed.steps[-1:]


def draft_steps(transcript: Transcript, ledger: Ledger, steps: Sequence[UndoStep]) -> UndoDraft:
    """Return what taking `steps` back, in one, would come to now. Blocks; `draft_revert` says what is written.

    A file of which everything is applied again already is passed over.
    """
    left: dict[ChangeId, frozenset[HunkKey]] = {}
    writes: set[ChangeId] = set()
    unwritten: list[ChangeId] = []
    for step in sorted(steps, key=lambda step: step.seq, reverse=True):
        open_ids = _take_back(step, transcript, ledger, left)
        covered = {part.change_id: False for part in step.parts}
        for change in (transcript.changes[write].change for write in step.writes if write in transcript.changes):
            ids = {item.change_id for item in change.reverts}
            covered |= dict.fromkeys(ids, True)
            if ids & open_ids or ids.isdisjoint(part.change_id for part in step.parts):
                writes.add(change.id)
        unwritten += (change_id for change_id in open_ids if not covered[change_id])
    recorded = [record.change for record in transcript.changes.values()]
    standing = in_force(transcript.changes.values())
    written = [change for change in recorded if change.id in writes]
    plans = plan_revert("undo", written, recorded, standing=standing)
    draft = Drafter(ledger).draft("undo", [_with_states(plan, transcript, left, written) for plan in plans])
    draft = UndoDraft(tuple(replace(one, outcome=_of_hunks(one.outcome, steps)) for one in draft.writes), draft.settled)
    unchanged, bare = _without_writes(unwritten, transcript, left, steps)
    old = Drafter(ledger).draft("redo", plan_revert("redo", bare, recorded, standing=standing))
    return UndoDraft((*draft.writes, *old.writes), (*draft.settled, *old.settled, *unchanged))


def _of_hunks(outcome: FileOutcome, steps: Sequence[UndoStep]) -> FileOutcome:
    """Return the outcome with the hunks that the one undo was about."""
    undone = [one for one in steps[0].outcomes if one.path == outcome.path] if len(steps) == 1 else []
    return structs.replace(outcome, hunks=undone[0].hunks) if undone else outcome


def _take_back(
    step: UndoStep, transcript: Transcript, ledger: Ledger, left: dict[ChangeId, frozenset[HunkKey]]
) -> set[ChangeId]:
    """Note in `left` what is undone without `step`, and return the changes of which that is less."""
    found: set[ChangeId] = set()
    for part in step.parts:
        record = transcript.changes.get(part.change_id)
        if record is None:
            continue
        now = left.get(part.change_id, undone_of(record))
        if part.stands(now):
            found.add(part.change_id)
            left[part.change_id] = part.taken_back(
                now, lambda change=record.change: _every_part(change, transcript, ledger)
            )
    return found


def _every_part(change: FileChange, transcript: Transcript, ledger: Ledger) -> frozenset[HunkKey]:
    edit = as_edit(change, (record.change for record in transcript.changes.values()))
    try:
        return parts_of(change, ledger.images.diff(edit))
    except StorageError:
        return frozenset()  # without the content there are no hunks


def _with_states(plan: FilePlan, transcript: Transcript, left: Left, written: Sequence[FileChange]) -> FilePlan:
    """Return the plan with what becomes of the changes that were undone, and where a renaming among them leads."""
    ids = dict.fromkeys(item.change_id for change in plan.changes for item in change.reverts)
    restores = _restored((change_id for change_id in ids if change_id in left), left)
    paths = {change.path for change in written}
    undone = [transcript.changes[change_id].change for change_id in ids if change_id in transcript.changes]
    moves = [change.moved_to for change in undone if change.path == plan.path and change.moved_to]
    hops = {one.path: one.moved_to for one in (transcript.changes[i].change for i in left if i in transcript.changes)}
    goal = moves[-1] if moves else ""
    while goal not in paths and goal in hops:  # where the file only was for a while, the undo wrote nothing
        goal = hops.pop(goal)
    # A folder that the undo put back for itself goes for itself, not with the last file in it.
    folders = tuple(folder for folder in plan.new_folders if folder not in paths)
    return replace(plan, restores=restores, moves_to=goal if goal in paths else "", new_folders=folders)


def _restored(change_ids: Iterable[ChangeId], left: Left) -> tuple[Reverted, ...]:
    return tuple(Reverted(change_id=one, hunks=tuple(sorted(left[one])), is_redo=True) for one in change_ids)


def _without_writes(
    change_ids: Sequence[ChangeId], transcript: Transcript, left: Left, steps: Sequence[UndoStep]
) -> tuple[list[FileOutcome], list[FileChange]]:
    """Return what comes of changes for which no undo wrote a file, and those that it did write, in journals of old.

    The former were on disk already as the undo wanted them. The latter have no exact before; they are applied again.
    """
    found = set(change_ids)
    as_wanted: set[ChangeId] = set()
    outcomes: list[FileOutcome] = []
    for outcome in (outcome for step in steps for outcome in step.outcomes if outcome.state == "unchanged"):
        named = (*outcome.change_ids, *(item.change_id for item in outcome.reverts))
        ids = [change_id for change_id in dict.fromkeys(named) if change_id in found - as_wanted]
        as_wanted |= set(ids)
        if ids:
            reverts = _restored(ids, left)
            whole = tuple(item.change_id for item in reverts if not item.hunks)
            partly = tuple(item for item in reverts if item.hunks)
            outcomes.append(FileOutcome(path=outcome.path, state="unchanged", change_ids=whole, reverts=partly))
    bare = [record.change for record in transcript.changes.values() if record.change.id in found - as_wanted]
    return outcomes, bare
