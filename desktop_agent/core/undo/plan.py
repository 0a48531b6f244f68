"""Which deltas an undo or redo has to apply, file by file: pure planning, no disk.

An undo applies what the selected changes did the other way round, a redo applies it again. Neighbouring changes of one
file, each one's before-image being the after-image of the one in front, are one delta. Where another change
stands between them there are several, and each is merged into what the file is by then (`draft` does it).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.ids import ChangeId, HunkKey
from desktop_agent.core.protocol.model import FileChange, FileImage, Reverted
from desktop_agent.core.undo.whereabouts import as_edit, path_now

Direction = Literal["undo", "redo"]


class Delta(Struct, frozen=True):
    """From `base`, which the file is where no other change touched it, to `wanted`."""

    base: FileImage | None
    wanted: FileImage | None


class FilePlan(Struct, frozen=True, kw_only=True):
    """What is to become of one path."""

    path: str
    changes: tuple[FileChange, ...]
    """The selected changes of the file, in the order they were made. At least one; of `path`, or where the file was by
    then."""
    deltas: tuple[Delta, ...]
    """In the order they are to be applied."""
    chain: tuple[FileChange, ...]
    """Everybody's changes of the paths of the selected ones, from the first to the last of these."""
    hunks: tuple[HunkKey, ...] = ()
    """Only these hunks of `net`; empty for all."""
    net: FileChange | None = None
    """With `hunks`: what the file they are of has come to, also where it had another path at first."""
    elsewhere: tuple[FileChange, ...] = ()
    """With `hunks`: the changes that made it what it is while it had another path."""
    inverse: Delta | None = None
    """When it is the opposite of the last undo or redo of the path: back to the very bytes from before that."""
    moves_to: str = ""
    """Where the content of the path goes, when a renaming is reverted or done again."""
    gone_to: str = ""
    """Where the last change of the path moved the file to, and left nothing here."""
    new_folders: tuple[str, ...] = ()
    """Folders that came with the file: removed with it when they are empty afterwards."""
    restores: tuple[Reverted, ...] | None = None
    """Where `changes` are what undos wrote, which is taken back: what is undone afterwards of what they had undone."""

    @property
    def change_ids(self) -> tuple[ChangeId, ...]:
        """The ids of the changes that it undoes or applies again."""
        if self.restores is not None:
            return tuple(item.change_id for item in self.restores)
        return tuple(change.id for change in self.changes)


def plan_revert(
    direction: Direction,
    selected: Sequence[FileChange],
    recorded: Sequence[FileChange],
    *,
    hunks: tuple[HunkKey, ...] = (),
    net: FileChange | None = None,
    elsewhere: Sequence[FileChange] = (),
    standing: Collection[ChangeId] | None = None,
) -> tuple[FilePlan, ...]:
    """Return what `selected`, a part of all `recorded` changes, means for each path. Both are in the order made.

    With `hunks`, only these of `net`, which is what the selected changes of the one file come to together, with those
    it saw `elsewhere`, at another path. `standing` are the changes that are in force, all if it is `None`: an edit of
    a file that one of them renamed is reverted where the file is now, and so is one of a file that is not renamed any
    more.
    """
    known = {change.id: change for change in recorded}
    standing = known.keys() if standing is None else standing
    by_path: dict[str, list[FileChange]] = {}
    # Hunks are of a file where it is now: that it was renamed stands, or stays undone.
    for change in selected if hunks else _together(direction, selected, recorded, standing):
        by_path.setdefault(change.path, []).append(change)
    by_target: dict[str, list[FileChange]] = {}
    renamed = {change.path for change in recorded if change.moved_from or change.moved_to}
    for path, changes in by_path.items():
        last = _reverted_by(changes[-1], known)
        target = path
        if last.path in renamed and hunks:
            target = path_now(last, recorded, standing)
        elif last.path in renamed and all(_is_edit(change, known) for change in changes):
            target = _moved_on(last, recorded, standing)
        by_target.setdefault(target, []).extend(changes)
    places = {change.id: place for place, change in enumerate(recorded)}
    plans = {
        path: _plan(direction, path, sorted(changes, key=lambda change: places[change.id]), recorded, hunks)
        for path, changes in by_target.items()
    }
    if not hunks:
        return inverse_together(plans)
    return tuple(replace(plan, net=net, elsewhere=tuple(elsewhere)) for plan in plans.values())


def inverse_together(plans: Mapping[str, FilePlan]) -> tuple[FilePlan, ...]:
    """Return the plans without a way back to the very bytes where another path of the same file has none."""
    partners = {
        path: {p for c in plan.changes for p in (c.moved_from, c.moved_to) if p in plans}
        for path, plan in plans.items()
    }
    inexact = {path for path, plan in plans.items() if plan.inverse is None}
    pending = list(inexact)
    while pending:
        reached = partners[pending.pop()] - inexact
        inexact |= reached
        pending += reached
    return tuple(replace(plan, inverse=None) if path in inexact else plan for path, plan in plans.items())


def _together(
    direction: Direction, selected: Sequence[FileChange], recorded: Sequence[FileChange], standing: Collection[ChangeId]
) -> list[FileChange]:
    """Return `selected` with the other half of every renaming that is to be reverted.

    Of a change whose renaming is undone already, only what it did to the content is left to undo.
    """
    ids = {change.id for change in selected}
    candidates = [change for change in selected if change.moved_from and change.id not in standing]
    loose = {one.id for one in candidates if not any(half.id in ids for half in _halves(one, recorded))}
    if direction == "redo" or not loose:
        return with_partners(selected, recorded)
    rest = {change.id for change in with_partners([c for c in selected if c.id not in loose], recorded)}
    edits = [as_edit(change, recorded) if change.id in loose else change for change in recorded]
    return [change for change in edits if change.id in rest | loose]


def _is_edit(change: FileChange, known: Mapping[ChangeId, FileChange]) -> bool:
    """Whether the file was at this path before and after, and not another one in its place."""
    originals = [known[item.change_id] for item in change.reverts if item.change_id in known and not item.hunks]
    is_renaming = any(one.moved_from and one.path == change.path for one in (change, *originals))
    return bool(change.before and change.after) and not is_renaming


def _reverted_by(change: FileChange, known: Mapping[ChangeId, FileChange]) -> FileChange:
    """Return the change that an undo or redo wrote about: it is in the same file, wherever that was by then."""
    originals = (known[item.change_id] for item in change.reverts if item.change_id in known)
    return next(originals, change) if change.author == "undo" else change


def _moved_on(last: FileChange, recorded: Sequence[FileChange], standing: Collection[ChangeId]) -> str:
    """Return where the file that `last` edited is now: where renamings since brought it, or undone ones left it.

    Only what edited a file follows it. A file that came into being or went is a matter of the path it had.
    """
    start = path_now(last, recorded, standing)
    here, came_from = start, ""
    place = next(at for at, change in enumerate(recorded) if change.id == last.id)
    for change in recorded[place + 1 :]:
        if change.path != here or change.author == "undo" or change.id not in standing:
            continue
        if change.moved_to:
            here, came_from = change.moved_to, here
        elif change.moved_from and change.moved_from == came_from:
            continue  # the other half of the renaming
        elif change.moved_from or not (change.before and change.after):
            return start  # another file took its place, or it is gone
    return here


def with_partners(selected: Sequence[FileChange], recorded: Sequence[FileChange]) -> list[FileChange]:
    """Return `selected` with the other half of every renaming in it, in the order of `recorded`."""
    ids = {change.id for change in selected}
    for change in selected:
        if change.moved_from or change.moved_to:
            ids |= {other.id for other in _halves(change, recorded)}
    return [change for change in recorded if change.id in ids]


def _halves(change: FileChange, recorded: Sequence[FileChange]) -> list[FileChange]:
    """The other half of a renaming: the nearest record that says the reverse."""
    place = next((at for at, candidate in enumerate(recorded) if candidate.id == change.id), 0)
    other = [
        (abs(at - place), candidate)
        for at, candidate in enumerate(recorded)
        if (change.moved_to and candidate.path == change.moved_to and candidate.moved_from == change.path)
        or (change.moved_from and candidate.path == change.moved_from and candidate.moved_to == change.path)
    ]
    return [min(other, key=lambda pair: pair[0])[1]] if other else []


def _plan(
    direction: Direction,
    path: str,
    changes: Sequence[FileChange],
    recorded: Sequence[FileChange],
    hunks: tuple[HunkKey, ...],
) -> FilePlan:
    first, last = changes[0], changes[-1]
    paths = {change.path for change in changes}
    there = [change for change in recorded if change.path in paths]
    places = {change.id: place for place, change in enumerate(there)}
    here = [change for change in recorded if change.path == path]
    # With hunks, a renamed file is only one half of what an undo wrote: later additions may be in the other.
    is_half = bool(hunks) and any(change.moved_from or change.moved_to for change in changes)
    return FilePlan(
        path=path,
        changes=tuple(changes),
        deltas=_deltas(direction, changes),
        chain=tuple(there[places[first.id] : places[last.id] + 1]),
        hunks=hunks,
        inverse=None if is_half else _inverse(direction, changes, here),
        moves_to=_moves_to(direction, changes),
        gone_to=here[-1].moved_to if here[-1].after is None else "",
        new_folders=tuple(folder for change in changes for folder in change.new_folders),
    )


def _moves_to(direction: Direction, changes: Sequence[FileChange]) -> str:
    """Return the path that the content of this one goes to, or that what only passes through goes on to."""
    if direction == "undo":
        if changes[-1].after is None:
            return changes[0].moved_from
        return next((one.moved_from for one in reversed(changes) if one.moved_from or one.before is None), "")
    if changes[0].before is None:
        return changes[-1].moved_to
    leaves_or_ends = (one for one in changes if one.moved_to or one.moved_from or one.after is None)
    return next((one.moved_to for one in leaves_or_ends), "")


def _deltas(direction: Direction, changes: Sequence[FileChange]) -> tuple[Delta, ...]:
    runs: list[list[FileChange]] = []
    for change in changes:
        if runs and runs[-1][-1].after == change.before:
            runs[-1].append(change)
            continue
        if runs and (place := _place_of(change.before, runs[-1])):
            runs[-1:] = [runs[-1][:place], runs[-1][place:]]
        runs.append([change])
    if direction == "redo":
        return tuple(Delta(run[0].before, run[-1].after) for run in runs)
    return tuple(Delta(run[-1].after, run[0].before) for run in reversed(runs))


def _place_of(image: FileImage | None, run: Sequence[FileChange]) -> int:
    """Return how many changes of `run` led to `image`, which an undo brought back since; 0 if none did.

    What came after them is a step of its own then: `run` as one step may say that nothing changed.
    """
    return next((count for count in range(len(run) - 1, 0, -1) if run[count - 1].after == image), 0)


def _inverse(direction: Direction, changes: Sequence[FileChange], recorded: Sequence[FileChange]) -> Delta | None:
    *earlier, last = recorded
    opposite = {item.change_id for item in last.reverts if not item.hunks and item.is_redo == (direction == "undo")}
    # What was before it is the way back only if it turned every one of them: some may have been as wanted already, and
    # of those whose last hunk it took the others were undone already.
    latest = {item.change_id: item for change in earlier for item in change.reverts}
    befores = [latest.get(change_id) for change_id in opposite]
    has_turned = all(not (item and item.hunks) and _is_undone(item) == (direction == "undo") for item in befores)
    is_exact = has_turned and len(opposite) == len(last.reverts) and opposite == {change.id for change in changes}
    return Delta(last.after, last.before) if is_exact else None


def _is_undone(item: Reverted | None) -> bool:
    return item is not None and not item.is_redo
