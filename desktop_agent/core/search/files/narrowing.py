"""Matches among a hundred thousand names while the user types: each key looks only at what fitted before it.

The answers are those of `matching.find_matches`. The names are put in the order of the answers once, so that the best
of a kind are the first of it. Made for a thread: no step is one long call into C, so the window has its turn meanwhile.
"""

import re
from collections.abc import Sequence
from heapq import nsmallest
from itertools import islice

from desktop_agent.core.base.matching import Match, Matches, spans_of_letters, spans_of_words


class NarrowingSearch:
    """Answers queries about `names`, one at a time. Making it takes about two microseconds for each name."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = _by_length(names)
        self._lower = [name.lower() for name in self._names]
        self._last_parts = [lower[lower.rfind("/") + 1 :] for lower in self._lower]
        self._query = ""
        self._fitting: Sequence[int] = range(len(self._names))
        """What fitted the last query, by all words or, if nothing did, by its letters."""
        self._is_by_letters = False

    def find(self, query: str, *, limit: int) -> Matches:
        """Return what `find_matches` returns."""
        words = query.lower().split()
        if not words:
            return Matches([], 0)
        if not (self._query and query.startswith(self._query)):
            self._fitting, self._is_by_letters = range(len(self._names)), False
        self._query = query
        if not self._is_by_letters:
            fitting = self._fitting
            for word in words:
                fitting = [at for at in fitting if word in self._lower[at]]
            if fitting:
                self._fitting = fitting
                return self._best_by_words(words, fitting, limit)
            self._is_by_letters = True
        return self._best_by_letters("".join(words), limit)

    def _best_by_words(self, words: Sequence[str], fitting: Sequence[int], limit: int) -> Matches:
        """Return the best: all words are the last part, begin it, are in it, or are anywhere."""
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
        found = [Match(self._names[at], spans_of_words(self._names[at], words)) for at in best]
        return Matches(found, len(fitting))

    def _best_by_letters(self, letters: str, limit: int) -> Matches:
        has_them = re.compile("".join(f"[^{re.escape(letter)}]*{re.escape(letter)}" for letter in letters)).match
        self._fitting = [at for at in self._fitting if has_them(self._lower[at])]
        spans = ((at, spans_of_letters(self._names[at], letters)) for at in self._fitting)
        ranked = [(found[-1][1] - found[0][0] + len(found), at, found) for at, found in spans if found]
        best = nsmallest(limit, ranked)
        return Matches([Match(self._names[at], found) for _, at, found in best], len(ranked))


def _by_length(names: Sequence[str]) -> list[str]:
    """Return the short ones first, in the order of the alphabet where they are equally long."""
    lengths: dict[int, list[str]] = {}
    for name in names:
        lengths.setdefault(len(name), []).append(name)
    return [name for length in sorted(lengths) for name in sorted(lengths[length])]
