"""Finds paths by a few letters among a hundred thousand, fast enough to follow the keys. Pure, and made for a thread.

The best come first, and the search ends with the first kind of fit that gives enough:

1. the last part begins with what was typed,
2. a word in the last part does (`_`, `-`, `.`, a capital),
3. the last part contains it,
4. the path contains it,
5. the path has its letters in this order, if possible at beginnings of words: `sesrun` finds
   `session/turn_runner.py`. What fits much worse than the best is left out.

Each step is one pass of simple expressions over all paths, between which the interpreter lets other threads work.
"""

import heapq
import re
from collections.abc import Iterable, Sequence

from desktop_agent.core.base.matching import Match, Span, joined

_SEPARATORS = "/_-. "
_MOST_TRIED = 60
"""Ways to place letters in one path. Names that are made to have more of them fit less well."""

_MOST_SCORED = 2_000
"""How many paths that have the letters are looked at closely, the shortest."""


class PathIndex:
    """Some paths, prepared for being searched. Building it takes about a microsecond for each."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths
        self._lower = [path.lower() for path in paths]
        self._names = [lower[lower.rfind("/") + 1 :] for lower in self._lower]

    def find(self, query: str, *, limit: int) -> list[Match]:
        """Return the best matches, in any case; blanks separate words of which each must be there."""
        words = query.lower().split()
        if not words:
            return []
        within = self._having(words[1:])
        found = self._containing(words[0], within, limit)
        if not found and len(words) == 1:
            return self._by_letters(words[0], limit)
        return [Match(self.paths[at], self._spans_of(at, words)) for at in found]

    def _having(self, words: Sequence[str]) -> Sequence[int]:
        within: Sequence[int] = range(len(self.paths))
        for word in words:
            within = [at for at in within if word in self._lower[at]]
        return within

    def _containing(self, word: str, within: Sequence[int], limit: int) -> list[int]:
        """Return the best paths that contain `word`, kind by kind."""
        lower, names = self._lower, self._names
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
        paths = self.paths
        return heapq.nsmallest(limit, places, key=lambda at: (len(paths[at]), paths[at]))

    def _begins_word(self, at: int, word: str) -> bool:
        name = self._names[at]
        start = name.find(word)
        while start > 0:
            if self._is_word_start(at, len(self._lower[at]) - len(name) + start):
                return True
            start = name.find(word, start + 1)
        return start == 0

    def _is_word_start(self, at: int, place: int) -> bool:
        path = self.paths[at]
        return is_word_start(path if len(path) == len(self._lower[at]) else self._lower[at], place)

    def _spans_of(self, at: int, words: Sequence[str]) -> tuple[Span, ...]:
        lower = self._lower[at]
        if len(lower) != len(self.paths[at]):
            return ()  # some letters have a longer lower-case form: positions would be wrong
        name_at = len(lower) - len(self._names[at])
        places = ((word, lower.find(word, name_at)) for word in words)
        spans = ((place if place >= 0 else lower.rfind(word), len(word)) for word, place in places)
        return joined((start, start + length) for start, length in spans)

    # -- letters in their order --

    def _by_letters(self, letters: str, limit: int) -> list[Match]:
        has_them = re.compile("".join(f"[^{re.escape(letter)}]*{re.escape(letter)}" for letter in letters)).match
        lower = self._lower
        having = [at for at, path in enumerate(lower) if has_them(path)]
        if len(having) > _MOST_SCORED:
            having = sorted(having, key=lambda at: len(lower[at]))[:_MOST_SCORED]
        scored = [(*self._scored(at, letters), at) for at in having]
        worst = 2 * min((score for score, *_ in scored), default=0)
        fitting = ((score, length, at, spans) for score, length, spans, at in scored if score <= worst)
        best = heapq.nsmallest(limit, fitting)
        return [Match(self.paths[at], spans if len(lower[at]) == len(self.paths[at]) else ()) for *_, at, spans in best]

    def _scored(self, at: int, letters: str) -> tuple[int, int, tuple[Span, ...]]:
        """Return how badly the letters fit, how long the path is, and where they are."""
        places = self._at_words(at, letters) or self._from_the_end(at, letters)
        spans = joined((place, place + 1) for place in places)
        amid = sum(not self._is_word_start(at, start) for start, _ in spans)
        is_before_name = spans[-1][1] <= len(self._lower[at]) - len(self._names[at])
        return len(spans) + 2 * amid + 2 * is_before_name, len(self.paths[at]), spans

    def _at_words(self, at: int, letters: str) -> list[int]:
        """Return places where pieces of `letters` stand at beginnings of words, long ones first; else nothing."""
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
                run = _common(letters, len(placed), lower, start)
                waiting += [(*placed, *range(start, start + length)) for length in range(1, run + 1)]
        return []

    def _from_the_end(self, at: int, letters: str) -> list[int]:
        """Return the last places, so that the last part is preferred. All letters are there."""
        lower = self._lower[at]
        places: list[int] = []
        end = len(lower)
        for letter in reversed(letters):
            end = lower.rfind(letter, 0, end)
            places.append(end)
        return places[::-1]


def is_word_start(path: str, place: int) -> bool:
    """Whether a word of a path begins at `place`: behind a sign that separates words, or with a capital."""
    if place == 0 or path[place - 1] in _SEPARATORS:
        return True
    return path[place].isupper() and not path[place - 1].isupper()


def _common(letters: str, first: int, lower: str, start: int) -> int:
    """Return how many of `letters`, from the `first` one on, stand at `start` in a row."""
    count = 0
    while first + count < len(letters) and lower.startswith(letters[first + count], start + count):
        count += 1
    return count
