"""What can be said of two versions of a binary file. Reads all of both: to be called in a thread."""

from msgspec import Struct
from PySide6.QtCore import QCoreApplication

from desktop_agent.core.diff.binary_files import HEAD_BYTES, HexExcerpt, excerpt, file_type
from desktop_agent.ui.review.media.media_words import exact_size_words, short_hash


class VersionFacts(Struct, frozen=True):
    """One version: what kind of file, how long, and the beginning of its digest."""

    type_name: str
    size_bytes: int
    hash: str


class BinaryFacts(Struct, frozen=True):
    """Two versions (`None`: absent), and the bytes where they first differ."""

    before: VersionFacts | None
    after: VersionFacts | None
    excerpt: HexExcerpt
    is_same: bool


def binary_facts(before: bytes | None, after: bytes | None) -> BinaryFacts:
    """Return what to show of a change from `before` to `after`."""
    shown = excerpt(before, after)
    is_same = before is not None and after is not None and shown.difference is None
    return BinaryFacts(version_facts(before), version_facts(after), shown, is_same)


def version_facts(content: bytes | None) -> VersionFacts | None:
    """Return what to show of one version."""
    if content is None:
        return None
    return VersionFacts(file_type(content[:HEAD_BYTES]).name, len(content), short_hash(content))


def version_words(version: VersionFacts | None) -> tuple[str, str, str]:
    """Return what a table says of one version: its kind, its size and its digest."""
    if version is None:
        return QCoreApplication.translate("Media", "There is no file"), "", ""
    return version.type_name, exact_size_words(version.size_bytes), version.hash
