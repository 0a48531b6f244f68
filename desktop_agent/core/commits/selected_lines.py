"""Which lines a commit takes: the selected changes of the agent, merged into the committed and the staged version.

A file is composed without and with the selected changes, as for an undo (ADR 24), but without the edits of others.
The step between the two is merged into the version of HEAD. A hunk that does not merge is left out. Blocks.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.file_names import folders_above
from desktop_agent.core.base.ids import ChangeId, HunkKey
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.diff.diff import find_edits
from desktop_agent.core.diff.hunks import MODE, RENAMING, WHOLE_FILE
from desktop_agent.core.diff.text import read_text
from desktop_agent.core.merge import GONE, PLACE_TAKEN, ClashError, merge_states, missing_keys
from desktop_agent.core.protocol.model import ChangeSelection, FileImage, LeftOut
from desktop_agent.core.system.files import FileState
from desktop_agent.core.transcript import Transcript, Undone
from desktop_agent.core.undo import refusals
from desktop_agent.core.undo.composition import Lineage, NeededError, Placed, Status, Step
from desktop_agent.core.undo.path_tracking import parts_of
from desktop_agent.core.undo.plan import composition_of, meant_by

States = dict[str, FileState | None]
"""Files by path in the workspace. An absent file is None, or not listed."""

_OTHERS: Final = "The agent did not make this change, or may not have made it. Commit it with git."
_TOGETHER: Final = "Another file that takes its place, or whose place it takes, is left out."
_STAGED: Final = "You staged another version of the same lines."
_CHANGED: Final = "You changed these lines since. Commit them with git."
_NOT_IN_HEAD: Final = "HEAD does not have this file. Commit the file itself with git first."
_OTHER_FILE: Final = "HEAD has another file at this path."
_OTHER_LINES: Final = "HEAD has other lines in the same place."
_NOTHING: frozenset[HunkKey] = frozenset()


class _Unit(Struct, frozen=True, eq=False):
    """The smallest part of a change that is committed or left out: a hunk, or the whole change."""

    step: Step
    hunk: HunkKey


class SelectedFile(Struct):
    """`before` is without the selected changes, `after` with them. With `has_edits`, both have the edits of others."""

    lineage: Lineage
    status: Status
    target: Status
    has_edits: bool
    before: Placed | None = None
    after: Placed | None = None

    @property
    def paths(self) -> set[str]:
        return {placed.path for placed in (self.before, self.after) if placed is not None}


class Fitted(Struct):
    """What to commit, and what becomes of the staged versions that differ from HEAD. Only what changes is listed."""

    committed: States = field(default_factory=States)
    before: States = field(default_factory=States)
    """The committed files as they are in HEAD."""
    staged: States = field(default_factory=States)
    left_out: list[LeftOut] = field(default_factory=list[LeftOut])


class SelectedLines:
    def __init__(self, transcript: Transcript, ledger: Ledger, selections: Iterable[ChangeSelection]) -> None:
        self.files: list[list[SelectedFile]] = []
        """Each file in the ways in which it can be composed.

        Alone, with the agent's other changes (first without renamings that are not selected), and with all edits.
        """
        self._ledger = ledger
        self._known = composition_of(transcript, ledger)
        self._left_out: list[LeftOut] = []
        self._states: dict[FileImage, FileState | None] = {}
        self._turned = turned = dict[ChangeId, Undone]()
        for selection in selections:
            meant = meant_by(transcript, ledger, "undo", selection)
            if meant is None:
                continue
            turned |= meant.turned
            for outcome in meant.left:
                is_others = outcome.reason in (refusals.NOT_THE_AGENTS, refusals.MAYBE_NOT_THE_AGENTS)
                reason = _OTHERS if is_others else outcome.reason
                self._left_out += (_left(outcome.path, hunk, reason) for hunk in outcome.hunks or (WHOLE_FILE,))
        known = self._known.records
        others: Status = {one: None for one in known if not known[one].change.is_by_agent}
        further: Status = {one: None for one in known if one not in turned}
        renamed = {one: self._known.status[one] for one in further if known[one].change.moved_from}
        in_place: Status = {one: undone | {RENAMING} for one, undone in renamed.items() if undone is not None}
        ways: list[Status] = [others | further, *([others | in_place] if in_place else []), others, {}]
        for lineage in self._known.lineages_of(turned):
            self._add(lineage, ways)

    @property
    def paths(self) -> set[str]:
        return {path for ways in self.files for file in ways for path in file.paths}

    def fit(self, head: States, staged: States, barred: Mapping[str, str]) -> Fitted:
        """Merge the selection into `head`. `staged` has the staged versions that differ from `head`.

        Both need the files at `paths`, and what is in place of a folder above them, or below them. `barred` has the
        paths that must not be committed, each with the reason.
        """
        moved = [file for ways in self.files for file in ways if file.before and file.before.path != _path(file.after)]
        vacated = {_path(file.before) for file in moved}
        fits: list[_Fit] = []
        for ways in self.files:
            tried: list[_Fit] = []
            for file in ways:
                tried.append(_Fit(self, file, head, staged, vacated))
                tried[-1].find(next((barred[path] for path in sorted(file.paths) if path in barred), ""))
                if not tried[-1].left_out:
                    break
            fits.append(min(tried, key=lambda one: (not one.committed, len(one.left_out))))
        lost = {path for one in fits if one.left_out for path in one.file.paths & vacated}
        for one in fits:
            if not one.left_out and not one.file.paths.isdisjoint(lost):
                one.give_up(_TOGETHER)
        fitted = Fitted(left_out=[*self._left_out, *(left for one in fits for left in one.left_out)])
        puts = [put for one in fits for put in one.committed.items() if head.get(put[0]) != put[1]]
        fitted.committed = dict(sorted(puts, key=lambda put: put[1] is not None))  # a file that arrives comes last
        fitted.before = {path: head.get(path) for path in fitted.committed}
        for one in fits:
            fitted.staged |= {path: state for path, state in one.staged.items() if path in fitted.committed}
        return fitted

    def composed(self, file: SelectedFile, status: Status) -> Placed | None:
        """Return the file as git knows it. Raises `NeededError` and `StorageError`."""
        known = self._known
        made = known.of(file.lineage, status) if file.has_edits else known.by_agent(file.lineage, status)
        return made if made is not None and made.image.kind in ("file", "symlink") else None

    def state(self, placed: Placed | None) -> FileState | None:
        if placed is None or placed.image in self._states:
            return self._states[placed.image] if placed is not None else None
        state = self._known.state(placed.image)
        self._states[placed.image] = as_git_keeps(state) if state is not None else None
        return self._states[placed.image]

    def on_disk(self, file: SelectedFile) -> tuple[FileState | None, FileState | None]:
        """Return the file with all standing changes of the agent, and as it is."""
        try:
            now = self._known.of(file.lineage, self._known.status)
        except NeededError:
            now = None
        state = self._ledger.files.current(_path(now) or _path(file.after) or _path(file.before))
        disk = None if state is None or state.kind == "folder" else as_git_keeps(state)
        every = self.composed(replace(file, has_edits=True), self._known.status) if now else None
        return self.state(every), disk

    def is_missing(self, unit: _Unit, content: bytes) -> bool:
        return unit.hunk in missing_keys(self._known.images.diff(unit.step.edit or unit.step.change), content)

    def with_unit(self, file: SelectedFile, status: Status, unit: _Unit) -> Status:
        """Return `status` with one more part of a change standing."""
        change_id, departure = unit.step.change.id, unit.step.departure
        undone, now = file.status.get(change_id, _NOTHING), status.get(change_id, _NOTHING)
        if unit.hunk != WHOLE_FILE:
            undone = (self._parts(unit.step) if now is None else now) - {unit.hunk}
        return {**status, change_id: undone} | ({departure: _NOTHING} if departure else {})

    def _add(self, lineage: Lineage, without: Sequence[Status]) -> None:
        error, ways = "", list[SelectedFile]()
        for undone in without:
            status = {**self._known.status, **undone}
            file = SelectedFile(lineage, status, {**status, **self._turned}, has_edits=not undone)
            try:
                file.before, file.after = self.composed(file, file.target), self.composed(file, status)
            except (NeededError, StorageError) as failure:
                error = refusals.CONTENT_MISSING if isinstance(failure, StorageError) else str(failure)
            else:
                ways.append(file)
        if not ways:
            self._left_out.append(_left(lineage.steps[-1].change.path, WHOLE_FILE, error))
        elif any(file.before != file.after for file in ways):
            self.files.append(ways)

    def units(self, file: SelectedFile) -> list[_Unit]:
        """Raises `NeededError` and `StorageError`."""
        return [unit for step in file.lineage.steps for unit in self._units(step, file.status)]

    def _units(self, step: Step, status: Status) -> list[_Unit]:
        change_id, turned = step.change.id, self._turned
        if change_id not in turned and step.departure not in turned:
            return []
        if step.before is None or step.after is None or change_id not in turned:
            return [_Unit(step, WHOLE_FILE)]
        parts, to, was = self._parts(step), turned[change_id], status.get(change_id, _NOTHING)
        standing = (parts if to is None else to) - (parts if was is None else was)
        return [_Unit(step, key) for key in sorted(standing, key=lambda one: one != RENAMING)]

    def _parts(self, step: Step) -> frozenset[HunkKey]:
        edit = step.edit or step.change
        if edit.before == edit.after:
            return frozenset({RENAMING})
        return parts_of(step.change, self._known.images.diff(edit))


class _Fit:
    def __init__(
        self, lines: SelectedLines, file: SelectedFile, head: States, staged: States, vacated: set[str]
    ) -> None:
        self.file = file
        self.committed: States = {}
        self.staged: States = {}
        self.left_out: list[LeftOut] = []
        self._lines = lines
        self._head = head
        self._index = staged
        self._vacated = vacated

    def give_up(self, reason: str) -> None:
        self.committed, self.staged = {}, {}
        try:
            (unit,) = self._units
            hunk = unit.hunk
        except (NeededError, StorageError, ValueError):
            hunk = WHOLE_FILE
        self.left_out = [_left(self._place, hunk, reason)]

    @cached_property
    def _units(self) -> list[_Unit]:
        return self._lines.units(self.file)

    def find(self, bar: str) -> None:
        try:
            if bar:
                self.give_up(bar)
            else:
                self._find()
        except (ClashError, NeededError) as error:
            self.give_up(str(error))
        except StorageError:
            self.give_up(refusals.CONTENT_MISSING)
        except OSError as error:
            self.give_up(refusals.UNREADABLE.format(error.strerror or error))

    @property
    def _place(self) -> str:
        return _path(self.file.after) or _path(self.file.before)

    def _find(self) -> None:
        file, (every, disk) = self.file, self._lines.on_disk(self.file)
        if (disk is None) != (every is None):
            raise ClashError(GONE if disk is None else PLACE_TAKEN)
        gone: set[_Unit] = set()
        if disk and every and (disk.kind, disk.content) != (every.kind, every.content):
            if not _is_text(disk, every):
                raise ClashError(_CHANGED)
            gone = {unit for unit in self._units if self._is_gone(unit, disk, every)}
        try:
            committed = self._merged(file.before, file.after)
        except ClashError:
            if len(self._units) == 1:
                raise
            committed = None
        if gone or committed is None:
            self._find_parts(gone)
        else:
            self.committed, self.staged = committed

    def _find_parts(self, gone: set[_Unit]) -> None:
        """Take the parts one by one. Begin with those that HEAD has already, which an earlier commit may have taken."""
        lines, file, status = self._lines, self.file, self.file.target
        waiting: list[_Unit] = []
        created: Placed | None = None
        for unit in self._units:
            trial = lines.with_unit(file, status, unit)
            if self._is_in_head(trial, created):
                status, created = trial, created or (lines.composed(file, trial) if file.before is None else None)
            else:
                waiting.append(unit)
        base = lines.composed(file, status)
        for unit in waiting:
            trial = lines.with_unit(file, status, unit)
            if unit in gone:
                self.left_out.append(_left(self._place, unit.hunk, _CHANGED))
                continue
            try:
                self.committed, self.staged = self._merged(base, lines.composed(file, trial))
                status = trial
            except (ClashError, NeededError) as error:
                self.left_out.append(_left(self._place, unit.hunk, str(error)))

    def _is_gone(self, unit: _Unit, disk: FileState, every: FileState) -> bool:
        """Whether the disk lacks the lines of a hunk, and no later change of the agent replaced them."""
        if unit.hunk in (WHOLE_FILE, MODE, RENAMING):
            return False
        return self._lines.is_missing(unit, disk.content) and not self._lines.is_missing(unit, every.content)

    def _is_in_head(self, status: Status, created: Placed | None) -> bool:
        try:
            placed, before = self._lines.composed(self.file, status), self.file.before or created
            if before is None and placed is not None:
                return _is_alike(self._head.get(placed.path), self._lines.state(placed))
            merged = self._into_head(before, placed)
        except (ClashError, NeededError):
            return False
        return all(self._head.get(path) == state for path, state in merged.items())

    def _merged(self, before: Placed | None, after: Placed | None) -> tuple[States, States]:
        """Return what becomes of HEAD, and of the staged versions. Raises `ClashError`."""
        committed = self._into_head(before, after)
        staged: States = {}
        for path, state in committed.items():
            if path in self._index and state != self._head.get(path):
                try:
                    staged[path] = merge_states(self._head.get(path), self._index[path], state)
                except ClashError as error:
                    raise ClashError(_STAGED) from error
            if state is not None:
                self._make_sure_of_place(path)
        return committed, staged

    def _make_sure_of_place(self, path: str) -> None:
        there = {
            one
            for tree in (self._head, self._index)
            for one, state in tree.items()
            if state is not None and one not in self._vacated
        }
        if above := there.intersection(folders_above(path)):
            raise ClashError(refusals.FILE_ABOVE.format(min(above)))
        if any(one.startswith(f"{path}/") for one in there):
            raise ClashError(PLACE_TAKEN)

    def _into_head(self, before: Placed | None, after: Placed | None) -> States:
        base, wanted, old, new = self._lines.state(before), self._lines.state(after), _path(before), _path(after)
        yours, there = self._head.get(old or new), self._head.get(new)
        if old and new and old != new and there is not None and yours is None:
            old, yours = new, there  # it is renamed there already
        elif there is not None and new in self._vacated:
            yours = yours if old else None
        elif there is not None and old != new and (old or there != wanted):
            raise ClashError(_OTHER_FILE)
        if yours is None and base is not None and wanted is not None:
            raise ClashError(_NOT_IN_HEAD)
        try:
            merged = merge_states(base, yours, wanted)
        except ClashError as error:
            raise ClashError(_OTHER_LINES) from error
        return {old: None, new: merged} if old and new and old != new else {new or old: merged}


def as_git_keeps(state: FileState) -> FileState:
    """Return a state with one of the two modes that git knows."""
    mode = 0o777 if state.kind == "symlink" else 0o755 if state.mode & 0o100 else 0o644
    return replace(state, mode=mode, extras=None)


def _is_text(*states: FileState) -> bool:
    return all(state.kind == "file" and read_text(state.content) is not None for state in states)


def _is_alike(there: FileState | None, created: FileState | None) -> bool:
    """Whether at least half of a created file's lines are still in the committed file."""
    if there is None or created is None or not _is_text(there, created):
        return there == created
    gone = sum(edit.old_end - edit.old_start for edit in find_edits(created.content, there.content))
    return 2 * gone <= created.content.count(b"\n") + 1


def _path(placed: Placed | None) -> str:
    return placed.path if placed is not None else ""


def _left(path: str, hunk: HunkKey, reason: str) -> LeftOut:
    return LeftOut(path=path, hunk=None if hunk == WHOLE_FILE else hunk, reason=reason)
