"""What a user types, as an FTS5 expression: never one that the index cannot read, whatever it is.

Words stand in any order, `"quoted ones"` side by side. A word with signs in it (`page_count`, `src/app.py`) is the
words between them, side by side. The last word may be the beginning of one, because it is still being typed.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

_QUOTED_OR_NOT = re.compile(r'"([^"]*)("?)|([^\s"]+)')
_WORD = re.compile(r"[^\W_]+")
"""As the tokenizer of the index cuts them."""
_MOST_CHARS = 2_000
_MOST_PHRASES = 16
_MOST_WORDS = 64
SHORTEST_BEGINNING = 4
"""Letters that a word needs to stand for all that begin so; most words begin like a shorter one."""


class SessionQuestion(NamedTuple):
    """What is looked for: all of these phrases, each of words side by side, in lower case."""

    phrases: tuple[tuple[str, ...], ...]
    is_open: bool = False
    """Whether the last word may be the beginning of one."""

    @property
    def expression(self) -> str:
        """For `MATCH`. Every word is quoted, so that nothing of it is an operator."""
        parts = [_quoted(phrase) for phrase in self.phrases]
        if parts and self.is_open:
            parts[-1] += " *"
        return " AND ".join(parts)


def parse_question(text: str) -> SessionQuestion:
    """Return what `text` asks for; no phrases when it has no word."""
    phrases: list[tuple[str, ...]] = []
    is_open = False
    text = unicodedata.normalize("NFC", text[:_MOST_CHARS])
    for match in _QUOTED_OR_NOT.finditer(text):
        quoted, closing, bare = match.groups()
        words = words_of(quoted if bare is None else bare)
        if words:
            phrases.append(words[:_MOST_WORDS])
            ends_in_word = text[: match.end()].rstrip('"')[-1:].isalnum()
            is_open = match.end() == len(text.rstrip()) and not closing and ends_in_word
    is_open = is_open and text == text.rstrip() and len(phrases[-1][-1]) >= SHORTEST_BEGINNING
    return SessionQuestion(tuple(phrases[-_MOST_PHRASES:]), is_open)


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of `text` in lower case."""
    return tuple(word.lower() for word in _WORD.findall(text))


def phrase_expression(words: Sequence[str]) -> str:
    """Return what matches these words side by side, or nothing when there are none."""
    return _quoted(words) if words else ""


def _quoted(words: Sequence[str]) -> str:
    return '"' + " ".join(words) + '"'
