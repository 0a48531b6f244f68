"""Which removed line became which added line, inside one edit."""

from collections.abc import Sequence

MAX_PAIRS_COMPARED = 2_500
"""Beyond this many pairs of lines, lines stand beside each other in their order, whatever they say."""
_COMPARED_CHARS = 200


class Pairs:
    """Every line of the shorter side beside one line of the longer side, in order: as many rows as the longer has.

    Among all such choices it is the one whose pairs are most alike. Sides of one length pair one to one.
    """

    def __init__(self, old_lines: Sequence[str], old: range, new_lines: Sequence[str], new: range) -> None:
        """The sides are these ranges of the lines, which are looked at only where they are compared."""
        sides = (old_lines, old), (new_lines, new)
        (short_lines, shorter), (long_lines, longer) = sides if len(old) <= len(new) else sides[::-1]
        self._count = len(shorter)
        self._places: list[int] | None = None
        if 0 < len(shorter) < len(longer) and len(shorter) * len(longer) <= MAX_PAIRS_COMPARED:
            alike = short_lines[shorter.start : shorter.stop], long_lines[longer.start : longer.stop]
            self._places = _most_alike(*alike)
            self._partners = {place: index for index, place in enumerate(self._places)}

    def partner(self, index: int) -> int | None:
        """The line of the shorter side that stands beside line `index` of the longer side."""
        if self._places is not None:
            return self._partners.get(index)
        return index if index < self._count else None

    def place(self, index: int) -> int:
        """The line of the longer side that stands beside line `index` of the shorter side."""
        return index if self._places is None else self._places[index]


def _most_alike(shorter: Sequence[str], longer: Sequence[str]) -> list[int]:
    """Dynamic programming: `best[i][skipped]` is how well the first i pairs can agree with so many lines left out."""
    from rapidfuzz.distance import Indel  # 17 ms to import, and only a diff on screen needs it

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
        # The earliest place that is as good: what is left over gathers at the end, as after an edit that appends.
        while skipped and best[index + 1][skipped - 1] == best[index + 1][skipped]:
            skipped -= 1
        places[index] = index + skipped
    return places
