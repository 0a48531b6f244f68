"""The files within a baseline, with results from git and from background comparisons."""

import asyncio
from collections.abc import Sequence, Set

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.hunks import WHOLE_FILE, all_keys, hunk_names, marked, review_hunks
from desktop_agent.core.protocol.events import ChangesCommitted
from desktop_agent.core.protocol.model import ChangeSelection, FileChange, FileDiff, Uncaptured
from desktop_agent.core.transcript import ChangeRecord, Transcript
from desktop_agent.core.undo.path_tracking import recorded_of
from desktop_agent.ui.review.changed_files import (
    GIT_ID,
    LAST_TURN,
    ChangedFile,
    Compared,
    ReviewBaseline,
    git_files,
    group_by_file,
    judged,
    needs_comparison,
    paths_in_conflict,
    problems_of,
    records_of,
    selection_of,
    turns_with_changes,
)
from desktop_agent.ui.review.diff_source import FileDiffs, GitSource, GitState, Spawn


class BothSources:
    """Implements `FileDiffs` by asking the ledger or git, depending on the source of the changes."""

    def __init__(self, ledger: FileDiffs, git: GitSource | None) -> None:
        self._ledger = ledger
        self._git = git
        self.transcript = Transcript()

    async def diff(self, records: Sequence[ChangeRecord], recorded: Sequence[FileChange] = ()) -> FileDiff:
        change = records[-1].change
        if git := self._git_behind(change):
            return await git.diff(self.transcript.session.workspace, change)
        return await self._ledger.diff(
            records, recorded or tuple(recorded_of(change, self.transcript.changes.values()))
        )

    async def versions(self, records: Sequence[ChangeRecord]) -> tuple[bytes | None, bytes | None]:
        change = records[-1].change
        if git := self._git_behind(change):
            return await git.versions(self.transcript.session.workspace, change)
        return await self._ledger.versions(records)

    def _git_behind(self, change: FileChange) -> GitSource | None:
        return self._git if change.id.startswith(GIT_ID) else None


class GitListing(QObject):
    """Asks git about one folder, one request at a time. Drops the answers to outdated requests."""

    changed = Signal()

    def __init__(self, git: GitSource | None, spawn: Spawn, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._git = git
        self._spawn = spawn
        self._folder = ""
        self._baseline: ReviewBaseline | None = None
        self._questions = 0
        self._looks = 0
        self.state: GitState | None = None
        self.files: tuple[ChangedFile, ...] = ()
        self.is_loading = False
        self.problem = ""
        self._commit: ChangesCommitted | None = None
        self.last_commit: ChangesCommitted | None = None
        """The session's last commit, if an undo can take it back: it is checked out, and no remote branch has it."""

    def set_folder(self, folder: str) -> None:
        self._folder = folder
        self._baseline = None
        self._questions += 1
        self.state, self.files, self.is_loading, self.problem = None, (), False, ""
        self._commit = self.last_commit = None
        self.look()

    def look(self) -> None:
        if self._git is not None and self._folder:
            self._looks += 1
            self._spawn(self._look(self._git, self._looks))

    def look_at_commit(self, commit: ChangesCommitted | None) -> None:
        has_no_repository = self.state is not None and bool(self.state.obstacle)
        if commit != self._commit or has_no_repository:  # one may have been made since
            self._commit = commit
            self.look()

    def load(self, baseline: ReviewBaseline) -> None:
        """Ask git for the files of this baseline. Files of the same baseline stay listed until the answer arrives."""
        if self._git is None:
            return
        self._questions += 1
        if baseline != self._baseline:
            self.files = ()
        self._baseline = baseline
        self.is_loading = True
        self._spawn(self._load(self._git, baseline.branch, self._questions))

    async def _look(self, git: GitSource, number: int) -> None:
        folder, commit = self._folder, self._commit
        state = await git.look(folder)
        can_undo = commit is not None and await git.is_unpushed_tip(folder, commit.commit)
        found = state, commit if can_undo else None
        if isValid(self) and number == self._looks and found != (self.state, self.last_commit):
            self.state, self.last_commit = found
            self.changed.emit()

    async def _load(self, git: GitSource, branch: str, number: int) -> None:
        problem, found = "", ()
        try:
            found = await git.changes(self._folder, branch)
        except AgentError as error:
            problem = error.title
        if not isValid(self) or number != self._questions:
            return
        self.is_loading = False
        self.problem = problem
        self.files = git_files(found)
        self.changed.emit()


_KEYED_AT_ONCE = 200
"""Up to this many edits, their keys take less than a millisecond. Those of more edits are computed in a thread."""


class NetCounts(QObject):
    """Compares files one after the other. Sums of single changes would count a line twice if it changed twice."""

    changed = Signal()

    def __init__(self, source: FileDiffs, spawn: Spawn, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._source = source
        self._spawn = spawn
        self._known: dict[tuple[str, ...], Compared | None] = {}
        self._wanted: list[ChangedFile] = []
        self._is_counting = False

    def known(self, file: ChangedFile) -> Compared | None:
        # Computing the key takes longer than the lookup, and the review asks for thousands of files.
        return self._known.get(file.key) if self._known else None

    def forget(self) -> None:
        """Drop all results, because the ids of changes now belong to another session."""
        self._known = {}
        self._wanted = []

    def request(self, files: Sequence[ChangedFile]) -> None:
        self._wanted = [file for file in files if file.key not in self._known]
        if self._wanted and not self._is_counting:
            self._is_counting = True
            self._spawn(self._count())

    async def compared(self, file: ChangedFile) -> Compared:
        """Compare a file. Raises `AgentError` if it cannot be read."""
        if (found := self.known(file)) is not None:
            return found
        known = self._known
        diff = await self._source.diff(file.standing)
        diff = replace(diff, undone=file.undone_hunks(diff))
        found = _compare(diff) if len(diff.edits) < _KEYED_AT_ONCE else await asyncio.to_thread(_compare, diff)
        known[file.key] = found
        return found

    async def _count(self) -> None:
        try:
            while self._wanted:
                file, known = self._wanted.pop(0), self._known
                known.setdefault(file.key, None)
                try:
                    await self.compared(file)
                except AgentError:
                    continue  # the diff itself reports this when it is shown; the sum stays
                if not isValid(self):
                    return
                self.changed.emit()
        finally:
            self._is_counting = False


def _compare(diff: FileDiff) -> Compared:
    """Return the keys of all hunks, and the line counts of those in force. If none is in force, count all hunks."""
    keys = all_keys(diff)
    undone, names = diff.undone.intersection(keys), hunk_names(diff)
    if not undone or len(undone) == len(keys):
        return Compared(diff.added, diff.removed, keys, undone, names)
    edits = [edit for named in review_hunks(diff) if named.key in undone for edit in named.hunk.edits]
    added = diff.added - sum(edit.new_end - edit.new_start for edit in edits)
    removed = diff.removed - sum(edit.old_end - edit.old_start for edit in edits)
    return Compared(added, removed, keys, undone, names)


class Reviewed:
    def __init__(self, git: GitListing, counts: NetCounts) -> None:
        self._git = git
        self._counts = counts
        self.transcript = Transcript()
        self.baseline: ReviewBaseline = LAST_TURN
        self.turns: list[int] = []
        self.files: list[ChangedFile] = []
        self._grouped: tuple[object, list[ChangedFile]] = None, []
        self._asked: tuple[object, int, int] | None = None

    def set_transcript(self, transcript: Transcript) -> None:
        self.baseline = LAST_TURN
        self.transcript = transcript
        self.files = []
        self._grouped = None, []
        self._asked = None

    def update_turns(self) -> None:
        self.turns = turns_with_changes(self.transcript)
        if self.baseline.kind in ("turn", "since") and self.baseline.turn not in self.turns:
            self.baseline = LAST_TURN

    def update_files(self) -> list[ChangedFile]:
        clashed = paths_in_conflict(self.transcript)
        found = self._git.files if self.baseline.is_git else self._files_of_session()
        self.files = [
            judged(file, self.kept(file), self._counts.known(file), is_in_conflict=file.path in clashed)._replace(
                problems=problems_of(file, self.transcript)
            )
            for file in found
        ]
        return [file for file in self.files if needs_comparison(file, self.kept(file))]

    def state(self) -> object:
        """Return a value that changes whenever the displayed state does."""
        transcript = self.transcript
        kept = [(path, frozenset(keys)) for path, keys in transcript.changed.kept.items()]
        git = self._git.last_commit, self._git.state, self._git.files, self._git.is_loading, self._git.problem
        return (
            self.baseline,
            self.turns,
            (transcript.turns.is_running, transcript.turns.is_working),
            self._changes_state(),
            kept,
            list(transcript.changed.comments.values()),
            list(transcript.changed.diagnosed.values()),
            [commit.commit for commit in transcript.changed.commits],
            self.uncaptured(),
            git,
        )

    def marks(self, file: ChangedFile) -> Set[HunkKey]:
        """Return the names of the kept hunks."""
        return self.transcript.changed.kept.get(file.path, set())

    def kept(self, file: ChangedFile) -> Set[HunkKey]:
        compared = self._counts.known(file)
        return self.marks(file) if compared is None else marked(compared.names, self.marks(file))

    def committed(self, file: ChangedFile) -> frozenset[HunkKey]:
        """Return the hunks that commits of the session have; `WHOLE_FILE` if they have all of them."""
        found: set[HunkKey] = set()
        for commit in self.transcript.changed.commits:
            left_out = {one.hunk for one in commit.left_out if one.path == file.path}
            for selection in commit.selections if None not in left_out else ():
                if selection.hunks:
                    found.update(key for key in selection.hunks if selection.path == file.path and key not in left_out)
                elif not left_out and file.path in commit.paths and _covers(commit.seq, selection, file):
                    found.add(WHOLE_FILE)
        return frozenset(found)

    def undone(self, file: ChangedFile) -> frozenset[HunkKey]:
        compared = self._counts.known(file)
        if compared is None:
            return frozenset()
        return frozenset(compared.keys) if file.state == "undone" else compared.undone

    def uncaptured(self) -> list[Uncaptured]:
        known = () if self.baseline.is_git else self.transcript.changed.uncaptured
        wanted = selection_of(self.baseline, self.turns)
        return [found for turn, found in known if wanted.turn in (None, turn) and turn >= (wanted.since_turn or 0)]

    def record_behind(self, file: ChangedFile) -> ChangeRecord | None:
        """Return the newest change of this file by a tool call in the baseline; for git's files, in the session."""
        records = self.transcript.changes.values() if file.is_git else file.standing
        found = [record for record in records if record.call_id and record.change.path == file.path]
        return found[-1] if found else None

    def record_of_call(self, call_id: str, path: str = "", turn: int | None = None) -> ChangeRecord | None:
        for record in self.transcript.changes.values():
            paths = ("", record.change.path, record.change.moved_to)
            if record.call_id == call_id and path in paths and turn in (None, record.turn):
                return record
        return None

    def covers(self, record: ChangeRecord) -> bool:
        path = record.change.moved_to or record.change.path
        files = (file for file in self.files if file.path == path)
        return any(self.baseline.is_git or record in file.records for file in files)

    # -- undos against git --

    def note_undo_against_git(self) -> None:
        changed = self.transcript.changed
        self._asked = self._git.files, len(changed.undos), len(changed.changes)

    @property
    def is_git_outdated(self) -> bool:
        """Whether git's files are listed as they were before an undo, which another one would find changed."""
        if self._asked is None or self._asked[0] is not self._git.files:
            return False
        return not self.has_undo_ended or len(self.transcript.changed.changes) != self._asked[2]

    @property
    def has_undo_ended(self) -> bool:
        return self._asked is None or len(self.transcript.changed.undos) != self._asked[1]

    # -- what an undo or redo means --

    def selection(self) -> ChangeSelection:
        return selection_of(self.baseline, self.turns)

    def selection_of_files(self, files: Sequence[ChangedFile]) -> ChangeSelection:
        ids = (record.change.id for file in files if not file.is_by_user for record in file.standing)
        return replace(self.selection(), change_ids=tuple(ids))

    def selection_of_file(self, file: ChangedFile, keys: Sequence[HunkKey] = ()) -> ChangeSelection:
        if file.moved_from and not keys:
            # A renamed file has two paths. Restoring it at the old path removes it at the new path.
            return self.selection_of_files([file])
        return replace(self.selection(), path=file.path, hunks=tuple(keys))

    def _files_of_session(self) -> list[ChangedFile]:
        state = self._changes_state()
        if self._grouped[0] != state:
            self._grouped = state, group_by_file(self._records())
        return self._grouped[1]

    def _changes_state(self) -> object:
        return [(r.change.id, r.is_undone, r.undone_hunks) for r in self._records()]

    def _records(self) -> list[ChangeRecord]:
        return records_of(self.baseline, self.transcript, self.turns)


def _covers(seq: int, selection: ChangeSelection, file: ChangedFile) -> bool:
    """Whether a commit, made as event `seq`, took all standing changes of the file."""
    return all(
        record.seq < seq and selection.includes(record.change, turn=record.turn, call_id=record.call_id)
        for record in file.standing
        if not record.is_undone
    )
