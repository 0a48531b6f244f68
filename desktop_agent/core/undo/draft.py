"""Drafts an undo or redo: merges the step between two composed versions into the file on disk.

Undoing U of the standing changes S writes `merge(base=composed(S), composed(S - U), the disk)` (ADR 24).
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from msgspec import Struct, structs
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.file_names import all_folders_above, folders_above
from desktop_agent.core.base.ids import ChangeId, HunkKey
from desktop_agent.core.changes.ledger import NOT_EMPTY, RENAMED_TOGETHER, Ledger
from desktop_agent.core.diff.diff import find_edits
from desktop_agent.core.diff.hunks import RENAMING
from desktop_agent.core.diff.text import as_utf8
from desktop_agent.core.merge import CHANGED_SINCE, PLACE_TAKEN, ClashError, merge_states
from desktop_agent.core.protocol.model import Clash, FileChange, FileImage, FileOutcome, OutcomeState, Reverted
from desktop_agent.core.system.files import FileState, FileTransition
from desktop_agent.core.transcript import ChangeRecord, Undone
from desktop_agent.core.undo import refusals
from desktop_agent.core.undo.composition import Composition, Lineage, NeededError, Placed, Status, Version
from desktop_agent.core.undo.refusals import Direction


class DraftedWrite(Struct, frozen=True):
    transition: FileTransition
    reverts: tuple[Reverted, ...]
    outcome: FileOutcome
    new_folders: tuple[str, ...] = ()
    """Folders that are removed along with the file if they are empty."""
    moves_to: str = ""
    """The path to which the content of a removed file moves; empty if it does not move."""


class UndoDraft(Struct, frozen=True):
    writes: tuple[DraftedWrite, ...]
    settled: tuple[FileOutcome, ...]
    open_paths: frozenset[str] = frozenset()
    """The files that an editor has to show and save, because the user has them open there, changed."""

    def outcomes(self) -> tuple[FileOutcome, ...]:
        return (*(write.outcome for write in self.writes), *self.settled)


class _Case(Struct):
    lineage: Lineage
    ids: tuple[ChangeId, ...]
    bonds: set[ChangeId]
    """Changes that it shares with other files, as a rename is."""
    base: Version = None
    wanted: Version = None
    state: FileState | None = None
    reason: str = ""
    note: str = ""
    barred: str = ""
    outcome_state: OutcomeState = "conflict"
    clash: Clash | None = None
    exact: tuple[Version] | None = None
    """The earlier version that is restored byte for byte, in a tuple, because a version can be None."""

    @property
    def place(self) -> str:
        last = self.lineage.steps[-1]
        placed = self.wanted or self.base or last.after or last.before
        return placed.path if placed else last.change.path

    @property
    def here(self) -> str:
        return self.base.path if self.base else self.place

    @property
    def is_move(self) -> bool:
        return self.base is not None and self.wanted is not None and self.base.path != self.wanted.path

    def paths(self) -> set[str]:
        return {placed.path for placed in (self.base, self.wanted) if placed is not None}

    def refuse(self, reason: str, clash: Clash | None = None) -> None:
        self.reason, self.clash = reason, clash


def draft_turned(
    ledger: Ledger,
    composition: Composition,
    direction: Direction,
    turned: Mapping[ChangeId, Undone],
    hunks: tuple[HunkKey, ...] = (),
) -> UndoDraft:
    """Draft an undo or redo. Blocks. `turned`: how much of each change is undone. `hunks`: what the user named."""
    return _Draft(ledger, composition, direction, turned, hunks).made()


class _Draft:
    def __init__(
        self,
        ledger: Ledger,
        composition: Composition,
        direction: Direction,
        turned: Mapping[ChangeId, Undone],
        hunks: tuple[HunkKey, ...],
    ) -> None:
        self._files = ledger.files
        self._images = ledger.images
        self._known = composition
        self._direction: Direction = direction
        self._turned = turned
        self._target: Status = {**composition.status, **turned}
        self._hunks = hunks
        self._disk: dict[str, FileState | None] = {}
        self._covered: dict[str, str] = {}
        self._cases: list[_Case] = []
        self._came_along: list[_Case] = []
        self._coming_folders: list[str] = []
        self._going_folders: set[str] = set()
        self._with_change: dict[ChangeId, list[int]] = {}
        self._at_path: dict[str, list[int]] = {}
        self._out: dict[str, _Case] = {}
        self._into: dict[str, _Case] = {}

    def made(self) -> UndoDraft:
        self._find_cases()
        self._out = {case.base.path: case for case in self._cases if case.base is not None}
        # Files that keep their paths come first. A file that wants the same path is then refused.
        taken: list[tuple[_Case, _Case]] = []
        for case in sorted(self._cases, key=lambda one: one.base is None or one.is_move):
            if case.wanted is not None and not case.reason:
                there = self._into.setdefault(case.wanted.path, case)
                if there is not case:
                    case.refuse(PLACE_TAKEN)
                    taken.append((case, there))
        self._find_exact()
        for case in self._cases:
            if not case.reason:
                self._resolve(case)
        self._refuse_together()
        for case, there in taken:
            if there.reason:  # otherwise the undo puts the other file there, and the user has no version to choose
                case.clash = self._taken(case)
        return self._written()

    # -- what is to become of each file --

    def _find_cases(self) -> None:
        order = {change_id: place for place, change_id in enumerate(self._known.records)}
        exchanged = _exchanged(self._known.records.values())
        for lineage in self._known.lineages_of(self._turned):
            ids = {i for step in lineage.steps for i in (step.change.id, step.departure) if i in self._turned}
            bonds = {exchanged.get(one, one) for one in ids}
            case = _Case(lineage, tuple(sorted(ids, key=lambda one: order.get(one, 0))), bonds)
            try:
                case.base = self._known.of(lineage, self._known.status)
                case.wanted = self._known.of(lineage, self._target)
            except NeededError as error:
                self._tell_blockers(case, str(error))
            except StorageError:
                case.outcome_state = "failed"
                case.refuse(refusals.CONTENT_MISSING)
            if case.lineage.came_along(case.ids) and _is_folder(case):
                self._came_along.append(case)
            else:
                self._cases.append(case)
        for number, case in enumerate(self._cases):
            for change_id in case.bonds:
                self._with_change.setdefault(change_id, []).append(number)
            for path in case.paths():
                self._at_path.setdefault(path, []).append(number)
        self._note_folders(set())

    def _note_folders(self, refused: set[ChangeId]) -> None:
        along = [case for case in self._came_along if not case.reason and not set(case.ids) <= refused]
        self._coming_folders = [one.wanted.path for one in along if one.wanted is not None and one.base is None]
        self._going_folders = {one.base.path for one in along if one.base is not None and one.wanted is None}
        self._going_folders |= self._known.loose_folders() - set(self._coming_folders)
        own = [placed for case in self._cases for placed in (case.base, case.wanted) if placed is not None]
        self._going_folders -= {one.path for one in own if one.image.kind == "folder"}

    def _tell_blockers(self, case: _Case, reason: str) -> None:
        base, wanted = self._known.without_blockers(case.lineage, self._known.status, self._target)
        place, case.wanted = case.base or wanted, None
        case.refuse(reason, self._clash(base, wanted, self._now(place.path)) if place is not None else None)

    def _find_exact(self) -> None:
        for case in self._cases:
            case.exact = self._exact(case) if not case.reason else None
        is_growing = True
        while is_growing:
            is_growing = False
            for case in self._cases:
                if case.exact and any(other.exact is None for other in self._bound_to(case)):
                    case.exact, is_growing = None, True

    def _exact(self, case: _Case) -> tuple[Version] | None:
        found = self._known.earlier(case.lineage, self._target)
        if found is None:
            return None
        now, then = found
        places = [placed.path if placed else "" for placed in (now, then)]
        if places != [placed.path if placed else "" for placed in (case.base, case.wanted)]:
            return None
        is_as_left = all(self._is_at(path, now) for path in places if path)
        return (then,) if is_as_left else None

    def _is_at(self, path: str, version: Version) -> bool:
        """Whether the path has this version or, if the version is elsewhere, is free or about to be."""
        state = self._now(path)
        if version is not None and version.path == path:
            return state is not None and state.image() == version.image
        return state is None or path in self._out

    def _bound_to(self, case: _Case) -> list[_Case]:
        bonds = [*(self._with_change[one] for one in case.bonds), *(self._at_path[path] for path in case.paths())]
        numbers = sorted({number for bond in bonds for number in bond})
        return [other for number in numbers if (other := self._cases[number]) is not case]

    # -- against the disk --

    def _now(self, path: str) -> FileState | None:
        if path not in self._disk:
            self._disk[path] = self._files.current(path)
        return self._disk[path]

    def _state(self, version: Version) -> FileState | None:
        return self._known.state(version.image) if version is not None else None

    def _resolve(self, case: _Case) -> None:
        try:
            for path in sorted(case.paths()):
                if reason := self._barred(path, is_coming=case.wanted is not None and case.wanted.path == path):
                    case.barred = path
                    case.refuse(reason)
                    return
            case.state = self._state(case.exact[0]) if case.exact else self._resolved(case)
        except _TakenError as taken:
            case.refuse(str(taken), self._taken(case))
        except ClashError as clash:
            case.refuse(str(clash), self._clash(case.base, case.wanted, self._now(case.here)))
        except StorageError:
            case.outcome_state = "failed"
            case.refuse(refusals.CONTENT_MISSING)
        except OSError as error:
            case.outcome_state = "failed"
            case.refuse(refusals.UNREADABLE.format(error.strerror or error))

    def _resolved(self, case: _Case) -> FileState | None:
        base, wanted = case.base, case.wanted
        if wanted is None:
            return self._removed(base) if base is not None else None
        if base is not None and base.path == wanted.path:
            yours = self._now(base.path)
            if yours is None and base.image.kind != "folder" and wanted.image.kind == "folder":
                return self._state(wanted)  # somebody removed the file at this path
            return merge_states(self._state(base), yours, self._state(wanted))
        content = self._taken_along(case.lineage, base, wanted)
        return self._put_at(case.lineage, wanted.path, content, is_new=base is None)

    def _removed(self, base: Placed) -> FileState | None:
        yours, coming = self._now(base.path), self._into.get(base.path)
        if coming is not None and (coming.base is None or yours == self._state(coming.wanted)):
            return None  # the arriving file replaces the present one
        return merge_states(self._state(base), yours, None)

    def _taken_along(self, lineage: Lineage, base: Version, wanted: Placed) -> FileState | None:
        if base is None:
            return self._state(wanted)
        yours, before = self._now(base.path), self._state(base)
        coming = self._into.get(base.path)
        if yours is None:  # the edits of others were removed with the file
            return self._state(self._known.by_records(lineage, self._target))
        if yours == before or (coming is not None and yours == self._state(coming.wanted)):
            return self._state(wanted)
        if not _is_version_of(yours, before):
            raise ClashError(CHANGED_SINCE)
        return merge_states(before, yours, self._state(wanted))

    def _put_at(self, lineage: Lineage, path: str, content: FileState | None, *, is_new: bool) -> FileState | None:
        """Return the file to put at `path`, merged if necessary. Raises `ClashError` if the path is taken."""
        yours, there = self._now(path), self._out.get(path)
        if yours is None:
            return content
        if yours == content and (there is not None or self._known.at(path) in (None, lineage)):
            return content  # the file is there already
        if there is not None and not there.reason:
            if there.wanted is not None or yours == self._state(there.base):
                return content
            if is_new:
                return merge_states(self._state(there.base), yours, content)
        if yours.kind == "folder" and path in self._going_folders and self._will_be_empty(path, self._gone()):
            self._disk[path] = None
            return content
        raise _TakenError(PLACE_TAKEN)

    def _barred(self, path: str, *, is_coming: bool) -> str:
        planned = self._out.keys() | self._into.keys()
        link = self._files.link_above(path)
        if link in planned:
            self._covered[path] = link
        elif not self._files.is_inside(path):
            return refusals.OUTSIDE
        elif link:
            return refusals.LINK_ABOVE.format(link)
        above = self._files.file_above(path) if is_coming and not link else ""
        if above in planned:
            self._covered[path] = above
        elif above:
            return refusals.FILE_ABOVE.format(above)
        return ""

    def _clash(self, base: Version, wanted: Version, yours: FileState | None) -> Clash:
        """Store the three versions: they are kept as long as the journal names them."""
        states = (self._state(base), self._state(wanted), yours)
        for state in states:
            if state is not None:
                self._images.keep(state)
        images = (state.image() if state else None for state in states)
        base_image, wanted_image, yours_image = images
        return Clash(base=base_image, wanted=wanted_image, yours=yours_image)

    def _taken(self, case: _Case) -> Clash | None:
        return None if case.is_move else self._clash(None, case.wanted, self._now(case.place))

    # -- what has to stay together --

    def _refuse_together(self) -> None:
        is_growing = True
        while is_growing:
            is_growing = self._refuse_covered()
            for case in self._cases:
                if case.reason:
                    continue
                refused = [one for one in self._bound_to(case) if one.reason]
                if other := next((one for one in refused if _needs(case, one)), None):
                    case.refuse(RENAMED_TOGETHER.format(other.place))
                    is_growing = True
                elif other := next((one for one in refused if self._leaves_disk_to(case, one)), None):
                    case.refuse(other.reason)
                    is_growing = True
            is_growing = self._refuse_full() or self._keep_folders() or is_growing

    def _leaves_disk_to(self, case: _Case, other: _Case) -> bool:
        """Whether `case` is removed regardless of later edits at its path, because `other` takes the path."""
        if case.base is None or case.wanted is not None or other.wanted is None:
            return False
        return other.wanted.path == case.base.path and not self._is_at(case.base.path, case.base)

    def _refuse_covered(self) -> bool:
        is_found = False
        for case in self._cases:
            for path in case.paths() if not case.reason else ():
                cover = self._covered.get(path, "")
                after = self._after(cover) if cover else None
                if cover and after is not None and after.kind != "folder":
                    reason = refusals.LINK_ABOVE if self._files.link_above(path) else refusals.FILE_ABOVE
                    case.barred = path
                    case.refuse(reason.format(cover))
                    is_found = True
        return is_found

    def _refuse_full(self) -> bool:
        after = {path: self._after(path) for case in self._cases if not case.reason for path in case.paths()}
        gone = {path for path, state in after.items() if state is None}
        is_found = False
        for case in self._cases:
            path = case.base.path if case.base is not None and not case.reason else ""
            now = self._now(path) if path else None
            if now is None or now.kind != "folder" or path in self._covered:
                continue
            then = after[path]
            if (then is not None and then.kind == "folder") or self._will_be_empty(path, gone, after):
                continue
            is_found = True
            if case.wanted is None and then is None and self._may_stay(path, after):
                case.wanted, case.state, case.note = case.base, now, refusals.STAYS_WITH_FILES
                self._into[path] = case
            else:
                case.refuse(NOT_EMPTY)
        return is_found

    def _may_stay(self, folder: str, after: Mapping[str, FileState | None]) -> bool:
        is_as_before = self._direction == "redo" and self._known.was_loose(folder)
        return is_as_before or self._has_only_standing(folder, after)

    def _has_only_standing(self, folder: str, after: Mapping[str, FileState | None]) -> bool:
        here = {
            Path(place, name).relative_to(self._files.root).as_posix()
            for place, folders, names in os.walk(self._files.root / folder)
            for name in (*folders, *names)
        }
        inside = here | {path for path in after if path.startswith(f"{folder}/")}
        staying = {path for path in inside if path not in after or after[path] is not None}
        recorded = {path for path in staying if path in after or self._known.at(path) is not None}
        return bool(recorded) and staying - recorded <= all_folders_above(recorded)

    def _after(self, path: str) -> FileState | None:
        into, out = self._into.get(path), self._out.get(path)
        if into is not None and not into.reason:
            return into.state
        return None if out is not None and not out.reason else self._now(path)

    def _keep_folders(self) -> bool:
        """Refuse a renamed folder, and the folders in it, if every file in it is refused: it would stay empty."""
        folders = {path: case for case in self._cases if _is_folder(case) for path in self._named(case)}
        is_found = False
        for path, folder in folders.items():
            if folder.reason or not folders.keys().isdisjoint(folders_above(path)):
                continue
            inside = [case for case in self._cases if any(one.startswith(f"{path}/") for one in self._named(case))]
            files = [case for case in inside if not _is_folder(case)]
            moves = {change.id for change in self._changes_of(files) if change.moved_from or change.moved_to}
            if files and all(case.reason and moves & set(case.ids) for case in files):
                for case in (folder, *(one for one in inside if _is_folder(one) and not one.reason)):
                    case.refuse(RENAMED_TOGETHER.format(files[0].place))
                is_found = True
        return is_found

    def _changes_of(self, cases: Iterable[_Case]) -> list[FileChange]:
        return [self._known.records[change_id].change for case in cases for change_id in case.ids]

    def _named(self, case: _Case) -> set[str]:
        return {change.path for change in self._changes_of([case])}

    # -- what is written, and said --

    def _written(self) -> UndoDraft:
        self._note_folders({change_id for case in self._cases if case.reason for change_id in case.ids})
        paths = sorted({path for case in self._cases if not case.reason for path in case.paths()})
        after = {path: self._after(path) for path in paths}
        gone = {path for path in paths if after[path] is None}
        going = {path for path in self._going_folders if self._will_be_empty(path, gone, after)}
        drafted: dict[str, DraftedWrite] = {}
        for path in paths:
            if write := self._write(path, after[path], going):
                drafted[path] = write
        settled: list[FileOutcome] = []
        reverts: dict[str, list[Reverted]] = {path: [] for path in drafted}
        said: set[ChangeId] = set()
        for case in self._cases:
            for path, ids in self._told_by_path(case, drafted).items():
                if case.reason:
                    settled.append(self._refused(case, path, ids))
                elif path in reverts:
                    reverts[path] += [self._reverted(one) for one in ids if one not in said]
                    said |= set(ids)
                elif fresh := tuple(one for one in ids if one not in said):
                    settled.append(self._unchanged(path, fresh, case.note))
        writes = [self._told(drafted[path], tuple(reverts[path])) for path in paths if path in drafted]
        writes += self._folder_writes(writes, going, after)
        return UndoDraft(tuple(sorted(writes, key=_order)), tuple(settled))

    def _write(self, path: str, after: FileState | None, going: set[str]) -> DraftedWrite | None:
        into, out = self._into.get(path), self._out.get(path)
        into = into if into is not None and not into.reason else None
        out = out if out is not None and not out.reason else None
        now = self._now(path)
        base = out.base.image if out is not None and out.base is not None else None
        wanted = into.wanted.image if into is not None and into.wanted is not None else None
        note = ""
        if after is not None:
            is_exact = into is not None and into.exact is not None
            extras = (now.image() if now else None, after.image()) if is_exact else (base, wanted)
            after, note = _with_extras(now, after, *extras)
        if after == now and not (after and now and after.extras != now.extras):
            return None
        is_restored = now in (after, self._known.state(base)) and after in (now, self._known.state(wanted), None)
        outcome = FileOutcome(
            path=path,
            state="restored" if is_restored else "merged",
            change_ids=(),
            hunks=self._hunks,
            reason=note,
            is_removed=after is None,
        )
        moves_to = out.wanted.path if out is not None and out is not into and out.wanted is not None else ""
        folders = tuple(folder for folder in folders_above(path) if folder in going) if after is None else ()
        return DraftedWrite(FileTransition(path, now, after), (), outcome, folders, moves_to)

    def _told_by_path(self, case: _Case, drafted: Mapping[str, DraftedWrite]) -> dict[str, list[ChangeId]]:
        path_of = self._refusal_path if case.reason else self._write_path
        found: dict[str, list[ChangeId]] = {}
        for change_id in case.ids:
            found.setdefault(path_of(case, change_id, drafted), []).append(change_id)
        return found

    def _write_path(self, case: _Case, change_id: ChangeId, drafted: Mapping[str, DraftedWrite]) -> str:
        path = self._recorded_path(change_id) if self._is_move(case, change_id) else case.place
        written = [one for one in (case.place, *sorted(case.paths())) if one in drafted]
        return path if path in written or not written else written[0]

    def _refusal_path(self, case: _Case, change_id: ChangeId, drafted: Mapping[str, DraftedWrite]) -> str:
        ends = {step.change.id for step in case.lineage.steps if not (step.before and step.after)}
        is_at_own = change_id in ends or self._is_move(case, change_id)
        path = self._recorded_path(change_id) if is_at_own else case.here
        if path not in drafted:
            return path
        free = (one for one in (case.here, *sorted(self._named(case))) if one not in drafted)
        return next(free, path)

    def _recorded_path(self, change_id: ChangeId) -> str:
        return self._known.records[change_id].change.path

    def _is_move(self, case: _Case, change_id: ChangeId) -> bool:
        return any(
            change_id in (step.change.id, step.departure) and not self._is_edit(step.change.id)
            for step in case.lineage.steps
            if step.departure
        )

    def _is_edit(self, change_id: ChangeId) -> bool:
        now, then = self._known.status.get(change_id, frozenset()), self._target.get(change_id, frozenset())
        return (now is None or RENAMING in now) == (then is None or RENAMING in then)

    def _reverted(self, change_id: ChangeId) -> Reverted:
        undone = self._turned[change_id]
        return Reverted(change_id=change_id, hunks=tuple(sorted(undone or ())), is_redo=self._direction == "redo")

    def _told(self, write: DraftedWrite, reverts: tuple[Reverted, ...]) -> DraftedWrite:
        ids = tuple(item.change_id for item in reverts if not item.hunks)
        return structs.replace(write, reverts=reverts, outcome=structs.replace(write.outcome, change_ids=ids))

    def _unchanged(self, path: str, ids: Sequence[ChangeId], note: str) -> FileOutcome:
        reverts = tuple(self._reverted(one) for one in ids)
        whole = tuple(item.change_id for item in reverts if not item.hunks)
        partly = tuple(item for item in reverts if item.hunks)
        return FileOutcome(
            path=path, state="unchanged", change_ids=whole, hunks=self._hunks, reason=note, reverts=partly
        )

    def _refused(self, case: _Case, path: str, ids: Sequence[ChangeId]) -> FileOutcome:
        clash = case.clash if path == case.here else None
        # The user chooses a version of the whole file, so this includes its changes that other paths report.
        reverts = tuple(self._reverted(one) for one in (case.ids if clash is not None else ids))
        is_partial = self._direction == "redo" or len(reverts) > len(ids) or any(item.hunks for item in reverts)
        return FileOutcome(
            path=path,
            state=case.outcome_state,
            change_ids=tuple(ids),
            reason=RENAMED_TOGETHER.format(case.barred) if case.barred not in ("", path) else case.reason,
            hunks=self._hunks,
            clash=clash,
            reverts=reverts if is_partial else (),
        )

    # -- folders that came with a file --

    def _gone(self) -> set[str]:
        return {path for path, case in self._out.items() if not case.reason and path not in self._into}

    def _will_be_empty(
        self, folder: str, gone: Iterable[str], after: Mapping[str, FileState | None] | None = None
    ) -> bool:
        place, gone = self._files.root / folder, set(gone)
        if self._files.link_above(folder) or place.is_symlink() or not place.is_dir():
            return False
        if any(state is not None and path.startswith(f"{folder}/") for path, state in (after or {}).items()):
            return False
        try:
            names = [f"{folder}/{path.name}" for path in place.iterdir()]
        except OSError:
            return False
        return all(name in gone or (name in self._going_folders and self._will_be_empty(name, gone)) for name in names)

    def _folder_writes(
        self, writes: Sequence[DraftedWrite], going: set[str], after: Mapping[str, FileState | None]
    ) -> list[DraftedWrite]:
        gone = {folder for write in writes for folder in write.new_folders}
        coming = [path for path, state in after.items() if state is not None]
        alone = (folder for folder in sorted(going - gone) if folder not in after)
        found = [FileTransition(folder, self._files.current(folder), None) for folder in alone]
        for folder in self._coming_folders:
            is_used = folder in after or any(path.startswith(f"{folder}/") for path in coming)
            if not is_used and self._now(folder) is None and not self._files.file_above(folder):
                found.append(FileTransition(folder, None, self._state(self._folder_version(folder))))
        return [
            DraftedWrite(
                one,
                (),
                FileOutcome(path=one.path, state="restored", change_ids=(), is_removed=one.after is None),
            )
            for one in found
        ]

    def _folder_version(self, folder: str) -> Version:
        lineages = self._known.lineages_of(self._turned)
        versions = (self._known.of(one, self._target) for one in lineages if one.came_along(self._turned))
        return next((one for one in versions if one is not None and one.path == folder), None)


class _TakenError(ClashError):
    pass


def _exchanged(records: Iterable[ChangeRecord]) -> dict[ChangeId, ChangeId]:
    """All changes of one ring of exchanged contents map to the same change. Such files keep their paths."""
    found: dict[ChangeId, ChangeId] = {}
    for _, of_event in groupby(records, key=lambda record: record.seq):
        leads = {
            change.before.digest: (change.id, change.after.digest)
            for change in (record.change for record in of_event)
            if change.before and change.after and change.author != "undo" and not (change.moved_from or change.moved_to)
        }
        for start in leads:
            ring, at = dict[ChangeId, None](), start
            while at in leads and leads[at][0] not in ring:
                change_id, at = leads[at]
                ring[change_id] = None
            if at == start and len(ring) > 1:
                found |= dict.fromkeys(ring, min(ring))
    return found


def _needs(case: _Case, other: _Case) -> bool:
    is_in_its_way = other.base is not None and case.wanted is not None and other.base.path == case.wanted.path
    return is_in_its_way or not case.bonds.isdisjoint(other.bonds)


def _is_folder(case: _Case) -> bool:
    return all(one is None or one.image.kind == "folder" for one in (case.base, case.wanted))


def _is_version_of(state: FileState | None, base: FileState | None) -> bool:
    """Whether a text still has at least half of the lines of `base`, so that it counts as the same file, edited."""
    if state is None or base is None or state.kind != base.kind or state.kind != "file":
        return False
    old, new = as_utf8(base.content), as_utf8(state.content)
    if old is None or new is None:
        return False
    gone = sum(edit.old_end - edit.old_start for edit in find_edits(old, new))
    return 2 * gone <= old.count(b"\n") + 1


def _with_extras(
    now: FileState | None, after: FileState, base: FileImage | None, wanted: FileImage | None
) -> tuple[FileState, str]:
    was, meant = base and base.extras, wanted and wanted.extras
    if now is None:
        return replace(after, extras=meant), ""
    if None in (was, meant) or meant in (was, now.extras):
        return replace(after, extras=now.extras), ""
    if now.extras != was:
        return replace(after, extras=now.extras), refusals.OTHER_EXTRAS
    return replace(after, extras=meant), ""


def _order(write: DraftedWrite) -> tuple[int, int]:
    """Sort removals first, files before their folders; then creations, folders before their files."""
    state = write.transition.after or write.transition.before
    depth = write.transition.path.count("/")
    is_folder = state is not None and state.kind == "folder"
    if write.transition.after is None:
        return (1, -depth) if is_folder else (0, 0)
    return (2, depth) if is_folder else (3, 0)
