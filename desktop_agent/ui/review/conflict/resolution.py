"""What the user decided about a file that an undo or redo left alone."""

from typing import Literal, NamedTuple

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.protocol.model import FileImage, FileOutcome

Purpose = Literal["undo", "redo"]


class Resolution(NamedTuple):
    """Write `content` (`None`: remove the file), but only if the file still has the digest `expected`."""

    path: str
    content: bytes | None
    expected: Digest | None
    """Of the version that the user saw; `None`: there was no file."""
    purpose: Purpose
    outcome: FileOutcome
    """What it settles: the changes and hunks that the undo or redo was about."""
    like: FileImage | None = None
    """What the file becomes when a version is taken as a whole; without it, it stays of the kind that it is."""
