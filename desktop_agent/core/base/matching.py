"""Fuzzy matching of names (files, folders, models) by a few typed letters, best first. Pure; run it in a thread."""

import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import NamedTuple

Span = tuple[int, int]


class Match(NamedTuple):
    text: str
    spans: tuple[Span, ...]


class Matches(NamedTuple):
    best: list[Match]
    total: int


def find_matches(names: Sequence[str], query: str, *, limit: int) -> Matches:
    """Return names that contain every word of `query` or, if none do, its letters in order: `pgpy` finds `pages.py`."""
    return NarrowingSearch(names).find(query, limit=limit)


def _from_the_end(lower: str, letters: str) -> list[int]:
    end = len(lower)
    return [end := lower.rfind(letter, 0, max(end, 0)) for letter in reversed(letters)][::-1]


def joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    apart: list[Span] = []
    for start, end in sorted(spans):
        if apart and start <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return tuple(apart)


_SEPARATORS = "/_-. "
_MOST_TRIED = 60

_MOST_SCORED = 2_000


class _Names:
    def __init__(self, names: Sequence[str]) -> None:
        self._all = names
        self._lower = [name.lower() for name in names]
        self._last_parts = [lower[lower.rfind("/") + 1 :] for lower in self._lower]

    def _match(self, at: int, spans: Iterable[Span]) -> Match:
        # Some letters have a longer lower-case form: positions would be wrong.
        is_same_length = len(self._lower[at]) == len(self._all[at])
        return Match(self._all[at], joined(spans) if is_same_length else ())


class PathIndex(_Names):
    """An index of paths. The search ends with the first kind of match that gives enough.

    In order: the last part begins with the query, has a word that does, contains it; the path contains it; the path
    has its letters in order, as `sesrun` in `session/turn_runner.py`. Between the steps, other threads can work.
    """

    def find(self, query: str, *, limit: int) -> list[Match]:
        """Return the best matches. Ignores case. All words of `query`, separated by blanks, must be present."""
        words = query.lower().split()
        if not words:
            return []
        within: Sequence[int] = range(len(self._all))
        for word in words[1:]:
            within = [at for at in within if word in self._lower[at]]
        found = self._containing(words[0], within, limit)
        if not found and len(words) == 1:
            return self._by_letters(words[0], limit)
        return [self._match(at, self._spans_of(at, words)) for at in found]

    def _containing(self, word: str, within: Sequence[int], limit: int) -> list[int]:
        lower, names = self._lower, self._last_parts
        if "/" in word:
            return self._shortest((at for at in within if word in lower[at]), limit)
        begins = [at for at in within if names[at].startswith(word)]
        if len(begins) >= limit:
            return self._shortest(begins, limit)
        inside = [at for at in within if word in names[at] and not names[at].startswith(word)]
        begun = [at for at in inside if self._begins_word(at, word)]
        found = [*self._shortest(begins, limit), *self._shortest(begun, limit)]
        if len(found) < limit:
            known = set(begun)
            found += self._shortest((at for at in inside if at not in known), limit)
        if len(found) < limit:
            found += self._shortest((at for at in within if word in lower[at] and word not in names[at]), limit)
        return found[:limit]

    def _shortest(self, places: Iterable[int], limit: int) -> list[int]:
        paths = self._all
        return heapq.nsmallest(limit, places, key=lambda at: (len(paths[at]), paths[at]))

    def _begins_word(self, at: int, word: str) -> bool:
        name = self._last_parts[at]
        start = name.find(word)
        while start > 0:
            if self._is_word_start(at, len(self._lower[at]) - len(name) + start):
                return True
            start = name.find(word, start + 1)
        return start == 0

    def _is_word_start(self, at: int, place: int) -> bool:
        path = self._all[at]
        return is_word_start(path if len(path) == len(self._lower[at]) else self._lower[at], place)

    def _spans_of(self, at: int, words: Sequence[str]) -> Iterator[Span]:
        lower = self._lower[at]
        for word in words:
            place = lower.find(word, len(lower) - len(self._last_parts[at]))
            place = place if place >= 0 else lower.rfind(word)
            yield place, place + len(word)

    def _by_letters(self, letters: str, limit: int) -> list[Match]:
        has_them = _in_order(letters)
        lower = self._lower
        having = [at for at, path in enumerate(lower) if has_them(path)]
        if len(having) > _MOST_SCORED:
            having = sorted(having, key=lambda at: len(lower[at]))[:_MOST_SCORED]
        scored = [(*self._scored(at, letters), at) for at in having]
        worst = 2 * min((score for score, *_ in scored), default=0)
        fitting = ((score, length, at, spans) for score, length, spans, at in scored if score <= worst)
        best = heapq.nsmallest(limit, fitting)
        return [self._match(at, spans) for *_, at, spans in best]

    def _scored(self, at: int, letters: str) -> tuple[int, int, tuple[Span, ...]]:
        places = self._at_words(at, letters) or _from_the_end(self._lower[at], letters)
        spans = joined((place, place + 1) for place in places)
        amid = sum(not self._is_word_start(at, start) for start, _ in spans)
        is_before_name = spans[-1][1] <= len(self._lower[at]) - len(self._last_parts[at])
        return len(spans) + 2 * amid + 2 * is_before_name, len(self._all[at]), spans

    def _at_words(self, at: int, letters: str) -> list[int]:
        """Place pieces of `letters` at beginnings of words, long pieces first. Empty if impossible."""
        lower = self._lower[at]
        here = (place for place, letter in enumerate(lower) if letter in letters)
        starts = [place for place in here if self._is_word_start(at, place)]
        waiting: list[tuple[int, ...]] = [()]
        for _ in range(_MOST_TRIED):
            if not waiting:
                return []
            placed = waiting.pop()
            if len(placed) == len(letters):
                return list(placed)
            behind = placed[-1] + 1 if placed else 0
            for start in reversed(starts):
                if start < behind:
                    break
                pairs = zip(letters[len(placed) :], lower[start : start + len(letters)], strict=False)
                run = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
                waiting += [(*placed, *range(start, start + length)) for length in range(1, run + 1)]
        return []


def _in_order(letters: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile("".join(f"[^{re.escape(letter)}]*{re.escape(letter)}" for letter in letters)).match


def is_word_start(path: str, place: int) -> bool:
    if place == 0 or path[place - 1] in _SEPARATORS:
        return True
    return path[place].isupper() and not path[place - 1].isupper()


class NarrowingSearch(_Names):
    """Answers successive queries about `names`. No step is one long call into C, which would delay the window."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(_by_length(names))
        self._query = ""
        self._fitting: Sequence[int] = range(len(self._all))
        self._is_by_letters = False

    def find(self, query: str, *, limit: int) -> Matches:
        words = query.lower().split()
        if not words:
            return Matches([], 0)
        if not (self._query and query.startswith(self._query)):
            self._fitting, self._is_by_letters = range(len(self._all)), False
        self._query = query
        if not self._is_by_letters:
            fitting = self._fitting
            for word in words:
                fitting = [at for at in fitting if word in self._lower[at]]
            if fitting:
                self._fitting = fitting
                return self._best_by_words(words, fitting, limit)
            self._fitting, self._is_by_letters = range(len(self._all)), True  # other names may contain its letters
        return self._best_by_letters("".join(words), limit)

    def _best_by_words(self, words: Sequence[str], fitting: Sequence[int], limit: int) -> Matches:
        parts, (first, *more) = self._last_parts, dict.fromkeys(words)
        kinds = (
            (at for at in (() if more else fitting) if parts[at] == first),
            (at for at in fitting if all(parts[at].startswith(word) for word in words)),
            (at for at in fitting if all(word in parts[at] for word in words)),
            iter(fitting),
        )
        best: dict[int, None] = {}
        for kind in kinds:
            best.update(dict.fromkeys(islice((at for at in kind if at not in best), limit - len(best))))
            if len(best) == limit:
                break
        lower = self._lower
        places = ([(lower[at].rfind(word), len(word)) for word in words] for at in best)
        spans = ([(start, start + length) for start, length in each] for each in places)
        return Matches([self._match(at, each) for at, each in zip(best, spans, strict=True)], len(fitting))

    def _best_by_letters(self, letters: str, limit: int) -> Matches:
        has_them = _in_order(letters)
        self._fitting = [at for at in self._fitting if has_them(self._lower[at])]
        places = ((at, _from_the_end(self._lower[at], letters)) for at in self._fitting)
        matches = ((at, self._match(at, [(place, place + 1) for place in found])) for at, found in places)
        ranked = [
            (spans[-1][1] - spans[0][0] + len(spans), at, match) for at, match in matches if (spans := match.spans)
        ]
        return Matches([match for *_, match in heapq.nsmallest(limit, ranked)], len(ranked))


def _by_length(names: Sequence[str]) -> list[str]:
    lengths: dict[int, list[str]] = {}
    for name in names:
        lengths.setdefault(len(name), []).append(name)
    return [name for length in sorted(lengths) for name in sorted(lengths[length])]
