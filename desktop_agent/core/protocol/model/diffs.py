"""Two texts of one file, and where they differ."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import astuple

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.protocol.model.changes import Author, ChangeKind


class Edit(Struct, frozen=True, kw_only=True):
    """Old lines `old_start:old_end` became new lines `new_start:new_end` (0-based, half open, a side may be empty)."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


class Hunk(NamedTuple):
    """Neighbouring edits and their context: old lines `old_start:old_end`, new lines `new_start:new_end`."""

    edits: tuple[Edit, ...]
    old_start: int
    old_end: int
    new_start: int
    new_end: int


class ReviewHunk(NamedTuple):
    """A hunk with its name."""

    key: HunkKey
    hunk: Hunk


class MovedBlock(NamedTuple):
    """Old lines from `old_start` on are the new lines from `new_start` on, `size` of them (0-based)."""

    old_start: int
    new_start: int
    size: int


class Surplus(NamedTuple):
    """How many rows more than old lines the edits of all hunks take, up to each of them: running totals, from 0."""

    side_by_side: Sequence[int]
    unified: Sequence[int]


class Landmarks(NamedTuple):
    """What is known of a diff after one pass over all its lines; see `core.diff.landmarks`."""

    hunks: tuple[ReviewHunk, ...]
    """With lines that say something else."""
    converted: tuple[Edit, ...]
    """The edits that change nothing but line endings."""
    moved: tuple[MovedBlock, ...]
    surplus: Surplus


class FileDiff(Struct, frozen=True, kw_only=True):
    """One file's two texts and where they differ. Lines keep their line ending.

    Rows are derived where they are drawn, so a diff of 100,000 lines stays its edits and two sequences that never
    change: tuples, or for big files what splits lines where they are looked at.
    """

    path: str
    kind: ChangeKind
    author: Author
    old_lines: Sequence[str] = ()
    new_lines: Sequence[str] = ()
    edits: tuple[Edit, ...] = ()
    is_binary: bool = False
    old_size: int = 0
    new_size: int = 0
    notes: tuple[str, ...] = ()
    """What the text alone does not show: `mode 644 → 755`, `only line endings changed (CRLF → LF)`."""
    old_mode: int | None = None
    """File type and permissions as in `stat` (`0o100644`, `0o120777`); `None` when the file did not exist."""
    new_mode: int | None = None
    old_encoding: str = "utf-8"
    """How the lines become bytes again: `utf-8` (other bytes are surrogate escapes), `utf-16-le` or `utf-16-be`."""
    new_encoding: str = "utf-8"
    moved_from: str = ""
    """The path the file had before, when it was renamed."""
    undone: frozenset[HunkKey] = frozenset()
    """Hunks that are shown and not in force any more: the file is there as it was before them."""
    authors: tuple[tuple[HunkKey, tuple[Author, ...]], ...] = ()
    """Who wrote each hunk, when more than one did: several changes, or the user's own lines, are in one diff."""
    landmarks: Landmarks | None = None
    """Found where the comparison was made, so that the window's thread reads no file; else the reader finds them."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileDiff) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def _compared(self) -> tuple[object, ...]:
        """Return every field but `landmarks`, which follows from the others."""
        return astuple(self)[:-1]

    @property
    def added(self) -> int:
        """How many lines are new."""
        return sum(edit.new_end - edit.new_start for edit in self.edits)

    @property
    def removed(self) -> int:
        """How many lines are gone."""
        return sum(edit.old_end - edit.old_start for edit in self.edits)
