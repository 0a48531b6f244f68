"""One row of a screen, as programs change it and as it is kept, and how wide characters are."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple
from unicodedata import category, east_asian_width

from desktop_agent.core.terminal.look import PLAIN, PrintedStyle

BLANK = " "
TAB = 8
"""From one tab stop to the next."""
_MOST_MARKS = 8
"""How many marks a character may carry; more are dropped, or one cell could grow without end."""


class CellRun(NamedTuple):
    """Neighbouring cells that look the same."""

    start: int
    length: int
    look: PrintedStyle


class KeptRow(NamedTuple):
    """A row that no longer changes, without its blank end. Cells that look as usual are in no run."""

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
        self.cells: list[str] = [BLANK] * columns
        self.looks: list[PrintedStyle] = [look] * columns
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

    def add_mark(self, at: int, mark: str) -> bool:
        """Put a mark on the character that is there, or on its first half; return whether it can carry one."""
        if not self.cells[at] and at:
            at -= 1
        if len(self.cells[at]) <= _MOST_MARKS:
            self.cells[at] += mark
        return True

    def part(self, at: int) -> None:
        """Take a character away that has cells on each side of `at`."""
        cells = self.cells
        if not 0 < at < len(cells) or cells[at]:
            return
        start, end = at - 1, at + 1
        while start and not cells[start]:
            start -= 1
        while end < len(cells) and not cells[end]:
            end += 1
        cells[start:end] = [BLANK] * (end - start)

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
        if is_plain and text.isascii():  # most of what is printed
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


class Run(NamedTuple):
    """`length` characters from `start` with one look."""

    start: int
    length: int
    look: PrintedStyle


class PrintedRow(NamedTuple):
    """A row that no longer changes. Parts that look as usual have no run."""

    text: str
    runs: tuple[Run, ...] = ()
    is_continued: bool = False
    """Whether the next row goes on with the same line."""


_EMPTY = PrintedRow("")
_CONTINUED_EMPTY = PrintedRow("", (), is_continued=True)


class WrittenRow(Row):
    """A row as long as what was written to it, so that blanks at its end are printed ones."""

    __slots__ = ("_columns",)

    def __init__(self, columns: int, _look: PrintedStyle = PLAIN) -> None:
        super().__init__(0)
        self._columns = columns

    def put(self, at: int, text: str, look: PrintedStyle) -> None:
        self._reach(at)
        super().put(at, text, look)

    def put_wide(self, at: int, character: str, look: PrintedStyle) -> None:
        self._reach(at)
        super().put_wide(at, character, look)

    def put_tab(self, at: int, width: int, look: PrintedStyle) -> None:
        """Write a tab behind all that is there."""
        self._reach(at)
        self.cells[at:] = ["\t", *[""] * (width - 1)]
        self.looks[at:] = [look] * width

    def add_mark(self, at: int, mark: str) -> bool:
        if not 0 <= at < len(self.cells):
            return False
        while at and not self.cells[at]:
            at -= 1
        if self.cells[at] in ("", BLANK, "\t") or len(self.cells[at]) > _MOST_MARKS:
            return False
        self.cells[at] += mark
        return True

    def erase(self, start: int, end: int, look: PrintedStyle) -> None:
        if end < self._columns:
            super().erase(start, min(end, len(self.cells)), PLAIN)
        else:
            self.part(start)
            del self.cells[start:], self.looks[start:]

    def insert(self, at: int, count: int, look: PrintedStyle) -> None:
        if at < len(self.cells):
            self.part(at)
            self.cells[at:at] = [BLANK] * count
            self.looks[at:at] = [PLAIN] * count
            self.part(self._columns)
            del self.cells[self._columns :], self.looks[self._columns :]

    def delete(self, at: int, count: int, look: PrintedStyle) -> None:
        self.part(at)
        self.part(at + count)
        del self.cells[at : at + count], self.looks[at : at + count]

    def _reach(self, column: int) -> None:
        if (missing := column - len(self.cells)) > 0:
            self.cells += [BLANK] * missing
            self.looks += [PLAIN] * missing

    def printed(self) -> PrintedRow:
        """Return the row as it is now."""
        if not self.cells:
            return _CONTINUED_EMPTY if self.is_continued else _EMPTY
        text, looks = "".join(self.cells), self.looks
        if looks.count(PLAIN) == len(looks):
            return PrintedRow(text, (), self.is_continued)
        starts = [0, *accumulate(map(len, self.cells))]
        runs: list[Run] = []
        at = 0
        while at < len(looks):
            look, begin = looks[at], at
            while at < len(looks) and looks[at] == look:
                at += 1
            if look != PLAIN and starts[at] > starts[begin]:
                runs.append(Run(starts[begin], starts[at] - starts[begin], look))
        return PrintedRow(text, tuple(runs), self.is_continued)

    @classmethod
    def of(cls, row: PrintedRow, columns: int) -> "WrittenRow":
        """Return a row with this text, which was written from left to right."""
        made = cls(columns)
        if row.text.isascii() and "\t" not in row.text:
            made.cells = list(row.text)
            made.looks = [PLAIN] * len(made.cells)
            for start, length, look in row.runs:
                made.looks[start : start + length] = [look] * length
            return made
        looks = [PLAIN] * len(row.text)
        for start, length, look in row.runs:
            looks[start : start + length] = [look] * length
        for character, look in zip(row.text, looks, strict=True):
            at = len(made.cells)
            if character == "\t":
                made.put_tab(at, TAB - at % TAB, look)
            elif (cells := width(character)) == 2:
                made.put_wide(at, character, look)
            elif cells == 1 or not made.add_mark(at - 1, character):
                made.put(at, character, look)
        return made


@lru_cache(maxsize=4096)
def width(character: str) -> int:
    """Return how many cells a character takes: two for those of East Asia and pictures, none for marks."""
    if east_asian_width(character) in "WF":
        return 2
    return 0 if category(character) in ("Mn", "Me", "Cf") else 1
