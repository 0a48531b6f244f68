"""Plans an undo or redo: which changes it affects, and how much of each is undone afterwards. Blocks."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, structs
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import ChangeId, HunkKey
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.changes.net import NetChange, net_changes, pairs
from desktop_agent.core.diff.hunks import MODE, RENAMING, WHOLE_FILE, all_keys, edits_by_key
from desktop_agent.core.merge import GONE, ClashError, merge_states, without_hunks
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection, Clash, Edit, FileChange, FileDiff, FileImage, FileOutcome
from desktop_agent.core.system.files import FileState
from desktop_agent.core.transcript import ChangeRecord, Transcript, Undone, UndoStep, undone_of
from desktop_agent.core.undo import refusals
from desktop_agent.core.undo.composition import Composition, Lineage, NeededError
from desktop_agent.core.undo.draft import UndoDraft, draft_turned
from desktop_agent.core.undo.path_tracking import as_edit, at_all_names, parts_of
from desktop_agent.core.undo.refusals import Direction

_NOTHING: frozenset[HunkKey] = frozenset()


def draft_reverts(
    transcript: Transcript,
    ledger: Ledger,
    direction: Direction,
    selections: Iterable[ChangeSelection],
    *,
    includes_others: bool = False,
) -> UndoDraft | None:
    """All `selections` are of different files."""
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
    """Draft an undo or redo; None if there is nothing to do. Unless `includes_others`, changes of others stay."""
    meant = meant_by(transcript, ledger, direction, selection, includes_others=includes_others)
    if meant is None:
        return None
    if meant.composition is None:
        return UndoDraft((), meant.left)
    draft = draft_turned(ledger, meant.composition, direction, meant.turned, meant.hunks)
    return UndoDraft(draft.writes, (*draft.settled, *meant.left))


class Meant(Struct, frozen=True):
    """What a selection covers: how much of each change is undone after an undo or redo, and what is left alone."""

    composition: Composition | None = None
    turned: Mapping[ChangeId, Undone] = {}
    hunks: tuple[HunkKey, ...] = ()
    left: tuple[FileOutcome, ...] = ()


def meant_by(
    transcript: Transcript,
    ledger: Ledger,
    direction: Direction,
    selection: ChangeSelection,
    *,
    includes_others: bool = False,
) -> Meant | None:
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
            return Meant(left=tuple(left))
    if not records:
        return None
    composition = composition_of(transcript, ledger)
    if selection.hunks:
        return _hunks_meant(transcript, ledger, composition, direction, selection, row)
    able = [record for record in every if _is_revertible(record, direction)]
    records = at_all_names(records, able, ledger.files.other_names)
    is_wide = not (selection.path or selection.call_id or selection.change_ids or includes_others)
    shared = [record.change for record in records if record.change.is_shared and is_wide]
    turned: dict[ChangeId, Undone] = {}
    for record in records:
        if record.change not in shared:
            turned |= _turn(record, direction, composition)
    wanted: Undone = None if direction == "undo" else _NOTHING
    for change_id in _other_halves(turned, every):
        if composition.status.get(change_id, _NOTHING) != wanted:
            turned[change_id] = wanted
    left += (_left(change, refusals.OTHER_SESSION) for change in shared)
    return Meant(composition, turned, (), tuple(left))


def composition_of(transcript: Transcript, ledger: Ledger) -> Composition:
    return Composition(list(transcript.changes.values()), transcript.changed.turned, ledger.images)


def _turn(record: ChangeRecord, direction: Direction, composition: Composition) -> dict[ChangeId, Undone]:
    """How much of each affected change is undone afterwards. An undo's record stands for the changes it undid."""
    change = record.change
    if change.author != "undo":
        return {change.id: None if direction == "undo" else _NOTHING}
    ids = {item.change_id for item in change.reverts}
    place = list(composition.records).index(change.id)
    event = next(one for one in composition.turned if one.start <= place < one.start + one.written)
    turned = event.before if direction == "undo" else event.after
    return {change_id: undone for change_id, undone in turned.items() if change_id in ids}


def _other_halves(turned: Iterable[ChangeId], every: Sequence[ChangeRecord]) -> list[ChangeId]:
    ids = set(turned)
    changes = [record.change for record in every]
    found = ((changes[arrival].id, changes[departure].id) for arrival, departure in pairs(changes))
    return [one for half in found if ids & set(half) for one in half if one not in ids]


def _others(every: Iterable[ChangeRecord], selection: ChangeSelection, *, is_alone: bool) -> list[ChangeRecord]:
    """Return the standing changes of the selection that may not be the agent's.

    The user's own changes count if they are named by id, or if `is_alone`: the agent has not changed the selected file.
    """
    found = [r for r in every if r.change.needs_own_question and not r.is_undone and _covers(selection, r)]
    is_named = is_alone or bool(selection.change_ids)
    return [r for r in found if is_named or (r.change.author == "unknown" and not selection.hunks)]


def _covers(selection: ChangeSelection, record: ChangeRecord) -> bool:
    named = selection if selection.change_ids else structs.replace(selection, change_ids=(record.change.id,))
    return named.includes(record.change, turn=record.turn, call_id=record.call_id)


def _why_left(change: FileChange) -> str:
    return refusals.MAYBE_NOT_THE_AGENTS if change.author == "unknown" else refusals.NOT_THE_AGENTS


def _left(change: FileChange, reason: str) -> FileOutcome:
    return FileOutcome(path=change.path, state="conflict", change_ids=(change.id,), reason=reason)


def _row(transcript: Transcript, selection: ChangeSelection) -> NetChange | None:
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


# -- hunks --


def _hunks_meant(
    transcript: Transcript,
    ledger: Ledger,
    composition: Composition,
    direction: Direction,
    selection: ChangeSelection,
    row: NetChange | None,
) -> Meant | None:
    """Find the hunks of a file, at all of its names. None if all hunks are already as requested."""
    if row is None:
        return Meant(left=(_failed(selection, (), refusals.NO_SUCH_CHANGE),))
    names = ledger.files.other_names(row.path)
    others = [_row(transcript, structs.replace(selection, path=name)) for name in names]
    is_alike = [
        one for one in others if one and (one.change.before, one.change.after) == (row.change.before, row.change.after)
    ]
    turned: dict[ChangeId, Undone] = {}
    is_whole = False
    for one in (row, *is_alike):
        hunks = _Hunks(ledger, composition, direction, one, selection)
        try:
            turned |= hunks.turned()
        except KeyError:
            return Meant(left=(_failed(selection, one.change_ids, refusals.NO_SUCH_CHANGE),))
        except StorageError:
            return Meant(left=(_failed(selection, one.change_ids, refusals.CONTENT_MISSING),))
        except ClashError as clash:
            return Meant(left=(hunks.refused(str(clash)),))
        is_whole = hunks.is_whole
    if not turned:
        return None
    named = () if is_whole else selection.hunks
    return Meant(composition, turned, named)


def _failed(selection: ChangeSelection, ids: Sequence[ChangeId], reason: str) -> FileOutcome:
    return FileOutcome(
        path=selection.path or "", state="failed", change_ids=tuple(ids), reason=reason, hunks=selection.hunks
    )


class _Hunks:
    def __init__(
        self,
        ledger: Ledger,
        composition: Composition,
        direction: Direction,
        row: NetChange,
        selection: ChangeSelection,
    ) -> None:
        self._ledger = ledger
        self._known = composition
        self._direction: Direction = direction
        self._row = row
        self._selection = selection
        self._wanted = frozenset(selection.hunks)
        self._changes = [record.change for record in row.records]
        self.is_whole = False

    def turned(self) -> dict[ChangeId, Undone]:
        """How much of each change is undone afterwards, where that differs from now.

        Raises `KeyError` if the file has no such hunks, `ClashError` and `StorageError`.
        """
        if self._row.change.after is None:
            return self._of_all()
        diff = self._ledger.images.diff(self._row.change)
        keys = frozenset(all_keys(diff))
        if not keys & self._wanted:
            raise KeyError(self._selection.hunks)
        if keys <= self._wanted and not self._row.moved_from:
            return self._of_all()
        edits = [change for change in self._changes if change.after is not None and self._parts(change)]
        if len(edits) == 1 and keys & self._wanted <= self._parts(edits[0]):
            return self._turned({edits[0].id: self._wanted & self._parts(edits[0])})
        return self._of_several(diff, edits)

    def refused(self, reason: str) -> FileOutcome:
        lineage = self._lineage()
        base = self._known.of(lineage, self._known.status) if lineage else None
        path = base.path if base else self._row.path
        now = self._ledger.files.current(path)
        states = {"base": self._known.state(base.image) if base else None, "yours": now, "wanted": self._content()}
        for state in states.values():
            if state is not None:
                self._ledger.images.keep(state)
        images = {name: state.image() if state else None for name, state in states.items()}
        return FileOutcome(
            path=path,
            state="conflict",
            change_ids=self._row.change_ids,
            reason=reason,
            hunks=self._selection.hunks,
            clash=Clash(base=images["base"], wanted=images["wanted"], yours=images["yours"]),
        )

    def _of_all(self) -> dict[ChangeId, Undone]:
        self.is_whole = True
        here = [record for record in self._row.records if _is_revertible(record, self._direction)]
        undone: Undone = None if self._direction == "undo" else _NOTHING
        turned = {record.change.id: undone for record in here}
        halves = _other_halves(turned, list(self._known.records.values()))
        return self._changed(turned | dict.fromkeys(halves, undone))

    def _parts(self, change: FileChange) -> frozenset[HunkKey]:
        # Where a rename replaced a file, the row lacks the other half of the rename.
        edit = as_edit(change, (record.change for record in self._known.records.values()))
        if edit.before == edit.after:
            return _NOTHING
        return parts_of(change, self._ledger.images.diff(edit)) - {RENAMING}

    def _turned(self, touched: Mapping[ChangeId, frozenset[HunkKey]]) -> dict[ChangeId, Undone]:
        turned: dict[ChangeId, Undone] = {}
        for change in self._changes:
            if not (hunks := touched.get(change.id)):
                continue
            every = self._parts(change) | ({RENAMING} if change.moved_from else _NOTHING)
            now = self._known.status.get(change.id, _NOTHING)
            undone = every if now is None else now
            undone = undone | hunks if self._direction == "undo" else undone - hunks
            if WHOLE_FILE in hunks:  # it has no lines to tell apart
                undone = every if self._direction == "undo" else _NOTHING
            turned[change.id] = None if undone == every else undone
        return self._changed(turned)

    def _changed(self, turned: Mapping[ChangeId, Undone]) -> dict[ChangeId, Undone]:
        return {one: undone for one, undone in turned.items() if self._known.status.get(one, _NOTHING) != undone}

    def _lineage(self) -> Lineage | None:
        last = [self._changes[-1].id]
        lineages = (one for one in self._known.lineages_of(last) if not one.came_along(last))
        return next((one for one in lineages if one.steps[-1].after is not None), None)

    def _of_several(self, diff: FileDiff, edits: Sequence[FileChange]) -> dict[ChangeId, Undone]:
        lineage = self._lineage()
        base = self._known.of(lineage, self._known.status) if lineage else None
        if lineage is None or base is None:
            raise ClashError(GONE)
        touched = self._made_of(lineage, diff, {change.id for change in edits})
        turned = self._turned(touched)
        now, wanted, after = self._known.state(base.image), self._content(), self._row.change.after
        is_undo = self._direction == "undo"
        left = self._ledger.images.state(after)
        result = merge_states(left, now, wanted) if is_undo else merge_states(self._without(diff), now, left)
        if result is not None and result != now and not self._is_composed(lineage, turned, result):
            raise ClashError(refusals.FOREIGN_LINES)
        is_as_made = is_undo and all(self._known.status.get(change.id) == _NOTHING for change in self._changes)
        if not turned and is_as_made:
            raise ClashError(refusals.FOREIGN_LINES)
        return turned

    def _made_of(self, lineage: Lineage, diff: FileDiff, meant: set[ChangeId]) -> dict[ChangeId, frozenset[HunkKey]]:
        """Return, by change, the selected hunks with its lines. Raises `ClashError` if other edits made some lines."""
        steps = lineage.steps
        places = [place for place, step in enumerate(steps) if step.change.id in meant]
        first = steps[places[0]].before if places else None
        if not places or (first.image if first else None) != self._row.change.before:
            raise ClashError(refusals.SEVERAL_FILES)
        regions = _Regions()
        diffs: dict[ChangeId, FileDiff] = {}
        by_id: dict[ChangeId, FileChange] = {}
        previous: FileImage | None = None
        for step in steps[places[0] : places[-1] + 1]:
            change = step.edit or step.change
            if previous is not None and previous != change.before:
                between = replace(change, before=previous, after=change.before)
                regions.follow(_edits(self._ledger.images.diff(between), between), _FOREIGN)
            diffs[step.change.id] = one = self._ledger.images.diff(change)
            by_id[step.change.id] = change
            regions.follow(_edits(one, change), step.change.id if step.change.id in meant else _FOREIGN)
            previous = change.after
        by_key = edits_by_key(diff)
        members, others = (
            regions.at([edit for key, edits in by_key.items() if (key in self._wanted) == is_wanted for edit in edits])
            for is_wanted in (True, False)
        )
        if any(change_id == _FOREIGN for change_id, _ in members):
            raise ClashError(refusals.FOREIGN_LINES)
        found: dict[ChangeId, frozenset[HunkKey]] = {}
        for change_id, one in diffs.items():
            keyed = edits_by_key(one) or {WHOLE_FILE: _edits(one, by_id[change_id])}
            lines = {
                key
                for key, edits in keyed.items()
                if any((change_id, edit) in members for edit in edits)
                and not any((change_id, edit) in others for edit in edits)
            }
            if change_id in meant:
                found[change_id] = frozenset(lines) | self._wanted & {MODE} & frozenset(all_keys(one))
        return found

    def _is_composed(self, lineage: Lineage, turned: Mapping[ChangeId, Undone], result: FileState) -> bool:
        try:
            composed = self._known.of(lineage, {**self._known.status, **turned})
        except NeededError:
            return False
        return composed is not None and composed.image == result.image()

    def _content(self) -> FileState | None:
        diff = self._ledger.images.diff(self._row.change)
        return self._without(diff) if self._direction == "undo" else self._ledger.images.state(self._row.change.after)

    def _without(self, diff: FileDiff) -> FileState:
        after, before = (self._ledger.images.state(one) for one in (self._row.change.after, self._row.change.before))
        assert after is not None
        # Another change may have set the mode between the selected ones. The selected ones must not revert that mode.
        edits = (as_edit(change, self._changes) for change in self._changes)
        is_theirs = any(c.before and c.after and c.before.mode != c.after.mode for c in edits)
        mode = before.mode if before is not None and is_theirs and MODE in self._wanted else after.mode
        content = without_hunks(diff, self._selection.hunks) if diff.edits else after.content
        return replace(after, content=content, mode=mode)


_FOREIGN: ChangeId = ""


_ALL_LINES = 1 << 40


def _edits(diff: FileDiff, change: FileChange) -> Sequence[Edit]:
    before, after = change.before, change.after
    is_same = before and after and (before.digest, before.kind) == (after.digest, after.kind)
    if diff.edits or is_same:
        return diff.edits
    return (Edit(old_start=0, old_end=_ALL_LINES, new_start=0, new_end=_ALL_LINES),)


class _Region(Struct):
    start: int
    end: int
    members: set[tuple[ChangeId, Edit]]


class _Regions:
    def __init__(self) -> None:
        self._regions: list[_Region] = []

    def follow(self, edits: Sequence[Edit], change_id: ChangeId) -> None:
        pending = [_Region(edit.old_start, edit.old_end, {(change_id, edit)}) for edit in edits]
        joined: list[_Region] = []
        for region in sorted([*self._regions, *pending], key=lambda one: (one.start, one.end)):
            if joined and region.start <= joined[-1].end:
                joined[-1].end = max(joined[-1].end, region.end)
                joined[-1].members |= region.members
            else:
                joined.append(_Region(region.start, region.end, set(region.members)))
        shift, at = 0, 0
        for region in joined:
            begin = shift
            while at < len(edits) and edits[at].old_end <= region.end and edits[at].old_start >= region.start:
                shift += (edits[at].new_end - edits[at].new_start) - (edits[at].old_end - edits[at].old_start)
                at += 1
            region.start, region.end = region.start + begin, region.end + shift
        self._regions = joined

    def at(self, edits: Iterable[Edit]) -> set[tuple[ChangeId, Edit]]:
        found: set[tuple[ChangeId, Edit]] = set()
        for edit in edits:
            for region in self._regions:
                if region.start <= edit.new_end and edit.new_start <= region.end:
                    found |= region.members
        return found


# -- undos that are taken back --


def steps_meant(transcript: Transcript, op: ops.RedoSteps) -> list[UndoStep]:
    """Return the undos to take back, oldest first, without those that were already taken back."""
    if op.is_all:
        return list(transcript.changed.steps)
    if op.steps:
        return [step for step in transcript.changed.steps if step.seq in op.steps]
    return transcript.changed.steps[-1:]


def draft_steps(transcript: Transcript, ledger: Ledger, steps: Sequence[UndoStep]) -> UndoDraft:
    """Take `steps` back in a single step. A file whose changes have all been redone already is skipped."""
    composition = composition_of(transcript, ledger)
    turned: dict[ChangeId, Undone] = {}
    for step in sorted(steps, key=lambda step: step.seq, reverse=True):
        for part in step.parts:
            record = transcript.changes.get(part.change_id)
            if record is None:
                continue
            now = turned.get(part.change_id, undone_of(record))
            if part.stands(now):
                turned[part.change_id] = part.taken_back(
                    now, lambda change=record.change: _every_part(change, transcript, ledger)
                )
    draft = draft_turned(ledger, composition, "redo", turned)
    return UndoDraft(tuple(replace(one, outcome=_of_hunks(one.outcome, steps)) for one in draft.writes), draft.settled)


def _of_hunks(outcome: FileOutcome, steps: Sequence[UndoStep]) -> FileOutcome:
    undone = [one for one in steps[0].outcomes if one.path == outcome.path] if len(steps) == 1 else []
    return structs.replace(outcome, hunks=undone[0].hunks) if undone else outcome


def _every_part(change: FileChange, transcript: Transcript, ledger: Ledger) -> frozenset[HunkKey]:
    edit = as_edit(change, (record.change for record in transcript.changes.values()))
    try:
        return parts_of(change, ledger.images.diff(edit))
    except StorageError:
        return frozenset()  # without the content there are no hunks
