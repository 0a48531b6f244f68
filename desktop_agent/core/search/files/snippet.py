"""Which lines of a passage to show."""

from collections.abc import Sequence

SNIPPET_LINES = 16
LONGEST_LINE = 200

_LEAD = 2
_SHORTEST_STEM = 4
_ENDING = 3
"""Letters that an ending such as -ing may have."""


def best_lines(content: str, terms: Sequence[str]) -> tuple[int, list[str]]:
    """Return the lines of `content` where most of `terms` (lower case) stand together, and the index of the first.

    Different words nearby count for more than one word often, and long words for more than short ones. The line that
    has most of them comes near the top, because what it begins is what follows it.
    """
    lines = content.removesuffix("\n").split("\n")
    last_start = len(lines) - SNIPPET_LINES
    if last_start <= 0:
        return 0, _shortened(lines)
    stems = [term[: max(_SHORTEST_STEM, len(term) - _ENDING)] for term in terms]
    present = [[stem for stem in stems if stem in line] for line in map(str.lower, lines)]
    values = [_weight(present[start : start + SNIPPET_LINES]) for start in range(last_start + 1)]
    start = values.index(max(values))
    key_line = max(range(start, start + SNIPPET_LINES), key=lambda line: sum(map(len, present[line])))
    start = max(start, min(key_line - _LEAD, last_start))
    return start, _shortened(lines[start : start + SNIPPET_LINES])


def _weight(window: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return what a window is worth: its different words, then the lines that have any."""
    return sum(map(len, {stem for stems in window for stem in stems})), sum(map(bool, window))


def _shortened(lines: list[str]) -> list[str]:
    return [line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in lines]
