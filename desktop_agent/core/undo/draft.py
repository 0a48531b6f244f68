"""What an undo or redo would write: its plans against the files as they are now. Reads, and writes nothing but blobs.

Exact bytes where a file is what the agent left; a three-way merge where it was edited elsewhere; where that
clashes, the three versions for a user to decide, and no write.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct, structs
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import ChangeId, HunkKey
from desktop_agent.core.changes.attribution import attribute, links_of
from desktop_agent.core.changes.ledger import RENAMED_TOGETHER, Ledger
from desktop_agent.core.changes.net import net_change
from desktop_agent.core.diff.diff import find_edits
from desktop_agent.core.diff.hunk_keys import MODE, WHOLE_FILE, all_keys
from desktop_agent.core.diff.text import as_utf8
from desktop_agent.core.merge.file_merge import ClashError, merge_states
from desktop_agent.core.merge.hunk_edit import missing_keys, sole_missing_keys, without_hunks
from desktop_agent.core.protocol.model import Clash, FileDiff, FileImage, FileOutcome, OutcomeState, Reverted
from desktop_agent.core.system.files import FileState, FileTransition
from desktop_agent.core.undo.plan import Delta, Direction, FilePlan, inverse_together
from desktop_agent.core.undo.whereabouts import as_edit, parts_of

_RENAMED = "It was renamed to {} since. Undo that first."
_OTHER_EXTRAS = "Its owner or extended attributes were changed since; those were left alone."
_LINK = "A symlink has taken the place of the folder {}."
_FILE = "Something else has taken the place of the folder {}."
_EMPTY = "It came with {} and is empty now. Remove it if you do not need it."
_MISSING = "Its earlier content is missing from the data folder."


class DraftedWrite(Struct, frozen=True):
    """One file to write, what it makes of the selected changes, and what to say of it."""

    transition: FileTransition
    reverts: tuple[Reverted, ...]
    outcome: FileOutcome
    new_folders: tuple[str, ...] = ()
    """Folders that go with a removed file when they are empty."""
    moves_to: str = ""
    """Of a file that is removed because its content goes to another path: that path."""


class UndoDraft(Struct, frozen=True):
    """What to write, in this order, and the outcome of every file that needs no write or cannot have one."""

    writes: tuple[DraftedWrite, ...]
    settled: tuple[FileOutcome, ...]

    def outcomes(self) -> tuple[FileOutcome, ...]:
        """What would come of it."""
        return (*(write.outcome for write in self.writes), *self.settled)


class _Goal(Struct, frozen=True):
    """One step of a file with its contents at hand."""

    base: FileState | None
    wanted: FileState | None


class Drafter:
    """Drafts undos and redos of one workspace. Its methods block."""

    def __init__(self, ledger: Ledger, undone: Mapping[ChangeId, frozenset[HunkKey]] | None = None) -> None:
        """`undone` are the hunks of changes that are undone already; `WHOLE_FILE` among them means all."""
        self._ledger = ledger
        self._undone = undone or {}
        self._leaving: frozenset[str] = frozenset()
        """Folders that go with the files in them, so that what was in their place can come back."""
        self._planned: frozenset[str] = frozenset()
        self._covered: dict[str, str] = {}
        """The paths with a link or a file where a folder above them has to be; that is planned for, too."""

    def draft(self, direction: Direction, plans: Sequence[FilePlan]) -> UndoDraft:
        """Return what carrying out `plans` comes to with the files as they are now."""
        plans = [self._in_one_step(direction, plan) for plan in plans]
        self._planned = frozenset(plan.path for plan in plans)
        self._leaving = frozenset(folder for plan in plans for folder in plan.new_folders)
        plans = inverse_together({plan.path: self._without_lost_way_back(plan) for plan in plans})
        moved = self._follow_moves(plans)
        # Undo goes backwards over the files, too: the one that came with a new folder goes last, when that is empty.
        ordered = plans if direction == "redo" else tuple(reversed(plans))
        self._covered = {}
        drafted = {plan.path: self._file(direction, plan, moved) for plan in ordered}
        self._leave_covered(ordered, drafted)
        for plan in ordered:
            _keep_together(plan, drafted)
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
                        path=folder, state="conflict", change_ids=(), reason=_EMPTY.format(plan.path)
                    )
                    break  # what is in it goes with it
        return list(found.values())

    def _leave_covered(self, plans: Sequence[FilePlan], drafted: dict[str, DraftedWrite | FileOutcome]) -> None:
        """Leave alone what would be written through a link that stays, or below a file that does."""
        for plan in plans:
            cover = self._covered.get(plan.path, "")
            above, one = drafted.get(cover), drafted[plan.path]
            goes = isinstance(above, DraftedWrite) and above.transition.after != above.transition.before
            if cover and isinstance(one, DraftedWrite) and not goes:
                reason = _LINK if self._ledger.files.link_above(plan.path) else _FILE
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
                return _outcome(plan, "conflict", "Its folder does not lie in the workspace any more.")
            if link:
                return _outcome(plan, "conflict", _LINK.format(link))
        try:
            yours = self._now(plan.path)
        except OSError as error:
            return _outcome(plan, "failed", f"It cannot be read: {error.strerror or error}.")
        try:
            plan, goals = self._goals(direction, plan)
        except StorageError:
            return _outcome(plan, "failed", _MISSING)
        except KeyError:
            return _outcome(plan, "failed", "There is no such change in it.")
        if yours is None and goals[-1].wanted is None and plan.gone_to and plan.gone_to not in self._planned:
            return _outcome(plan, "conflict", _RENAMED.format(plan.gone_to))
        try:
            result = moved[plan.path] if plan.path in moved else self._result(direction, plan, yours, goals)
            reverts = self._reverts(direction, plan, yours, result)
        except ClashError as clash:
            reason = _RENAMED.format(plan.gone_to) if yours is None and plan.gone_to else str(clash)
            outcome = structs.replace(_outcome(plan, "conflict", reason), clash=self._clash(yours, goals))
            return structs.replace(outcome, reverts=self._reverts_if_settled(direction, plan, goals))
        except StorageError:
            return _outcome(plan, "failed", _MISSING)
        ids = tuple(reverted.change_id for reverted in reverts if not reverted.hunks)
        result, note = self._with_extras(plan, yours, result, goals)
        is_exact = yours in (goals[0].base, result)
        is_there = result == yours and not (result and yours and result.extras != yours.extras)
        state: OutcomeState = "unchanged" if is_there else "restored" if is_exact else "merged"
        outcome = FileOutcome(path=plan.path, state=state, change_ids=ids, hunks=plan.hunks, reason=note)
        if is_there:
            return structs.replace(outcome, reverts=tuple(reverted for reverted in reverts if reverted.hunks))
        return self._write(plan, FileTransition(plan.path, yours, result), reverts, outcome)

    def _write(
        self, plan: FilePlan, transition: FileTransition, reverts: tuple[Reverted, ...], outcome: FileOutcome
    ) -> DraftedWrite | FileOutcome:
        """Return the write, unless something that is no folder stands above the path and stays."""
        if transition.after is None:
            outcome = structs.replace(outcome, is_removed=True)
            return DraftedWrite(transition, reverts, outcome, plan.new_folders, plan.moves_to)
        if above := self._ledger.files.file_above(plan.path):
            if above not in self._planned:
                return _outcome(plan, "conflict", _FILE.format(above))
            self._covered[plan.path] = above
        return DraftedWrite(transition, reverts, outcome)

    def _with_extras(
        self, plan: FilePlan, yours: FileState | None, result: FileState | None, goals: Sequence[_Goal]
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
            return replace(result, extras=now), _OTHER_EXTRAS
        return replace(result, extras=wanted), ""

    def _now(self, path: str) -> FileState | None:
        state = self._ledger.files.current(path)
        return None if state is not None and state.kind == "folder" and path in self._leaving else state

    def _result(
        self, direction: Direction, plan: FilePlan, yours: FileState | None, goals: Sequence[_Goal]
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
        self, direction: Direction, plan: FilePlan, yours: FileState | None, goals: Sequence[_Goal]
    ) -> FileState | None:
        """Return what the file becomes when only whole hunks of the changes are missing in it; None otherwise.

        Converted line endings stand next to every other hunk. A merge takes those that are undone already for
        new lines in the way, although there are none.
        """
        first, last, goal = plan.changes[0].before, plan.changes[-1].after, goals[0]
        is_moved = any(change.moved_from or change.moved_to for change in plan.changes)
        if is_moved or len(plan.deltas) != 1 or not (first and last and yours and goal.base and goal.wanted):
            return None
        diff = self._net_diff(plan)
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

    def _goals(self, direction: Direction, plan: FilePlan) -> tuple[FilePlan, list[_Goal]]:
        """The steps of the plan; a plan that names all hunks of a file is one for the whole file.

        Raises `KeyError` when it names none.
        """
        if plan.hunks:
            diff = self._net_diff(plan)
            is_moved = plan.net is not None and plan.net.moved_from != ""
            if diff is not None and (is_moved or not set(all_keys(diff)) <= set(plan.hunks)):
                if not set(all_keys(diff)) & set(plan.hunks):
                    raise KeyError(plan.hunks)
                return plan, [self._partial_goal(direction, plan, diff)]
        return replace(plan, hunks=()), [self._goal(delta) for delta in plan.deltas]

    def _goal(self, delta: Delta) -> _Goal:
        return _Goal(self._ledger.images.state(delta.base), self._ledger.images.state(delta.wanted))

    def _partial_goal(self, direction: Direction, plan: FilePlan, diff: FileDiff) -> _Goal:
        after, before = self._ledger.images.state(plan.changes[-1].after), (plan.net or plan.changes[0]).before
        assert after is not None
        # Another change may have set the mode between the selected ones: that is not theirs to take back.
        edits = (as_edit(change, plan.elsewhere) for change in plan.changes)
        is_theirs = any(c.before and c.after and c.before.mode != c.after.mode for c in edits)
        mode = before.mode if before is not None and is_theirs and MODE in plan.hunks else after.mode
        without = replace(after, content=without_hunks(diff, plan.hunks), mode=mode)
        return _Goal(after, without) if direction == "undo" else _Goal(without, after)

    # -- hunks --

    def _net_diff(self, plan: FilePlan) -> FileDiff | None:
        """The diff that the user selected hunks of; None when there are no lines to tell apart."""
        if plan.changes[-1].after is None:
            return None
        return self._ledger.images.diff(plan.net or net_change(plan.changes))

    def _refuse_foreign_lines(self, plan: FilePlan) -> None:
        """Raise `ClashError` when a selected hunk holds lines that are not of the selected changes."""
        meant = set(plan.change_ids)
        diff = self._net_diff(plan)
        if diff is None or len(plan.deltas) == 1:
            return
        theirs = (change if change.id in meant else structs.replace(change, author="person") for change in plan.chain)
        authors = attribute(links_of(tuple(theirs), self._ledger.images.content), diff)
        if any("person" in authors.get(key, ()) for key in plan.hunks):
            raise ClashError("Lines of the user or of another change stand among them.")

    def _reverts(
        self, direction: Direction, plan: FilePlan, yours: FileState | None, result: FileState | None
    ) -> tuple[Reverted, ...]:
        """What of each selected change is undone once the file is `result`."""
        is_undo = direction == "undo"
        if plan.restores is not None:
            return plan.restores
        if not plan.hunks:
            return tuple(Reverted(change_id=change_id, is_redo=not is_undo) for change_id in plan.change_ids)
        reverts: list[Reverted] = []
        others = (*plan.elsewhere, *plan.changes)
        edits = [change for change in plan.elsewhere if change.after and as_edit(change, others).before]
        for change in (*edits, *plan.changes):
            edit = as_edit(change, others)
            diff = self._ledger.images.diff(edit)
            every = parts_of(change, diff)
            before = (
                every if WHOLE_FILE in self._undone.get(change.id, ()) else self._undone.get(change.id, every - every)
            )
            is_only = len(plan.changes) == 1 and not edits
            touched = frozenset(plan.hunks) & every
            if not is_only:
                touched = touched & {MODE} | _touched(diff, yours, result)
            undone = before | touched if is_undo else before - touched
            if undone != before or touched:
                is_whole = undone == every if is_undo else not undone
                hunks = () if is_whole else tuple(sorted(undone))
                reverts.append(Reverted(change_id=change.id, hunks=hunks, is_redo=not is_undo))
        return tuple(reverts)

    def _reverts_if_settled(self, direction: Direction, plan: FilePlan, goals: Sequence[_Goal]) -> tuple[Reverted, ...]:
        """What of each change is undone once the user has settled a clash over some hunks of it."""
        if not plan.hunks:
            return plan.restores or ()
        try:
            return self._reverts(direction, plan, goals[0].base, goals[-1].wanted)
        except StorageError:
            return ()

    # -- renamed files --

    def _in_one_step(self, direction: Direction, plan: FilePlan) -> FilePlan:
        """Return the plan for a file that was renamed as one step, also where some of its edits are as wanted already.

        They were undone before the renaming, or redone at the old name. No change lies in between.
        """
        if len(plan.deltas) < 2 or not any(change.moved_from or change.moved_to for change in plan.changes):
            return plan
        ids = {change.id for change in plan.changes}
        chain = [change for change in plan.chain if change.author != "undo"]
        others = [change for change in chain if change.id not in ids]
        undone = [self._undone.get(change.id) for change in others]
        is_as_wanted = all(
            keys is not None and (WHOLE_FILE in keys if direction == "undo" else not keys) for keys in undone
        )
        is_known = is_as_wanted and all(change.is_by_agent for change in others)
        if not is_known or any(one.after != other.before for one, other in pairwise(chain)):
            return plan
        old, new = chain[0].before, chain[-1].after
        return replace(plan, deltas=(Delta(new, old) if direction == "undo" else Delta(old, new),))

    def _without_lost_way_back(self, plan: FilePlan) -> FilePlan:
        """Return the plan without the way back to the very bytes, if one path of a renamed file changed since.

        What was taken away there must not come back at the other path.
        """
        if plan.inverse is None or not any(change.moved_from or change.moved_to for change in plan.changes):
            return plan
        try:
            is_as_left = self._now(plan.path) == self._ledger.images.state(plan.inverse.base)
        except (OSError, StorageError):
            is_as_left = False
        return plan if is_as_left else replace(plan, inverse=None)

    def _follow_moves(self, plans: Sequence[FilePlan]) -> dict[str, FileState | None]:
        """Where a renamed file was edited, its content goes with it: what both paths of it become."""
        by_path = {plan.path: plan for plan in plans}
        results: dict[str, FileState | None] = {}
        for plan in plans:
            target = _end_of_moves(plan, by_path)
            if target is None or plan.hunks or len(plan.deltas) != 1 or len(target.deltas) != 1:
                continue
            try:
                here, there = self._now(plan.path), self._now(target.path)
                source, goal = self._goal(plan.deltas[0]), self._goal(target.deltas[0])
                is_edited = here not in (None, source.base, source.wanted) and _is_version_of(here, source.base)
                if is_edited and there == goal.base and goal.wanted is not None:
                    results |= {target.path: merge_states(source.base, here, goal.wanted), plan.path: source.wanted}
            except (OSError, StorageError, ClashError):
                continue
        return results

    # -- clashes --

    def _clash(self, yours: FileState | None, goals: Sequence[_Goal]) -> Clash:
        """Keep the three versions, for as long as the journal names them."""
        return Clash(base=self._kept(goals[0].base), wanted=self._kept(goals[-1].wanted), yours=self._kept(yours))

    def _kept(self, state: FileState | None) -> FileImage | None:
        if state is None:
            return None
        self._ledger.images.keep(state)
        return state.image()


def _end_of_moves(plan: FilePlan, by_path: Mapping[str, FilePlan]) -> FilePlan | None:
    """The plan of the path that the content goes to in the end: past those where it only was for a while."""
    passed = {plan.path}
    target = by_path.get(plan.moves_to)
    while target is not None and target.path not in passed and len(target.deltas) == 1:
        if target.deltas[0].wanted is not None or not target.moves_to:
            return target
        passed.add(target.path)
        target = by_path.get(target.moves_to)
    return None


def _touched(diff: FileDiff, yours: FileState | None, result: FileState | None) -> frozenset[HunkKey]:
    """The hunks of one change that came or went from `yours` to `result`."""
    there, here = (missing_keys(diff, state.content) if state else frozenset[HunkKey]() for state in (yours, result))
    return there ^ here


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


def _is_version_of(state: FileState | None, base: FileState | None) -> bool:
    """Whether a text is still more the other one than not, and so the same file, edited."""
    if state is None or base is None or state.kind != base.kind or state.kind != "file":
        return False
    old, new = as_utf8(base.content), as_utf8(state.content)
    if old is None or new is None:
        return False
    gone = sum(edit.old_end - edit.old_start for edit in find_edits(old, new))
    return 2 * gone <= old.count(b"\n") + 1


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
