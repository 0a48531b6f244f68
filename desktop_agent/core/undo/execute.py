"""Drafts, carries out and records undos, redos and the user's edits. Call it only while no turn is running."""

import asyncio
import errno
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import PurePosixPath

from msgspec import Struct, structs
from msgspec.structs import replace

from desktop_agent.core.base.errors import AgentError, StorageError, ToolError
from desktop_agent.core.base.file_names import name_on_a_line
from desktop_agent.core.base.ids import ChangeId, HunkKey
from desktop_agent.core.changes.folder_moves import UNTOUCHED, look_into, require_reachable, transitions_of
from desktop_agent.core.changes.ledger import Ledger, LedgerWrite
from desktop_agent.core.changes.workspace_files import image_of
from desktop_agent.core.diff.hunks import WHOLE_FILE, all_keys
from desktop_agent.core.merge import missing_keys
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import ChangeSelection, CommittedFile, FileChange, FileOutcome, Reverted
from desktop_agent.core.system.files import FileState, FileTransition, new_file_mode
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.tools.execution.effects import Effects
from desktop_agent.core.tools.execution.safeguard import Recovered, recover
from desktop_agent.core.transcript import ChangeRecord, Destroyed, Transcript
from desktop_agent.core.undo import differences
from desktop_agent.core.undo.draft import DraftedWrite, UndoDraft
from desktop_agent.core.undo.path_tracking import as_edit, names_with_changes, paths_with_same_change
from desktop_agent.core.undo.plan import draft_reverts, draft_steps, steps_meant
from desktop_agent.core.undo.refusals import Direction

UndoOp = ops.UndoChanges | ops.RedoChanges | ops.UndoDifferences | ops.RedoSteps | ops.WriteFile | ops.MoveFile


class Undoing:
    def __init__(self, transcript: Transcript, ledger: Ledger, effects: Effects, log: EventLog) -> None:
        self._transcript = transcript
        self._ledger = ledger
        self._effects = effects
        self._log = log

    async def carry_out(self, op: UndoOp) -> bool:
        """Carry out and record `op`. Return False if there was nothing to undo or redo. Once begun, it finishes.

        Raises `WorkspaceError` before any change if the folder is missing or was replaced, and `AgentError` if the file
        of a write or a rename changed since the user saw it.
        """
        await asyncio.to_thread(self._ledger.require_root)
        return await unhurried(self._carry_out(op))

    async def _carry_out(self, op: UndoOp) -> bool:
        async with self._effects.jobs.undisturbed():
            match op:
                case ops.UndoChanges():
                    return await self._revert("undo", op, op.further, includes_others=op.includes_others)
                case ops.RedoChanges():
                    return await self._revert("redo", op)
                case ops.UndoDifferences():
                    return await self._undo_differences(op)
                case ops.RedoSteps():
                    return await self._redo(op)
                case ops.WriteFile():
                    transition = await asyncio.to_thread(draft_write, self._transcript, self._ledger, op)
                    if transition is not None:
                        await self._write(op, transition)
                case ops.MoveFile():
                    await self._rename(op)
        return True

    # -- undo and redo --

    async def _revert(
        self,
        direction: Direction,
        op: ops.UndoChanges | ops.RedoChanges,
        further: Sequence[ChangeSelection] = (),
        *,
        includes_others: bool = False,
    ) -> bool:
        selections = (op.selection, *further)
        draft = await self._drafted(
            partial(
                draft_reverts, self._transcript, self._ledger, direction, selections, includes_others=includes_others
            )
        )
        destroyed = self._destroyed(op)
        if draft is None and destroyed is None:
            return False
        await self._write_draft(direction, op.selection, draft or UndoDraft((), ()), op.reason, destroyed)
        return True

    async def _undo_differences(self, op: ops.UndoDifferences) -> bool:
        files, refused = await asyncio.to_thread(differences.look, self._ledger, op.files)
        if op.includes_others or op.hunks:
            await self._record_missing(files)
        selection, draft = await asyncio.to_thread(
            differences.draft_differences, self._transcript, self._ledger, op, files
        )
        draft = UndoDraft(draft.writes, (*draft.settled, *refused))
        if not draft.writes and not draft.settled:
            return False
        await self._write_draft("undo", selection, draft, op.reason)
        return True

    async def _record_missing(self, files: Sequence[tuple[CommittedFile, FileState | None]]) -> None:
        turn = self._transcript.turn
        now = {file.path: disk for file, disk in files} | {
            file.moved_from: self._ledger.files.current(file.moved_from) for file, _ in files if file.moved_from
        }
        await self._effects.record_edits(turn, [FileTransition(path, state, state) for path, state in now.items()])
        for find in (differences.unrecorded, differences.edits_kept_by_undos):
            missing = await asyncio.to_thread(find, self._transcript, self._ledger, files)
            changes = await asyncio.to_thread(self._effects.recording.store, turn, missing, "person")
            await self._effects.recording.record_applied(turn, "", changes)

    async def _redo(self, op: ops.RedoSteps) -> bool:
        steps = steps_meant(self._transcript, op)
        if not steps:
            return False
        draft = await self._drafted(partial(draft_steps, self._transcript, self._ledger, steps))
        ids = dict.fromkeys(part.change_id for step in steps for part in step.parts)
        await self._write_draft("redo", ChangeSelection(change_ids=tuple(ids)), draft or UndoDraft((), ()), op.reason)
        return True

    async def _drafted(self, draft: Callable[[], UndoDraft | None]) -> UndoDraft | None:
        """Draft. If an editor has unsaved text of files to write, it is saved first, as the user's, and stays."""
        found = await asyncio.to_thread(draft)
        paths = [write.transition.path for write in found.writes] if found is not None else []
        unsaved = await asyncio.to_thread(self._effects.texts.unsaved_in, self._ledger.files, paths)
        if not unsaved:
            return found
        with suppress(ToolError):  # a file that changed at this moment stays as it is
            await self._effects.save(self._transcript.turn, unsaved)
        found = await asyncio.to_thread(draft)
        return found and structs.replace(found, open_paths=frozenset(item.path for item in unsaved))

    async def _write_draft(
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
        along = paths_with_same_change(changes)
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
        # Such a file must become a file of its own before its other names are written.
        writes.sort(key=lambda write: not (write.is_own and write.change.before))
        missing: dict[ChangeId, str] = {}
        problems = await asyncio.to_thread(self._apply, writes, missing, draft.open_paths)
        outcomes = [
            _after(problems.get(change.id, ""), missing.get(change.id, ""), drafted)
            for change, drafted in zip(changes, draft.writes, strict=True)
        ]
        done = tuple(change for change in changes if change.id not in problems)
        back = await self._recover(destroyed) if destroyed is not None else Recovered()
        settled = await asyncio.to_thread(differences.with_makers, self._transcript, self._ledger, draft.settled)
        outcomes += [*settled, *back.problems]
        await self._log.record(reverted(direction, selection, done, tuple(outcomes), reason=reason, back=back))
        await self._effects.tell_of_cache()

    def _apply(
        self,
        writes: Sequence[LedgerWrite],
        missing: dict[ChangeId, str] | None = None,
        open_paths: Collection[str] = (),
    ) -> dict[ChangeId, str]:
        def hand(change: FileChange, after: FileState) -> bool:
            texts, root = self._effects.texts, self._ledger.files.root
            return change.path in open_paths and texts.can_write and texts.hand(root, change, after.content) is not None

        gone = {folder: None for write in writes for folder in write.new_folders}
        self._effects.note_written(gone | {write.change.path: write.change.after for write in writes})
        return self._ledger.apply_each(writes, missing, hand if open_paths else None)

    def _is_own(self, reverts: Sequence[Reverted]) -> bool:
        records = (self._transcript.changes.get(item.change_id) for item in reverts)
        return any(record is not None and record.change.is_new_name for record in records)

    def _names_with(self, op: ops.WriteFile) -> tuple[str, ...]:
        names = self._ledger.files.other_names(op.path)
        if op.purpose == "edit":
            return names
        return names_with_changes(
            (item.change_id for item in op.reverts), list(self._transcript.changes.values()), names
        )

    def _recorded(self, turn: int, writes: Sequence[DraftedWrite]) -> tuple[FileChange, ...]:
        ids = self._effects.recording.reserve_ids(turn, len(writes))
        with self._ledger.recorder() as recorder:
            for change_id, write in zip(ids, writes, strict=True):
                transition = replace(write.transition, new_folders=write.new_folders)
                recorder.add(transition, author="undo", change_id=change_id, reverts=write.reverts)
        return recorder.changes

    def _destroyed(self, op: ops.UndoChanges | ops.RedoChanges) -> Destroyed | None:
        if not (isinstance(op, ops.UndoChanges) and op.is_recovery and op.selection.call_id):
            return None
        known = self._transcript.changed.destroyed.get(op.selection.call_id)
        if known is None or known.is_recovered:
            return None
        return known if known.outside or any(change.is_loss for change in known.refs) else None

    async def _recover(self, lost: Destroyed) -> Recovered:
        return await recover(self._ledger.files.root, lost.refs, lost.outside, self._ledger.images.blob)

    # -- the user's own writes --

    async def _write(self, op: ops.WriteFile, transition: FileTransition) -> None:
        turn = self._transcript.turn
        is_edit = op.purpose == "edit"
        over: tuple[Reverted, ...] = ()
        if not is_edit:
            over = await asyncio.to_thread(written_over, self._transcript, self._ledger, op, transition)
        (change_id,) = self._effects.recording.reserve_ids(turn, 1)
        change = await asyncio.to_thread(
            self._ledger.record,
            transition,
            author="person" if is_edit else "undo",
            change_id=change_id,
            reverts=(*(structs.replace(item, is_redo=op.purpose == "redo") for item in op.reverts), *over),
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
            ids = tuple(item.change_id for item in (*op.reverts, *over) if not item.hunks)
            state = "failed" if problem else "merged"
            outcome = FileOutcome(path=op.path, state=state, change_ids=ids, reason=problem)
            selection = ChangeSelection(path=op.path, change_ids=ids)
            await self._log.record(reverted(op.purpose, selection, done, (outcome,)))
        if problem:
            raise AgentError(f"{name_on_a_line(op.path)} was not written.", hint=problem)

    async def _rename(self, op: ops.MoveFile) -> None:
        move = await asyncio.to_thread(plan_move, self._ledger, op)
        turn, name = self._transcript.turn, name_on_a_line(op.path)
        ids = self._effects.recording.reserve_ids(turn, move.count)
        try:
            changes = await asyncio.to_thread(move.record, self._ledger, ids)
        except OSError as error:
            raise AgentError(f"{name} cannot be read completely.", hint=UNTOUCHED, detail=str(error)) from error
        await self._log.record(ev.ChangesPrepared(turn=turn, call_id="", purpose="apply", changes=changes))
        written = {change.path: change.after for change in changes}
        await asyncio.to_thread(self._effects.note_written, written)
        problem = ""
        try:
            await asyncio.to_thread(move.carry_out, changes)
        except ToolError as error:
            problem = str(error)
        await self._log.record(ev.ChangesRecorded(turn=turn, call_id="", changes=() if problem else changes))
        if problem:
            hint = "It changed on disk or cannot be written. Nothing was changed."
            raise AgentError(f"{name} was not renamed.", hint=hint, detail=problem)


def _after(problem: str, missing: str, drafted: DraftedWrite) -> FileOutcome:
    outcome = drafted.outcome
    if not problem:
        return structs.replace(outcome, reason=" ".join(filter(None, (outcome.reason, missing))))
    ids = tuple(item.change_id for item in drafted.reverts)
    return FileOutcome(path=outcome.path, state="conflict", change_ids=ids, reason=problem, hunks=outcome.hunks)


def draft_write(transcript: Transcript, ledger: Ledger, op: ops.WriteFile) -> FileTransition | None:
    """Return the change, or None. Blocks. Raises `AgentError` if the file changed since the user saw it."""
    name = name_on_a_line(op.path)
    if not is_a_name(op.path) or not ledger.files.is_inside(op.path):
        raise AgentError("The file is not in the folder of this conversation.", hint="Nothing was written.")
    try:
        before = ledger.files.current(op.path)
    except OSError as error:
        raise AgentError(f"{name} cannot be read.", hint="Nothing was written.", detail=str(error)) from error
    if (before.digest if before else None) != op.expected:
        raise AgentError(
            f"{name} was changed in the meantime, so it was not written.",
            hint="Check the file again. Your text was not lost.",
        )
    content = op.content
    if content is not None and op.like is None and before is not None and not _can_hold(before, content):
        raise AgentError(f"{name} is a {before.kind} and cannot hold this.", hint="Nothing was written.")
    if any(item.change_id not in transcript.changes for item in op.reverts):
        raise AgentError(f"No such change to {name} is recorded.", hint="Nothing was written.")
    if op.content is None:
        after = None
    elif op.like is not None:
        after = FileState(content=op.content, mode=op.like.mode, kind=op.like.kind)
    elif before is None:
        after = FileState(content=op.content, mode=new_file_mode())
    else:
        after = before.with_content(op.content)
    return FileTransition(op.path, before, after) if after != before or op.reverts else None


def written_over(
    transcript: Transcript, ledger: Ledger, op: ops.WriteFile, transition: FileTransition
) -> tuple[Reverted, ...]:
    """Return how much of the file's other changes is undone when `transition` settles a clash. Blocks.

    A change counts as undone if nothing of it is left. Otherwise its own undo would clash again.
    """
    settled = {item.change_id for item in op.reverts}
    found: list[Reverted] = []
    for record in transcript.changes.values():
        change = record.change
        if change.path != op.path or change.author == "undo" or change.id in settled or record.is_undone:
            continue
        edit = as_edit(change, (other.change for other in transcript.changes.values()))
        gone = _gone(record, edit, ledger, transition)
        if gone:
            # A redo can only record hunks as undone.
            is_whole = gone[1] and op.purpose == "undo"
            found.append(Reverted(change_id=change.id, hunks=() if is_whole else gone[0]))
    return tuple(found)


def _gone(
    record: ChangeRecord, edit: FileChange, ledger: Ledger, transition: FileTransition
) -> tuple[tuple[HunkKey, ...], bool] | None:
    before, after = transition.before, transition.after
    everything = (WHOLE_FILE,), True
    if image_of(after) == edit.after:
        return None
    if after is None or before is None or {before.kind, after.kind} != {"file"}:
        return everything if image_of(before) == edit.after else None
    try:
        diff = ledger.images.diff(edit)
    except StorageError:
        return None
    if not diff.edits:
        return everything if image_of(before) == edit.after and before.content != after.content else None
    lost = missing_keys(diff, after.content) - missing_keys(diff, before.content)
    if not lost:
        return None
    undone = record.undone_hunks | lost
    return tuple(sorted(undone)), not record.change.moved_from and undone >= set(all_keys(diff))


def _can_hold(file: FileState, content: bytes) -> bool:
    return file.kind == "file" or (file.kind == "symlink" and content != b"" and b"\0" not in content)


def reverted(
    direction: Direction,
    selection: ChangeSelection,
    changes: tuple[FileChange, ...],
    outcomes: tuple[FileOutcome, ...],
    *,
    reason: str = "",
    back: Recovered | None = None,
) -> ev.ChangesUndone | ev.ChangesRedone:
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
    outcomes = tuple(
        FileOutcome(path=change.path, state="restored", change_ids=_whole(change.reverts)) for change in changes
    )
    ids = tuple(change_id for outcome in outcomes for change_id in outcome.change_ids)
    return reverted(direction, ChangeSelection(change_ids=ids), changes, outcomes)


def _whole(reverts: Sequence[Reverted]) -> tuple[str, ...]:
    return tuple(item.change_id for item in reverts if not item.hunks)


# -- the renames of files and folders that the user asks for --


class Move(Struct, frozen=True):
    transitions: Iterable[FileTransition]
    """For a folder, these are read from the disk lazily, one at a time."""
    count: int
    is_folder: bool
    carry_out: Callable[[Sequence[FileChange]], object]
    """Raises `ToolError`, and then nothing has changed."""

    def record(self, ledger: Ledger, ids: Sequence[ChangeId]) -> tuple[FileChange, ...]:
        """Blocks. Raises `OSError`."""
        with ledger.recorder(finds_folders=not self.is_folder) as recorder:
            for change_id, transition in zip(ids, self.transitions, strict=True):
                recorder.add(transition, author="person", change_id=change_id)
        return recorder.changes


def plan_move(ledger: Ledger, op: ops.MoveFile) -> Move:
    """Blocks. Raises `AgentError` if the path changed meanwhile, or the rename cannot be undone."""
    files = ledger.files
    name, to = name_on_a_line(op.path), name_on_a_line(op.to)
    for path, said in ((op.path, name), (op.to, to)):
        if not is_a_name(path) or not files.is_inside(path):
            raise AgentError(f"{said} is not in the folder of this conversation.", hint=UNTOUCHED)
    try:
        before, there = files.current(op.path), files.current(op.to)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise AgentError(f"{to} is too long a name.", hint=UNTOUCHED, detail=str(error)) from error
        raise AgentError(f"{name} cannot be read.", hint=UNTOUCHED, detail=str(error)) from error
    if before is None or before.digest != op.expected:
        raise AgentError(f"{name} was changed in the meantime.", hint=f"{UNTOUCHED} Check it, then try again.")
    if before.kind not in (("folder",) if op.is_folder else ("file", "symlink")):
        raise AgentError(f"{name} has become a {before.kind}.", hint=f"{UNTOUCHED} Check it, then try again.")
    if op.is_folder and op.to.startswith(f"{op.path}/"):
        raise AgentError(f"{name} cannot be moved into itself.", hint=f"{UNTOUCHED} Choose another name.")
    if there is not None:
        raise AgentError(f"There is already a {to}.", hint=f"{UNTOUCHED} Choose another name.")
    return _of_folder(ledger, op) if op.is_folder else _of_file(ledger, op, before)


def _of_file(ledger: Ledger, op: ops.MoveFile, state: FileState) -> Move:
    transitions = (
        FileTransition(op.to, before=None, after=state, moved_from=op.path),
        FileTransition(op.path, before=state, after=None, moved_to=op.to),
    )
    return Move(transitions, len(transitions), is_folder=False, carry_out=ledger.apply)


def _of_folder(ledger: Ledger, op: ops.MoveFile) -> Move:
    for path in (op.path, op.to):
        if ".git" in path.lower().split("/"):
            raise AgentError(f"{name_on_a_line(path)} belongs to git.", hint=UNTOUCHED)
    contents = look_into(ledger.files.root, op.path)
    require_reachable(ledger.files.root, contents, op.to)

    def carry_out(_changes: Sequence[FileChange]) -> None:
        ledger.move_folder(contents, op.to)

    transitions = transitions_of(ledger.files, contents, op.to)
    return Move(transitions, contents.change_count, is_folder=True, carry_out=carry_out)


def is_a_name(path: str) -> bool:
    """Whether a change can have this path: relative to the workspace, without `..`, and storable on disk."""
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:
        return False
    is_storable = b"\0" not in name and os.fsdecode(name) == path
    return is_storable and PurePosixPath(path).as_posix() == path and ".." not in path.split("/") and path[:1] != "/"
