"""What the user decided about the files of a review, computed from the transcript. Pure."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.review.changed_files import ChangedFile, Mark


class Compared(NamedTuple):
    """The result of a comparison of a file."""

    added: int
    removed: int
    keys: tuple[HunkKey, ...]
    """Everything there is to decide about."""
    undone: frozenset[HunkKey]


def judged(
    file: ChangedFile, kept: Collection[HunkKey], compared: Compared | None, *, is_in_conflict: bool
) -> ChangedFile:
    """Return `file` with its mark and counts, from the hunks that are `kept` and, if it was, the comparison."""
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
        return "undone"
    if file.is_by_user:
        return "kept"
    if compared is None:
        return "partly" if kept or file.state == "partly_undone" else "pending"
    if decided < len(compared.keys):
        return "partly" if decided else "pending"
    return "kept" if any(key in kept and key not in compared.undone for key in compared.keys) else "undone"


def needs_comparison(file: ChangedFile, kept: Collection[HunkKey]) -> bool:
    """Whether mark or counts need a comparison: of 1,000 files, only those partly undone, kept or changed twice.

    A renaming is two changes, and many files are renamed with their folder: of them nothing is to be found out.
    """
    is_changed_twice = len(file.standing) > 1 and not file.is_only_renamed
    return is_changed_twice or file.state == "partly_undone" or (bool(kept) and file.state != "undone")


def is_decided(file: ChangedFile) -> bool:
    """Whether nothing of this file waits for the user."""
    return file.mark in ("kept", "undone")


def progress(files: Iterable[ChangedFile]) -> tuple[int, int]:
    """Return how many files are decided, and of how many."""
    marks = [is_decided(file) for file in files]
    return sum(marks), len(marks)


def paths_in_conflict(transcript: Transcript) -> set[str]:
    """Return the files whose last undo or redo clashed, and that the user has not settled since."""
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
