"""Pairs removed lines with added ones, and finds the words that changed, quickly enough while painting."""

import re
from collections.abc import Sequence
from importlib import import_module
from itertools import accumulate
from typing import NamedTuple

from desktop_agent.core.base.regex import regex

MAX_LINE_CHARS = 2_000
MIN_KEPT = 0.25
"""Lines that share less than this fraction count as different, because marks on nearly everything show nothing."""

_TOKEN = regex(r"\w+|\s+|[^\w\s]")
_BLANKS = " \t"
_JOIN_CHARS = 2
"""Marks separated by at most this many characters, without a word among them, are merged."""

Spans = tuple[tuple[int, int], ...]
"""Half-open ranges of character offsets, in order, not touching."""


class ChangedWords(NamedTuple):
    old: Spans
    new: Spans


NOTHING = ChangedWords((), ())


def get_ready() -> None:
    """Import rapidfuzz, which takes 20 ms or more the first time. Do not call this in the window's thread."""
    import_module("rapidfuzz.distance")


def changed_words(old: str, new: str) -> ChangedWords:
    """Return the words that differ; empty if too much differs. Lines have no endings."""
    if old == new or not old or not new:
        return NOTHING
    is_long = max(len(old), len(new)) > MAX_LINE_CHARS
    words = _middle(old, new) if is_long else _by_token(old, new)
    return words if _is_alike(old, new, words) else NOTHING


def _by_token(old: str, new: str) -> ChangedWords:
    from rapidfuzz.distance import Indel

    old_tokens, new_tokens = _TOKEN.findall(old), _TOKEN.findall(new)
    old_at, new_at = (list(accumulate(map(len, tokens), initial=0)) for tokens in (old_tokens, new_tokens))
    old_spans: list[tuple[int, int]] = []
    new_spans: list[tuple[int, int]] = []
    for code in Indel.opcodes(old_tokens, new_tokens):
        if code.tag != "equal":
            _add(old_spans, old_at[code.src_start], old_at[code.src_end], old)
            _add(new_spans, new_at[code.dest_start], new_at[code.dest_end], new)
    return ChangedWords(tuple(old_spans), tuple(new_spans))


def _add(spans: list[tuple[int, int]], start: int, end: int, line: str) -> None:
    if start == end:
        return
    if spans and start - spans[-1][1] <= _JOIN_CHARS and not re.search(r"\w", line[spans[-1][1] : start]):
        start = spans.pop()[0]
    spans.append((start, end))


def _is_alike(old: str, new: str, words: ChangedWords) -> bool:
    changed = sum(_ink(old[start:end]) for start, end in words.old)
    return _ink(old) - changed >= MIN_KEPT * min(_ink(old), _ink(new))


def _ink(text: str) -> int:
    return len(text) - sum(map(text.count, _BLANKS))


def _middle(old: str, new: str) -> ChangedWords:
    from rapidfuzz.distance import Postfix, Prefix

    start = Prefix.similarity(old, new)
    tail = Postfix.similarity(old[start:], new[start:])
    return ChangedWords(_span(start, len(old) - tail), _span(start, len(new) - tail))


def _span(start: int, end: int) -> Spans:
    return ((start, end),) if start < end else ()


MAX_PAIRS_COMPARED = 2_500
"""With more pairs of lines than this, lines are paired in order, without comparing them."""
_COMPARED_CHARS = 200


class Pairs:
    """Pairs the most similar lines of two sides, in order. There is a row for each line of the longer side."""

    def __init__(self, old_lines: Sequence[str], old: range, new_lines: Sequence[str], new: range) -> None:
        """`old` and `new` are the ranges of the lines to pair. A line is read only if it is compared."""
        sides = (old_lines, old), (new_lines, new)
        (short_lines, shorter), (long_lines, longer) = sides if len(old) <= len(new) else sides[::-1]
        self._count = len(shorter)
        self._places: list[int] | None = None
        if 0 < len(shorter) < len(longer) and len(shorter) * len(longer) <= MAX_PAIRS_COMPARED:
            alike = short_lines[shorter.start : shorter.stop], long_lines[longer.start : longer.stop]
            self._places = _most_alike(*alike)
            self._partners = {place: index for index, place in enumerate(self._places)}

    def partner(self, index: int) -> int | None:
        """The line of the shorter side that is paired with line `index` of the longer side."""
        if self._places is not None:
            return self._partners.get(index)
        return index if index < self._count else None

    def place(self, index: int) -> int:
        return index if self._places is None else self._places[index]


def _most_alike(shorter: Sequence[str], longer: Sequence[str]) -> list[int]:
    """Pair lines by dynamic programming: `best[i][skipped]` scores i pairs with at most `skipped` lines left out."""
    from rapidfuzz.distance import Indel

    spare = len(longer) - len(shorter)
    ours = [line.strip()[:_COMPARED_CHARS] for line in shorter]
    theirs = [line.strip()[:_COMPARED_CHARS] for line in longer]
    best = [[0.0] * (spare + 1)]
    for index, line in enumerate(ours):
        row: list[float] = []
        for skipped in range(spare + 1):
            paired = best[index][skipped] + Indel.normalized_similarity(line, theirs[index + skipped])
            row.append(max(paired, row[-1]) if row else paired)
        best.append(row)
    places = [0] * len(shorter)
    skipped = spare
    for index in reversed(range(len(shorter))):
        # Among equal scores, take the earliest place. Unpaired lines then gather at the end, as after appending.
        while skipped and best[index + 1][skipped - 1] == best[index + 1][skipped]:
            skipped -= 1
        places[index] = index + skipped
    return places
