"""What an undo or redo of selected changes would write, compared with what each file is now."""

from collections.abc import Iterable, Mapping, Sequence

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


def draft_reverts(
    transcript: Transcript,
    ledger: Ledger,
    direction: Direction,
    selections: Iterable[ChangeSelection],
    *,
    includes_others: bool = False,
) -> UndoDraft | None:
    """Return what an undo or redo of all `selections`, which are of different files, comes to in one step. Blocks."""
    drafts = [draft_revert(transcript, ledger, direction, one, includes_others=includes_others) for one in selections]
    found = [draft for draft in drafts if draft is not None]
    if not found:
        return None
    writes = tuple(write for draft in found for write in draft.writes)
    return UndoDraft(writes, tuple(outcome for draft in found for outcome in draft.settled))


def draft_revert(
    transcript: Transcript,
    ledger: Ledger,
    direction: Direction,
    selection: ChangeSelection,
    *,
    includes_others: bool = False,
) -> UndoDraft | None:
    """Return what an undo or redo of `selection` would come to now. Blocks.

    What is not the agent's is undone only with `includes_others`; otherwise it is left alone, and said. None when it
    selects nothing, or only hunks that are undone already, or in force. Nothing is written but contents that a clash
    shows.
    """
    row = _row(transcript, selection) if selection.hunks else None
    if row is not None and row.moved_from and WHOLE_FILE in selection.hunks:
        selection = ChangeSelection(change_ids=row.change_ids)  # a file that was renamed, and nothing else
    every = list(transcript.changes.values())
    records = [record for record in every if _is_meant(record, direction, selection, includes_others=includes_others)]
    left: list[FileOutcome] = []
    if direction == "undo" and not includes_others:
        is_alone = bool(selection.path) and not any(not record.change.needs_own_question for record in records)
        others = _others(every, selection, is_alone=is_alone)
        left = [_left(record.change, _why_left(record.change)) for record in others]
        records = [record for record in records if not record.change.needs_own_question]
        if left and (selection.hunks or not records):
            return UndoDraft((), tuple(left))
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
        is_wide = not (selection.path or selection.call_id or selection.change_ids or includes_others)
        shared = [record.change for record in records if record.change.is_shared and is_wide]
        selected = [record.change for record in records if record.change not in shared]
        plans = plan_revert(direction, selected, [r.change for r in every], standing=in_force(every))
    undone = {r.change.id: frozenset({WHOLE_FILE}) if r.is_undone else r.undone_hunks for r in every}
    draft = Drafter(ledger, undone).draft(direction, plans)
    if selection.hunks and _is_so_already(direction, draft, undone):
        return None
    left += (_left(change, refusals.OTHER_SESSION) for change in shared)
    return UndoDraft(draft.writes, (*draft.settled, *left))


def _others(every: Iterable[ChangeRecord], selection: ChangeSelection, *, is_alone: bool) -> list[ChangeRecord]:
    """Return what of the selection stands and is not the agent's: what may be, and what of the user's is named.

    A file names it where it `is_alone`, without anything of the agent's.
    """
    found = [r for r in every if r.change.needs_own_question and not r.is_undone and _covers(selection, r)]
    is_named = is_alone or bool(selection.change_ids)
    return [r for r in found if is_named or (r.change.author == "unknown" and not selection.hunks)]


def _covers(selection: ChangeSelection, record: ChangeRecord) -> bool:
    """Whether the record is within the criteria of the selection, whoever made the change."""
    named = selection if selection.change_ids else structs.replace(selection, change_ids=(record.change.id,))
    return named.includes(record.change, turn=record.turn, call_id=record.call_id)


def _why_left(change: FileChange) -> str:
    return refusals.MAYBE_NOT_THE_AGENTS if change.author == "unknown" else refusals.NOT_THE_AGENTS


def _left(change: FileChange, reason: str) -> FileOutcome:
    return FileOutcome(path=change.path, state="conflict", change_ids=(change.id,), reason=reason)


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
    is_of_everyone = any(record.change.needs_own_question for record in records)  # only where it is named
    rows = net_changes(records, is_of_everyone=is_of_everyone)
    return next((row for row in rows if row.path == selection.path), None)


def _is_meant(
    record: ChangeRecord, direction: Direction, selection: ChangeSelection, *, includes_others: bool = False
) -> bool:
    is_included = selection.includes(record.change, turn=record.turn, call_id=record.call_id)
    if includes_others and record.change.needs_own_question:
        is_included = _covers(selection, record)
    if not is_included:
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
