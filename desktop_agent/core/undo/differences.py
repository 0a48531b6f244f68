"""Undo of what a comparison with git shows: files go back to what the commit has, whoever changed them since.

The ledger knows what the session changed, and git knows how the file was before. What lies between the two goes on
record first, as the user's: what they did since the last record, and what they had made of the file before the first.
With that, such an undo is one of recorded changes, and is taken back like any other.

What is not the agent's is left alone, and said, unless the op `includes_others`. `shares_of` tells whose a difference
is, so that a front can ask.
"""

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import ChangeId, HunkKey
from desktop_agent.core.changes.attribution import lines_of_steps
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.changes.net import net_changes
from desktop_agent.core.changes.stored_images import StoredImages
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.diff.hunks import all_keys
from desktop_agent.core.merge.file_merge import ClashError, merge_states
from desktop_agent.core.merge.hunk_edit import missing_keys
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import (
    ChangeSelection,
    CommittedFile,
    FileChange,
    FileImage,
    FileOutcome,
    Owner,
    Share,
)
from desktop_agent.core.system.files import FileState, FileTransition, new_file_mode
from desktop_agent.core.transcript import ChangeRecord, Transcript
from desktop_agent.core.undo import refusals
from desktop_agent.core.undo.draft import UndoDraft
from desktop_agent.core.undo.revert import draft_reverts
from desktop_agent.core.undo.whereabouts import as_edit

# -- whose a difference is --


def shares_of(
    file: CommittedFile,
    disk: FileState | None,
    records: Iterable[ChangeRecord],
    images: StoredImages,
    hunks: Collection[HunkKey] = (),
) -> tuple[Share, ...]:
    """Return whose it is that the file on `disk` differs from the commit, or whose these hunks of that are. Blocks.

    `records` are all of the session. What is not recorded is the user's. Raises `StorageError`.
    """
    base = _as_committed(file, disk.mode if disk else None)
    steps = _steps(file, base, disk, records, images)
    found: dict[Owner, tuple[int, int]] = {}
    counts = _line_counts(file, base, disk, steps, hunks)
    for (owner, _), (added, removed) in zip(steps, counts, strict=True):
        if added or removed:
            before = found.get(owner, (0, 0))
            found[owner] = before[0] + added, before[1] + removed
    if not found:  # no line tells: everyone has a part who did anything
        found = dict.fromkeys((owner for owner, _ in steps), (0, 0)) or {"person": (0, 0)}
    return tuple(Share(owner, *lines) for owner, lines in sorted(found.items()))


_Step = tuple[Owner, FileState | None]
"""Who made a version of a file, and the version."""


def _steps(
    file: CommittedFile,
    base: FileState | None,
    disk: FileState | None,
    records: Iterable[ChangeRecord],
    images: StoredImages,
) -> list[_Step]:
    """Return the versions from the commit's to that on disk, as if what is undone had never been."""
    known = list(records)
    chain = [
        replace(record, change=as_edit(record.change, (other.change for other in known)))
        for record in known
        if _is_of(record, file)
    ]
    steps: list[_Step] = []
    now = base
    if (start := _reached(base, chain)) is None:
        start = 0
        now = images.state(chain[0].change.before) if chain else disk
        steps.append(("person", now))
    for record in chain[start:]:
        if record.is_undone:
            continue
        before, after = images.state(record.change.before), images.state(record.change.after)
        try:
            now = merge_states(before, now, after)
        except ClashError:  # what was on disk then is not known to the last line
            steps.append(("person", before))
            now = after
        steps.append((record.change.owner, now))
    if not _is_same(now, disk):
        steps.append(("person", disk))
    return steps


def _is_of(record: ChangeRecord, file: CommittedFile) -> bool:
    """Whether it changed this file, at whichever of its paths; a renaming counts where the file came to."""
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
    change = FileChange(
        id="difference",
        path=file.path,
        kind="modified",
        author="person",
        before=base and base.image(),
        after=disk and disk.image(),
    )
    diff = diff_change(change, before, after)
    if not diff.edits:
        return none
    versions = [before or b"", *(state.content if state else b"" for _, state in steps)]
    versions[-1] = after or b""  # a mode or a renaming may have come last
    return lines_of_steps(versions, diff, hunks) or none


# -- the undo --


class Seen(Struct, frozen=True):
    """One path of a file that is to go back: as the commit has it, and as it is."""

    path: str
    base: FileState | None
    disk: FileState | None


def look(
    ledger: Ledger, files: Sequence[CommittedFile]
) -> tuple[list[tuple[CommittedFile, FileState | None]], list[FileOutcome]]:
    """Return the files that are what the user saw, each with what is on disk, and what is to be said of others."""
    found: list[tuple[CommittedFile, FileState | None]] = []
    refused: list[FileOutcome] = []
    for file in files:
        try:
            disk = ledger.files.current(file.path) if ledger.files.is_inside(file.path) else None
        except OSError as error:
            reason = refusals.UNREADABLE.format(error.strerror or error)
            refused.append(FileOutcome(path=file.path, state="failed", change_ids=(), reason=reason))
            continue
        if (disk.digest if disk else None) != file.seen:
            reason = refusals.CHANGED_SINCE_SEEN
            refused.append(FileOutcome(path=file.path, state="conflict", change_ids=(), reason=reason))
        else:
            found.append((file, disk))
    return found, refused


def unrecorded(
    transcript: Transcript, ledger: Ledger, files: Sequence[tuple[CommittedFile, FileState | None]]
) -> list[FileTransition]:
    """Return what lies between the commit and the first record of each path, or the disk where there is none. Blocks.

    What the user did since the last record is on record by now.
    """
    found: list[FileTransition] = []
    for file, disk in files:
        paths = _paths(transcript, ledger, file, disk)
        chains = {one.path: _chain(transcript, one.path) for one in paths}
        is_renamed = bool(file.moved_from) and not any(chains.values())
        for one in paths:
            chain = chains[one.path]
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
                    new_folders=() if one.base else _folders_above(one.path),
                )
            )
    return found


def draft_differences(
    transcript: Transcript,
    ledger: Ledger,
    op: ops.UndoDifferences,
    files: Sequence[tuple[CommittedFile, FileState | None]],
) -> tuple[ChangeSelection, UndoDraft]:
    """Return which changes the undo of these files means, and what it would come to now. Blocks."""
    selections, left = _selections(transcript, ledger, op, files)
    # Of hunks it is known by now that all of their lines may go; the user's changes lead to them.
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
    for file, disk in files:
        if not file.moved_from and _is_same(_as_committed(file, disk.mode if disk else None), disk):
            continue
        found: list[ChangeSelection] = []
        for one in _paths(transcript, ledger, file, disk):
            records = _uncommitted(one, _chain(transcript, one.path))
            if not op.includes_others and not op.hunks:
                found += _agents(one, records, ledger.images)
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
    return [ChangeSelection(change_ids=tuple(whole))] * bool(whole) + partly, left


def _agents(one: Seen, records: Sequence[ChangeRecord], images: StoredImages) -> list[ChangeSelection]:
    """Return what of the uncommitted changes of a path is the agent's and stands.

    Only hunks, where others of the same change were committed.
    """
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


def _paths(transcript: Transcript, ledger: Ledger, file: CommittedFile, disk: FileState | None) -> list[Seen]:
    """Return the paths that have to change for the file to be as it was committed."""
    first = next((record.change.before for record in _chain(transcript, file.moved_from or file.path)), None)
    like = first or disk
    base = _as_committed(file, like.mode if like is not None and like.kind == "file" else None)
    if not file.moved_from:
        return [Seen(file.path, base, disk)]
    return [Seen(file.moved_from, base, ledger.files.current(file.moved_from)), Seen(file.path, None, disk)]


def _folders_above(path: str) -> tuple[str, ...]:
    """Return the folders that a new file is in, outermost first. A commit has none that are empty."""
    names = path.split("/")[:-1]
    return tuple("/".join(names[: count + 1]) for count in range(len(names)))


def _chain(transcript: Transcript, path: str) -> list[ChangeRecord]:
    records = transcript.changes.values()
    return [record for record in records if record.change.path == path and record.change.author != "undo"]


def _uncommitted(one: Seen, chain: list[ChangeRecord]) -> list[ChangeRecord]:
    return chain[_reached(one.base, chain) or 0 :]


def _reached(base: FileState | None, chain: Sequence[ChangeRecord]) -> int | None:
    """Return how many of the changes led to the committed file; None where it is none of the recorded versions.

    Of a file that was committed in the middle, what came before is not undone with the rest.
    """
    if not chain:
        return None
    stands = 0
    while stands < len(chain) and not (chain[stands].is_undone or chain[stands].undone_hunks):
        stands += 1
    reached = (count for count in range(stands, 0, -1) if _is_image(base, chain[count - 1].change.after))
    found = next(reached, None)
    return 0 if found is None and _is_image(base, chain[0].change.before) else found


def _as_committed(file: CommittedFile, mode: int | None) -> FileState | None:
    """Return the file of the commit; of its permissions git knows only whether it can be run. The others are `mode`."""
    if file.content is None:
        return None
    if file.kind == "symlink":
        return FileState(content=file.content, mode=0o777, kind="symlink")
    mode = new_file_mode() if mode is None else mode
    if bool(mode & 0o100) != file.is_executable:
        mode = mode | (mode & 0o444) >> 2 if file.is_executable else mode & ~0o111
    return FileState(content=file.content, mode=mode)


def _is_image(base: FileState | None, image: FileImage | None) -> bool:
    if base is None or image is None:
        return base is image
    is_same_mode = base.kind == "symlink" or bool(base.mode & 0o100) == bool(image.mode & 0o100)
    return (base.kind, base.digest) == (image.kind, image.digest) and is_same_mode


def _is_same(one: FileState | None, other: FileState | None) -> bool:
    return _is_image(one, other.image() if other is not None else None)
