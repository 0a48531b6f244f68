"""The files of a baseline with their recorded changes and the user's decisions. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.protocol.events import UNSTAMPED
from desktop_agent.core.protocol.model import SEVERITIES, ChangeKind, ChangeSelection, Diagnostic, FileChange, FileDiff
from desktop_agent.core.transcript import ChangeRecord, Transcript

BaselineKind = Literal["last_turn", "session", "turn", "since", "uncommitted", "branch"]


class ReviewBaseline(NamedTuple):
    kind: BaselineKind = "last_turn"
    turn: int = 0
    """For the kind `turn`, that turn; for `since`, the first turn."""
    branch: str = ""
    """For the kind `branch`, its name, or a commit: the files on disk are compared with the merge base."""

    @property
    def is_git(self) -> bool:
        return self.kind in ("uncommitted", "branch")


LAST_TURN = ReviewBaseline()
SESSION = ReviewBaseline("session")
UNCOMMITTED = ReviewBaseline("uncommitted")

State = Literal["stands", "partly_undone", "undone"]
Mark = Literal["pending", "partly", "kept", "undone", "conflict", "offered"]
"""The user's decision about a file. `offered`: in a worktree only. `conflict`: an undo clashed with later changes."""


class ChangedFile(NamedTuple):
    """A file and its changes within the baseline, oldest first. A snapshot that later changes do not alter."""

    path: str
    records: tuple[ChangeRecord, ...]
    """With the user's changes, but no undos and redos. For a renamed file, the changes at its old path come first."""
    standing: tuple[ChangeRecord, ...]
    """The changes that are compared and shown: the agent's, or the user's when there are no others."""
    state: State
    net_counts: tuple[int, int] | None = None
    """Lines added and removed by all changes together; None before they have been compared."""
    moved_from: str = ""
    mark: Mark = "pending"
    decided: tuple[int, int] = (0, 0)
    """How many of its hunks are decided, and how many it has; (0, 0) before a comparison."""
    is_git: bool = False
    problems: tuple[Diagnostic, ...] = ()
    """The language servers' diagnostics of the file after its changes, the worst first."""

    @classmethod
    def of(cls, path: str, records: Sequence[ChangeRecord], moved_from: str = "") -> "ChangedFile":
        shown = tuple(record for record in records if record.change.author != "person") or tuple(records)
        undone = [record for record in shown if record.is_undone]
        is_touched = bool(undone) or any(record.undone_hunks for record in shown)
        state: State = "undone" if len(undone) == len(shown) else "partly_undone" if is_touched else "stands"
        mark: Mark = "pending" if state != "undone" else "offered" if shown[0].is_offered else "undone"
        return cls(path, tuple(records), shown, state, moved_from=moved_from, mark=mark)

    @property
    def key(self) -> tuple[str, ...]:
        """A cache key for the comparison of this file. It changes whenever the set of changes in force does."""
        return (self.path, *map(_name, self.standing))

    @property
    def kind(self) -> ChangeKind:
        first, last = self.standing[0].change, self.standing[-1].change
        if last.after is None:
            return "deleted"
        if self.moved_from:
            return "renamed"
        if first.before is None:
            return "created"
        # A rename onto an existing file changes that file.
        return last.kind if first is last and last.kind != "renamed" else "modified"

    @property
    def counts(self) -> tuple[int, int]:
        if self.net_counts is not None:
            return self.net_counts
        if self.is_only_renamed:
            return 0, 0
        in_force = [record for record in self.standing if not record.is_undone] or self.standing
        # A rename removes at one path what it adds at the other.
        changes = [record.change for record in in_force if not (self.moved_from and record.change.moved_to)]
        return sum(change.added for change in changes), sum(change.removed for change in changes)

    @property
    def is_only_renamed(self) -> bool:
        if not self.moved_from or len(self.standing) != 2:
            return False
        before, after = self.standing[0].change.before, self.standing[1].change.after
        same = before and after and (before.kind, before.mode, before.digest) == (after.kind, after.mode, after.digest)
        return bool(same)

    @property
    def is_by_user(self) -> bool:
        return not self.is_git and all(record.change.author == "person" for record in self.records)

    @property
    def is_offered(self) -> bool:
        return self.standing[0].is_offered

    @property
    def is_only_offered(self) -> bool:
        """Whether none of it was brought back."""
        return self.is_offered and self.state == "undone"

    def undone_hunks(self, diff: FileDiff) -> frozenset[HunkKey]:
        """Return the undone hunks of its comparison. One can be undone although its lines are in the file."""
        first, *later = self.standing
        return diff.undone if later else diff.undone | first.undone_hunks

    @property
    def authors(self) -> list[str]:
        return [] if self.is_git else list(dict.fromkeys(record.change.author for record in self.records))

    @property
    def special(self) -> Literal["", "folder", "symlink", "fifo", "socket", "mode", "binary"]:
        """The kind of file unless it is a text file; `mode` if only its permissions changed; otherwise empty."""
        before, after = self.standing[0].change.before, self.standing[-1].change.after
        image = after or before
        if image is not None and image.kind != "file":
            return image.kind
        if any(record.change.is_binary for record in self.standing):
            return "binary"
        return "mode" if before and after and before.mode != after.mode else ""

    @property
    def problem_counts(self) -> tuple[int, int]:
        """Return how many errors and warnings the file has."""
        counts = Counter(each.severity for each in self.problems)
        return counts["error"], counts["warning"]

    @property
    def modes(self) -> tuple[int, int] | None:
        before, after = self.standing[0].change.before, self.standing[-1].change.after
        return (before.mode, after.mode) if before and after else None


def _name(record: ChangeRecord) -> str:
    after = record.change.after
    version = after.digest if record.change.id.startswith(GIT_ID) and after else ""
    undone = "undone" if record.is_undone else ",".join(sorted(record.undone_hunks))
    return " ".join(filter(None, (record.change.id, version, undone)))


GIT_ID = "git:"


def group_by_file(records: Iterable[ChangeRecord]) -> list[ChangedFile]:
    """Return the changed files in the order of their first change. A renamed file is a single entry."""
    chains: dict[str, list[ChangeRecord]] = {}
    for record in records:
        if record.change.author != "undo":
            chains.setdefault(record.change.path, []).append(record)
    origins = _origins(chains)
    gone = set(origins.values())
    files: list[ChangedFile] = []
    for path, chain in chains.items():
        if path in gone:
            continue
        first = path
        while first in origins:
            first = origins[first]
            chain = chains[first] + chain  # noqa: PLW2901 - the chain grows backwards
        is_renamed = first != path and chain[0].change.before is not None
        files.append(ChangedFile.of(path, chain, first if is_renamed else ""))
    return files


def _origins(chains: dict[str, list[ChangeRecord]]) -> dict[str, str]:
    """Map each path created by a rename to its old path. Leave out renames to a path that already existed."""
    origins: dict[str, str] = {}
    for path, chain in chains.items():
        target = chain[-1].change.moved_to
        if target and target in chains and target != path:
            there = chains[target]
            is_still_there = there[-1].change.after is not None or bool(there[-1].change.moved_to)
            is_new_there = there[0].change.before is None
            if there[0].change.moved_from == path and is_new_there and is_still_there:
                origins[target] = path
    return origins


def git_files(changes: Iterable[FileChange]) -> tuple[ChangedFile, ...]:
    records = (ChangeRecord(change, turn=0, call_id="", at=UNSTAMPED) for change in changes)
    files = (ChangedFile.of(record.change.path, (record,), record.change.moved_from) for record in records)
    return tuple(file._replace(is_git=True) for file in files)


def turns_with_changes(transcript: Transcript) -> list[int]:
    """Return the turns with changes, newest first. Changes by the user and undos do not count."""
    records = transcript.changes.values()
    return sorted({record.turn for record in records if record.change.is_by_agent}, reverse=True)


def selection_of(baseline: ReviewBaseline, turns: Sequence[int]) -> ChangeSelection:
    """Return the changes of a baseline. `turns` are the turns with changes, newest first."""
    match baseline.kind:
        case "last_turn" if turns:
            return ChangeSelection(turn=turns[0])
        case "turn":
            return ChangeSelection(turn=baseline.turn)
        case "since":
            return ChangeSelection(since_turn=baseline.turn)
        case _:
            return ChangeSelection()


def records_of(baseline: ReviewBaseline, transcript: Transcript, turns: Sequence[int]) -> list[ChangeRecord]:
    selection = selection_of(baseline, turns)
    return [
        record
        for record in transcript.changes.values()
        if selection.turn in (None, record.turn)
        and (selection.since_turn is None or record.turn >= selection.since_turn)
    ]


class Compared(NamedTuple):
    added: int
    removed: int
    keys: tuple[HunkKey, ...]
    undone: frozenset[HunkKey]
    names: Mapping[HunkKey, Sequence[HunkKey]]
    """The names of each hunk in decisions about it."""


def judged(
    file: ChangedFile, kept: Collection[HunkKey], compared: Compared | None, *, is_in_conflict: bool
) -> ChangedFile:
    if compared is None and not kept and not is_in_conflict:
        mark = _mark(file, kept, None, 0)
        return file if mark == file.mark else file._replace(mark=mark)
    decided, total = 0, 0
    if compared is not None:
        total = len(compared.keys)
        undone = compared.keys if file.state == "undone" else compared.undone
        decided = sum(key in kept or key in undone for key in compared.keys)
    mark = "conflict" if is_in_conflict else _mark(file, kept, compared, decided)
    counts = (compared.added, compared.removed) if compared is not None else file.net_counts
    return file._replace(mark=mark, decided=(decided, total), net_counts=counts)


def _mark(file: ChangedFile, kept: Collection[HunkKey], compared: Compared | None, decided: int) -> Mark:
    if file.state == "undone":
        return "offered" if file.is_offered else "undone"
    if file.is_by_user:
        return "kept"
    if compared is None:
        return "partly" if kept or file.state == "partly_undone" else "pending"
    if decided < len(compared.keys):
        return "partly" if decided else "pending"
    return "kept" if any(key in kept and key not in compared.undone for key in compared.keys) else "undone"


def problems_of(file: ChangedFile, transcript: Transcript) -> tuple[Diagnostic, ...]:
    after = file.standing[-1].change.after
    said = transcript.changed.diagnosed.get(file.path, {}).values()
    found = [each for one in said if after is not None and one.digest == after.digest for each in one.found]
    return tuple(sorted(found, key=lambda each: SEVERITIES.index(each.severity)))


def needs_comparison(file: ChangedFile, kept: Collection[HunkKey]) -> bool:
    is_changed_twice = len(file.standing) > 1 and not file.is_only_renamed
    return is_changed_twice or file.state == "partly_undone" or (bool(kept) and file.state != "undone")


def is_decided(file: ChangedFile) -> bool:
    return file.mark in ("kept", "undone")


def progress(files: Iterable[ChangedFile]) -> tuple[int, int]:
    marks = [is_decided(file) for file in files]
    return sum(marks), len(marks)


def paths_in_conflict(transcript: Transcript) -> set[str]:
    """Return the files whose last undo or redo conflicted, if the user has not resolved the conflict since."""
    seen: set[str] = set()
    clashed: dict[str, datetime] = {}
    for entry in reversed(transcript.changed.undos):
        for outcome in entry.outcomes:
            if outcome.path not in seen and outcome.state == "conflict":
                clashed[outcome.path] = entry.at
            seen.add(outcome.path)
    if clashed:
        for record in transcript.changes.values():
            at = clashed.get(record.change.path)
            if at is not None and record.at > at:
                del clashed[record.change.path]
    return set(clashed)
