"""Computes each file from the standing changes: `composed(S)`, the basis of undo and redo (ADR 24)."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import ChangeId, Digest, HunkKey
from desktop_agent.core.changes.net import pairs
from desktop_agent.core.changes.workspace_files import StoredImages
from desktop_agent.core.diff.hunks import MODE, RENAMING, WHOLE_FILE
from desktop_agent.core.merge import CHANGED_SINCE, ClashError, merge_states, without_hunks
from desktop_agent.core.protocol.model import FileChange, FileImage
from desktop_agent.core.system.files import FileState, new_file_mode
from desktop_agent.core.transcript import ChangeRecord, UndoEffect, Undone, undone_of
from desktop_agent.core.undo import refusals

Status = Mapping[ChangeId, Undone]
"""A change that is not listed stands in full."""

_STANDS: frozenset[HunkKey] = frozenset()


class Placed(Struct, frozen=True):
    path: str
    image: FileImage


Version = Placed | None


class Step(Struct):
    change: FileChange
    before: Version
    after: Version
    departure: ChangeId = ""
    edit: FileChange | None = None
    """For a rename, its effect on the content as an edit; None for any other change."""
    is_implied: bool = False
    """Whether the file is a folder that was created along with the file that the change is about."""


class Foreign(Struct):
    before: Version
    after: Version


class Anchor(Struct):
    """A version that an undo left after a choice of the user. The standing changes alone do not lead to it."""

    after: Version
    status: dict[ChangeId, Undone]
    """How much of each of the file's changes was undone after that undo."""
    was: dict[ChangeId, Undone]
    """How much was undone before it, of each change that it undid or redid."""

    def is_moot(self, status: Status) -> bool:
        return all(status.get(one, _STANDS) == undone for one, undone in self.was.items())


class _Write(Struct):
    status: dict[ChangeId, Undone]
    was: dict[ChangeId, Undone]
    before: Version = None
    after: Version = None
    is_written: bool = False
    was_as_wanted: bool = False
    """Whether nothing had to be written, because the file was already as wanted."""
    is_choice: bool = False
    """Whether the user chose this version in a clash."""
    was_gone: bool = False
    """Whether others had removed the file, so that its old path was already free."""


class Lineage(Struct):
    origin: Version
    notes: "list[Step | Foreign | _Write]" = field(default_factory=list["Step | Foreign | _Write"])
    elements: list[Step | Foreign | Anchor] | None = None
    now: Version = None
    earlier: list[tuple[Version, Status]] = field(default_factory=list[tuple[Version, Status]])
    """The versions before each undo and redo since any other event, each with its status then."""

    @property
    def steps(self) -> list[Step]:
        return [note for note in self.notes if isinstance(note, Step)]

    def came_along(self, change_ids: Collection[ChangeId]) -> bool:
        return all(step.is_implied for step in self.steps if {step.change.id, step.departure} & set(change_ids))


class _Move(Struct):
    lineage: Lineage
    note: _Write
    old: str
    new: str


class NeededError(Exception):
    """A standing change builds on an undone one. The text explains how."""


_Composed = tuple[Version, NeededError | None]


class Composition:
    """The lineages of all files in a session's records, composed for any set of standing changes. Blocks."""

    def __init__(self, records: Sequence[ChangeRecord], turned: Sequence[UndoEffect], images: StoredImages) -> None:
        """`records` are all records of the session, oldest first; `turned` lists its undos and redos."""
        self.status: dict[ChangeId, Undone] = {
            record.change.id: undone_of(record) for record in records if record.change.author != "undo"
        }
        self.records = {record.change.id: record for record in records}
        self.turned = turned
        self.images = images
        self._made: dict[Digest, bytes] = {}
        """Contents that merges made, so that they have no blob."""
        self._partial: dict[tuple[ChangeId, frozenset[HunkKey]], FileImage] = {}
        self._of_change: dict[ChangeId, list[Lineage]] = {}
        self._seen: dict[str, FileImage | None] = {}
        self._ended: dict[str, Lineage] = {}
        """Deleted files by path. A file that is created there later continues the same lineage."""
        self._here: dict[str, Lineage] = {}
        self._loose: set[str] = set()
        """Folders that undos and redos created, or did not remove because they were not empty."""
        at = 0
        for one in turned:
            self._note_events(records[at : one.start])
            at = one.start + one.written
            self._note_turned(one, records[one.start : at])
        self._note_events(records[at:])

    # -- questions --

    def lineages_of(self, change_ids: Iterable[ChangeId]) -> list[Lineage]:
        found = {id(one): one for change_id in change_ids for one in self._of_change.get(change_id, ())}
        return list(found.values())

    def at(self, path: str) -> Lineage | None:
        return self._here.get(path)

    def loose_folders(self) -> set[str]:
        return {path for path in self._loose if path not in self._here}

    def was_loose(self, folder: str) -> bool:
        """Whether an undo or redo created the folder, or left it despite a standing change that removes it."""
        return folder in self._loose

    def of(self, lineage: Lineage, status: Status) -> Version:
        """Return the file with the changes in `status` undone. Raises `NeededError` and `StorageError`."""
        return self._composed(lineage.origin, self._elements(lineage), status)

    def without_blockers(self, lineage: Lineage, status: Status, target: Status) -> tuple[Version, Version]:
        """The current and the wanted version, without changes that build on undone ones. Raises `StorageError`."""
        elements = self._elements(lineage)
        dropped: list[Step | Foreign] = []
        wanted = self._composed(lineage.origin, elements, target, dropped)
        rest = [one for one in elements if not any(one is other for other in dropped)]
        return self._composed(lineage.origin, rest, status, []), wanted

    def earlier(self, lineage: Lineage, status: Status) -> tuple[Version, Version] | None:
        """Return the version that all records lead to, and an earlier one with the same `status`.

        None if there is none, or if anything but undos and redos happened to the file since.
        """
        self._elements(lineage)
        ids = _ids_of(lineage)
        for version, then in reversed(lineage.earlier):
            if all(then.get(one, _STANDS) == status.get(one, _STANDS) for one in ids):
                return lineage.now, version
        return None

    def by_records(self, lineage: Lineage, status: Status) -> Version:
        """The file without changes of others. Raises `StorageError`."""
        elements = [one for one in self._elements(lineage) if isinstance(one, Step)]
        return self._composed(lineage.origin, elements, status, [])

    def by_agent(self, lineage: Lineage, status: Status) -> Version:
        """Like `of`, without unrecorded changes and choices of the user."""
        return self._composed(lineage.origin, lineage.steps, status)

    def state(self, image: FileImage | None) -> FileState | None:
        """Return the file of an image, also of an image that a merge made. Raises `StorageError`."""
        if image is None or image.digest not in self._made:
            return self.images.state(image)
        content = self._made[image.digest]
        return FileState(content=content, mode=image.mode, kind=image.kind, extras=image.extras)

    def image(self, state: FileState) -> FileImage:
        image = state.image()
        self._made[image.digest] = state.content
        return image

    # -- composing --

    def _composed(
        self,
        origin: Version,
        elements: Sequence[Step | Foreign | Anchor],
        status: Status,
        dropped: list[Step | Foreign] | None = None,
    ) -> Version:
        now, clash = origin, None
        for place, element in enumerate(elements):
            if isinstance(element, Anchor):
                now, clash = self._anchored(origin, elements[:place], element, status, (now, clash), dropped)
                continue
            change = self._in_force(element, status)
            if change is None:
                continue
            if clash is not None:
                if change[1] is None:  # a removed file has no version to clash
                    now, clash = None, None
                continue
            try:
                now = self._applied(now, *change)
            except NeededError as error:
                if dropped is None:
                    clash = error
                else:
                    dropped.append(element)
        if clash is not None:
            raise clash
        return now

    def _anchored(
        self,
        origin: Version,
        earlier: Sequence[Step | Foreign | Anchor],
        anchor: Anchor,
        status: Status,
        composed: _Composed,
        dropped: list[Step | Foreign] | None,
    ) -> _Composed:
        """Return the version after the user's choice `anchor`, with the changes in `status` undone.

        `composed` is the version that the `earlier` elements make, or why they cannot be composed.
        """
        differing = [
            element
            for element in earlier
            if isinstance(element, Step) and self._in_force(element, status) != self._in_force(element, anchor.status)
        ]
        # One half of a rename can be taken back without a difference in what is in force.
        if anchor.is_moot(status) and (differing or not anchor.is_moot(anchor.status)):
            return composed
        if not differing:
            return anchor.after, None
        now, clash = composed
        if clash is None:
            with suppress(NeededError):
                then = self._composed(origin, earlier, anchor.status)
                if now is not None or then is not None:  # if both are absent, there is no difference to apply
                    return self._applied(now, then, anchor.after), None
        # Change by change: a change that stood then and is undone now is removed, and the reverse is applied.
        changes = [
            (one, (was[1], was[0])) for one in reversed(differing) if (was := self._in_force(one, anchor.status))
        ]
        changes += [(one, change) for one in differing if (change := self._in_force(one, status))]
        result = anchor.after
        for element, change in changes:
            try:
                result = self._applied(result, *change)
            except NeededError as error:
                if dropped is None:
                    return result, error
                dropped.append(element)
        return result, None

    def _in_force(self, element: Step | Foreign, status: Status) -> tuple[Version, Version] | None:
        if isinstance(element, Foreign):
            return element.before, element.after
        undone = status.get(element.change.id, _STANDS)
        if element.departure and undone is None and status.get(element.departure, _STANDS) is not None:
            undone = _STANDS  # an undo that was cut off took back one half of the rename
        if not undone:
            return (element.before, element.after) if undone is not None else None
        if element.after is None or (element.edit is None and element.departure):
            # The file that a rename replaced: it is restored when the rename is undone.
            return None if RENAMING in undone else (element.before, element.after)
        kept = undone - {RENAMING}
        image = self._without(element, kept) if kept else element.after.image
        path = element.before.path if RENAMING in undone and element.before else element.after.path
        return element.before, Placed(path, image)

    def _without(self, step: Step, hunks: frozenset[HunkKey]) -> FileImage:
        key = step.change.id, hunks
        if key not in self._partial:
            self._partial[key] = self._taken_out(step, hunks)
        return self._partial[key]

    def _taken_out(self, step: Step, hunks: frozenset[HunkKey]) -> FileImage:
        assert step.after is not None
        before, after = step.before.image if step.before else None, self.images.state(step.after.image)
        assert after is not None
        if WHOLE_FILE in hunks and before is not None:
            return before
        mode = before.mode if before is not None and MODE in hunks else after.mode
        lines = hunks - {MODE}
        diff = self.images.diff(step.edit or step.change) if lines else None
        content = without_hunks(diff, lines) if diff else after.content
        return self.image(replace(after, content=content, mode=mode))

    def _applied(self, now: Version, before: Version, after: Version) -> Version:
        if now in (before, after):
            return after
        if before == after:
            return now
        if after is None:
            return None
        if now is None or before is None:
            is_moved = before is not None and before.path != after.path
            raise NeededError(refusals.RENAMED_SINCE.format(after.path) if is_moved else CHANGED_SINCE)
        if (now.image.kind == "folder") != (before.image.kind == "folder"):
            raise NeededError(CHANGED_SINCE)
        path = _merged_path(now.path, before.path, after.path)
        if before.image == after.image or now.image == after.image:
            return Placed(path, now.image)
        if now.image == before.image:
            return Placed(path, after.image)
        try:
            states = (self.state(one.image) for one in (before, now, after))
            merged = merge_states(*states)
        except ClashError as error:
            raise NeededError(str(error)) from error
        assert merged is not None
        return Placed(path, self.image(merged))

    def _elements(self, lineage: Lineage) -> list[Step | Foreign | Anchor]:
        if lineage.elements is not None:
            return lineage.elements
        elements: list[Step | Foreign | Anchor] = []
        now = lineage.origin
        status: dict[ChangeId, Undone] = {}
        for note in lineage.notes:
            match note:
                case Foreign():
                    elements.append(Foreign(now, note.after))
                    lineage.earlier.clear()
                    now = note.after
                case Step():
                    if note.before != now:
                        elements.append(Foreign(now, note.before))
                    elements.append(note)
                    lineage.earlier.clear()
                    now = note.after
                case _Write():
                    now = self._after_write(lineage, elements, now, status, note)
                    status |= note.status
        lineage.elements, lineage.now = elements, now
        return elements

    def _after_write(
        self,
        lineage: Lineage,
        elements: list[Step | Foreign | Anchor],
        now: Version,
        status: Status,
        write: _Write,
    ) -> Version:
        if write.is_written and write.before != now and (write.before is not None or write.was_gone):
            elements.append(Foreign(now, write.before))
            lineage.earlier.clear()
            now = write.before
        lineage.earlier.append((now, dict(status)))
        status = {**status, **write.status}
        try:
            composed, is_known = self._composed(lineage.origin, elements, status), True
        except NeededError:
            composed, is_known = now, False
        after = write.after if write.is_written else composed
        if write.was_as_wanted and after != now:  # others had already made this change
            elements.append(Foreign(now, after))
            lineage.earlier.clear()
        if not write.is_choice and _is_cut_off(lineage, status, after):
            return composed
        if not is_known or composed != after:
            elements.append(Anchor(after, status, write.was))
        return after

    # -- which file is which --

    def _note_events(self, records: Sequence[ChangeRecord]) -> None:
        for _, of_event in groupby(records, key=lambda record: record.seq):
            self._note_changes(list(of_event))

    def _note_changes(self, records: Sequence[ChangeRecord]) -> None:
        """Note files that leave their paths before those that take the paths, so that files can swap paths."""
        changes = [record.change for record in records]
        self._seen |= {change.path: change.after for change in changes}
        departures = dict(pairs(changes))
        leaving = {change.path for change in changes if change.moved_to}
        left = {place: self._taken_from(changes[place]) for place in departures.values()}
        for place, change in enumerate(changes):
            if place in departures:
                departure = departures[place]
                is_swap = change.path in leaving
                self._note_rename(change, changes[departure], left[departure], is_swap=is_swap)
            elif place not in left:
                self._note_change(change)

    def _taken_from(self, departure: FileChange) -> Lineage:
        lineage = self._here.pop(departure.path, None) or Lineage(_placed(departure.path, departure.before))
        self._of_change.setdefault(departure.id, []).append(lineage)
        return lineage

    def _note_rename(self, change: FileChange, departure: FileChange, lineage: Lineage, *, is_swap: bool) -> None:
        if change.before is not None and not is_swap:
            replaced = self._here.pop(change.path, None) or Lineage(_placed(change.path, change.before))
            self._add(replaced, Step(change, _placed(change.path, change.before), None, departure.id))
        self._imply_folders(change, departure.id)
        edit = replace(change, before=departure.before, moved_from="", new_folders=())
        before, after = _placed(departure.path, departure.before), _placed(change.path, change.after)
        self._add(lineage, Step(change, before, after, departure.id, edit))
        self._here[change.path] = lineage
        self._ended.pop(change.path, None)

    def _note_change(self, change: FileChange) -> None:
        before, after = _placed(change.path, change.before), _placed(change.path, change.after)
        if before and after and (before.image.kind == "folder") != (after.image.kind == "folder"):
            for half in (replace(change, after=None), replace(change, before=None)):
                self._note_change(half)
            return
        lineage = self._here.pop(change.path, None)
        if lineage is not None and before is None:
            lineage.notes.append(Foreign(None, None))  # somebody removed it
            lineage = None
        ended = self._ended.pop(change.path, None)
        if lineage is None:
            lineage = ended if ended is not None and before is None else Lineage(before)
        if before is None:
            self._imply_folders(change)
        _tell_mode(lineage, before)
        self._add(lineage, Step(change, before, after))
        (self._here if after is not None else self._ended)[change.path] = lineage

    def _imply_folders(self, change: FileChange, departure: ChangeId = "") -> None:
        for path in change.new_folders:
            if path not in self._here:
                folder = self._ended.pop(path, None) or Lineage(None)
                self._add(folder, Step(change, None, Placed(path, implied_folder()), departure, is_implied=True))
                self._here[path] = folder

    def _add(self, lineage: Lineage, step: Step) -> None:
        lineage.notes.append(step)
        known = self._of_change.setdefault(step.change.id, [])
        if not any(one is lineage for one in known):
            known.append(lineage)

    def _note_turned(self, turned: UndoEffect, records: Sequence[ChangeRecord]) -> None:
        written = {record.change.path: record.change for record in records}
        missing = {record.change.path for record in records if record.change.before is None}
        missing -= {record.change.path for record in records if record.change.before is not None}
        moves = self._moves(turned, written)
        ends = Counter(path for move in moves for path in {move.old, move.new} if path)
        shared = {path for path, count in ends.items() if count > 1}
        for move in moves:
            is_told = turned.is_recorded and move.old not in turned.kept
            self._note_write(move, written, shared, is_told=is_told)
            if move.old in missing and (turned.is_choice or move.old != move.new):
                move.note.was_gone = True
        self._seen |= {path: change.after for path, change in written.items()}
        self._loose |= turned.kept
        for change in written.values():
            if change.after is None:
                self._loose -= {change.path, *change.new_folders}
            else:
                self._loose |= set(change.new_folders)

    def _moves(self, turned: UndoEffect, written: Iterable[str]) -> list[_Move]:
        after, before = dict(turned.after), dict(turned.before)
        touched = {id(one): one for one in self.lineages_of(after)}
        touched |= {id(one): one for path in written if (one := self._here.get(path)) is not None}
        places = {id(one): path for path, one in self._here.items() if id(one) in touched}
        for path in places.values():
            del self._here[path]
        moves: list[_Move] = []
        for key, lineage in touched.items():
            ids = [one for one in _ids_of(lineage) if one in after]
            was = {one: before[one] for one in ids}
            note = _Write({one: after[one] for one in ids}, was, is_choice=turned.is_choice)
            lineage.notes.append(note)
            new = "" if self._is_gone(lineage) else _place_of(lineage)
            moves.append(_Move(lineage, note, places.get(key, ""), new))
        return moves

    def _is_gone(self, lineage: Lineage) -> bool:
        *earlier, _ = lineage.notes
        if not any(isinstance(note, Foreign) or (isinstance(note, _Write) and note.was_as_wanted) for note in earlier):
            return False
        before = Lineage(lineage.origin, notes=list(earlier))
        with suppress(NeededError, StorageError):
            return self.of(before, _status_of(lineage)) is None
        return False

    def _note_write(
        self, move: _Move, written: Mapping[str, FileChange], shared: Collection[str], *, is_told: bool
    ) -> None:
        """`shared` are the paths that several files of the undo or redo leave or take."""
        lineage, note, old, new = move.lineage, move.note, move.old, move.new
        if (left := written.get(old)) is not None:
            note.before = _placed(old, left.before)
            _tell_mode(lineage, note.before)
        elif not old and new in written and new not in shared:
            note.before = _placed(new, written[new].before)  # another program's file, which the user gave up in a clash
        note.is_written = left is not None or new in written
        is_told = is_told and not lineage.came_along(note.status)
        is_exchanged = old != new and (old in shared or new in shared)  # equal contents are not recorded
        note.was_as_wanted = is_told and not (note.is_written or is_exchanged or {old, new} & self._loose)
        note.was_gone = bool(old) and new in written and old != new and old not in written and old not in shared
        note.after = _left_as(old, new, written, self._seen, stays=old not in shared)
        place = note.after.path if note.after is not None else "" if note.is_written else new
        if place:
            self._here[place] = lineage
            self._ended.pop(place, None)
        elif old:
            self._ended[old] = lineage
            if lineage.came_along(note.status):
                self._loose.add(old)


def implied_folder() -> FileImage:
    """Return the image of a folder that was created along with a file: its mode is not recorded."""
    mode = new_file_mode()
    return FileState(content=b"", mode=mode | (mode & 0o444) >> 2, kind="folder").image()


def _left_as(
    old: str, new: str, written: Mapping[str, FileChange], seen: Mapping[str, FileImage | None], *, stays: bool
) -> Version:
    left, come = written.get(old), written.get(new)
    if new and come is not None and come.after is not None:
        return Placed(new, come.after)
    if stays and left is not None and left.after is not None:
        return Placed(old, left.after)
    # If nothing was written, the same bytes were already there.
    return _placed(new, seen.get(new)) if new not in ("", old) and come is None else None


def _place_of(lineage: Lineage) -> str:
    now = lineage.origin.path if lineage.origin else ""
    status = _status_of(lineage)
    for step in lineage.steps:
        undone = status.get(step.change.id, _STANDS)
        other = status.get(step.departure, _STANDS) if step.departure else undone
        is_back = RENAMING in undone if undone else undone is None and other is None
        if is_back:
            continue
        if step.after is None:
            now = ""
        elif step.before is None or step.before.path == now:
            now = step.after.path
    return now


def _status_of(lineage: Lineage) -> dict[ChangeId, Undone]:
    status: dict[ChangeId, Undone] = {}
    for note in lineage.notes:
        if isinstance(note, _Write):
            status |= note.status
    return status


def _tell_mode(lineage: Lineage, folder: Version) -> None:
    if folder is not None and folder.image.kind == "folder":
        for step in lineage.steps:
            if step.is_implied:
                step.after = folder


def _placed(path: str, image: FileImage | None) -> Version:
    return Placed(path, image) if image is not None else None


def _is_cut_off(lineage: Lineage, status: Status, after: Version) -> bool:
    """Whether an undo took back one half of a rename, and left at the new path what was there before the rename.

    Any other file there is a choice of the user, who settled a clash at the new path.
    """
    halves = (
        (status.get(step.change.id, _STANDS), status.get(step.departure, _STANDS))
        for step in lineage.steps
        if step.departure and (after is None or after.image == step.change.before)
    )
    return any((one is None) != (other is None) and not one for one, other in halves)


def _ids_of(lineage: Lineage) -> set[ChangeId]:
    return {change_id for step in lineage.steps for change_id in (step.change.id, step.departure) if change_id}


def _merged_path(now: str, before: str, after: str) -> str:
    if before == after or now in (before, after):
        return after if now == before else now
    raise NeededError(refusals.RENAMED_SINCE.format(after))
