"""The short way for what floods a terminal most: many plain lines at the end of its screen.

A line that is written, and scrolled out of the screen by those behind it, leaves one row in the history. Here it is put
there at once. What is on the screen in the end, and every line that is more than plain text, goes the long way.
"""

from collections.abc import Iterator
from itertools import takewhile
from typing import Final

from desktop_agent.core.terminal.look import PLAIN
from desktop_agent.core.terminal.rows import BLANK, KeptRow, Row
from desktop_agent.core.terminal.screen import Screen

LINE_END: Final = "\r\n"
LEAST_CHARS: Final = 4_096
"""In less, it is not worth looking for lines."""


def is_ready(screen: Screen) -> bool:
    """Whether the cursor is in an empty row at the bottom of a screen that scrolls as a whole, and writes plainly."""
    cursor = screen.cursor
    if cursor.row != screen.height - 1 or cursor.column or cursor.is_past_end or cursor.look != PLAIN:
        return False
    if screen.top or screen.bottom != screen.height - 1 or screen.modes.is_alternate:
        return False
    row = screen.grid.rows[cursor.row]
    is_empty = row.cells.count(BLANK) == len(row.cells) and row.looks.count(PLAIN) == len(row.looks)
    return is_empty and not any(cursor.draws_lines)


def plain_lines(lines: Iterator[str], columns: int) -> list[str]:
    """Return the first of these lines that fit a row each and are text of one cell a character."""
    return list(takewhile(lambda line: len(line) <= columns and line.isascii() and line.isprintable(), lines))


def scroll_in(screen: Screen, lines: list[str]) -> None:
    """Write these lines on a screen that `is_ready`, each with its end."""
    rows = [*screen.grid.rows[:-1], *lines]
    left = len(rows) - (screen.height - 1)
    screen.keep_all(row.kept() if isinstance(row, Row) else KeptRow(row.rstrip(BLANK)) for row in rows[:left])
    screen.grid.rows = [row if isinstance(row, Row) else _row_of(row, screen.columns) for row in rows[left:]]
    screen.grid.rows.append(Row(screen.columns))


def _row_of(line: str, columns: int) -> Row:
    row = Row(columns)
    row.put(0, line, PLAIN)
    return row
