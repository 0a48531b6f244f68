"""Words: identifiers split into them, and questions turned into what FTS5 searches for.

The tokenizer of the index already splits at every sign, `_` too, ignores case and takes endings off (Porter). What is
left to do here is camelCase.
"""

import re
from functools import lru_cache

from msgspec import Struct

MOST_TERMS = 32
LONGEST_TERM = 64
_SHORTEST_PREFIX = 4

_ONLY_IDENTIFIERS = bytes(sign if chr(sign).isascii() and chr(sign).isalnum() else ord(" ") for sign in range(256))
"""Leaves identifiers, or their parts between `_`, and blanks."""
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_TERM = re.compile(r"\w+")

_STOP_WORDS = """
a about all also an and any are as at be been but by can code could did do does done file files find for from
get gets had has have how i if in into is it its let made make me my of on or our should show so some such than
that the their them then there these they this those to up us use used uses using was we were what when where
which who why will with work works would you your"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Words of questions that say nothing about code, and `code` and `file`, which say nothing about a file of code."""


def humps(text: str) -> str:
    """Return the words of all camelCase in `text`, each identifier once: `readFile` gives `read File`."""
    # Methods of bytes: an expression that finds identifiers takes four times as long, one that finds humps far longer.
    found = set(text.encode("ascii", "replace").translate(_ONLY_IDENTIFIERS).split())
    mixed = [word for word in found if not (word.islower() or word.isupper() or word.istitle() or word.isdigit())]
    return " ".join(_split(word.decode("ascii")) for word in sorted(mixed))


@lru_cache(maxsize=20_000)
def _split(identifier: str) -> str:
    return " ".join(_PART.findall(identifier))


class CodeQuestion(Struct, frozen=True):
    """A question as the index understands it."""

    expression: str
    """For `MATCH`. Every term is quoted, so that no sign of the question is an operator."""
    terms: tuple[str, ...]
    """The words looked for, in lower case."""


def parse_question(text: str) -> CodeQuestion | None:
    """Return what to search for, or None when `text` has no word.

    Any term may match, and the more do, the better. Longer ones also match as beginnings. Stop words are dropped,
    unless the question has nothing else.
    """
    found = _TERM.findall(text)[: 4 * MOST_TERMS]
    wanted = [word for word in found if word.lower() not in STOP_WORDS] or found
    terms: dict[str, None] = {}
    for word in wanted:
        for part in (word, *humps(word).split()):
            terms.setdefault(part.lower()[:LONGEST_TERM].strip("_"))
    chosen = [term for term in terms if term][:MOST_TERMS]
    if not chosen:
        return None
    expression = " OR ".join(f'"{term}"{"*" if len(term) >= _SHORTEST_PREFIX else ""}' for term in chosen)
    words = dict.fromkeys(word for term in chosen for word in term.split("_") if word)
    return CodeQuestion(expression, tuple(words))
