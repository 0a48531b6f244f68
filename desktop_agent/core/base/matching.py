"""Which names a user means by a few letters, best first: of files or of models. Pure, and made for a thread."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

Span = tuple[int, int]
"""Characters `start:end` of a name."""


class Match(NamedTuple):
    """A name that fits, and which parts of it are why."""

    text: str
    spans: tuple[Span, ...]


class Matches(NamedTuple):
    """The best matches, and how many there are in all."""

    best: list[Match]
    total: int


def find_matches(paths: Sequence[str], query: str, *, limit: int) -> Matches:
    """Return the names that contain every word of `query`, in any case and order. A name is like a path, with slashes.

    If no name does, one with the letters of `query` in this order is a match too: `pgpy` finds `pages.py`. Matches
    behind the last slash come before matches in front of it, and short names before long ones.
    """
    words = query.lower().split()
    if not words:
        return Matches([], 0)
    count = _Count()
    best = heapq.nsmallest(limit, count.of(_ranked_by_words(paths, words)))
    if best:
        return Matches([Match(path, spans_of_words(path, words)) for *_, path in best], count.total)
    found = heapq.nsmallest(limit, count.of(_ranked_by_letters(paths, "".join(words))))
    return Matches([Match(path, spans_of_letters(path, "".join(words))) for *_, path in found], count.total)


class _Count:
    """Counts what passes through, so that 100,000 matches need not be kept to be counted."""

    def __init__(self) -> None:
        self.total = 0

    def of(self, ranked: Iterable[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
        for item in ranked:
            self.total += 1
            yield item


def _ranked_by_words(paths: Iterable[str], words: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    for path in paths:
        rank = _rank_of_words(path.lower(), words)
        if rank is not None:
            yield rank, len(path), path


def _ranked_by_letters(paths: Iterable[str], letters: str) -> Iterator[tuple[int, int, str]]:
    for path in paths:
        spans = spans_of_letters(path, letters)
        if spans:
            yield spans[-1][1] - spans[0][0] + len(spans), len(path), path


def _rank_of_words(lower: str, words: Sequence[str]) -> int | None:
    name_at = lower.rfind("/") + 1
    worst = 0
    for word in words:
        at = lower.rfind(word)
        if at < 0:
            return None
        if at < name_at:
            worst = 3  # only in front of the last slash
        elif worst < 2 and not lower.startswith(word, name_at):
            worst = 2  # inside the last part
        elif worst < 1 and name_at + len(word) < len(lower):
            worst = 1  # the beginning of it
    return worst


def spans_of_words(path: str, words: Sequence[str]) -> tuple[Span, ...]:
    """Return where the words are, each at its last place."""
    lower = path.lower()
    if len(lower) != len(path):
        return ()  # some letters have a longer lower-case form: positions would be wrong
    return joined((at, at + len(word)) for word in words if (at := lower.rfind(word)) >= 0)


def spans_of_letters(path: str, letters: str) -> tuple[Span, ...]:
    """Return where the letters are, from the last to the first, so that the last part is preferred."""
    lower = path.lower()
    if len(lower) != len(path):
        return ()
    spans: list[Span] = []
    end = len(lower)
    for letter in reversed(letters):
        end = lower.rfind(letter, 0, end)
        if end < 0:
            return ()
        spans.append((end, end + 1))
    return joined(spans)


def joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the spans in order, those that touch or overlap as one."""
    apart: list[Span] = []
    for start, end in sorted(spans):
        if apart and start <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return tuple(apart)
