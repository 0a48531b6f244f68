"""The lines of a terminal as text, and the conversion of text positions to cells."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from desktop_agent.core.base.regex import regex
from desktop_agent.core.terminal.rows import KeptRow
from desktop_agent.core.terminal.screen import Screen

_WORD = regex(r"[\w./~:@%+#=?&-]+")


class CellPosition(NamedTuple):
    """A position between two cells: its row, counted from the first output, and the column after it."""

    row: int
    column: int


class Selection(NamedTuple):
    """A selection from `anchor`, where it began, to its current `end`, which may come before `anchor`."""

    anchor: CellPosition
    end: CellPosition

    def columns_in(self, row: int) -> tuple[int, int | None] | None:
        """Return the selected columns of a row. An end of `None` selects the rest of the row."""
        start, end = sorted(self)
        if start == end or not start.row <= row <= end.row:
            return None
        return (start.column if row == start.row else 0), (end.column if row == end.row else None)


def selected_text(screen: Screen, selection: Selection) -> str:
    start, end = sorted(selection)
    parts: list[str] = []
    for number in range(max(start.row, screen.forgotten_rows), end.row + 1):
        row, columns = screen.row(number), selection.columns_in(number)
        if columns is not None:
            parts.append(row.text(*columns))
            if number < end.row and not row.is_continued:
                parts.append("\n")
    return "".join(parts)


def last_text(screen: Screen, rows: int) -> str:
    """Return the text of the last rows that are not empty. A full-screen program has only its screen."""
    first, end = oldest_row(screen), screen.first_row + screen.height
    while end > first and not screen.row(end - 1).cells:
        end -= 1
    begin = max(first, end - rows)
    return selected_text(screen, Selection(CellPosition(begin, 0), CellPosition(end, 0))).rstrip()


def word_at(row: KeptRow, place: CellPosition) -> Selection:
    for word in _WORD.finditer("".join(cell[:1] or " " for cell in row.cells)):
        if word.start() <= place.column < word.end():
            return Selection(CellPosition(place.row, word.start()), CellPosition(place.row, word.end()))
    return Selection(place, place)


_ADDRESS = regex(r"https?://[^\s<>\"'`|\\^{}]+")
_PATH = regex(
    r"(?<![\w/\\@:.-])"  # not within a word, an address or another path
    r"(?P<path>/?[\w.@+-]+(?:/[\w.@+\[\]-]+)*)"
    r"(?:(?:\", line |:|\()(?P<line>\d{1,7}))?"
)
_BEHIND = ".,;:!?"
_MOST_CELLS = 20_000


class TerminalLink(NamedTuple):
    """A link in the text: a web address, or a file with its line (0 without a line)."""

    where: Selection
    target: str
    line: int = 0

    @property
    def is_web(self) -> bool:
        return self.target.startswith(("http://", "https://"))


class _Line(NamedTuple):
    """The rows of one wrapped line. `text` has one character for each cell."""

    first: int
    rows: tuple[KeptRow, ...]
    text: str

    def place(self, at: int) -> CellPosition:
        for number, row in enumerate(self.rows):
            if at < len(row.cells) or number == len(self.rows) - 1:
                return CellPosition(self.first + number, at)
            at -= len(row.cells)
        return CellPosition(self.first, 0)

    def selection(self, start: int, end: int) -> Selection:
        last = self.place(end - 1)
        return Selection(self.place(start), CellPosition(last.row, last.column + 1))


def find_in(screen: Screen, text: str) -> Iterator[list[Selection]]:
    """Yield the matches in each line, the last line first. Ignores case and output printed during the search."""
    wanted = re.compile(re.escape(text), re.IGNORECASE)
    for line in _lines_backwards(screen):
        yield [line.selection(*match.span()) for match in wanted.finditer(line.text)]


def link_at(screen: Screen, place: CellPosition, known_file: Callable[[str], str]) -> TerminalLink | None:
    """Return the link at a position. `known_file` returns the file for a path, or an empty text if there is none."""
    line = _line_at(screen, place.row)
    if line is None:
        return None
    for link in _links(line, known_file):
        start, end = link.where
        if start <= place < end:
            return link
    return None


def _links(line: _Line, known_file: Callable[[str], str]) -> Iterator[TerminalLink]:
    for found in _ADDRESS.finditer(line.text):
        address = _without_end(found.group())
        yield TerminalLink(line.selection(found.start(), found.start() + len(address)), address)
    for found in _PATH.finditer(line.text):
        path, number, end = found["path"], found["line"], found.end()
        if number is None and path.endswith("."):
            path = path.rstrip(".")
            end = found.start() + len(path)
        if path and (file := known_file(path)):
            yield TerminalLink(line.selection(found.start(), end), file, int(number or 0))


def _without_end(address: str) -> str:
    while address[-1:] in _BEHIND or (address.endswith(")") and address.count("(") < address.count(")")):
        address = address[:-1]
    return address.removesuffix("]") if "[" not in address else address


def _lines_backwards(screen: Screen) -> Iterator[_Line]:
    number = screen.first_row + screen.height - 1
    while number >= oldest_row(screen):
        line = _line_at(screen, number)
        if line is None:
            return
        number = line.first - 1
        yield line


def _line_at(screen: Screen, row: int) -> _Line | None:
    first, end = oldest_row(screen), screen.first_row + screen.height
    if not first <= row < end:
        return None
    while row > first and screen.row(row - 1).is_continued:
        row -= 1
    rows = [screen.row(row)]
    cells = len(rows[0].cells)
    while rows[-1].is_continued and row + len(rows) < end and cells < _MOST_CELLS:
        rows.append(screen.row(row + len(rows)))
        cells += len(rows[-1].cells)
    return _Line(row, tuple(rows), "".join(map(_text_of, rows)))


def oldest_row(screen: Screen) -> int:
    """Return the first row that scrolling can reach. A full-screen program has no history."""
    return screen.first_row if screen.modes.is_alternate else screen.forgotten_rows


def _text_of(row: KeptRow) -> str:
    """Return one character for each cell: no combining marks, and a blank after each wide character."""
    text = row.text()
    return text if text.isascii() else "".join(cell[:1] or " " for cell in row.cells)
