"""Files before and after a call, what an undo did to them, and the rows of a diff."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import astuple

from desktop_agent.core.base.ids import CallId, ChangeId, Digest, HunkKey

ChangeKind = Literal["created", "modified", "deleted", "renamed", "mode_changed"]
Author = Literal["agent", "shell", "mcp", "person", "undo", "unknown"]
"""Who wrote a change: an edit tool, a command, an MCP server, the user, or the user's undo or redo.

`unknown`: the user, or a program that the application had started, such as a server or a background command.
"""

Owner = Literal["agent", "other_session", "person", "unknown"]
"""Whose work something is: the agent's, which may be another session's agent; the user's; or unknown, if it may be the
user's or that of a program that the application had started.
"""

FileKind = Literal["file", "symlink", "folder", "fifo", "socket"]
"""The last two are a named pipe and a socket that a program listens on. They have no content on disk."""


class FileExtras(Struct, frozen=True, kw_only=True):
    """What a file has besides content and permission bits: its owner, and extended attributes, including ACLs."""

    owner: tuple[int, int]
    """The user id and the group id."""
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
    """`None` if they were not read. Two images can be equal although their extras differ."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileImage) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def _compared(self) -> tuple[Digest, int, int, FileKind]:
        return self.digest, self.size, self.mode, self.kind


class Reverted(Struct, frozen=True, kw_only=True):
    """What an undo or redo did to an earlier change."""

    change_id: ChangeId
    hunks: tuple[HunkKey, ...] = ()
    """The hunks of the change that are undone afterwards; empty means that all of it is undone, or redone."""
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
    """Folders made for a created file, outermost first. For an undo, the folders that are removed with the file."""
    moved_from: str = ""
    moved_to: str = ""
    reverts: tuple[Reverted, ...] = ()
    """For an undo or redo: what it undid or redid of earlier changes."""
    is_shared: bool = False
    """Whether a command of another session ran at the same time, which may have made the change."""
    is_new_name: bool = False
    """Whether the path became another name (a hard link) of an existing file. Its undo writes a separate file there,
    because writing in place would change the other file, too.
    """
    is_prior: bool = False
    """Whether it comes before all other changes of its path. It leads from the file in the commit to which an undo goes
    back to the file that the session first changed.
    """

    @property
    def is_by_agent(self) -> bool:
        return self.author not in ("person", "undo", "unknown")

    @property
    def needs_own_question(self) -> bool:
        """Whether the change is the user's, or may be. It is undone only if the user agrees to exactly that."""
        return self.author in ("person", "unknown")

    @property
    def owner(self) -> Owner:
        """Whose work the change is. An undo counts as the user's."""
        if self.is_shared:
            return "other_session"
        if self.author == "unknown":
            return "unknown"
        return "agent" if self.is_by_agent else "person"


class Share(Struct, frozen=True):
    """One owner's share of a difference, in lines. Only lines of text are counted."""

    owner: Owner
    added: int = 0
    removed: int = 0


class CommittedFile(Struct, frozen=True, kw_only=True):
    """A file as a commit has it, and the version on disk that it was compared with. `None`: there is no file."""

    path: str
    content: bytes | None
    """The content as a checkout would write it."""
    seen: Digest | None
    """The digest of the version on disk."""
    kind: FileKind = "file"
    is_executable: bool = False
    moved_from: str = ""
    """Its path in the commit, if different."""


class Uncaptured(Struct, frozen=True, kw_only=True):
    """A file whose change could not be recorded, and why. Reported at once, before the user relies on undo."""

    path: str
    reason: str


class RefChange(Struct, frozen=True, kw_only=True):
    """A branch, tag or stash entry of the git repository, before and after one call: object ids, `None` for absent.

    The name of a stash entry is `stash:` and its object id; its message is in `message`. `HEAD` on a branch has the
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
        return self.before is not None and self.before != self.after


class OutsideFile(Struct, frozen=True, kw_only=True):
    """A file outside the workspace, or one of git's own, that a command destroyed while a safety copy was kept.

    `path` is absolute. No undo touches it; only a recovery puts it back, and only while it still equals `after`.
    """

    path: str
    before: FileImage
    after: FileImage | None


class ChangeSelection(Struct, frozen=True, kw_only=True):
    """Which changes an undo or redo applies to. An empty selection means the whole session; criteria narrow it down.

    The user's changes, changes that may be the user's, and undos and redos themselves are selected only if `change_ids`
    names them.
    """

    turn: int | None = None
    since_turn: int | None = None
    call_id: CallId | None = None
    path: str | None = None
    change_ids: tuple[ChangeId, ...] = ()
    hunks: tuple[HunkKey, ...] = ()
    """Select only these hunks of the combined difference that the selected changes make to `path`. Needs `path`."""

    def includes(self, change: FileChange, *, turn: int, call_id: CallId) -> bool:
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
    """Who made a version of a file, or which undo or redo."""

    by: Owner | Literal["undo", "redo"]
    turn: int = 0
    """The turn of the agent; for an undo or redo, the turn that was undone or redone."""


class Clash(Struct, frozen=True, kw_only=True):
    """The three versions that an undo or redo could not merge. `None`: absent.

    `base` is the result of the selected changes, `wanted` what the undo or redo asks for, `yours` what is on disk.
    """

    base_by: tuple[Maker, ...] = ()
    """Who made the selected changes; empty if not recorded."""
    yours_by: tuple[Maker, ...] = ()
    """Who made the edits on disk that conflict, oldest first."""
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
    """The hunks that were affected; empty for the whole file."""
    clash: Clash | None = None
    reverts: tuple[Reverted, ...] = ()
    """If nothing was written: which parts of changes are undone afterwards, or will be when a clash is settled."""
    is_removed: bool = False

    @property
    def is_done(self) -> bool:
        return self.state in ("restored", "merged", "unchanged")


ReviewState = Literal["pending", "kept"]
"""What the user decided about a hunk. Whether the hunk is undone follows from the changes themselves."""


class LineComment(Struct, frozen=True, kw_only=True):
    """The user's remark on lines of a diff, kept until it is sent to the agent or taken back.

    Lines are 0-based and half open, on the side that the remark is on; `quote` is their text at that time.
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
    """`size` old lines from `old_start` on that are the new lines from `new_start` on (0-based)."""

    old_start: int
    new_start: int
    size: int


class Surplus(NamedTuple):
    """Running totals, from 0: how many more rows than old lines the edits of all hunks take, up to each edit."""

    side_by_side: Sequence[int]
    unified: Sequence[int]


class Landmarks(NamedTuple):
    """What is known of a diff after one pass over all its lines; see `core.diff.landmarks`."""

    hunks: tuple[ReviewHunk, ...]
    """The hunks that change more than line endings."""
    converted: tuple[Edit, ...]
    """The edits that change only line endings."""
    moved: tuple[MovedBlock, ...]
    surplus: Surplus


class FileDiff(Struct, frozen=True, kw_only=True):
    """One file's two texts and where they differ. Lines keep their line ending.

    Rows are derived when they are drawn, so a diff of 100,000 lines is only its edits and two immutable sequences:
    tuples, or for big files sequences that split lines on access.
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
    """How lines become bytes: `utf-8` (with surrogate escapes), or the encoding in which the text is read."""
    new_encoding: str = "utf-8"
    moved_from: str = ""
    undone: frozenset[HunkKey] = frozenset()
    """Hunks that are shown although they are undone: the file is as it was before them."""
    authors: tuple[tuple[HunkKey, tuple[Author, ...]], ...] = ()
    """Who wrote each hunk, if several did: one diff can combine several changes, or contain the user's own lines."""
    landmarks: Landmarks | None = None
    """Computed with the comparison, so that the window's thread reads no file. If `None`, the reader computes them."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileDiff) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def _compared(self) -> tuple[object, ...]:
        """Return every field but `landmarks`, which is left out because it follows from the others."""
        return astuple(self)[:-1]

    @property
    def added(self) -> int:
        return sum(edit.new_end - edit.new_start for edit in self.edits)

    @property
    def removed(self) -> int:
        return sum(edit.old_end - edit.old_start for edit in self.edits)
