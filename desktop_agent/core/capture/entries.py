"""One row of the baseline: what a path was, and where its content can be had again."""

import stat
from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.capture.scan import Signature
from desktop_agent.core.protocol.model import FileExtras, FileImage, FileKind

EntryKind = FileKind | Literal["device"]
"""A device is known to be there, and is neither read nor made again."""

_KINDS: dict[int, EntryKind] = {
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "symlink",
    stat.S_IFREG: "file",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
}
NO_CONTENT = ("folder", "fifo", "socket")
"""The kinds that are known in whole by their mode."""

Kept = Literal["copy", "git", ""]
"""Where a file's content can be had again: in the baseline, in git's objects, or nowhere."""


class Entry(Struct, frozen=True, kw_only=True):
    """What one path was."""

    path: str
    signature: Signature
    is_racy: bool = False
    """Whether it was looked at so soon after it was written that it must be read again."""
    digest: Digest | str
    """Empty when the content was not read: git has it (`kept`), it is too large, over the budget, or refused."""
    object: str = ""
    """Its id as a git object; empty when git was not asked."""
    kept: Kept = ""
    extras: FileExtras | None = None
    """What it had beside its content; None when there was no time to look."""
    links: int = 1
    """How many names the file had, when it was last looked at."""

    @property
    def kind(self) -> EntryKind:
        """What stands at the path."""
        return _KINDS.get(stat.S_IFMT(self.signature[4]), "device")

    @property
    def mode(self) -> int:
        """The permission bits; those of symlinks mean nothing and are always the same."""
        return 0o777 if self.kind == "symlink" else stat.S_IMODE(self.signature[4])

    @property
    def size(self) -> int:
        """Bytes of content."""
        return 0 if self.kind in NO_CONTENT else self.signature[2]

    @property
    def inode(self) -> int:
        """The file behind the name."""
        return self.signature[3]

    @property
    def image(self) -> FileImage | None:
        """The entry as the ledger knows files; None when the content was not read."""
        if not self.digest or self.kind == "device":
            return None
        return FileImage(digest=self.digest, size=self.size, mode=self.mode, kind=self.kind, extras=self.extras)

    def is_like(self, other: "Entry") -> bool:
        """Whether only times differ: the file was touched, or written with what it held."""
        if (self.mode, self.kind) != (other.mode, other.kind):
            return False
        if None not in (self.extras, other.extras) and self.extras != other.extras:
            return False
        return (self.digest != "" and self.digest == other.digest) or (
            self.object != "" and self.object == other.object
        )

    def is_still(self, other: "Entry") -> bool:
        """Whether the file did not change between the two, whether or not its content was read both times."""
        return self.is_like(other) or (self.signature == other.signature and "" in (self.digest, other.digest))


def as_note(image: FileImage | None) -> tuple[str, int]:
    """Return what is remembered of a written file: digest, empty for a removed one, and mode, except of folders."""
    if image is None:
        return "", 0
    return image.digest, 0 if image.kind == "folder" else image.mode
