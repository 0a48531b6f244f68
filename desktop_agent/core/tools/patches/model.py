"""What a patch says, whatever it was written in."""

from typing import Literal

from msgspec import Struct

Sign = Literal[" ", "-", "+"]
Action = Literal["Add", "Update", "Delete"]


class HunkLine(Struct, frozen=True):
    r"""One line of a hunk, without its sign and its `\n`; a `\r` before that is part of the text."""

    sign: Sign
    text: str


class PatchHunk(Struct, frozen=True, kw_only=True):
    """Lines to find, and what to make of them."""

    lines: tuple[HunkLine, ...]
    start: int | None = None
    """The line (from 0) at which it says it begins. None: it does not say."""
    anchors: tuple[str, ...] = ()
    """Lines that come before it, outermost first."""
    is_at_end: bool = False
    """Its last old line is the last one of the file."""
    ends_with_newline: bool | None = None
    """Whether the file ends in a newline after it. None: it does not say."""

    @property
    def old(self) -> tuple[str, ...]:
        """The lines that must be there."""
        return tuple(line.text for line in self.lines if line.sign != "+")

    @property
    def new(self) -> tuple[str, ...]:
        """The same lines as they will be."""
        return tuple(line.text for line in self.lines if line.sign != "-")

    @property
    def has_changes(self) -> bool:
        """Whether any line is added or removed."""
        return any(line.sign != " " for line in self.lines)


class FilePatch(Struct, frozen=True, kw_only=True):
    """What becomes of one file."""

    action: Action
    paths: tuple[str, ...]
    """What the file may be called, best first: a header can be read with and without git's `a/`. Empty: not said."""
    hunks: tuple[PatchHunk, ...] = ()
    alternatives: tuple[tuple[PatchHunk, ...], ...] = ()
    """Other ways to read `hunks`, tried in turn when they do not fit."""
    content: str = ""
    """What an added file has in it."""
    source_path: str | None = None
    """Where its content comes from, when it is renamed or copied."""
    is_copy: bool = False
    is_executable: bool | None = None
    """Whether its executable bits are set or cleared. None: they stay."""


class PatchError(ValueError):
    """The patch cannot be read, or does not fit. The text is written for the model."""
