"""What an undo or redo would write: its plans against the files as they are now. Reads, and writes nothing but blobs.

Exact bytes where a file is what the agent left; a three-way merge where it was edited elsewhere; where that
clashes, the three versions for a user to decide, and no write.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import ChangeId, HunkKey
from desktop_agent.core.changes.attribution import attribute, links_of
from desktop_agent.core.changes.ledger import RENAMED_TOGETHER, Ledger
from desktop_agent.core.diff.hunks import MODE, all_keys
from desktop_agent.core.merge.file_merge import ClashError, merge_states
from desktop_agent.core.merge.hunk_edit import sole_missing_keys, without_hunks
from desktop_agent.core.protocol.model import Clash, FileImage, FileOutcome, OutcomeState, Reverted
from desktop_agent.core.system.files import FileState, FileTransition
from desktop_agent.core.undo import refusals
from desktop_agent.core.undo.goals import Goal, Goals
from desktop_agent.core.undo.moved_files import MovedFiles, in_one_step
from desktop_agent.core.undo.plan import Direction, FilePlan, inverse_together
from desktop_agent.core.undo.undone_parts import UndoneParts


class DraftedWrite(Struct, frozen=True):
    """One file to write, what it makes of the selected changes, and what to say of it."""

    transition: FileTransition
    reverts: tuple[Reverted, ...]
    outcome: FileOutcome
    new_folders: tuple[str, ...] = ()
    """Folders that go with a removed file when they are empty."""
    moves_to: str = ""
    """Of a file whose content goes to another path: that path."""


class UndoDraft(Struct, frozen=True):
    """What to write, in this order, and the outcome of every file that needs no write or cannot have one."""

    writes: tuple[DraftedWrite, ...]
    settled: tuple[FileOutcome, ...]

    def outcomes(self) -> tuple[FileOutcome, ...]:
        """What would come of it."""
        return (*(write.outcome for write in self.writes), *self.settled)


class Drafter:
    """Drafts undos and redos of one workspace. Its methods block."""

    def __init__(self, ledger: Ledger, undone: Mapping[ChangeId, frozenset[HunkKey]] | None = None) -> None:
        """`undone` are the hunks of changes that are undone already; `WHOLE_FILE` among them means all."""
        self._ledger = ledger
        self._undone = undone or {}
        self._goals = Goals(ledger.images)
        self._parts = UndoneParts(ledger.images, self._undone)
        self._moved = MovedFiles(ledger.images, self._goals, self._now)
        self._leaving: frozenset[str] = frozenset()
        """Folders that go with the files in them, so that what was in their place can come back."""
        self._planned: frozenset[str] = frozenset()
        self._covered: dict[str, str] = {}
        """The paths with a link or a file where a folder above them has to be; that is planned for, too."""

    def draft(self, direction: Direction, plans: Sequence[FilePlan]) -> UndoDraft:
        """Return what carrying out `plans` comes to with the files as they are now."""
        plans = [in_one_step(direction, plan, self._undone) for plan in plans]
        self._planned = frozenset(plan.path for plan in plans)
        self._leaving = frozenset(folder for plan in plans for folder in plan.new_folders)
        plans = inverse_together({plan.path: self._moved.without_lost_way_back(plan) for plan in plans})
        moved = self._moved.follow(plans)
        # Undo goes backwards over the files, too: the one that came with a new folder goes last, when that is empty.
        ordered = plans if direction == "redo" else tuple(reversed(plans))
        self._covered = {}
        drafted = {plan.path: self._file(direction, plan, moved) for plan in ordered}
        self._leave_covered(ordered, drafted)
        for plan in ordered:
            _keep_together(plan, drafted)
        _keep_folders(plans, drafted)
        going = {folder for one in drafted.values() if isinstance(one, DraftedWrite) for folder in one.new_folders}
        for path, one in drafted.items():
            if isinstance(one, DraftedWrite) and path in self._leaving - going and self._is_there(one):
                reverts = tuple(reverted for reverted in one.reverts if reverted.hunks)
                drafted[path] = structs.replace(one.outcome, state="unchanged", reverts=reverts)
        writes = [one for one in drafted.values() if isinstance(one, DraftedWrite)]
        settled = [one for one in drafted.values() if isinstance(one, FileOutcome)]
        if direction == "undo":
            settled += self._left_empty([plan for plan in plans if drafted[plan.path] in settled], writes)
        return UndoDraft(tuple(sorted(writes, key=_order)), tuple(settled))

    def _left_empty(self, plans: Sequence[FilePlan], writes: Sequence[DraftedWrite]) -> list[FileOutcome]:
        """Name the folders that came with files which were gone already, and that nothing is in after these writes.

        They stay: no change records what a redo had to bring back.
        """
        going = {folder for one in writes for folder in one.new_folders} | self._planned
        gone = {one.transition.path for one in writes if one.transition.after is None} | going
        coming = {one.transition.path for one in writes if one.transition.after is not None}
        found: dict[str, FileOutcome] = {}
        for plan in plans:
            if plan.restores is not None or plan.hunks:
                continue
            for folder in plan.new_folders:
                is_used = any(path.startswith(f"{folder}/") for path in coming)
                if folder not in going and not is_used and self._ledger.files.is_empty(folder, gone):
                    found[folder] = FileOutcome(
                        path=folder, state="conflict", change_ids=(), reason=refusals.LEFT_EMPTY.format(plan.path)
                    )
                    break  # what is in it goes with it
        return list(found.values())

    def _leave_covered(self, plans: Sequence[FilePlan], drafted: dict[str, DraftedWrite | FileOutcome]) -> None:
        """Leave alone what would be written through a link that stays, or below a file that does."""
        for plan in plans:
            cover = self._covered.get(plan.path, "")
            above, one = drafted.get(cover), drafted[plan.path]
            makes_way = isinstance(above, DraftedWrite) and _makes_way(above.transition.after)
            if cover and isinstance(one, DraftedWrite) and not makes_way:
                reason = refusals.LINK_ABOVE if self._ledger.files.link_above(plan.path) else refusals.FILE_ABOVE
                drafted[plan.path] = _outcome(plan, "conflict", reason.format(cover))

    def _is_there(self, one: DraftedWrite) -> bool:
        """Whether a folder that was taken to go with its files, and come again, stays after all."""
        after = one.transition.after
        return after is not None and after.kind == "folder" and self._ledger.files.current(one.transition.path) == after

    # -- one file --

    def _file(
        self, direction: Direction, plan: FilePlan, moved: dict[str, FileState | None]
    ) -> DraftedWrite | FileOutcome:
        link = self._ledger.files.link_above(plan.path)
        if link in self._planned:  # by its turn the folder is there again: `_leave_covered` sees to that
            self._covered[plan.path] = link
        else:
            if not self._ledger.files.is_inside(plan.path):
                return _outcome(plan, "conflict", refusals.OUTSIDE)
            if link:
                return _outcome(plan, "conflict", refusals.LINK_ABOVE.format(link))
        try:
            yours = self._now(plan.path)
        except OSError as error:
            return _outcome(plan, "failed", refusals.UNREADABLE.format(error.strerror or error))
        try:
            plan, goals = self._goals.of_plan(direction, plan)
        except StorageError:
            return _outcome(plan, "failed", refusals.CONTENT_MISSING)
        except KeyError:
            return _outcome(plan, "failed", refusals.NO_SUCH_CHANGE)
        if yours is None and goals[-1].wanted is None and plan.gone_to and plan.gone_to not in self._planned:
            return _outcome(plan, "conflict", refusals.RENAMED_SINCE.format(plan.gone_to))
        try:
            result = moved[plan.path] if plan.path in moved else self._result(direction, plan, yours, goals)
            reverts = self._reverts(direction, plan, yours, result)
        except ClashError as clash:
            reason = refusals.RENAMED_SINCE.format(plan.gone_to) if yours is None and plan.gone_to else str(clash)
            outcome = structs.replace(_outcome(plan, "conflict", reason), clash=self._clash(yours, goals))
            return structs.replace(outcome, reverts=self._parts.once_settled(direction, plan, goals))
        except StorageError:
            return _outcome(plan, "failed", refusals.CONTENT_MISSING)
        ids = tuple(reverted.change_id for reverted in reverts if not reverted.hunks)
        result, note = self._with_extras(plan, yours, result, goals)
        is_exact = yours in (goals[0].base, result)
        is_there = result == yours and not (result and yours and result.extras != yours.extras)
        state: OutcomeState = "unchanged" if is_there else "restored" if is_exact else "merged"
        outcome = FileOutcome(path=plan.path, state=state, change_ids=ids, hunks=plan.hunks, reason=note)
        if is_there:
            return structs.replace(outcome, reverts=tuple(reverted for reverted in reverts if reverted.hunks))
        return self._write(plan, FileTransition(plan.path, yours, result), reverts, outcome)

    def _reverts(
        self, direction: Direction, plan: FilePlan, yours: FileState | None, result: FileState | None
    ) -> tuple[Reverted, ...]:
        """Return what of the changes is undone once the file is `result`.

        Raises `ClashError` where hunks to be written are of none of them: another file took the place of the first.
        """
        reverts = self._parts.after(direction, plan, yours, result)
        if plan.hunks and not reverts and result != yours:
            raise ClashError(refusals.FOREIGN_LINES)
        return reverts

    def _write(
        self, plan: FilePlan, transition: FileTransition, reverts: tuple[Reverted, ...], outcome: FileOutcome
    ) -> DraftedWrite | FileOutcome:
        """Return the write, unless something that is no folder stands above the path and stays."""
        if transition.after is None:
            outcome = structs.replace(outcome, is_removed=True)
            return DraftedWrite(transition, reverts, outcome, plan.new_folders, plan.moves_to)
        if above := self._ledger.files.file_above(plan.path):
            if above not in self._planned:
                return _outcome(plan, "conflict", refusals.FILE_ABOVE.format(above))
            self._covered[plan.path] = above
        return DraftedWrite(transition, reverts, outcome, moves_to=plan.moves_to)

    def _with_extras(
        self, plan: FilePlan, yours: FileState | None, result: FileState | None, goals: Sequence[Goal]
    ) -> tuple[FileState | None, str]:
        """Return the result with the owner and attributes it is to have, and what to say of those left alone."""
        base, wanted = (one and one.extras for one in (goals[0].base, goals[-1].wanted))
        if plan.inverse and not plan.hunks and yours == self._ledger.images.state(plan.inverse.base):
            base, wanted = (image and image.extras for image in (plan.inverse.base, plan.inverse.wanted))
        if result is None or yours is None:
            return result and replace(result, extras=wanted), ""
        now = yours.extras
        if None in (base, wanted) or wanted in (base, now):
            return replace(result, extras=now), ""
        if now != base:
            return replace(result, extras=now), refusals.OTHER_EXTRAS
        return replace(result, extras=wanted), ""

    def _now(self, path: str) -> FileState | None:
        state = self._ledger.files.current(path)
        return None if state is not None and state.kind == "folder" and path in self._leaving else state

    def _result(
        self, direction: Direction, plan: FilePlan, yours: FileState | None, goals: Sequence[Goal]
    ) -> FileState | None:
        """Merge every goal into the file. Raises `ClashError`."""
        if plan.inverse and not plan.hunks and yours == self._ledger.images.state(plan.inverse.base):
            return self._ledger.images.state(plan.inverse.wanted)
        if plan.hunks:
            self._refuse_foreign_lines(plan)
        state = yours
        try:
            for goal in goals:
                state = merge_states(goal.base, state, goal.wanted)
        except ClashError:
            if (state := self._by_hunks(direction, plan, yours, goals)) is None:
                raise
        return state

    def _by_hunks(
        self, direction: Direction, plan: FilePlan, yours: FileState | None, goals: Sequence[Goal]
    ) -> FileState | None:
        """Return what the file becomes when only whole hunks of the changes are missing in it; None otherwise.

        Converted line endings stand next to every other hunk. A merge takes those that are undone already for
        new lines in the way, although there are none.
        """
        first, last, goal = plan.changes[0].before, plan.changes[-1].after, goals[0]
        is_moved = any(change.moved_from or change.moved_to for change in plan.changes)
        if is_moved or len(plan.deltas) != 1 or not (first and last and yours and goal.base and goal.wanted):
            return None
        diff = self._goals.diff(plan)
        missing = sole_missing_keys(diff, yours.content) if diff and yours.kind == last.kind == first.kind else None
        if diff is None or missing is None:
            return None
        chosen = frozenset(plan.hunks or all_keys(diff))
        absent = missing | chosen if direction == "undo" else missing - chosen
        is_old = frozenset(all_keys(diff)) <= absent | {MODE}
        content = self._ledger.images.content(first) if is_old else without_hunks(diff, absent)
        base, wanted = (replace(state, content=yours.content) for state in (goal.base, goal.wanted))
        merged = merge_states(base, yours, wanted)  # of the modes
        return replace(merged, content=content) if merged and content is not None else None

    def _refuse_foreign_lines(self, plan: FilePlan) -> None:
        """Raise `ClashError` when a selected hunk holds lines that are not of the selected changes."""
        meant = set(plan.change_ids)
        diff = self._goals.diff(plan)
        if diff is None or len(plan.deltas) == 1:
            return
        theirs = (change if change.id in meant else structs.replace(change, author="person") for change in plan.chain)
        authors = attribute(links_of(tuple(theirs), self._ledger.images.content), diff)
        if any("person" in authors.get(key, ()) for key in plan.hunks):
            raise ClashError(refusals.FOREIGN_LINES)

    def _clash(self, yours: FileState | None, goals: Sequence[Goal]) -> Clash:
        """Keep the three versions, for as long as the journal names them."""
        return Clash(base=self._kept(goals[0].base), wanted=self._kept(goals[-1].wanted), yours=self._kept(yours))

    def _kept(self, state: FileState | None) -> FileImage | None:
        if state is None:
            return None
        self._ledger.images.keep(state)
        return state.image()


def _makes_way(state: FileState | None) -> bool:
    """Whether there can be something below a path that is this."""
    return state is None or state.kind == "folder"


def _keep_together(plan: FilePlan, drafted: dict[str, DraftedWrite | FileOutcome]) -> None:
    """Leave both paths of a renamed file alone when one has to be."""
    pair = (plan.path, plan.moves_to)
    if plan.hunks or plan.moves_to not in drafted:
        return
    for path, other in (pair, pair[::-1]):
        one, left = drafted[path], drafted[other]
        if isinstance(left, FileOutcome) and not left.is_done and (isinstance(one, DraftedWrite) or one.is_done):
            ids = tuple(r.change_id for r in one.reverts) if isinstance(one, DraftedWrite) else one.change_ids
            reason = RENAMED_TOGETHER.format(other)
            drafted[path] = FileOutcome(
                path=path, state="conflict", change_ids=ids, reason=reason, reverts=plan.restores or ()
            )


def _keep_folders(plans: Sequence[FilePlan], drafted: dict[str, DraftedWrite | FileOutcome]) -> None:
    """Leave a folder alone that was renamed, with those in it, when every file has to be that was renamed with it.

    Else an empty one would come, and count as brought back when the files can be.
    """
    folders = {plan.path for plan in plans if not plan.hunks and _is_of_folder(plan)}
    together: dict[str, list[FilePlan]] = {}
    """All that is in a folder which is in no other one of these, and that folder itself."""
    for plan in plans:
        names = plan.path.split("/")
        above = ("/".join(names[:depth]) for depth in range(1, len(names) + 1))
        if top := next((path for path in above if path in folders), ""):
            together.setdefault(top, []).append(plan)
    for inside in together.values():
        files = [plan for plan in inside if plan.path not in folders]
        if files and all(_is_renaming(plan) and _is_refused(drafted[plan.path]) for plan in files):
            reason = RENAMED_TOGETHER.format(files[0].path)
            left = (plan for plan in inside if plan.path in folders and not _is_refused(drafted[plan.path]))
            drafted |= {plan.path: _outcome(plan, "conflict", reason) for plan in left}


def _is_of_folder(plan: FilePlan) -> bool:
    images = [image for change in plan.changes for image in (change.before, change.after) if image is not None]
    return bool(images) and all(image.kind == "folder" for image in images)


def _is_renaming(plan: FilePlan) -> bool:
    return any(change.moved_from or change.moved_to for change in plan.changes)


def _is_refused(one: DraftedWrite | FileOutcome) -> bool:
    return isinstance(one, FileOutcome) and not one.is_done


def _outcome(plan: FilePlan, state: OutcomeState, reason: str) -> FileOutcome:
    return FileOutcome(
        path=plan.path,
        state=state,
        change_ids=plan.change_ids,
        reason=reason,
        hunks=plan.hunks,
        reverts=plan.restores or (),
    )


def _order(write: DraftedWrite) -> tuple[int, int]:
    """Files go before their folders, folders come before their files; and what goes, goes first."""
    state = write.transition.after or write.transition.before
    depth = write.transition.path.count("/")
    is_folder = state is not None and state.kind == "folder"
    if write.transition.after is None:
        return (1, -depth) if is_folder else (0, 0)
    return (2, depth) if is_folder else (3, 0)
