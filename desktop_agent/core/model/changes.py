"""Files before and after a call, and what an undo made of them."""

from dataclasses import dataclass
from typing import Literal

from desktop_agent.core.ids import CallId, ChangeId, Digest

ChangeKind = Literal["created", "modified", "deleted", "mode_changed"]
Author = Literal["agent", "shell", "mcp", "person"]
"""Who wrote a change: an edit tool, a command, an MCP server, or the person."""

FileKind = Literal["file", "symlink"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileImage:
    """The exact state of a file: content by digest, length in bytes, and permission bits.

    For a symlink the content is its target path.
    """

    digest: Digest
    size: int
    mode: int
    kind: FileKind = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One file, before and after one call. `None` means that the file did not exist.

    `path` is relative to the workspace, with `/`. Line counts are 0 for binary files.
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
    """Folders that had to be made for a created file, outermost first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncaptured:
    """A file whose change could not be recorded, and why. Said at once, before anybody relies on undo."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSelection:
    """Which changes an undo or redo means. An empty selection means the whole session; criteria narrow it down."""

    turn: int | None = None
    call_id: CallId | None = None
    path: str | None = None
    change_ids: tuple[ChangeId, ...] = ()

    def includes(self, change: FileChange, *, turn: int, call_id: CallId) -> bool:
        """Whether the selection covers `change`, made by `call_id` in `turn`."""
        return (
            (self.turn is None or self.turn == turn)
            and (self.call_id is None or self.call_id == call_id)
            and (self.path is None or self.path == change.path)
            and (not self.change_ids or change.id in self.change_ids)
        )


OutcomeState = Literal["restored", "unchanged", "conflict", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOutcome:
    """What an undo or redo did to one file.

    `restored`: written back. `unchanged`: it already was in the wanted state. `conflict`: somebody changed it since, so
    it was left alone. `failed`: it could not be written. The last two say why in `reason`.
    """

    path: str
    state: OutcomeState
    change_ids: tuple[ChangeId, ...]
    reason: str = ""

    @property
    def is_done(self) -> bool:
        """Whether the file is in the state that was asked for."""
        return self.state in ("restored", "unchanged")
