"""What a file of a conversation says of itself, found by a first look through it."""

from collections import Counter
from typing import Literal

from msgspec import Struct, field

SourceKind = Literal["claude-code", "codex", "desktop-agent"]

SOURCE_NAMES: dict[SourceKind, str] = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "desktop-agent": "Desktop Agent",
}


class FileFacts(Struct):
    """Filled by the reader of each format."""

    kind: SourceKind
    source_id: str = ""
    """The session's id in the other program."""
    workspace: str = ""
    title: str = ""
    is_title_given: bool = False
    """Whether a user gave the title."""
    wanted: set[int] = field(default_factory=set[int])
    """Numbers of the lines that are the conversation, where that is not all of them."""
    problems: list[str] = field(default_factory=list[str])
    """Lines that cannot be read, each with its number."""
    left_out: Counter[str] = field(default_factory=Counter[str])
