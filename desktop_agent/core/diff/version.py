"""One side of a comparison: a file at some moment, or its absence."""

import stat

from msgspec import Struct

from desktop_agent.core.diff.text import Text, read_text
from desktop_agent.core.protocol.model import FileImage, FileKind

_TYPES = {
    "symlink": stat.S_IFLNK,
    "folder": stat.S_IFDIR,
    "fifo": stat.S_IFIFO,
    "socket": stat.S_IFSOCK,
}


class Version(Struct, frozen=True):
    """A file's image with its content, and its text where it has one. An absent file has no image and no bytes."""

    image: FileImage | None
    content: bytes
    text: Text | None

    @classmethod
    def of(cls, image: FileImage | None, content: bytes | None, *, is_text_wanted: bool = True) -> "Version":
        """Return the version with this image and content; `None` for both means that the file is absent."""
        data = content or b""
        return cls(image, data, read_text(data) if is_text_wanted else None)

    @property
    def kind(self) -> FileKind:
        """What it was; a plain file also when absent."""
        return self.image.kind if self.image else "file"

    @property
    def mode(self) -> int | None:
        """File type and permissions as in `stat`; `None` when absent."""
        if self.image is None:
            return None
        return _TYPES.get(self.image.kind, stat.S_IFREG) | stat.S_IMODE(self.image.mode)

    @property
    def encoding(self) -> str:
        """How its text is stored."""
        return self.text.encoding if self.text else "utf-8"
