"""Undoes differences from a commit: files are restored to their committed versions.

Unrecorded changes are recorded first, as the user's. Changes of others stay, unless the op `includes_others`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeVar

from msgspec import Struct, structs
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.file_names import all_folders_above, folders_above
from desktop_agent.core.base.ids import ChangeId, Digest, HunkKey
from desktop_agent.core.changes.attribution import lines_of_steps
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.changes.net import net_changes
from desktop_agent.core.changes.workspace_files import StoredImages
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.diff.hunks import MODE, all_keys, edits_by_key
from desktop_agent.core.merge import CHANGED_SINCE, SAME_LINES, ClashError, merge_states, missing_keys
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import (
    ChangeSelection,
    Clash,
    CommittedFile,
    FileChange,
    FileDiff,
    FileImage,
    FileOutcome,
    Maker,
    Owner,
    Share,
)
from desktop_agent.core.system.files import FileState, FileTransition, new_file_mode
from desktop_agent.core.transcript import ChangeRecord, Transcript
from desktop_agent.core.undo import refusals
from desktop_agent.core.undo.composition import NeededError
from desktop_agent.core.undo.draft import UndoDraft
from desktop_agent.core.undo.path_tracking import as_edit
from desktop_agent.core.undo.plan import composition_of, draft_reverts

# -- whose a difference is --

_Seen = TypeVar("_Seen", FileState | None, FileImage | None)

_Step = tuple[Owner, FileState | None]


def shares_of(
    file: CommittedFile,
    disk: FileState | None,
    records: Iterable[ChangeRecord],
    images: StoredImages,
    hunks: Collection[HunkKey] = (),
    *,
    by_others: Collection[Digest] = (),
) -> tuple[Share, ...]:
    """Return who made how much of the file's difference from the commit, or of these `hunks`. Blocks.

    `records` are all of the session. An unrecorded change counts as the user's unless its content is in `by_others`.
    Raises `StorageError`.
    """
    records = list(records)
    first = next((record.change.before for record in records if _is_of(record, file)), None)
    base = _as_committed(file, _usual_mode(first, disk))
    known = _steps(file, base, disk, records, images)
    steps: list[_Step] = [(_owner(owner, state, by_others), state) for owner, state in known]
    found: dict[Owner, tuple[int, int]] = {}
    counts = _line_counts(file, base, disk, steps, hunks)
    for (owner, _), (added, removed) in zip(steps, counts, strict=True):
        if added or removed:
            before = found.get(owner, (0, 0))
            found[owner] = before[0] + added, before[1] + removed
    if not hunks or MODE in hunks:
        found = dict.fromkeys(_who_changed_mode(base, steps), (0, 0)) | found
    if not found:  # no lines to count, so every author has a part
        found = dict.fromkeys((owner for owner, _ in steps), (0, 0)) or {"person": (0, 0)}
    return tuple(Share(owner, *lines) for owner, lines in sorted(found.items()))


def _who_changed_mode(base: FileState | None, steps: Sequence[_Step]) -> set[Owner]:
    states = [base, *(state for _, state in steps)]
    files = [state if state is not None and state.kind == "file" else None for state in states]
    can_run = [None if state is None else bool(state.mode & 0o100) for state in files]
    if can_run[0] is None or can_run[0] == can_run[-1] or can_run[-1] is None:
        return set()
    changes = zip(steps, pairwise(can_run), strict=True)
    return {owner for (owner, _), (before, after) in changes if after is not None and before != after}


def _owner(owner: Owner, state: FileState | None, by_others: Collection[Digest]) -> Owner:
    is_theirs = owner == "person" and state is not None and state.digest in by_others
    return "other_session" if is_theirs else owner


def _steps(
    file: CommittedFile,
    base: FileState | None,
    disk: FileState | None,
    records: Iterable[ChangeRecord],
    images: StoredImages,
) -> list[_Step]:
    known = list(records)
    chain = [record for record in known if _is_of(record, file)]
    if file.moved_from:  # otherwise it is a new file to git
        chain = [replace(one, change=as_edit(one.change, (other.change for other in known))) for one in chain]
    steps: list[_Step] = []
    now = base
    if (start := _reached(base, chain)) is None:
        start = 0
        now = _unless_folder(images.state(chain[0].change.before)) if chain else disk
        steps.append(("person", now))
    for record in chain[start:]:
        if record.is_undone:
            continue
        before, after = (_unless_folder(images.state(one)) for one in (record.change.before, record.change.after))
        try:
            now = merge_states(before, now, after)
        except ClashError:  # the state on disk at that time is only partly known
            steps.append(("person", before))
            now = after
        steps.append((record.change.owner, now))
    if not _is_same(now, disk):
        steps.append(("person", disk))
    return steps


def _is_of(record: ChangeRecord, file: CommittedFile) -> bool:
    change = record.change
    if change.author == "undo" or change.path not in (file.path, file.moved_from):
        return False
    return not (file.moved_from and change.path == file.moved_from and change.moved_to == file.path)


def _line_counts(
    file: CommittedFile,
    base: FileState | None,
    disk: FileState | None,
    steps: Sequence[_Step],
    hunks: Collection[HunkKey],
) -> Sequence[tuple[int, int]]:
    none = [(0, 0)] * len(steps)
    before, after = (state.content if state else None for state in (base, disk))
    if any(state is not None and state.kind != "file" for state in (base, disk, *(state for _, state in steps))):
        return none
    diff = _diff(file.path, base, disk)
    if not diff.edits:
        return none
    versions = [before or b"", *(state.content if state else b"" for _, state in steps)]
    versions[-1] = after or b""  # a change of mode or a rename may have come last
    return lines_of_steps(versions, diff, hunks) or none


def _diff(path: str, before: FileState | None, after: FileState | None) -> FileDiff:
    images = (before and before.image(), after and after.image())
    change = FileChange(id="difference", path=path, kind="modified", author="person", before=images[0], after=images[1])
    return diff_change(change, before.content if before else None, after.content if after else None)


# -- whose the versions of a clash are --


def with_makers(transcript: Transcript, ledger: Ledger, outcomes: Iterable[FileOutcome]) -> tuple[FileOutcome, ...]:
    return tuple(_with_makers(transcript, ledger, one) if one.clash is not None else one for one in outcomes)


def _with_makers(transcript: Transcript, ledger: Ledger, outcome: FileOutcome) -> FileOutcome:
    clash = outcome.clash
    assert clash is not None
    ids = {*outcome.change_ids, *(item.change_id for item in outcome.reverts)}
    meant = [record for change_id, record in transcript.changes.items() if change_id in ids]
    try:
        makers = _makers(transcript, ledger, outcome, clash, meant)
    except StorageError:
        makers = ()
    base = tuple(dict.fromkeys(_maker(record) for record in meant))
    clash = structs.replace(clash, base_by=base, yours_by=makers)
    return structs.replace(outcome, clash=clash, reason=_reason_naming(outcome.reason, makers))


def _makers(
    transcript: Transcript, ledger: Ledger, outcome: FileOutcome, clash: Clash, meant: Sequence[ChangeRecord]
) -> tuple[Maker, ...]:
    base, yours = ledger.images.state(clash.base), ledger.images.state(clash.yours)
    paths = {outcome.path, *(record.change.path for record in meant)}
    steps: list[tuple[Maker, FileState | None]] = []
    now, last_undo = base, None
    for record in transcript.changes.values():
        if record.change.path not in paths:
            continue
        if record.change.author == "undo":
            last_undo = record
        elif not record.is_undone and record not in meant:
            last_undo = None
            before, after = ledger.images.state(record.change.before), ledger.images.state(record.change.after)
            try:
                changed = merge_states(before, now, after)
            except ClashError:
                changed = after if not steps and now == base and before == base else now
            if changed != now:
                steps.append((_maker(record), changed))
                now = changed
    if not _is_same(now, yours):
        is_undos = last_undo is not None and last_undo.change.after == clash.yours
        steps.append((_undo_maker(transcript, last_undo) if is_undos and last_undo else Maker("person"), yours))
    counts = _clashing_lines(outcome.path, base, ledger.images.state(clash.wanted), yours, steps)
    found = [maker for (maker, _), lines in zip(steps, counts, strict=True) if lines]
    return tuple(dict.fromkeys(found or [maker for maker, _ in steps]))


def _maker(record: ChangeRecord) -> Maker:
    owner = record.change.owner
    return Maker(owner, record.turn if owner == "agent" else 0)


def _undo_maker(transcript: Transcript, record: ChangeRecord) -> Maker:
    turns = [
        transcript.changes[item.change_id].turn
        for item in record.change.reverts
        if item.change_id in transcript.changes
    ]
    is_redo = all(item.is_redo for item in record.change.reverts)
    return Maker("redo" if is_redo else "undo", turns[-1] if turns else 0)


_IN_TURN: Final = "Turn {} changed the same place later. Undo that first, or choose between the versions."
_WHO_CHANGED_LINES: Final[Mapping[str, str]] = {
    "person": SAME_LINES,
    "agent": _IN_TURN,
    "unknown": "A running server or you changed the same lines since.",
    "other_session": "Another session changed the same lines since.",
    "undo": "The undo of turn {} changed the same lines since.",
    "redo": "The redo of turn {} changed the same lines since.",
}
_WHO_CHANGED: Final[Mapping[str, str]] = {
    "person": CHANGED_SINCE,
    "agent": _IN_TURN,
    "unknown": "A running server or you changed it since, so it was left alone.",
    "other_session": "Another session changed it since, so it was left alone.",
    "undo": "The undo of turn {} changed it since, so it was left alone.",
    "redo": "The redo of turn {} changed it since, so it was left alone.",
}


def _reason_naming(reason: str, makers: Sequence[Maker]) -> str:
    is_of_a_turn = reason.partition(" changed ")[2] == _IN_TURN.partition(" changed ")[2]
    if not makers or not (is_of_a_turn or reason in (SAME_LINES, CHANGED_SINCE)):
        return reason
    is_of_lines = reason != CHANGED_SINCE
    if len(makers) > 1:
        several = "The same lines were changed since."
        return several if is_of_lines else "It was changed since, so it was left alone."
    words = _WHO_CHANGED_LINES if is_of_lines else _WHO_CHANGED
    return words[makers[0].by].format(makers[0].turn)


def _clashing_lines(
    path: str,
    base: FileState | None,
    wanted: FileState | None,
    yours: FileState | None,
    steps: Sequence[tuple[Maker, FileState | None]],
) -> list[int]:
    none = [0] * len(steps)
    states = [base, wanted, yours, *(state for _, state in steps)]
    if any(state is not None and state.kind != "file" for state in states):
        return none
    theirs, ours = _diff(path, base, yours), _diff(path, base, wanted)
    touching = {
        key
        for key, edits in edits_by_key(theirs).items()
        if any(
            one.old_start <= other.old_end and other.old_start <= one.old_end for one in edits for other in ours.edits
        )
    }
    if not touching or not steps:
        return none
    versions = [base.content if base else b"", *(state.content if state else b"" for _, state in steps)]
    counts = lines_of_steps(versions, theirs, touching) or [(0, 0)] * len(steps)
    return [added + removed for added, removed in counts]


# -- the undo --


class Seen(Struct, frozen=True):
    path: str
    base: FileState | None
    disk: FileState | None


def look(
    ledger: Ledger, files: Sequence[CommittedFile]
) -> tuple[list[tuple[CommittedFile, FileState | None]], list[FileOutcome]]:
    """Return the files that still match what the user saw, with their states on disk, and outcomes for the others."""
    found: list[tuple[CommittedFile, FileState | None]] = []
    refused: list[FileOutcome] = []
    for file in files:
        try:
            disk = ledger.files.current(file.path) if ledger.files.is_inside(file.path) else None
        except OSError as error:
            reason = refusals.UNREADABLE.format(error.strerror or error)
            refused.append(FileOutcome(path=file.path, state="failed", change_ids=(), reason=reason))
            continue
        there = _unless_folder(disk)
        if (there.digest if there else None) != file.seen:
            reason = refusals.CHANGED_SINCE_SEEN
            refused.append(FileOutcome(path=file.path, state="conflict", change_ids=(), reason=reason))
        else:
            found.append((file, disk))
    return found, refused


def unrecorded(
    transcript: Transcript, ledger: Ledger, files: Sequence[tuple[CommittedFile, FileState | None]]
) -> list[FileTransition]:
    """The unrecorded transitions from the commit to each path's first record, or to the disk. Blocks.

    The caller has already recorded the user's changes since the last record.
    """
    found: list[FileTransition] = []
    chains = _chains(transcript)
    for file, disk in files:
        paths = _paths(chains, ledger, file, disk)
        is_renamed = bool(file.moved_from) and not any(chains.get(one.path) for one in paths)
        for one in paths:
            chain = chains.get(one.path, [])
            if _reached(one.base, chain) is not None or (not chain and _is_same(one.base, one.disk)):
                continue
            first = ledger.images.state(chain[0].change.before) if chain else one.disk
            found.append(
                FileTransition(
                    one.path,
                    one.base,
                    first,
                    moved_from=file.moved_from if is_renamed and one.path == file.path else "",
                    moved_to=file.path if is_renamed and one.path == file.moved_from else "",
                    is_prior=bool(chain),
                    new_folders=() if one.base else folders_above(one.path),  # a commit has no empty folders
                )
            )
    return found


def edits_kept_by_undos(
    transcript: Transcript, ledger: Ledger, files: Iterable[tuple[CommittedFile, FileState | None]]
) -> list[FileTransition]:
    """The differences between a file on disk and the result of its standing changes, which no record has. Blocks."""
    composition = composition_of(transcript, ledger)
    found: list[FileTransition] = []
    for path, disk in {file.path: disk for file, disk in files}.items():
        lineage = composition.at(path)
        if lineage is None or disk is None:
            continue
        try:
            made = composition.by_records(lineage, composition.status)
            state = composition.state(made.image) if made is not None and made.path == path else None
        except (NeededError, StorageError):
            continue
        if state is not None and (state.kind, state.digest, state.mode) != (disk.kind, disk.digest, disk.mode):
            found.append(FileTransition(path, state, disk))
    return found


def draft_differences(
    transcript: Transcript,
    ledger: Ledger,
    op: ops.UndoDifferences,
    files: Sequence[tuple[CommittedFile, FileState | None]],
) -> tuple[ChangeSelection, UndoDraft]:
    selections, left = _selections(transcript, ledger, op, files)
    # All lines of the hunks may be undone, as was checked before. They include changes of the user.
    may_include = op.includes_others or bool(op.hunks)
    draft = draft_reverts(transcript, ledger, "undo", selections, includes_others=may_include)
    draft = draft or UndoDraft((), ())
    ids = tuple(change_id for one in selections for change_id in one.change_ids)
    return ChangeSelection(change_ids=ids), UndoDraft(draft.writes, (*draft.settled, *left))


def _selections(
    transcript: Transcript,
    ledger: Ledger,
    op: ops.UndoDifferences,
    files: Sequence[tuple[CommittedFile, FileState | None]],
) -> tuple[list[ChangeSelection], list[FileOutcome]]:
    whole: list[ChangeId] = []
    partly: list[ChangeSelection] = []
    left: list[FileOutcome] = []
    chains = _chains(transcript)
    for file, disk in files:
        if not file.moved_from and _is_same(_as_committed(file, disk.mode if disk else None), disk):
            continue
        found: list[ChangeSelection] = []
        for one in _paths(chains, ledger, file, disk):
            chain = chains.get(one.path, [])
            records = chain[_reached(one.base, chain) or 0 :]
            if not op.includes_others and not op.hunks:
                found += _agents_part(one, records, ledger.images)
            else:
                found.append(ChangeSelection(change_ids=tuple(record.change.id for record in records)))
        if op.hunks:
            ids = tuple(change_id for selection in found for change_id in selection.change_ids)
            found = [ChangeSelection(path=file.path, change_ids=ids, hunks=op.hunks)] if ids else []
            owners = {
                share.owner for share in shares_of(file, disk, transcript.changes.values(), ledger.images, op.hunks)
            }
            if owners != {"agent"} and not op.includes_others:
                found = []
        whole += (change_id for selection in found if not selection.hunks for change_id in selection.change_ids)
        partly += (selection for selection in found if selection.hunks)
        if not any(selection.change_ids for selection in found):
            reason = refusals.NOT_THE_AGENTS
            left.append(FileOutcome(path=file.path, state="conflict", change_ids=(), hunks=op.hunks, reason=reason))
    if not op.hunks:
        gone = {file.path for file, _ in files if file.content is None or file.moved_from}
        whole += _left_folders(transcript, ledger, gone)
    return [ChangeSelection(change_ids=tuple(whole))] * bool(whole) + partly, left


def _left_folders(transcript: Transcript, ledger: Ledger, gone: Collection[str]) -> list[ChangeId]:
    """The agent's changes that created folders which will be empty without the files `gone`. Git lists no folders."""
    tops = all_folders_above(gone)
    return [
        record.change.id
        for record in transcript.changes.values()
        if record.change.owner == "agent" and record.change.kind == "created" and not record.is_undone
        if record.change.after is not None and record.change.after.kind == "folder"
        if not tops.isdisjoint((record.change.path, *folders_above(record.change.path)))
        if ledger.files.is_empty(record.change.path, gone)
    ]


def _agents_part(one: Seen, records: Sequence[ChangeRecord], images: StoredImages) -> list[ChangeSelection]:
    """The agent's standing changes of a path that are not committed. Partly committed ones are selected by hunk."""
    standing = [record for record in records if record.change.owner == "agent" and not record.is_undone]
    ids = tuple(record.change.id for record in standing)
    if not standing or one.base is None or _reached(one.base, records) is not None:
        return [ChangeSelection(change_ids=ids)]
    row = net_changes(standing)[0]
    if row.path != one.path or row.change.before is None or row.change.after is None:
        return [ChangeSelection(change_ids=ids)]
    try:
        diff = images.diff(row.change)
    except StorageError:
        return [ChangeSelection(change_ids=ids)]
    keys = all_keys(diff)
    missing = missing_keys(diff, one.base.content)
    if not diff.edits or missing >= set(keys):
        return [ChangeSelection(change_ids=ids)]
    hunks = tuple(key for key in keys if key in missing)
    return [ChangeSelection(path=one.path, change_ids=ids, hunks=hunks)] if hunks else []


_Chains = Mapping[str, list[ChangeRecord]]
"""Records by path, oldest first, without those of undos and redos."""


def _paths(chains: _Chains, ledger: Ledger, file: CommittedFile, disk: FileState | None) -> list[Seen]:
    first = next((record.change.before for record in chains.get(file.moved_from or file.path, ())), None)
    base = _as_committed(file, _usual_mode(first, disk))
    if not file.moved_from:
        return [Seen(file.path, base, disk)]
    return [Seen(file.moved_from, base, ledger.files.current(file.moved_from)), Seen(file.path, None, disk)]


def _chains(transcript: Transcript) -> _Chains:
    found: dict[str, list[ChangeRecord]] = {}
    for record in transcript.changes.values():
        if record.change.author != "undo":
            found.setdefault(record.change.path, []).append(record)
    return found


def _reached(base: FileState | None, chain: Sequence[ChangeRecord]) -> int | None:
    """How many of the changes led to the committed version; None if that version was not recorded."""
    if not chain:
        return None
    stands = 0
    while stands < len(chain) and not (chain[stands].is_undone or chain[stands].undone_hunks):
        stands += 1
    reached = (count for count in range(stands, 0, -1) if _is_image(base, chain[count - 1].change.after))
    found = next(reached, None)
    return 0 if found is None and _is_image(base, chain[0].change.before) else found


def _as_committed(file: CommittedFile, mode: int | None) -> FileState | None:
    """Return the file as in the commit. Permissions are `mode`, but git's executable bit takes precedence."""
    if file.content is None:
        return None
    if file.kind == "symlink":
        return FileState(content=file.content, mode=0o777, kind="symlink")
    mode = new_file_mode() if mode is None else mode
    if bool(mode & 0o100) != file.is_executable:
        mode = mode | (mode & 0o444) >> 2 if file.is_executable else mode & ~0o111
    return FileState(content=file.content, mode=mode)


def _usual_mode(*seen: FileImage | FileState | None) -> int | None:
    return next((one.mode for one in seen if one is not None and one.kind == "file"), None)


def _unless_folder(seen: _Seen) -> _Seen | None:
    return None if seen is not None and seen.kind == "folder" else seen


def _is_image(base: FileState | None, image: FileImage | None) -> bool:
    image = _unless_folder(image)
    if base is None or image is None:
        return base is image
    is_same_mode = base.kind == "symlink" or bool(base.mode & 0o100) == bool(image.mode & 0o100)
    return (base.kind, base.digest) == (image.kind, image.digest) and is_same_mode


def _is_same(one: FileState | None, other: FileState | None) -> bool:
    return _is_image(one, other.image() if other is not None else None)
