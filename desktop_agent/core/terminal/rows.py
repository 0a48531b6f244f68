"""One row of a screen: while programs change it, and when it is kept. Widths of characters, and styled runs."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple
from unicodedata import category, east_asian_width

from desktop_agent.core.base.regex import regex

SGR = regex(r"\x1b\[([0-9;:]*)m")

_CUBE = (0, 95, 135, 175, 215, 255)
_SEPARATORS = regex("[;:]")


class PrintedStyle(NamedTuple):
    """A colour is `""` for the default, `ansi3` for one of the theme's 16, or `#RRGGBB`."""

    foreground: str = ""
    background: str = ""
    is_bold: bool = False
    is_dim: bool = False
    is_italic: bool = False
    is_underlined: bool = False
    is_struck: bool = False
    is_inverse: bool = False


PLAIN = PrintedStyle()

_CHANGES: dict[int, dict[str, Any]] = {
    0: PLAIN._asdict(),
    1: {"is_bold": True},
    2: {"is_dim": True},
    3: {"is_italic": True},
    4: {"is_underlined": True},
    7: {"is_inverse": True},
    9: {"is_struck": True},
    21: {"is_underlined": True},
    22: {"is_bold": False, "is_dim": False},
    23: {"is_italic": False},
    24: {"is_underlined": False},
    27: {"is_inverse": False},
    29: {"is_struck": False},
    **{first + number: {"foreground": f"ansi{at + number}"} for first, at in ((30, 0), (90, 8)) for number in range(8)},
    39: {"foreground": ""},
    **{
        first + number: {"background": f"ansi{at + number}"} for first, at in ((40, 0), (100, 8)) for number in range(8)
    },
    49: {"background": ""},
}


@lru_cache(maxsize=4_096)
def changed(look: PrintedStyle, parameters: str) -> PrintedStyle:
    """Return the look after SGR parameters. Unknown parameters change nothing."""
    if parameters in ("", "0"):
        return PLAIN
    # `4:0` is "no underline" and `4:3` a curly one. Elsewhere a colon only separates.
    parameters = parameters.replace("4:0", "24") if "4:" in parameters else parameters
    codes = [int(code) if code.isdecimal() else 0 for code in _SEPARATORS.split(parameters[:200])]
    at = 0
    while at < len(codes):
        code = codes[at]
        at += 1
        if code in (38, 48):
            colour, used = _extended(codes[at:])
            at += used
            if colour:
                look = look._replace(foreground=colour) if code == 38 else look._replace(background=colour)
        else:
            look = look._replace(**_CHANGES.get(code, {}))
    return look


def _extended(codes: list[int]) -> tuple[str, int]:
    match codes:
        case [5, number, *_]:
            return _of_256(number), 2
        case [2, 0, red, green, blue, *rest] if not rest and max(red, green, blue) < 256:
            return f"#{red:02X}{green:02X}{blue:02X}", 5  # 38:2::r:g:b, with an empty colour space
        case [2, red, green, blue, *_]:
            return (f"#{red:02X}{green:02X}{blue:02X}" if max(red, green, blue) < 256 else ""), 4
        case _:
            return "", len(codes)


def _of_256(number: int) -> str:
    if number < 16:
        return f"ansi{number}"
    if number < 232:
        red, rest = divmod(number - 16, 36)
        green, blue = divmod(rest, 6)
        return f"#{_CUBE[red]:02X}{_CUBE[green]:02X}{_CUBE[blue]:02X}"
    if number < 256:
        grey = 8 + 10 * (number - 232)
        return f"#{grey:02X}{grey:02X}{grey:02X}"
    return ""


def look_after(text: str, look: PrintedStyle) -> PrintedStyle:
    """The look of the text that follows `text`, as SGR sequences set it."""
    reset = max(text.rfind("\x1b[0m"), text.rfind("\x1b[m"))
    for sequence in SGR.finditer(text, max(reset, 0)):
        look = changed(look, sequence[1])
    return look


BLANK = " "
TAB = 8
_MOST_MARKS = 8
"""More marks are dropped, because one cell could grow without end."""


class Run(NamedTuple):
    start: int
    length: int
    look: PrintedStyle


class KeptRow(NamedTuple):
    """A row that no longer changes, without trailing blanks. Cells with the default look are in no run."""

    cells: Sequence[str] = ""
    """The characters of each cell; `""` is the second half of a wide character."""
    runs: tuple[Run, ...] = ()
    is_continued: bool = False

    def text(self, start: int = 0, end: int | None = None) -> str:
        return "".join(self.cells[start:end])


class Row:
    __slots__ = ("cells", "columns", "is_continued", "looks")

    def __init__(self, columns: int, look: PrintedStyle = PLAIN) -> None:
        self.columns = columns
        self.cells: list[str] = [BLANK] * columns
        self.looks: list[PrintedStyle] = [look] * columns
        self.is_continued = False

    def put(self, at: int, text: str, look: PrintedStyle) -> None:
        end = at + len(text)
        if at > len(self.cells):
            self._reach(at)
        self.part(at)
        self.part(end)
        self.cells[at:end] = text
        self.looks[at:end] = [look] * len(text)

    def put_wide(self, at: int, character: str, look: PrintedStyle) -> None:
        if at > len(self.cells):
            self._reach(at)
        self.part(at)
        self.part(at + 2)
        self.cells[at : at + 2] = (character, "")
        self.looks[at : at + 2] = (look, look)

    def add_mark(self, at: int, mark: str) -> bool:
        """Return whether the character that covers the cell can carry a combining mark."""
        if not self.cells[at] and at:
            at -= 1
        if len(self.cells[at]) <= _MOST_MARKS:
            self.cells[at] += mark
        return True

    def part(self, at: int) -> None:
        """Replace a character by blanks if it has cells on both sides of `at`."""
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
        self.part(start)
        self.part(end)
        count = len(self.cells[start:end])
        self.cells[start:end] = [BLANK] * count
        self.looks[start:end] = [look] * count

    def insert(self, at: int, count: int, look: PrintedStyle) -> None:
        if at < len(self.cells):
            count = min(count, self.columns - at)
            self.part(at)
            self.cells[at:at] = [BLANK] * count
            self.looks[at:at] = [look] * count
            self.part(self.columns)
            del self.cells[self.columns :], self.looks[self.columns :]

    def delete(self, at: int, count: int, look: PrintedStyle) -> None:
        self.part(at)
        self.part(at + count)
        del self.cells[at : at + count], self.looks[at : at + count]
        self._fill(look)

    def fit(self, columns: int) -> None:
        self.columns = columns
        self.part(columns)
        del self.cells[columns:], self.looks[columns:]
        self._fill(PLAIN)

    def _fill(self, look: PrintedStyle) -> None:
        self._reach(self.columns, look)

    def _reach(self, column: int, look: PrintedStyle = PLAIN) -> None:
        if (missing := column - len(self.cells)) > 0:
            self.cells += [BLANK] * missing
            self.looks += [look] * missing

    def kept(self) -> KeptRow:
        cells, looks = self.cells, self.looks
        is_plain = looks.count(PLAIN) == len(looks)
        text = "".join(cells)
        if is_plain and text.isascii():  # most of what is printed
            return KeptRow(text.rstrip(BLANK), (), self.is_continued)
        end = len(cells)
        while end and cells[end - 1] == BLANK and looks[end - 1] == PLAIN:
            end -= 1
        return KeptRow(tuple(cells[:end]), tuple(_runs(looks[:end], range(end + 1))), self.is_continued)


def _runs(looks: Sequence[PrintedStyle], starts: Sequence[int]) -> Iterator[Run]:
    """Yield the runs of cells with one look. `starts` are the beginnings of all cells, and the end of the last."""
    begin, look = 0, PLAIN
    for at, following in enumerate((*looks, PLAIN)):  # for rows full of colours, this is faster than `groupby`
        if following is not look and following != look:
            if look != PLAIN and (length := starts[at] - (start := starts[begin])):
                yield Run(start, length, look)
            begin, look = at, following


class PrintedRow(NamedTuple):
    """A row that no longer changes. Parts with the default look have no run."""

    text: str
    runs: tuple[Run, ...] = ()
    is_continued: bool = False


_EMPTY = PrintedRow("")
_CONTINUED_EMPTY = PrintedRow("", (), is_continued=True)


class WrittenRow(Row):
    """A row that is as long as the text written to it. Spaces at its end were printed by the program."""

    __slots__ = ()

    def __init__(self, columns: int, _look: PrintedStyle = PLAIN) -> None:
        super().__init__(0)
        self.columns = columns

    def put_tab(self, at: int, width: int, look: PrintedStyle) -> None:
        if at > len(self.cells):
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
        super().erase(start, end, look)
        if end >= self.columns:
            del self.cells[start:], self.looks[start:]

    def _fill(self, look: PrintedStyle) -> None:
        pass

    def printed(self) -> PrintedRow:
        if not self.cells:
            return _CONTINUED_EMPTY if self.is_continued else _EMPTY
        text, looks = "".join(self.cells), self.looks
        if looks.count(PLAIN) == len(looks):
            return PrintedRow(text, (), self.is_continued)
        starts = [0, *accumulate(map(len, self.cells))]
        return PrintedRow(text, tuple(_runs(looks, starts)), self.is_continued)

    @classmethod
    def of(cls, row: PrintedRow, columns: int) -> "WrittenRow":
        made = cls(columns)
        looks = [PLAIN] * len(row.text)
        for start, length, look in row.runs:
            looks[start : start + length] = [look] * length
        if row.text.isascii() and "\t" not in row.text:
            made.cells, made.looks = list(row.text), looks
            return made
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
    if east_asian_width(character) in "WF":
        return 2
    return 0 if category(character) in ("Mn", "Me", "Cf") else 1
