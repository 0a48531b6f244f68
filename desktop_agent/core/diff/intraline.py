"""Which words of a changed line changed. Fast enough to run for the lines that are just being painted."""

import re
from itertools import accumulate
from typing import NamedTuple

MAX_LINE_CHARS = 2_000
"""Longer lines are compared by their common start and end only."""
MIN_KEPT = 0.25
"""Lines with less in common than this share are simply different: marking nearly everything would mark nothing."""

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_BLANKS = " \t"
_JOIN_CHARS = 2
"""Marks with no more than this between them, and no word in it, become one."""

Spans = tuple[tuple[int, int], ...]
"""Half-open ranges of character offsets, in order, not touching."""


class ChangedWords(NamedTuple):
    """The changed parts of an old and a new line."""

    old: Spans
    new: Spans


NOTHING = ChangedWords((), ())


def get_ready() -> None:
    """Import what comparing takes: 20 ms and more the first time, which is not for a thread that paints."""
    import rapidfuzz.distance  # noqa: F401 # pyright: ignore[reportUnusedImport] - it shall only be there


def changed_words(old: str, new: str) -> ChangedWords:
    """Return what differs between two versions of a line (without their endings); nothing when they are too unlike."""
    if old == new or not old or not new:
        return NOTHING
    is_long = max(len(old), len(new)) > MAX_LINE_CHARS
    words = _middle(old, new) if is_long else _by_token(old, new)
    return words if _is_alike(old, new, words) else NOTHING


def _by_token(old: str, new: str) -> ChangedWords:
    from rapidfuzz.distance import Indel  # 17 ms to import, and only a diff on screen needs it

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
    """Append a span, joined with the last one when hardly anything is between them."""
    if start == end:
        return
    if spans and start - spans[-1][1] <= _JOIN_CHARS and not re.search(r"\w", line[spans[-1][1] : start]):
        start = spans.pop()[0]
    spans.append((start, end))


def _is_alike(old: str, new: str, words: ChangedWords) -> bool:
    """Whether enough of the shorter line was kept, blanks aside."""
    changed = sum(_ink(old[start:end]) for start, end in words.old)
    return _ink(old) - changed >= MIN_KEPT * min(_ink(old), _ink(new))


def _ink(text: str) -> int:
    """How many characters are no blanks."""
    return len(text) - sum(map(text.count, _BLANKS))


def _middle(old: str, new: str) -> ChangedWords:
    """What is left between the common start and the common end."""
    from rapidfuzz.distance import Postfix, Prefix

    start = Prefix.similarity(old, new)
    tail = Postfix.similarity(old[start:], new[start:])
    return ChangedWords(_span(start, len(old) - tail), _span(start, len(new) - tail))


def _span(start: int, end: int) -> Spans:
    return ((start, end),) if start < end else ()
