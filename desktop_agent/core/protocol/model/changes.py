"""Files before and after a call, what an undo did to them, and the rows of a diff."""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import astuple

from desktop_agent.core.base.ids import CallId, ChangeId, Digest, HunkKey

ChangeKind = Literal["created", "modified", "deleted", "renamed", "mode_changed"]
Author = Literal["agent", "shell", "mcp", "person", "undo", "unknown"]
"""Who wrote a change: an edit tool, a command, an MCP server, the user, or an undo or redo.

`unknown`: the user, or a program that the application had started, such as a server or a background command.
"""

Owner = Literal["agent", "other_session", "person", "unknown"]
"""Whose work something is. `unknown`: the user's, or a program's that the application had started."""

FileKind = Literal["file", "symlink", "folder", "fifo", "socket"]
"""`fifo` is a named pipe, and `socket` one that a program listens on. Neither has content on disk."""


class FileExtras(Struct, frozen=True, kw_only=True):
    """A file's owner, and its extended attributes, including ACLs."""

    owner: tuple[int, int]
    attributes: tuple[tuple[str, str], ...] = ()


class FileImage(Struct, frozen=True, kw_only=True):
    """The exact state of a file. A symlink's content is its target path; folders, pipes and sockets have none."""

    digest: Digest
    size: int
    mode: int
    kind: FileKind = "file"
    extras: FileExtras | None = None
    """`None` if they were not read. Images can be equal although their extras differ."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileImage) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def _compared(self) -> tuple[Digest, int, int, FileKind]:
        return self.digest, self.size, self.mode, self.kind


DiagnosticSeverity = Literal["error", "warning", "info"]
SEVERITIES: Final[tuple[DiagnosticSeverity, ...]] = ("error", "warning", "info")
"""The worst first."""


class Diagnostic(Struct, frozen=True, kw_only=True):
    """A language server's finding about some lines of a file. Lines count from 1."""

    line: int
    last_line: int
    severity: DiagnosticSeverity
    message: str
    code: str = ""
    is_new: bool = False
    """Whether the server did not report it for the file before the call."""


class FileDiagnostics(Struct, frozen=True, kw_only=True):
    """All that one server reported about one file, the worst first."""

    path: str
    server: str
    digest: Digest
    """The content that the server was shown."""
    found: tuple[Diagnostic, ...] = ()
    left_out: int = 0


class Reverted(Struct, frozen=True, kw_only=True):
    """What an undo or redo did to an earlier change."""

    change_id: ChangeId
    hunks: tuple[HunkKey, ...] = ()
    """The hunks of the change that are undone afterwards; empty if all of it is undone, or redone."""
    is_redo: bool = False


class FileChange(Struct, frozen=True, kw_only=True):
    """One file, before and after one call. `None`: the file did not exist.

    `path` is relative to the workspace, with `/`. Line counts are 0 for binary files. A renamed file is two changes:
    one with `moved_to` at its old path (`deleted`), one with `moved_from` at its new path (`renamed`).
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
    moved_from: str = ""
    moved_to: str = ""
    reverts: tuple[Reverted, ...] = ()
    is_shared: bool = False
    """Whether a command of another session ran at the same time, which may have made the change."""
    is_new_name: bool = False
    """Whether the path became another name (a hard link) of a file. An undo then writes a separate file there."""
    is_prior: bool = False
    """Whether the change leads from the committed file to the file that the session first changed."""

    @property
    def is_by_agent(self) -> bool:
        return self.author not in ("person", "undo", "unknown")

    @property
    def needs_own_question(self) -> bool:
        """Whether the change is, or may be, the user's. An undo needs the user's explicit consent."""
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
    """One owner's share of a difference, in lines of text."""

    owner: Owner
    added: int = 0
    removed: int = 0


class CommittedFile(Struct, frozen=True, kw_only=True):
    """A file in a commit, and the version on disk that it was compared with. `None`: there is no file."""

    path: str
    content: bytes | None
    seen: Digest | None
    kind: FileKind = "file"
    is_executable: bool = False
    moved_from: str = ""


class Uncaptured(Struct, frozen=True, kw_only=True):
    """A file whose change could not be recorded, so that it cannot be undone."""

    path: str
    reason: str


class RefChange(Struct, frozen=True, kw_only=True):
    """A branch, tag or stash entry of the git repository, before and after one call; `None`: absent.

    Values are object ids; `HEAD` on a branch has the branch's name (`refs/heads/main`). The name of a stash entry is
    `stash:` and its object id.
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
    """A destroyed file outside the workspace, or of git's own, with an absolute `path`.

    Only a recovery puts the file back, and only if it still equals `after`.
    """

    path: str
    before: FileImage
    after: FileImage | None


class ChangeSelection(Struct, frozen=True, kw_only=True):
    """The changes that an undo or redo applies to. Empty selects the whole session; criteria narrow it down.

    The user's changes, undos and redos are selected only if `change_ids` names them.
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
    """The author of a version of a file, or the undo or redo that made it."""

    by: Owner | Literal["undo", "redo"]
    turn: int = 0
    """The turn of the agent; for an undo or redo, the turn that was undone or redone."""


class Clash(Struct, frozen=True, kw_only=True):
    """The three versions that an undo or redo could not merge. `None`: absent.

    `base` is the result of the selected changes, `wanted` that of the undo or redo, `yours` the file on disk.
    """

    base_by: tuple[Maker, ...] = ()
    yours_by: tuple[Maker, ...] = ()
    base: FileImage | None
    wanted: FileImage | None
    yours: FileImage | None


class FileOutcome(Struct, frozen=True, kw_only=True):
    """What an undo or redo did to one file.

    `merged`: written, with later edits elsewhere in the file kept. `conflict`: left alone, because another edit changed
    the same place since; with a `clash`, a user can decide.
    """

    path: str
    state: OutcomeState
    change_ids: tuple[ChangeId, ...]
    reason: str = ""
    hunks: tuple[HunkKey, ...] = ()
    clash: Clash | None = None
    reverts: tuple[Reverted, ...] = ()
    """If nothing was written: which parts of changes count as undone, perhaps after a clash is settled."""
    is_removed: bool = False

    @property
    def is_done(self) -> bool:
        return self.state in ("restored", "merged", "unchanged")


class LeftOut(Struct, frozen=True, kw_only=True):
    """A selected change that a commit does not include, or one `hunk` of it, and why."""

    path: str
    hunk: HunkKey | None = None
    reason: str = ""


ReviewState = Literal["pending", "kept"]


class LineComment(Struct, frozen=True, kw_only=True):
    """The user's remark on lines of a diff, or of the plan, kept until it is sent to the agent or taken back.

    Lines are 0-based and half open; `quote` is their text at that time. Without a `path`, they are lines of the plan.
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
    """A hunk and its stable key."""

    key: HunkKey
    hunk: Hunk


class MovedBlock(NamedTuple):
    """A moved block: `size` old lines from `old_start` on are the new lines from `new_start` on (0-based)."""

    old_start: int
    new_start: int
    size: int


class Surplus(NamedTuple):
    """Running totals over all edits, from 0: how many more rows than old lines they take."""

    side_by_side: Sequence[int]
    unified: Sequence[int]


class Landmarks(NamedTuple):
    """Facts about a diff, found in one pass over its lines; see `core.diff.landmarks`."""

    hunks: tuple[ReviewHunk, ...]
    converted: tuple[Edit, ...]
    moved: tuple[MovedBlock, ...]
    surplus: Surplus


class FileDiff(Struct, frozen=True, kw_only=True):
    """One file's two texts and their differences. Lines keep their line ending; rows are made when drawn."""

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
    """Facts that the text does not show: `mode 644 → 755`, `only line endings changed (CRLF → LF)`."""
    old_mode: int | None = None
    """File type and permissions as in `stat` (`0o100644`, `0o120777`); `None` if the file did not exist."""
    new_mode: int | None = None
    old_encoding: str = "utf-8"
    new_encoding: str = "utf-8"
    moved_from: str = ""
    undone: frozenset[HunkKey] = frozenset()
    authors: tuple[tuple[HunkKey, tuple[Author, ...]], ...] = ()
    landmarks: Landmarks | None = None
    """Computed with the comparison, so that the window's thread reads no file. `None`: not computed yet."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileDiff) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def _compared(self) -> tuple[object, ...]:
        return astuple(self)[:-1]

    @property
    def added(self) -> int:
        return sum(edit.new_end - edit.new_start for edit in self.edits)

    @property
    def removed(self) -> int:
        return sum(edit.old_end - edit.old_start for edit in self.edits)
