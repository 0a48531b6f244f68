"""Undo, redo and the user's own writes: drafted, written down, carried out, recorded, whatever happens in between.

An undo is an entry of the ledger like any other change, so undoing an undo is a redo (`redo`). The caller sees to it
that no turn is running.
"""

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import structs
from msgspec.structs import replace

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import ChangeId, HunkKey
from desktop_agent.core.changes.ledger import Ledger, LedgerWrite
from desktop_agent.core.changes.net import NetChange, net_changes
from desktop_agent.core.diff.hunks import WHOLE_FILE
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.event_log import EventLog
from desktop_agent.core.protocol.model import (
    ChangeSelection,
    FileChange,
    FileOutcome,
    Reverted,
)
from desktop_agent.core.system.files import FileState, FileTransition, new_file_mode
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.tools.execution.effects import Effects
from desktop_agent.core.tools.execution.safeguard import Recovered, recover
from desktop_agent.core.transcript import ChangeRecord, Destroyed, Transcript, UndoStep
from desktop_agent.core.undo import refusals
from desktop_agent.core.undo.all_names import at_all_names, names_alike, written_along
from desktop_agent.core.undo.draft import DraftedWrite, Drafter, UndoDraft
from desktop_agent.core.undo.plan import Direction, FilePlan, plan_revert
from desktop_agent.core.undo.redo import draft_steps
from desktop_agent.core.undo.renaming import is_a_name
from desktop_agent.core.undo.whereabouts import in_force


class Undoing:
    """The undo and redo of one session."""

    def __init__(self, transcript: Transcript, ledger: Ledger, effects: Effects, log: EventLog) -> None:
        self._transcript = transcript
        self._ledger = ledger
        self._effects = effects
        self._log = log

    async def revert(self, direction: Direction, op: ops.UndoChanges | ops.RedoChanges) -> bool:
        """Undo or redo what `op` selects, and record what came of it. False when that is nothing.

        Once begun it is finished, also when the calling task is cancelled. Raises `WorkspaceError` before anything is
        done when the folder is gone or another one stands in its place.
        """
        await asyncio.to_thread(self._ledger.require_root)
        await self._effects.jobs.look()
        draft = await asyncio.to_thread(draft_revert, self._transcript, self._ledger, direction, op.selection)
        destroyed = self._destroyed(op)
        if draft is None and destroyed is None:
            return False
        draft = draft or UndoDraft((), ())
        await unhurried(self._carry_out(direction, op.selection, draft, op.reason, destroyed))
        return True

    async def redo(self, op: ops.RedoSteps) -> bool:
        """Take back the undos that `op` names. As `revert` otherwise; False when there is no such undo any more."""
        await asyncio.to_thread(self._ledger.require_root)
        await self._effects.jobs.look()
        steps = steps_meant(self._transcript, op)
        if not steps:
            return False
        draft = await asyncio.to_thread(draft_steps, self._transcript, self._ledger, steps)
        ids = dict.fromkeys(part.change_id for step in steps for part in step.parts)
        await unhurried(self._carry_out("redo", ChangeSelection(change_ids=tuple(ids)), draft, op.reason))
        return True

    async def write(self, op: ops.WriteFile) -> None:
        """Write a file as the user wants it. Raises `AgentError` when it is not what the user saw."""
        await self._effects.jobs.look()
        transition = await asyncio.to_thread(self._transition, op)
        if transition is not None:
            await unhurried(self._write(op, transition))

    # -- undo and redo --

    async def _carry_out(
        self,
        direction: Direction,
        selection: ChangeSelection,
        draft: UndoDraft,
        reason: str,
        destroyed: Destroyed | None = None,
    ) -> None:
        turn = self._transcript.turn
        changes = await asyncio.to_thread(self._recorded, turn, draft.writes)
        await self._log.record(ev.ChangesPrepared(turn=turn, call_id="", purpose=direction, changes=changes))
        along = written_along(changes)
        writes = [
            LedgerWrite(
                change,
                drafted.new_folders,
                along=() if (is_own := self._is_own(drafted.reverts)) else along[change.id],
                is_own=is_own,
                moves_to=drafted.moves_to,
            )
            for change, drafted in zip(changes, draft.writes, strict=True)
        ]
        # Before the other names of such a file are written, it has to be a file of its own.
        writes.sort(key=lambda write: not (write.is_own and write.change.before))
        missing: dict[ChangeId, str] = {}
        problems = await asyncio.to_thread(self._apply, writes, missing)
        outcomes = [
            _after(problems.get(change.id, ""), missing.get(change.id, ""), drafted)
            for change, drafted in zip(changes, draft.writes, strict=True)
        ]
        done = tuple(change for change in changes if change.id not in problems)
        back = await self._recover(destroyed) if destroyed is not None else Recovered()
        outcomes += [*draft.settled, *back.problems]
        await self._log.record(reverted(direction, selection, done, tuple(outcomes), reason=reason, back=back))

    def _apply(self, writes: Sequence[LedgerWrite], missing: dict[ChangeId, str] | None = None) -> dict[ChangeId, str]:
        gone = {folder: None for write in writes for folder in write.new_folders}
        self._effects.note_written(gone | {write.change.path: write.change.after for write in writes})
        return self._ledger.apply_each(writes, missing)

    def _is_own(self, reverts: Sequence[Reverted]) -> bool:
        """Whether what is taken back made the file another name of one that this has to leave alone."""
        records = (self._transcript.changes.get(item.change_id) for item in reverts)
        return any(record is not None and record.change.is_new_name for record in records)

    def _names_with(self, op: ops.WriteFile) -> tuple[str, ...]:
        """The other names (hard links) of the file that the user writes with it. Blocks."""
        names = self._ledger.files.other_names(op.path)
        if op.purpose == "edit":
            return names
        return names_alike((item.change_id for item in op.reverts), list(self._transcript.changes.values()), names)

    def _recorded(self, turn: int, writes: Sequence[DraftedWrite]) -> tuple[FileChange, ...]:
        ids = self._effects.recording.reserve_ids(turn, len(writes))
        with self._ledger.recorder() as recorder:
            for change_id, write in zip(ids, writes, strict=True):
                transition = replace(write.transition, new_folders=write.new_folders)
                recorder.add(transition, author="undo", change_id=change_id, reverts=write.reverts)
        return recorder.changes

    def _destroyed(self, op: ops.UndoChanges | ops.RedoChanges) -> Destroyed | None:
        """The call that a recovery is about, if it lost more than changes can tell."""
        if not (isinstance(op, ops.UndoChanges) and op.is_recovery and op.selection.call_id):
            return None
        known = self._transcript.changed.destroyed.get(op.selection.call_id)
        if known is None or known.is_recovered:
            return None
        return known if known.outside or any(change.is_loss for change in known.refs) else None

    async def _recover(self, lost: Destroyed) -> Recovered:
        return await recover(self._ledger.files.root, lost.refs, lost.outside, self._ledger.images.blob)

    # -- the user's own writes --

    def _transition(self, op: ops.WriteFile) -> FileTransition | None:
        self._ledger.require_root()
        if not is_a_name(op.path) or not self._ledger.files.is_inside(op.path):
            raise AgentError("The file does not lie in the folder of this conversation.", hint="Nothing was written.")
        try:
            before = self._ledger.files.current(op.path)
        except OSError as error:
            raise AgentError(f"{op.path} cannot be read.", hint="Nothing was written.", detail=str(error)) from error
        if (before.digest if before else None) != op.expected:
            raise AgentError(
                f"{op.path} was changed in the meantime, so it was not written.",
                hint="Look at it again; your text is still where you wrote it.",
            )
        content = op.content
        if content is not None and op.like is None and before is not None and not _can_hold(before, content):
            raise AgentError(f"{op.path} is a {before.kind} and cannot hold this.", hint="Nothing was written.")
        if any(item.change_id not in self._transcript.changes for item in op.reverts):
            raise AgentError(f"No such change of {op.path} is on record.", hint="Nothing was written.")
        if op.content is None:
            after = None
        elif op.like is not None:
            after = FileState(content=op.content, mode=op.like.mode, kind=op.like.kind)
        elif before is None:
            after = FileState(content=op.content, mode=new_file_mode())
        else:
            after = before.with_content(op.content)
        return FileTransition(op.path, before, after) if after != before or op.reverts else None

    async def _write(self, op: ops.WriteFile, transition: FileTransition) -> None:
        turn = self._transcript.turn
        is_edit = op.purpose == "edit"
        (change_id,) = self._effects.recording.reserve_ids(turn, 1)
        change = await asyncio.to_thread(
            self._ledger.record,
            transition,
            author="person" if is_edit else "undo",
            change_id=change_id,
            reverts=tuple(structs.replace(item, is_redo=op.purpose == "redo") for item in op.reverts),
        )
        purpose: ev.ChangePurpose = "apply" if op.purpose == "edit" else op.purpose
        await self._log.record(ev.ChangesPrepared(turn=turn, call_id="", purpose=purpose, changes=(change,)))
        names = () if (is_own := self._is_own(op.reverts)) else await asyncio.to_thread(self._names_with, op)
        write = LedgerWrite(change, along=names, is_own=is_own)
        problem = (await asyncio.to_thread(self._apply, [write])).get(change_id, "")
        done = () if problem else (change,)
        if op.purpose == "edit":
            await self._log.record(ev.ChangesRecorded(turn=turn, call_id="", changes=done))
        else:
            ids = tuple(item.change_id for item in op.reverts if not item.hunks)
            state = "failed" if problem else "merged"
            outcome = FileOutcome(path=op.path, state=state, change_ids=ids, reason=problem)
            selection = ChangeSelection(path=op.path, change_ids=ids)
            await self._log.record(reverted(op.purpose, selection, done, (outcome,)))
        if problem:
            raise AgentError(f"{op.path} was not written.", hint=problem)


def _can_hold(file: FileState, content: bytes) -> bool:
    """Whether this may be written there: a folder has no content, and a symlink leads to a name."""
    return file.kind == "file" or (file.kind == "symlink" and content != b"" and b"\0" not in content)


def steps_meant(transcript: Transcript, op: ops.RedoSteps) -> list[UndoStep]:
    """Return the undos that `op` takes back, oldest first; fewer where some were taken back already."""
    if op.is_all:
        return list(transcript.changed.steps)
    if op.steps:
        return [step for step in transcript.changed.steps if step.seq in op.steps]
    return transcript.changed.steps[-1:]


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


def reverted(
    direction: Direction,
    selection: ChangeSelection,
    changes: tuple[FileChange, ...],
    outcomes: tuple[FileOutcome, ...],
    *,
    reason: str = "",
    back: Recovered | None = None,
) -> ev.ChangesUndone | ev.ChangesRedone:
    """Return the record of an undo or redo that wrote `changes`."""
    ids = tuple(change_id for outcome in outcomes if outcome.is_done for change_id in outcome.change_ids)
    if direction == "undo":
        refs, outside = (back.refs, back.outside) if back is not None else ((), ())
        return ev.ChangesUndone(
            selection=selection,
            change_ids=ids,
            outcomes=outcomes,
            changes=changes,
            reason=reason,
            refs=refs,
            outside=outside,
        )
    return ev.ChangesRedone(selection=selection, change_ids=ids, outcomes=outcomes, changes=changes, reason=reason)


def recovered(direction: Direction, changes: tuple[FileChange, ...]) -> ev.ChangesUndone | ev.ChangesRedone:
    """Return the record of an undo or redo that was cut off after it had written `changes`."""
    outcomes = tuple(
        FileOutcome(path=change.path, state="restored", change_ids=_whole(change.reverts)) for change in changes
    )
    ids = tuple(change_id for outcome in outcomes for change_id in outcome.change_ids)
    return reverted(direction, ChangeSelection(change_ids=ids), changes, outcomes)


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


def _after(problem: str, missing: str, drafted: DraftedWrite) -> FileOutcome:
    outcome = drafted.outcome
    if not problem:
        return structs.replace(outcome, reason=" ".join(filter(None, (outcome.reason, missing))))
    ids = tuple(item.change_id for item in drafted.reverts)
    return FileOutcome(path=outcome.path, state="conflict", change_ids=ids, reason=problem, hunks=outcome.hunks)


def _whole(reverts: Sequence[Reverted]) -> tuple[str, ...]:
    return tuple(item.change_id for item in reverts if not item.hunks)
