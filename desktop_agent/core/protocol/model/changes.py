"""Files before and after a call, what an undo made of them, and the rows of a diff."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import astuple

from desktop_agent.core.base.ids import CallId, ChangeId, Digest, HunkKey

ChangeKind = Literal["created", "modified", "deleted", "renamed", "mode_changed"]
Author = Literal["agent", "shell", "mcp", "person", "undo", "unknown"]
"""Who wrote a change: an edit tool, a command, an MCP server, the user, or the user's undo or redo.

`unknown`: either the user or a program of ours that was running, such as a server or a background command.
"""

Owner = Literal["agent", "other_session", "person", "unknown"]
"""Whose work something is: the agent's, perhaps another session's, the user's, or either the user's or a program's of
ours.
"""

FileKind = Literal["file", "symlink", "folder", "fifo", "socket"]
"""The last two, a named pipe and what a program listens at, are names without bytes on the disk."""


class FileExtras(Struct, frozen=True, kw_only=True):
    """What a file has beside content and permission bits: its owner, and extended attributes, with them ACLs."""

    owner: tuple[int, int]
    """The numbers of user and group."""
    attributes: tuple[tuple[str, str], ...] = ()
    """Names and values in base64, sorted."""


class FileImage(Struct, frozen=True, kw_only=True):
    """The exact state of a file: content by digest, length in bytes, and permission bits.

    For a symlink the content is its target path; folders, named pipes and sockets have none.
    """

    digest: Digest
    size: int
    mode: int
    kind: FileKind = "file"
    extras: FileExtras | None = None
    """`None` where they were not looked at. Two images are the same file whatever it has beside its content."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileImage) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def _compared(self) -> tuple[Digest, int, int, FileKind]:
        return self.digest, self.size, self.mode, self.kind


class Reverted(Struct, frozen=True, kw_only=True):
    """What an undo or redo made of an earlier change."""

    change_id: ChangeId
    hunks: tuple[HunkKey, ...] = ()
    """The hunks of the change that are undone after it; none means that all of it is undone, or redone."""
    is_redo: bool = False


class FileChange(Struct, frozen=True, kw_only=True):
    """One file, before and after one call. `None` means that the file did not exist.

    `path` is relative to the workspace, with `/`. Line counts are 0 for binary files. A renamed file is two changes:
    one takes it away from its old path (`deleted`, with `moved_to`), one puts it at its new path (`renamed`, with
    `moved_from`; its `before` is the file that it replaced there, or `None`).
    """

    id: ChangeId
    path: str
    kind: ChangeKind
    author: Author
    before: FileImage | None
    after: FileImage | None
    added: int = 0
    removed: int = 0
    is_binary: bool = False
    new_folders: tuple[str, ...] = ()
    """Folders that had to be made for a created file, outermost first; of an undo, those that go with the file."""
    moved_from: str = ""
    moved_to: str = ""
    reverts: tuple[Reverted, ...] = ()
    """For an undo or redo: what it took back of earlier changes, or applied again."""
    is_shared: bool = False
    """Whether another session's command ran at the same time, so that the change may be its work."""
    is_new_name: bool = False
    """Whether the path became another name (a hard link) of a file. Its undo writes a file of its own there: written in
    place, it would change that file, too."""
    is_prior: bool = False
    """Whether it came before all other changes of its path: it leads from the commit that an undo goes back to, to what
    the session first changed."""

    @property
    def is_by_agent(self) -> bool:
        """Whether the agent is known to have made it, with any tool; not the user, and not an undo or redo."""
        return self.author not in ("person", "undo", "unknown")

    @property
    def needs_own_question(self) -> bool:
        """Whether it is the user's, or may be. Then it is undone only if the user says yes to exactly that."""
        return self.author in ("person", "unknown")

    @property
    def owner(self) -> Owner:
        """Whose work it is. An undo is the user's."""
        if self.is_shared:
            return "other_session"
        if self.author == "unknown":
            return "unknown"
        return "agent" if self.is_by_agent else "person"


class Share(Struct, frozen=True):
    """How much of a difference is one owner's, in lines. Only lines of text are counted."""

    owner: Owner
    added: int = 0
    removed: int = 0


class CommittedFile(Struct, frozen=True, kw_only=True):
    """A file as a commit has it, and the version on disk that it was compared with. `None`: there is no file."""

    path: str
    content: bytes | None
    """As a checkout would write it."""
    seen: Digest | None
    """Of the version on disk."""
    kind: FileKind = "file"
    is_executable: bool = False
    moved_from: str = ""
    """Its path in the commit, if that is a different one."""


class Uncaptured(Struct, frozen=True, kw_only=True):
    """A file whose change could not be recorded, and why. Said at once, before the user relies on undo."""

    path: str
    reason: str


class RefChange(Struct, frozen=True, kw_only=True):
    """A branch, tag or stash entry of the git repository, before and after one call: object ids, `None` for absent.

    A stash entry is named `stash:` and its object id, and its message is in `message`. `HEAD` on a branch has the
    branch's name (`refs/heads/main`) instead of an object id.
    """

    name: str
    before: str | None
    after: str | None
    message: str = ""
    folder: str = ""
    """A folder of the repository, relative to the workspace, or absolute outside; empty for the workspace itself."""

    @property
    def is_loss(self) -> bool:
        """Whether something was there before that can be put back."""
        return self.before is not None and self.before != self.after


class OutsideFile(Struct, frozen=True, kw_only=True):
    """A file outside the workspace, or one of git's own, that a command destroyed while a safety copy was kept.

    `path` is absolute. No undo touches it; only a recovery puts it back, and only while it still is `after`.
    """

    path: str
    before: FileImage
    after: FileImage | None


class ChangeSelection(Struct, frozen=True, kw_only=True):
    """Which changes an undo or redo means. An empty selection means the whole session; criteria narrow it down.

    The user's changes, changes that may be the user's, and undos and redos themselves are selected only if `change_ids`
    names them.
    """

    turn: int | None = None
    since_turn: int | None = None
    call_id: CallId | None = None
    path: str | None = None
    change_ids: tuple[ChangeId, ...] = ()
    hunks: tuple[HunkKey, ...] = ()
    """Only these hunks of what the selected changes of `path` come to together. Needs `path`."""

    def includes(self, change: FileChange, *, turn: int, call_id: CallId) -> bool:
        """Whether the selection covers `change`, made by `call_id` in `turn`."""
        if not change.is_by_agent and change.id not in self.change_ids:
            return False
        return (
            (self.turn is None or self.turn == turn)
            and (self.since_turn is None or turn >= self.since_turn)
            and (self.call_id is None or self.call_id == call_id)
            and (self.path is None or self.path == change.path)
            and (not self.change_ids or change.id in self.change_ids)
        )


OutcomeState = Literal["restored", "merged", "unchanged", "conflict", "failed"]


class Maker(Struct, frozen=True):
    """Who, or which undo or redo, made a version of a file."""

    by: Owner | Literal["undo", "redo"]
    turn: int = 0
    """The agent's turn; for an undo or redo, the turn that it took back or applied again."""


class Clash(Struct, frozen=True, kw_only=True):
    """The three versions that an undo or redo could not bring together. `None`: absent.

    `base` is what the selected changes left, `wanted` what the undo or redo asks for, `yours` what is on disk.
    """

    base_by: tuple[Maker, ...] = ()
    """Who made the selected changes; empty if that is not on record."""
    yours_by: tuple[Maker, ...] = ()
    """Who made what stands in the way, oldest first."""
    base: FileImage | None
    wanted: FileImage | None
    yours: FileImage | None


class FileOutcome(Struct, frozen=True, kw_only=True):
    """What an undo or redo did to one file.

    `restored`: written back. `merged`: written, with later edits elsewhere in the file kept. `unchanged`: it already
    was in the wanted state. `conflict`: another edit changed the same place since, so it was left alone; with a
    `clash`, a user can decide. `failed`: it could not be written. The last two say why in `reason`.
    """

    path: str
    state: OutcomeState
    change_ids: tuple[ChangeId, ...]
    reason: str = ""
    hunks: tuple[HunkKey, ...] = ()
    """The hunks it was about; empty for all of the file."""
    clash: Clash | None = None
    reverts: tuple[Reverted, ...] = ()
    """Where nothing was written: what is undone of parts of changes after it, or will be once a clash is settled."""
    is_removed: bool = False
    """Whether what was written is that there is no such file."""

    @property
    def is_done(self) -> bool:
        """Whether the file is in the state that was asked for."""
        return self.state in ("restored", "merged", "unchanged")


ReviewState = Literal["pending", "kept"]
"""What the user decided about a hunk; that it is undone follows from the changes themselves."""


class LineComment(Struct, frozen=True, kw_only=True):
    """A remark of the user's on lines of a diff, kept until it is sent to the agent or taken back.

    Lines are 0-based and half open, on the side they were made on; `quote` is their text then.
    """

    id: str
    path: str
    side: Literal["old", "new"]
    start: int
    end: int
    quote: str
    text: str


RewindScope = Literal["conversation", "files", "both"]


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
        return sum(edit.new_end - edit.new_start for edit in self.edits)

    @property
    def removed(self) -> int:
        return sum(edit.old_end - edit.old_start for edit in self.edits)
