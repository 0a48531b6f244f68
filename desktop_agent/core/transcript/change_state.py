"""The recorded changes, and which of them are undone, kept or commented on."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import Final, Self

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.ids import CallId, ChangeId, HunkKey, change_number, nth_change_id
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    FileChange,
    FileDiagnostics,
    FileImage,
    FileOutcome,
    LineComment,
    OutsideFile,
    RefChange,
    Reverted,
    Uncaptured,
)
from desktop_agent.core.transcript.entries import ChangeRecord, Destroyed, Fold, UndoEntry

Undone = frozenset[HunkKey] | None
"""The hunks of a change that are undone; `None` if the whole change is."""

NOTHING: frozenset[HunkKey] = frozenset()


class StepPart(Struct, frozen=True):
    change_id: ChangeId
    before: frozenset[HunkKey]
    after: Undone

    def stands(self, now: Undone) -> bool:
        """Whether anything that the step undid is still undone. `now` says what of the change is undone now."""
        if now is None:
            return True
        return bool(now - self.before if self.after is None else now & (self.after - self.before))

    def taken_back(self, now: Undone, every: Callable[[], frozenset[HunkKey]]) -> frozenset[HunkKey]:
        """Return what remains undone of the change when the step is taken back.

        `every` returns all hunks of the change; it is called only if they are needed.
        """
        if now == self.after:
            return self.before
        if self.after is None:
            return NOTHING if now is None else now & self.before
        return (every() if now is None else now) - (self.after - self.before)


class UndoStep(Struct, frozen=True):
    seq: int
    """The sequence number of the undo's event, which identifies the step."""
    at: datetime
    outcomes: tuple[FileOutcome, ...]
    parts: tuple[StepPart, ...]
    writes: tuple[ChangeId, ...]
    """The changes by `undo` that hold the exact files before and after the undo; empty in old journals."""

    def open_paths(self, records: Mapping[ChangeId, ChangeRecord]) -> set[str]:
        ids = {
            part.change_id
            for part in self.parts
            if part.change_id in records and part.stands(undone_of(records[part.change_id]))
        }
        written = [records[change_id].change for change_id in self.writes if change_id in records]
        named = {item.change_id: change.path for change in written for item in change.reverts}
        return {named.get(change_id, records[change_id].change.path) for change_id in ids}

    def stands(self, records: Mapping[ChangeId, ChangeRecord]) -> bool:
        return any(part.stands(undone_of(records[part.change_id])) for part in self.parts if part.change_id in records)


class UndoEffect(Struct, frozen=True):
    start: int
    """How many changes were recorded before this undo or redo."""
    written: int
    before: dict[ChangeId, Undone]
    after: dict[ChangeId, Undone]
    kept: frozenset[str] = frozenset()
    """Folders that should have been removed, but still contain files."""
    is_choice: bool = False
    """Whether the user chose between versions in a clash."""
    is_recorded: bool = True
    """Whether the journal contains the writes of the undo or redo. Old journals do not."""


def undone_of(record: ChangeRecord) -> Undone:
    return None if record.is_undone else record.undone_hunks


def _is_choice(event: ev.ChangesUndone | ev.ChangesRedone) -> bool:
    """Whether the user settled a clash. Only then are a path and all that was undone there selected, but no hunks."""
    chosen = event.selection
    made = [(outcome.path, outcome.change_ids, outcome.state) for outcome in event.outcomes]
    return made == [(chosen.path, chosen.change_ids, "merged")] and not chosen.hunks


def step_of(
    event: ev.ChangesUndone, before: Mapping[ChangeId, Undone], records: Mapping[ChangeId, ChangeRecord]
) -> UndoStep | None:
    """Return the step of an undo, if it undid anything. `before` has the earlier undone state of each change."""
    parts: list[StepPart] = []
    for change_id, was in before.items():
        now = undone_of(records[change_id])
        if was is not None and (now is None or now - was):
            parts.append(StepPart(change_id, was, now))
    if not parts:
        return None
    writes = tuple(change.id for change in event.changes)
    return UndoStep(event.seq, event.at, event.outcomes, tuple(parts), writes)


CHANGE_EVENTS: Final = frozenset({
    ev.ToolCallStarted, ev.ApprovalRequested, ev.ChangesPrepared, ev.ChangesRecorded, ev.DiagnosticsFound,
    ev.ChangesUndone, ev.ChangesRedone, ev.ChangesCommitted, ev.CommitUndone, ev.ReviewMarked, ev.CommentAdded,
    ev.CommentsRemoved,
})  # fmt: skip
"""The events that `ChangeState.apply` folds; it ignores all others."""


class ChangeState(Fold):
    changes: dict[ChangeId, ChangeRecord] = field(default_factory=dict[ChangeId, ChangeRecord])
    """All changes in the order made, with the user's, undos and redos. One that `is_prior` may be recorded later."""
    kept: dict[str, set[HunkKey]] = field(default_factory=dict[str, set[HunkKey]])
    """The hunks that the user decided to keep, by path."""
    comments: dict[str, LineComment] = field(default_factory=dict[str, LineComment])
    diagnosed: dict[str, dict[str, FileDiagnostics]] = field(default_factory=dict[str, dict[str, FileDiagnostics]])
    """The last diagnostics of each file, by path and server."""
    undos: list[UndoEntry] = field(default_factory=list[UndoEntry])
    steps: list[UndoStep] = field(default_factory=list[UndoStep])
    turned: list[UndoEffect] = field(default_factory=list[UndoEffect])
    commits: list[ev.ChangesCommitted] = field(default_factory=list[ev.ChangesCommitted])
    """The session's commits that were not undone, oldest first."""
    message_back: str = ""
    """The message of the commit that was undone last, until the next commit."""
    uncaptured: list[tuple[int, Uncaptured]] = field(default_factory=list[tuple[int, Uncaptured]])
    """Changes that could not be recorded, each with its turn."""
    destroyed: dict[CallId, Destroyed] = field(default_factory=dict[CallId, Destroyed])
    """Destroyed files, branches and tags of each call, beyond its changes."""
    refs_put_back: set[tuple[CallId, RefChange]] = field(default_factory=set[tuple[CallId, RefChange]])
    """The branches, tags and stash entries that recoveries restored, each with the call that had changed it."""
    files_put_back: set[tuple[CallId, OutsideFile]] = field(default_factory=set[tuple[CallId, OutsideFile]])
    numbers: dict[int, int] = field(default_factory=dict[int, int])
    """The largest number of any change in each turn, counting changes that were only planned."""
    twice: dict[ChangeId, int] = field(default_factory=dict[ChangeId, int])
    """How many changes share an id in journals of earlier versions. Here they are numbered: `3.2~1`, `3.2~2`."""

    def last_number(self, turn: int) -> int:
        return self.numbers.get(turn, 0)

    def namesakes(self, change_id: ChangeId) -> list[ChangeId]:
        """Return the changes that share this id in the journal; empty if only one change has it."""
        return [nth_change_id(change_id, nth) for nth in range(1, self.twice.get(change_id, 0) + 1)]

    def active(self, turn: int | None = None) -> list[ChangeRecord]:
        return [record for record in self._agent_records(turn) if not record.is_undone]

    def undone(self) -> list[ChangeRecord]:
        return [record for record in self._agent_records(None) if record.is_undone or record.undone_hunks]

    def _agent_records(self, turn: int | None) -> Iterator[ChangeRecord]:
        records = (record for record in self.changes.values() if record.change.is_by_agent)
        return (record for record in records if turn in (None, record.turn))

    def last_images(self) -> dict[str, FileImage | None]:
        images: dict[str, FileImage | None] = {}
        for record in self.changes.values():
            change = record.change
            if record.is_undone:  # what the undo wrote follows as a record of its own, except in old journals
                images.setdefault(change.path, change.before)
            else:
                images[change.path] = change.after
        return images

    def copy(self) -> Self:
        return replace(
            super().copy(),
            changes={change_id: copy(record) for change_id, record in self.changes.items()},
            kept={path: set(hunks) for path, hunks in self.kept.items()},
            destroyed={call_id: copy(known) for call_id, known in self.destroyed.items()},
        )

    def apply(self, event: ev.Event, turn: int, tool: str | None) -> None:
        """Fold one event of a turn. `tool` is the tool of the event's call, if there is one."""
        match event:
            case ev.ToolCallStarted(call=call):
                self.destroyed.pop(call.id, None)
            case ev.ApprovalRequested(request=request):
                self._count(request.changes)
            case ev.ChangesPrepared(changes=changes):
                self._count(changes)
            case ev.ChangesRecorded():
                self._record(event, tool)
            case ev.DiagnosticsFound(files=files):
                self._diagnose(files)
            case ev.ChangesUndone() | ev.ChangesRedone():
                self._revert(event, turn)
            case ev.ChangesCommitted() | ev.CommitUndone():
                self._commit(event)
            case ev.ReviewMarked(path=path, hunks=hunks, state=state):
                kept = self.kept.setdefault(path, set())
                kept.update(hunks) if state == "kept" else kept.difference_update(hunks)
            case ev.CommentAdded(comment=comment):
                self.comments[comment.id] = comment
            case ev.CommentsRemoved(comment_ids=comment_ids):
                for comment_id in comment_ids:
                    self.comments.pop(comment_id, None)
            case _:
                pass

    def _record(self, event: ev.ChangesRecorded, tool: str | None) -> None:
        if tool is not None:
            self.uncaptured += ((event.turn, found) for found in event.uncaptured)
        self._make_room(event.changes)
        changes = self._told_apart(event.changes) if self.twice else event.changes
        if tool is not None:
            self._note_destroyed(event, changes)
        records = {
            change.id: ChangeRecord(change, event.turn, event.call_id, event.at, tool=tool or "", seq=event.seq)
            for change in changes
        }
        prior = {change_id: record for change_id, record in records.items() if record.change.is_prior}
        if prior:
            self.changes = prior | self.changes
            self.turned = [replace(one, start=one.start + len(prior)) for one in self.turned]
        if event.is_offered:
            for record in records.values():
                record.is_undone = record.is_offered = True
            before: dict[ChangeId, Undone] = dict.fromkeys(records, NOTHING)
            size = len(self.changes | records)
            self.turned.append(UndoEffect(size, 0, before, dict.fromkeys(records), is_recorded=False))
        self.changes |= records

    def _note_destroyed(self, event: ev.ChangesRecorded, changes: Sequence[FileChange]) -> None:
        known = self.destroyed.get(event.call_id)
        if known is None:
            if not (event.refs or event.outside or event.is_recoverable):
                return
            before = (record.change.id for record in self.changes.values() if record.call_id == event.call_id)
            known = self.destroyed[event.call_id] = Destroyed(changes=tuple(before))
        known.changes += tuple(change.id for change in changes)
        known.refs += event.refs
        known.outside += event.outside
        known.is_recoverable = known.is_recoverable or event.is_recoverable

    def _revert(self, event: ev.ChangesUndone | ev.ChangesRedone, turn: int) -> None:
        is_undo = isinstance(event, ev.ChangesUndone)
        # A page is read by itself, and may know no other change with the id.
        entry = UndoEntry(
            purpose="undo" if is_undo else "redo", outcomes=event.outcomes, at=event.at, reason=event.reason
        )
        self._make_room(event.changes)
        if self.twice:
            meant = replace(
                event,
                change_ids=self._meant(event.change_ids),
                outcomes=tuple(map(self._outcome_meant, event.outcomes)),
            )
            event = replace(meant, changes=self._told_apart(event.changes))
        reverts = [reverted for change in event.changes for reverted in change.reverts]
        reverts += [reverted for outcome in event.outcomes if outcome.is_done for reverted in outcome.reverts]
        named = dict.fromkeys((*event.change_ids, *(reverted.change_id for reverted in reverts)))
        before = {change_id: undone_of(self.changes[change_id]) for change_id in named if change_id in self.changes}
        meant = (*named, *(change_id for outcome in event.outcomes for change_id in outcome.change_ids))
        entry.brings_back = not is_undo and any(one in self.changes and self.changes[one].is_offered for one in meant)
        start = len(self.changes)
        for change in event.changes:
            self.changes[change.id] = ChangeRecord(change, turn, "", event.at, seq=event.seq)
        for change_id in event.change_ids:
            if record := self.changes.get(change_id):
                record.is_undone = is_undo
                record.undone_hunks = frozenset()
        for reverted in reverts:
            if reverted.hunks and (record := self.changes.get(reverted.change_id)):
                record.undone_hunks = frozenset(reverted.hunks)
                record.is_undone = False
        after = {change_id: undone_of(self.changes[change_id]) for change_id in before}
        written = len(self.changes) - start
        is_recorded = written > 0 or {one.state for one in event.outcomes if one.is_done} == {"unchanged"}
        kept = frozenset(one.path for one in event.outcomes if one.state == "unchanged" and one.reason)
        is_choice = _is_choice(event)
        effect = UndoEffect(start, written, before, after, kept, is_choice=is_choice, is_recorded=is_recorded)
        self.turned.append(effect)
        if not isinstance(event, ev.ChangesUndone):
            self.steps = [step for step in self.steps if step.stands(self.changes)]
        else:
            if step := step_of(event, before, self.changes):
                self.steps.append(step)
            entry.refs, entry.outside = event.refs, event.outside
            call_id = event.selection.call_id or ""
            self.refs_put_back.update((call_id, ref) for ref in event.refs)
            self.files_put_back.update((call_id, file) for file in event.outside)
        self.undos.append(entry)
        self._note_recovered()

    def _diagnose(self, files: Iterable[FileDiagnostics]) -> None:
        for file in files:
            self.diagnosed[file.path] = {**self.diagnosed.get(file.path, {}), file.server: file}

    def _commit(self, event: ev.ChangesCommitted | ev.CommitUndone) -> None:
        if isinstance(event, ev.ChangesCommitted):
            self.commits.append(event)
            self.message_back = ""
        else:
            self.message_back = "".join(one.message for one in self.commits if one.commit == event.commit)
            self.commits = [one for one in self.commits if one.commit != event.commit]

    def _count(self, changes: Iterable[FileChange]) -> None:
        for change in changes:
            if (found := change_number(change.id)) is not None:
                turn, number = found
                self.numbers[turn] = max(self.numbers.get(turn, 0), number)

    def _make_room(self, changes: Sequence[FileChange]) -> None:
        """Note ids that are about to be used a second time, and rename the recorded changes with these ids."""
        self._count(changes)
        times = Counter(change.id for change in changes)
        known = dict.fromkeys((one for one in times if one in self.changes), 1)
        self.twice |= known | dict.fromkeys(
            (one for one, number in times.items() if number > 1 and one not in known), 0
        )
        if known:
            self._rename_known()

    def _told_apart(self, changes: tuple[FileChange, ...]) -> tuple[FileChange, ...]:
        return tuple(map(self._numbered, [self._change_meant(change) for change in changes]))

    def _numbered(self, change: FileChange) -> FileChange:
        if change.id not in self.twice:
            return change
        nth = self.twice[change.id] = self.twice[change.id] + 1
        return replace(change, id=nth_change_id(change.id, nth))

    def _rename_known(self) -> None:
        for record in self.changes.values():
            (own,) = self._meant((record.change.id,))
            record.change = replace(self._change_meant(record.change), id=own)
        self.changes = {record.change.id: record for record in self.changes.values()}
        self.steps = [self._step_meant(step) for step in self.steps]
        self.turned = [self._turned_meant(one) for one in self.turned]
        for known in self.destroyed.values():
            known.changes = self._meant(known.changes)

    def _meant(self, ids: tuple[ChangeId, ...]) -> tuple[ChangeId, ...]:
        return tuple(nth_change_id(one, self.twice[one]) if self.twice.get(one) else one for one in ids)

    def _reverts_meant(self, reverts: tuple[Reverted, ...]) -> tuple[Reverted, ...]:
        ids = self._meant(tuple(item.change_id for item in reverts))
        return tuple(replace(item, change_id=one) for item, one in zip(reverts, ids, strict=True))

    def _change_meant(self, change: FileChange) -> FileChange:
        return replace(change, reverts=self._reverts_meant(change.reverts)) if change.reverts else change

    def _outcome_meant(self, outcome: FileOutcome) -> FileOutcome:
        reverts = self._reverts_meant(outcome.reverts)
        return replace(outcome, change_ids=self._meant(outcome.change_ids), reverts=reverts)

    def _step_meant(self, step: UndoStep) -> UndoStep:
        ids = self._meant(tuple(part.change_id for part in step.parts))
        return replace(
            step,
            outcomes=tuple(map(self._outcome_meant, step.outcomes)),
            parts=tuple(replace(part, change_id=one) for part, one in zip(step.parts, ids, strict=True)),
            writes=self._meant(step.writes),
        )

    def _turned_meant(self, turned: UndoEffect) -> UndoEffect:
        before, after = (
            dict(zip(self._meant(tuple(side)), side.values(), strict=True)) for side in (turned.before, turned.after)
        )
        return replace(turned, before=before, after=after)

    def _note_recovered(self) -> None:
        for call_id, known in self.destroyed.items():
            if known.is_recoverable:
                records = (self.changes[change_id] for change_id in known.changes if change_id in self.changes)
                known.is_recovered = (
                    all(record.is_undone for record in records)
                    and all((call_id, ref) in self.refs_put_back for ref in known.refs if ref.is_loss)
                    and all((call_id, file) in self.files_put_back for file in known.outside if not _is_index(file))
                )


def _is_index(file: OutsideFile) -> bool:
    return file.path.endswith("/index") and "/.git/" in file.path
