"""Words of a shell as the shell would see them: quotes removed, and what cannot be known marked as such.

This reads the raw text itself instead of trusting the parser's nodes, so that a word counts only when both agree on
where it begins and ends. The parser says where expansions are ("holes"); everything else is decided here.
"""

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

WordKind = Literal["known", "simple", "complex"]
"""`known`: the text is what the program gets. `simple`: a variable, a glob or a command's output, whose value is
unknown but which does nothing by itself. `complex`: anything else."""

_BLANKS = " \t\n"
_OPERATORS = ";&|<>()"
_VARIABLE = re.compile(r"\$(\w+|[-!?@*#$])", re.ASCII)
_SIMPLE_HOLES = frozenset({"simple_expansion", "plain_expansion", "command_substitution"})


class Word(Struct, frozen=True):
    """One word: its text when `kind` is `known`, else the text as it was written."""

    text: str
    kind: WordKind = "known"

    @property
    def is_known(self) -> bool:
        """Whether `text` is what the program gets."""
        return self.kind == "known"


class Hole(Struct, frozen=True):
    """Where an expansion ends, and what kind of expansion the parser says it is."""

    end: int
    kind: str


class NotAWordError(Exception):
    """The text is not what the parser took it for; the message says how."""


def decode_word(source: str, start: int, end: int, holes: Mapping[int, Hole]) -> Word:
    """Return the one word at `source[start:end]`. Raises `NotAWordError` when a shell would not see exactly one."""
    if source[start:end][:1] in (" ", "\t", "\n"):
        raise NotAWordError("a word that begins behind its line")  # the grammar takes `\n\\x` for a word
    words = split_words(source, start, end, holes)
    if len(words) != 1:
        raise NotAWordError("words that run together")
    return words[0]


def split_words(source: str, start: int, end: int, holes: Mapping[int, Hole]) -> list[Word]:
    """Return the words at `source[start:end]`. Raises `NotAWordError` at an operator, or when quotes do not fit."""
    reader = _Reader(source, start, end, holes)
    words: list[Word] = []
    while True:
        while reader.position < end and source[reader.position] in _BLANKS:
            reader.position += 1
        if reader.position >= end:
            return words
        words.append(reader.word())


class _Reader:
    """Reads one word after the other."""

    def __init__(self, source: str, start: int, end: int, holes: Mapping[int, Hole]) -> None:
        self._source = source
        self._end = end
        self._holes = holes
        self.position = start
        self._text: list[str] = []
        self._kind: WordKind = "known"

    def word(self) -> Word:
        """Read to the end of this word."""
        begin = self.position
        self._text, self._kind = [], "known"
        if self._source[begin] == "#":
            raise NotAWordError("a comment where a word was expected")
        while self.position < self._end and self._source[self.position] not in _BLANKS:
            self._unquoted()
        raw = self._source[begin : self.position]
        if self._kind == "known" and _may_be_braces(raw):
            self._kind = "complex"
        return Word("".join(self._text) if self._kind == "known" else raw, self._kind)

    def _unquoted(self) -> None:
        if self._hole():
            return
        char = self._source[self.position]
        match char:
            case "'":
                self._single_quoted()
            case '"':
                self._double_quoted()
            case "\\":
                following = self._source[self.position + 1 : self.position + 2]
                if following in ("", "\n") or self.position + 2 > self._end:
                    raise NotAWordError("a line that goes on inside a word")
                self._take(following, 2)
            case "$" | "`":
                self._lone_sign(char)
            case "*" | "?" | "[":
                self._weaken("simple")
                self._take(char, 1)
            case _ if char in _OPERATORS:
                raise NotAWordError("an operator inside a word")
            case _:
                self._take(char, 1)

    def _single_quoted(self) -> None:
        close = self._source.find("'", self.position + 1, self._end)
        if close < 0:
            raise NotAWordError("a quote that does not end")
        if any(self.position < place < close for place in self._holes):
            raise NotAWordError("an expansion inside single quotes")
        self._take(self._source[self.position + 1 : close], close + 1 - self.position)

    def _double_quoted(self) -> None:
        self.position += 1
        while self.position < self._end:
            if self._hole():
                continue
            char = self._source[self.position]
            if char == '"':
                self.position += 1
                return
            if char == "\\":
                following = self._source[self.position + 1 : self.position + 2]
                if following == "\n":
                    self.position += 2
                else:
                    self._take(following if following and following in '$`"\\' else "\\" + following, 2)
            elif char in "$`":
                self._lone_sign(char)
            else:
                self._take(char, 1)
        raise NotAWordError("a quote that does not end")

    def _hole(self) -> bool:
        hole = self._holes.get(self.position)
        if hole is None:
            return False
        if hole.end > self._end:
            raise NotAWordError("an expansion that does not end")
        if hole.kind == "simple_expansion" and not _VARIABLE.fullmatch(self._source, self.position, hole.end):
            raise NotAWordError("an expansion that was not recognised")
        self._weaken("simple" if hole.kind in _SIMPLE_HOLES else "complex")
        self.position = hole.end
        return True

    def _lone_sign(self, char: str) -> None:
        """Take a `$` that stands for itself; any other one the parser should have called an expansion."""
        following = self._source[self.position + 1 : min(self.position + 2, self._end)]
        if char == "`" or following.isalnum() or (following and following in "_{([!#@*?$-'\""):
            raise NotAWordError("an expansion that was not recognised")
        self._take(char, 1)

    def _take(self, text: str, length: int) -> None:
        self._text.append(text)
        self.position += length

    def _weaken(self, kind: WordKind) -> None:
        if self._kind != "complex":
            self._kind = kind


def _may_be_braces(raw: str) -> bool:
    """Whether bash or zsh may make several words, or a variable's name, of an unquoted `{…}`."""
    rest = raw.replace("{}", "")  # stands for itself, also inside a word
    return "{" in rest and "}" in rest and not raw.startswith(("'", '"'))
