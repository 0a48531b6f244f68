"""A long output as a text document, row by row, with the colours of those that have any."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from desktop_agent.core.terminal.printout import COLUMNS, Printout
from desktop_agent.core.terminal.rows import PrintedRow, Run
from desktop_agent.ui.terminal.tail import in_positions

ROW_CHARS = COLUMNS
"""A longer line goes on in the next row: Qt lays a row out as a whole, and 2 MB of it would stop the window."""
MAX_CHARS = 20_000_000
"""Laying out a longer text would freeze the window; the end of a command's output is what matters."""


class PrintedDocument(NamedTuple):
    """The text as it is shown, row by row."""

    text: str
    runs: Mapping[int, tuple[Run, ...]]
    """How the parts of rows look, in Qt's positions; only rows with colours."""
    continued: frozenset[int]
    """The rows that continue the row before."""
    starts: Sequence[int]
    """Where each row begins in the text with its lines as they were printed; empty when no line is folded."""
    searched: str
    """That text in small letters, for the search; empty when no line is folded."""

    @classmethod
    def read(cls, printed: str) -> "PrintedDocument":
        """Read an output of any length. Takes time in proportion to it: to be called in a thread."""
        rows = _rows_of(printed)
        continued = frozenset(number for number, row in enumerate(rows[:-1], start=1) if row.is_continued)
        texts = [row.text.replace("\u2028", " ").replace("\u2029", " ") for row in rows]  # these would break the line
        runs = {number: in_positions(row.text, row.runs) for number, row in enumerate(rows) if row.runs}
        if not continued:
            return cls("\n".join(texts), runs, continued, (), "")
        lengths = (len(row) + (number + 1 not in continued) for number, row in enumerate(texts))
        starts = list(accumulate(lengths, initial=0))[:-1]
        whole = "".join(row if number + 1 in continued else row + "\n" for number, row in enumerate(texts))[:-1]
        return cls("\n".join(texts), runs, continued, starts, _in_small(whole))

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


def _rows_of(printed: str) -> list[PrintedRow]:
    """Return the rows of an output, or only the last ones if there is very much text."""
    rows: list[PrintedRow] = []
    chars = 0

    def take(more: Sequence[PrintedRow]) -> None:
        nonlocal chars
        rows.extend(more)
        chars += sum(len(row.text) + 1 for row in more)
        if chars > 2 * MAX_CHARS:
            while chars > MAX_CHARS and rows:
                half = len(rows) // 2 + 1
                chars -= sum(len(row.text) + 1 for row in rows[:half])
                del rows[:half]

    printout = Printout(take)
    printout.feed(printed)
    take(printout.standing())
    return rows


def _in_small(text: str) -> str:
    """Return `text` in lower case without changing its length: a few capitals would become two characters."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
