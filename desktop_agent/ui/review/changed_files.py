"""Recorded changes as the review lists them: one entry for every file, within a baseline."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from desktop_agent.core.model import ChangeKind
    from desktop_agent.core.transcript import ChangeRecord, Transcript

Baseline = Literal["last_turn", "session"] | int
"""What to review: the last turn that changed something, everything, or the turn of this number."""

State = Literal["stands", "partly_undone", "undone"]


class ChangedFile(NamedTuple):
    """A file and its changes within the baseline, oldest first, as they stood when it was made."""

    path: str
    records: "tuple[ChangeRecord, ...]"
    standing: "tuple[ChangeRecord, ...]"
    """The changes to show: those that stand, or all of them when none does."""
    state: State
    net_counts: tuple[int, int] | None = None
    """Lines added and removed by all changes together, once somebody compared."""

    @classmethod
    def of(cls, path: str, records: "Sequence[ChangeRecord]") -> "ChangedFile":
        """Return the file as it stands now."""
        standing = tuple(record for record in records if not record.is_undone)
        state: State = "undone" if not standing else "stands" if len(standing) == len(records) else "partly_undone"
        return cls(path, tuple(records), standing or tuple(records), state)

    @property
    def key(self) -> tuple[str, ...]:
        """Names the comparison that shows this file: it is the same as long as the same changes stand."""
        return (self.path, *(record.change.id for record in self.standing))

    @property
    def kind(self) -> "ChangeKind":
        """What became of the file, from before the first change to after the last."""
        first, last = self.standing[0].change, self.standing[-1].change
        if last.after is None:
            return "deleted"
        return "created" if first.before is None else last.kind if first is last else "modified"

    @property
    def counts(self) -> tuple[int, int]:
        """Lines added and removed: the sum over its changes until the net counts are known."""
        if self.net_counts is not None:
            return self.net_counts
        if len(self.standing) == 1:
            return self.standing[0].change.added, self.standing[0].change.removed
        changes = [record.change for record in self.standing]
        return sum(change.added for change in changes), sum(change.removed for change in changes)

    @property
    def is_binary(self) -> bool:
        """Whether it has no lines to count."""
        return any(record.change.is_binary for record in self.standing)

    @property
    def authors(self) -> list[str]:
        """Who wrote it, in the order they did, each once."""
        return list(dict.fromkeys(record.change.author for record in self.standing))


def group_by_file(records: "Iterable[ChangeRecord]") -> list[ChangedFile]:
    """Return the changed files in the order in which they were first changed."""
    by_path: dict[str, list[ChangeRecord]] = {}
    for record in records:
        by_path.setdefault(record.change.path, []).append(record)
    return [ChangedFile.of(path, found) for path, found in by_path.items()]


def turns_with_changes(transcript: "Transcript") -> list[int]:
    """Return the turns that changed something, newest first."""
    return sorted({record.turn for record in transcript.changes.values()}, reverse=True)


def turn_of(baseline: Baseline, turns: Sequence[int]) -> int | None:
    """Return the one turn that `baseline` means, given the turns newest first; `None` for all of them."""
    if baseline == "session":
        return None
    if baseline == "last_turn":
        return turns[0] if turns else None
    return baseline
