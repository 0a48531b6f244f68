"""What is selected on a screen and in its history."""

import re
from typing import NamedTuple

from desktop_agent.core.terminal.rows import KeptRow
from desktop_agent.core.terminal.screen import Screen

_WORD = re.compile(r"[\w./~:@%+#=?&-]+")


class CellPosition(NamedTuple):
    """Between two cells: the number of the row since the beginning, and the cell behind it."""

    row: int
    column: int


class Selection(NamedTuple):
    """From where it began to where it is now, in either order."""

    anchor: CellPosition
    end: CellPosition

    @property
    def is_empty(self) -> bool:
        """Whether nothing is selected."""
        return self.anchor == self.end

    def columns_in(self, row: int) -> tuple[int, int | None] | None:
        """Return which cells of a row are selected; `None` behind the last one stands for all that follow."""
        start, end = sorted(self)
        if self.is_empty or not start.row <= row <= end.row:
            return None
        return (start.column if row == start.row else 0), (end.column if row == end.row else None)


def selected_text(screen: Screen, selection: Selection) -> str:
    """Return the selected text; rows of one line are one line."""
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
    """Return what stands in the last rows that are not empty; on a full screen, what is on it."""
    first = screen.first_row if screen.modes.is_alternate else screen.forgotten_rows
    end = screen.first_row + screen.height
    while end > first and not screen.row(end - 1).cells:
        end -= 1
    begin = max(first, end - rows)
    return selected_text(screen, Selection(CellPosition(begin, 0), CellPosition(end, 0))).rstrip()


def word_at(row: KeptRow, place: CellPosition) -> Selection:
    """Return the word, or the path, around a place."""
    text = "".join(cell[:1] or " " for cell in row.cells)
    for word in _WORD.finditer(text):
        if word.start() <= place.column < word.end():
            return Selection(CellPosition(place.row, word.start()), CellPosition(place.row, word.end()))
    return Selection(place, place)
