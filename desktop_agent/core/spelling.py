"""Checks the spelling of the user's text with the dictionaries that Enchant finds, and picks the words to check."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import Final, NamedTuple, Protocol, TypeVar

from desktop_agent.core.base.regex import regex

T = TypeVar("T")

_ALWAYS: Final = ("en_US",)
"""Checked besides the user's languages: technical terms are English."""
_MOST_SUGGESTIONS: Final = 6


class _Dictionary(Protocol):
    def check(self, word: str) -> bool: ...

    def suggest(self, word: str) -> list[str]: ...

    def add(self, word: str) -> None: ...


class Speller:
    """A set of dictionaries: a word is correct if one of them has it. Blocks for tenths of a second; for one thread."""

    def __init__(self, dictionaries: Sequence[_Dictionary]) -> None:
        self._dictionaries = dictionaries

    def misspelled(self, words: Collection[str]) -> frozenset[str]:
        return frozenset(word for word in words if not self._has(_as_listed(word)))

    def suggestions(self, word: str) -> tuple[str, ...]:
        """Return suggestions, likeliest first: the best of each dictionary, then the second best."""
        lists = [_ask(lambda of=of: of.suggest(_as_listed(word)), []) for of in self._dictionaries]
        found = dict.fromkeys(one for one in chain.from_iterable(zip_longest(*lists)) if one is not None)
        return tuple(found)[:_MOST_SUGGESTIONS]

    def learn(self, word: str) -> None:
        """Add a word to the user's own list, which other programs read, too."""
        _ask(lambda: self._dictionaries[0].add(_as_listed(word)), None)

    def _has(self, word: str) -> bool:
        return any(_ask(lambda of=of: of.check(word), True) for of in self._dictionaries)


def open_speller(languages: Iterable[str]) -> Speller | None:
    """Open dictionaries for these languages, best first, and English; `None` without any. Blocks: 50 ms, 9 MB each."""
    try:
        import enchant
    except ImportError:  # what it calls is not installed
        return None
    broker = enchant.Broker()
    installed = _ask(broker.list_languages, list[str]())
    wanted = (_best(language.replace("-", "_"), installed) for language in (*languages, *_ALWAYS))
    opened = (_ask(lambda tag=tag: broker.request_dict(tag), None) for tag in dict.fromkeys(wanted) if tag)
    dictionaries = [dictionary for dictionary in opened if dictionary is not None]
    return Speller(dictionaries) if dictionaries else None


def _best(wanted: str, installed: Sequence[str]) -> str:
    """Return the best dictionary for a language: exact, without a country, its main country, any; empty if none."""
    if wanted in installed:
        return wanted
    language = wanted.partition("_")[0]
    usual = (language, f"{language}_{language.upper()}", f"{language}_US")
    same = (tag for tag in sorted(installed) if tag.partition("_")[0] == language)
    return next((tag for tag in (*usual, *same) if tag in installed), "")


def _as_listed(word: str) -> str:
    return word.replace("’", "'")


def _ask(ask: Callable[[], T], otherwise: T) -> T:
    from enchant.errors import Error

    try:
        return ask()
    except Error:
        return otherwise


_CODE: Final = regex(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_TOKEN: Final = regex(r"\S+")
_OPENING: Final = "\"'([*~“”„‚‘’«»‹›¿¡–—"
_CLOSING: Final = "\"')]*~“”‘’«»‹›.,;:!?…–—"
_PROSE: Final = regex(r"[^\W\d_]+(?:['’‐-][^\W\d_]+)*")
_PART: Final = regex(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_FIRST_WITHOUT_SPACES: Final = "\u2e80"
"""The first code point of the East Asian scripts, which do not separate words."""


class ProseWord(NamedTuple):
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def words_of(message: str) -> Iterator[ProseWord]:
    """Yield the words of the message that a dictionary can know, in order.

    Skips text between backticks, slash commands, and everything that looks like code: words with a digit, with a
    capital inside, in capitals only, or with a sign between letters other than an apostrophe or a hyphen.
    """
    prose = _CODE.sub(lambda code: " " * len(code[0]), message)
    for token in _TOKEN.finditer(prose):
        text = token[0].lstrip(_OPENING)
        start = token.end() - len(text)
        text = text.rstrip(_CLOSING)
        if _PROSE.fullmatch(text) is None:
            continue
        for part in _PART.finditer(text):
            if _is_listed(part[0]):
                yield ProseWord(part[0], start + part.start())


def _is_listed(part: str) -> bool:
    has_inner_capital = part[1:] != part[1:].lower()
    return len(part) > 1 and not has_inner_capital and max(part) < _FIRST_WITHOUT_SPACES
