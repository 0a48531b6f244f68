"""What a command line comes to when it is taken apart: the simple commands that it runs."""

import re

from msgspec import Struct

from desktop_agent.core.policy.shell_words import Word
from desktop_agent.core.policy.wrappers import program_name

UNKNOWN_VALUE = "…"
"""Stands for a variable's value that is not known before the line runs."""


class Redirection(Struct, frozen=True):
    """`> target`: the operator, where it leads, and whether that is written."""

    operator: str
    target: Word

    @property
    def is_write(self) -> bool:
        """Whether it writes a file; `2>&1`, `>&-` and `/dev/null` do not."""
        return ">" in self.operator and self.has_file

    @property
    def has_file(self) -> bool:
        """Whether it opens a file for reading or writing; `2>&1`, `>&-`, `/dev/null` and text in the line do not."""
        if self.operator.startswith("<<") or (self.target.is_known and self.target.text == "/dev/null"):
            return False
        return not (self.operator.endswith("&") and re.fullmatch(r"\d+-?|-", self.target.text))


class Segment(Struct, frozen=True, kw_only=True):
    """One simple command as it would run: what wraps it stripped, what belongs to it kept."""

    parts: tuple[Word, ...]
    redirections: tuple[Redirection, ...] = ()
    assignments: tuple[tuple[str, str], ...] = ()
    """Variables that are set for it, or by it."""
    wrappers: tuple[str, ...] = ()
    """What it runs under, outermost first: `sudo`, `env`, `bash`."""
    outer: tuple[tuple[Word, ...], ...] = ()
    """The words of those, each with everything behind it."""
    start: int = 0
    end: int = 0
    """Where the whole of it, with its wrappers, stands in the line."""
    is_piped: bool = False
    """Whether it reads what another command prints."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words, quotes removed; the program comes by its plain name when it is the system's."""
        texts = tuple(part.text for part in self.parts)
        return (program_name(texts[0]), *texts[1:]) if texts and self.parts[0].is_known else texts

    @property
    def program(self) -> str:
        """The first word; empty for a bare redirection or assignment."""
        return self.words[0] if self.parts else ""

    @property
    def is_static(self) -> bool:
        """Whether every word is known."""
        return all(part.is_known for part in self.parts)


class ParsedCommand(Struct, frozen=True):
    """A command line taken apart. With `problems` it was not understood, and `segments` is only what was found."""

    text: str
    segments: tuple[Segment, ...]
    problems: tuple[str, ...] = ()
    is_posix: bool = False
    """Whether it has only syntax that every POSIX shell reads as bash does."""

    def source(self, segment: Segment) -> str:
        """The part of the line that `segment` comes from."""
        return self.text[segment.start : segment.end]
