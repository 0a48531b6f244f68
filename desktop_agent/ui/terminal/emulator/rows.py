"""One row of a screen, as programs change it and as it is kept, and how wide characters are."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from unicodedata import category, east_asian_width

from desktop_agent.ui.terminal.look import PLAIN, PrintedStyle

BLANK = " "
_MOST_MARKS = 8
"""How many marks a character may carry; more are dropped, or one cell could grow without end."""


class CellRun(NamedTuple):
    """Neighbouring cells that look the same."""

    start: int
    length: int
    look: PrintedStyle


class KeptRow(NamedTuple):
    """A row that changes no more, without its blank end. Cells that look as usual are in no run."""

    cells: Sequence[str] = ""
    """The characters of each cell; `""` is the second half of a wide one."""
    runs: tuple[CellRun, ...] = ()
    is_continued: bool = False
    """Whether the next row goes on with the same line."""

    def text(self, start: int = 0, end: int | None = None) -> str:
        """Return what the cells from `start` to `end` say."""
        return "".join(self.cells[start:end])


class Row:
    """The cells of one row, each with its look."""

    __slots__ = ("cells", "is_continued", "looks")

    def __init__(self, columns: int, look: PrintedStyle = PLAIN) -> None:
        self.cells = [BLANK] * columns
        self.looks = [look] * columns
        self.is_continued = False

    def put(self, at: int, text: str, look: PrintedStyle) -> None:
        """Write characters of one cell each; there must be room for them."""
        end = at + len(text)
        self.part(at)
        self.part(end)
        self.cells[at:end] = text
        self.looks[at:end] = [look] * len(text)

    def put_wide(self, at: int, character: str, look: PrintedStyle) -> None:
        """Write a character of two cells."""
        self.part(at)
        self.part(at + 2)
        self.cells[at : at + 2] = (character, "")
        self.looks[at : at + 2] = (look, look)

    def add_mark(self, at: int, mark: str) -> None:
        """Put a mark on the character that is there, or on its first half."""
        if not self.cells[at] and at:
            at -= 1
        if len(self.cells[at]) <= _MOST_MARKS:
            self.cells[at] += mark

    def part(self, at: int) -> None:
        """Take a wide character away that has a half on each side of `at`."""
        if 0 < at < len(self.cells) and not self.cells[at]:
            self.cells[at - 1 : at + 1] = (BLANK, BLANK)

    def erase(self, start: int, end: int, look: PrintedStyle) -> None:
        """Make cells blank, on the ground of `look`."""
        self.part(start)
        self.part(end)
        count = len(self.cells[start:end])
        self.cells[start:end] = [BLANK] * count
        self.looks[start:end] = [look] * count

    def insert(self, at: int, count: int, look: PrintedStyle) -> None:
        """Move what follows to the right by blank cells; what leaves the row is gone."""
        columns = len(self.cells)
        self.part(at)
        self.cells[at:at] = [BLANK] * count
        self.looks[at:at] = [look] * count
        self.part(columns)
        del self.cells[columns:], self.looks[columns:]

    def delete(self, at: int, count: int, look: PrintedStyle) -> None:
        """Take cells away; what follows moves to the left."""
        columns = len(self.cells)
        self.part(at)
        self.part(at + count)
        del self.cells[at : at + count], self.looks[at : at + count]
        missing = columns - len(self.cells)
        self.cells += [BLANK] * missing
        self.looks += [look] * missing

    def fit(self, columns: int) -> None:
        """Have so many cells."""
        self.part(columns)
        missing = columns - len(self.cells)
        del self.cells[columns:], self.looks[columns:]
        self.cells += [BLANK] * missing
        self.looks += [PLAIN] * missing

    def kept(self) -> KeptRow:
        """Return the row as it is now."""
        cells, looks = self.cells, self.looks
        is_plain = looks.count(PLAIN) == len(looks)
        text = "".join(cells)
        if is_plain and text.isascii():  # the most of what is printed
            return KeptRow(text.rstrip(BLANK), (), self.is_continued)
        end = len(cells)
        while end and cells[end - 1] == BLANK and looks[end - 1] == PLAIN:
            end -= 1
        runs: list[CellRun] = []
        start = 0
        while start < end:
            look = looks[start]
            stop = start + 1
            while stop < end and looks[stop] is look:
                stop += 1
            if look != PLAIN:
                runs.append(CellRun(start, stop - start, look))
            start = stop
        return KeptRow(tuple(cells[:end]), tuple(runs), self.is_continued)


@lru_cache(maxsize=4096)
def width(character: str) -> int:
    """Return how many cells a character takes: two for those of East Asia and pictures, none for marks."""
    if east_asian_width(character) in "WF":
        return 2
    return 0 if category(character) in ("Mn", "Me", "Cf") else 1
