"""A long output as a text document whose colours are worked out line by line, when a line is seen."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from desktop_agent.ui.terminal.line import PrintedLine, Run, goes_back, read_line
from desktop_agent.ui.terminal.look import PLAIN, PrintedStyle, look_after
from desktop_agent.ui.wording.visible_text import utf16_length

ROW_CHARS = 1_000
"""A longer line goes on in the next row: Qt lays a row out as a whole, and 2 MB of it would stop the window."""
_LOOK_BACK_LINES = 200
"""How many lines before a line colours are looked for that go on in it."""
_MOST_OVERWRITTEN = 1_000_000
"""Of a longer line that overwrites itself, only the end is read."""
_NOT_PLAIN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class PrintedDocument(NamedTuple):
    """The text as it is shown, row by row, and the lines as they were printed."""

    text: str
    raw_lines: Sequence[str]
    has_colours: bool
    folded: dict[int, tuple[Run, ...]]
    """The rows that are parts of long lines, with their colours."""
    continued: frozenset[int]
    """Those of them that go on with the row before."""
    starts: Sequence[int]
    """Where each row begins in the text with its lines as they were printed; empty when no line is folded."""
    searched: str
    """That text in small letters, for the search; empty when no line is folded."""

    @classmethod
    def read(cls, printed: str) -> "PrintedDocument":
        """Read an output of any length. Takes time in proportion to it: to be called in a thread."""
        raw_lines = printed.replace("\r\n", "\n").split("\n")
        has_colours = "\x1b[" in printed
        rows: list[str] = []
        folded: dict[int, tuple[Run, ...]] = {}
        continued: set[int] = set()
        for number, raw in enumerate(raw_lines):
            line = _shown(raw, PLAIN) if _NOT_PLAIN.search(raw) else PrintedLine(raw)
            text = line.text.replace("\u2028", " ").replace("\u2029", " ")  # would be lines of their own
            if len(text) <= ROW_CHARS:
                rows.append(text)
                continue
            runs = _line_with_colours(raw_lines, number).runs if has_colours else ()
            parts = [text[at : at + ROW_CHARS] for at in range(0, len(text), ROW_CHARS)]
            folded |= dict(enumerate(_runs_of_parts(parts, runs), start=len(rows)))
            continued.update(range(len(rows) + 1, len(rows) + len(parts)))
            rows += parts
        if not folded:
            return cls("\n".join(rows), raw_lines, has_colours, {}, frozenset(), (), "")
        lengths = (len(row) + (number + 1 not in continued) for number, row in enumerate(rows))
        starts = list(accumulate(lengths, initial=0))[:-1]
        whole = "".join(row if number + 1 in continued else row + "\n" for number, row in enumerate(rows))[:-1]
        return cls("\n".join(rows), raw_lines, has_colours, folded, frozenset(continued), starts, _in_small(whole))

    def line(self, row: int) -> PrintedLine:
        """Return a row with its colours; of a part of a long line, the colours alone."""
        if row in self.folded:
            return PrintedLine("", self.folded[row])
        if not self.folded:
            return _line_with_colours(self.raw_lines, row)
        before = sum(number < row for number in self.continued)
        return _line_with_colours(self.raw_lines, row - before)

    def find(self, text: str, row: int, offset: int) -> tuple[int, int, int, int] | None:
        """Return where `text` is next behind a place, over the cuts of lines: row and offset of both ends.

        Goes on from the beginning. Not minding case; only for a document with folded lines.
        """
        sought = _in_small(text)
        start = self.starts[row] + offset
        at = self.searched.find(sought, start)
        at = at if at >= 0 else self.searched.find(sought, 0, start + len(sought))
        if not sought or at < 0:
            return None
        first = bisect_right(self.starts, at) - 1
        last = bisect_right(self.starts, at + len(sought) - 1) - 1
        return first, at - self.starts[first], last, at + len(sought) - self.starts[last]


def _in_small(text: str) -> str:
    """Return `text` in small letters, each as one: a few capitals have two small ones, which would move all behind."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _runs_of_parts(parts: Sequence[str], runs: Sequence[Run]) -> list[tuple[Run, ...]]:
    """Return the runs of a line as those of its parts."""
    found: list[tuple[Run, ...]] = []
    first = start = 0
    for part in parts:
        end = start + utf16_length(part)
        inside: list[Run] = []
        while first < len(runs) and runs[first].start < end:
            run = runs[first]
            begin, stop = max(run.start, start), min(run.start + run.length, end)
            inside.append(Run(begin - start, stop - begin, run.look))
            if run.start + run.length > end:
                break  # it goes on in the next part
            first += 1
        found.append(tuple(inside))
        start = end
    return found


def _line_with_colours(raw_lines: Sequence[str], number: int) -> PrintedLine:
    before = "\n".join(raw_lines[max(0, number - _LOOK_BACK_LINES) : number])
    return _shown(raw_lines[number], look_after(before, PLAIN))


def _shown(raw: str, look: PrintedStyle) -> PrintedLine:
    return read_line(raw, look, limit=_MOST_OVERWRITTEN if goes_back(raw) else max(1, len(raw)))[0]
