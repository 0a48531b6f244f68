"""What an undo or redo of selected changes would write, compared with what each file is now."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from desktop_agent.core.base.ids import ChangeId, HunkKey
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.changes.net import NetChange, net_changes
from desktop_agent.core.diff.hunks import WHOLE_FILE
from desktop_agent.core.protocol.model import ChangeSelection, FileChange, FileOutcome, Reverted
from desktop_agent.core.transcript import ChangeRecord, Transcript
from desktop_agent.core.undo import refusals
from desktop_agent.core.undo.all_names import at_all_names
from desktop_agent.core.undo.draft import Drafter, UndoDraft
from desktop_agent.core.undo.plan import Direction, FilePlan, plan_revert
from desktop_agent.core.undo.whereabouts import in_force


def draft_revert(
    transcript: Transcript, ledger: Ledger, direction: Direction, selection: ChangeSelection
) -> UndoDraft | None:
    """Return what an undo or redo of `selection` would come to now. Blocks.

    None when it selects nothing, or only hunks that are undone already, or in force. Nothing is written but
    contents that a clash shows.
    """
    row = _row(transcript, selection) if selection.hunks else None
    if row is not None and row.moved_from and WHOLE_FILE in selection.hunks:
        selection = ChangeSelection(change_ids=row.change_ids)  # a file that was renamed, and nothing else
    every = list(transcript.changes.values())
    records = [record for record in every if _is_meant(record, direction, selection)]
    if not records:
        return None
    names = ledger.files.other_names
    able = [record for record in every if _is_revertible(record, direction)]
    shared: list[FileChange] = []
    if selection.hunks:
        same = [_row(transcript, structs.replace(selection, path=name)) for name in names(records[0].change.path)]
        rows = [row, *(one for one in same if row and one and _is_alike(one.change, row.change))]
        plans = tuple(plan for one in rows for plan in _hunk_plans(direction, selection, one, every))
    else:
        records = at_all_names(records, able, names)
        is_wide = not (selection.path or selection.call_id or selection.change_ids)
        shared = [record.change for record in records if record.change.is_shared and is_wide]
        selected = [record.change for record in records if record.change not in shared]
        plans = plan_revert(direction, selected, [r.change for r in every], standing=in_force(every))
    undone = {r.change.id: frozenset({WHOLE_FILE}) if r.is_undone else r.undone_hunks for r in every}
    draft = Drafter(ledger, undone).draft(direction, plans)
    if selection.hunks and _is_so_already(direction, draft, undone):
        return None
    left = (
        FileOutcome(path=c.path, state="conflict", change_ids=(c.id,), reason=refusals.OTHER_SESSION) for c in shared
    )
    return UndoDraft(draft.writes, (*draft.settled, *left))


def _hunk_plans(
    direction: Direction, selection: ChangeSelection, row: NetChange | None, every: Sequence[ChangeRecord]
) -> tuple[FilePlan, ...]:
    """Return what hunks of one file mean: those that `selection` names, in `row`."""
    here = structs.replace(selection, path=row.path) if row else selection
    records = [record for record in every if _is_meant(record, direction, here)]
    return plan_revert(
        direction,
        [record.change for record in records],
        [record.change for record in every],
        hunks=selection.hunks,
        net=row.change if row else None,
        elsewhere=[record.change for record in row.records if record not in records] if row else (),
        standing=in_force(every),
    )


def _is_alike(one: FileChange, other: FileChange) -> bool:
    return (one.before, one.after) == (other.before, other.after)


def _row(transcript: Transcript, selection: ChangeSelection) -> NetChange | None:
    """The file that the hunks of `selection` are of, with its changes at all paths that it had."""
    everywhere = structs.replace(selection, path=None)
    records = [r for r in transcript.changes.values() if everywhere.includes(r.change, turn=r.turn, call_id=r.call_id)]
    return next((row for row in net_changes(records) if row.path == selection.path), None)


def _is_meant(record: ChangeRecord, direction: Direction, selection: ChangeSelection) -> bool:
    if not selection.includes(record.change, turn=record.turn, call_id=record.call_id):
        return False
    return bool(selection.hunks) or _is_revertible(record, direction)


def _is_revertible(record: ChangeRecord, direction: Direction) -> bool:
    return not record.is_undone if direction == "undo" else record.is_undone or bool(record.undone_hunks)


def _is_so_already(direction: Direction, draft: UndoDraft, undone: Mapping[ChangeId, frozenset[HunkKey]]) -> bool:
    """Whether hunks that are undone already would be undone again, or redone that are in force.

    What brought them back since is another one's work, and no redo would take such an undo back.
    """
    reverts = [item for write in draft.writes for item in write.reverts]
    for outcome in draft.settled:
        whole = outcome.change_ids if outcome.is_done else ()
        named = [*outcome.reverts, *(Reverted(change_id=change_id) for change_id in whole)]
        if not named:
            return False  # it was refused, and the user has to read why
        reverts += named
    all_of_it = frozenset({WHOLE_FILE}) if direction == "undo" else frozenset[HunkKey]()
    return bool(reverts) and all(undone[item.change_id] == (frozenset(item.hunks) or all_of_it) for item in reverts)
