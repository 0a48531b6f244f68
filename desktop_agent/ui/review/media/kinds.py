"""Which changed files are better shown as something else than lines of text."""

from typing import Literal

from desktop_agent.core.diff.binary_files import FileType, file_type
from desktop_agent.core.diff.text import is_binary
from desktop_agent.core.protocol.model import FileDiff

MediaKind = Literal["image", "notebook", "binary"]

_TEXT_SUFFIXES = (".svg", ".ipynb")
"""Files whose text can be shown as something else, too."""


def media_kind(path: str, before_head: bytes | None, after_head: bytes | None) -> MediaKind | None:
    """Return how to show a change from how its two versions begin (`None`: absent), or `None` for lines of text.

    A head has `file_types.HEAD_BYTES` bytes, or all that there are.
    """
    heads = [head for head in (before_head, after_head) if head is not None]
    types = [file_type(head) for head in heads]
    if any(_is_drawn(path, found) for found in types):
        return "image"
    if any(is_binary(head) for head in heads):
        return "binary"
    return "notebook" if path.lower().endswith(".ipynb") else None


def may_be_media(diff: FileDiff) -> bool:
    """Whether the contents are worth fetching to find out: they are not needed for a change of plain text."""
    return (diff.is_binary or diff.path.lower().endswith(_TEXT_SUFFIXES)) and "symbolic link" not in " ".join(
        diff.notes
    )


def _is_drawn(path: str, found: FileType) -> bool:
    """A web page may begin with a drawing, so for those the name counts as well."""
    return found.picture is not None and (found.picture != "svg" or path.lower().endswith(".svg"))
