"""The screen of a terminal: where the cursor is, what is written there, and what has scrolled out of it.

After ECMA-48 and, where that is silent, what xterm does (its "Control Sequences"). A narrower screen cuts its rows.
"""

from collections import deque
from collections.abc import Iterable
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.terminal.look import PLAIN, PrintedStyle
from desktop_agent.core.terminal.rows import TAB, KeptRow, Row

HISTORY_ROWS = 5_000
"""How many rows that have scrolled out are kept."""


class Cursor(Struct):
    """Where the next character goes, and how it looks."""

    row: int = 0
    column: int = 0
    is_past_end: bool = False
    """The last column was written to: the next character begins a new row."""
    look: PrintedStyle = PLAIN
    draws_lines: tuple[bool, bool] = (False, False)
    """Whether each of the two character sets is that of lines."""
    character_set: int = 0
    is_origin: bool = False
    """Whether rows count from the top margin."""


class Modes(Struct):
    """What programs switch on and off."""

    wraps: bool = True
    inserts: bool = False
    returns_with_line_feed: bool = False
    shows_cursor: bool = True
    cursor_keys: bool = False
    """Whether arrow keys are sent in their other form (DECCKM)."""
    brackets_paste: bool = False
    reports_focus: bool = False
    is_alternate: bool = False
    """Whether the screen without history is shown, which full-screen programs use."""


class Grid:
    """As many rows as the screen is high. Places are checked by the caller."""

    def __init__(self, height: int, columns: int, makes_row: type[Row] = Row) -> None:
        self._row = makes_row
        self.rows = [makes_row(columns) for _ in range(height)]
        self.columns = columns

    def scroll_up(self, top: int, bottom: int, count: int, look: PrintedStyle) -> list[Row]:
        """Move the rows from `top` to `bottom` (inside) up, and return those that leave."""
        count = min(count, bottom - top + 1)
        left = self.rows[top : top + count]
        del self.rows[top : top + count]
        after = bottom - count + 1
        self.rows[after:after] = [self._row(self.columns, look) for _ in range(count)]
        return left

    def scroll_down(self, top: int, bottom: int, count: int, look: PrintedStyle) -> None:
        """Move the rows from `top` to `bottom` (inside) down; those that leave are gone."""
        count = min(count, bottom - top + 1)
        del self.rows[bottom - count + 1 : bottom + 1]
        self.rows[top:top] = [self._row(self.columns, look) for _ in range(count)]

    def erase(self, first: int, end: int, look: PrintedStyle) -> None:
        """Make rows blank."""
        for number in range(first, end):
            self.rows[number] = self._row(self.columns, look)

    def fit(self, height: int, columns: int, cursor: int) -> list[Row]:
        """Have this size, and return the rows that leave at the top so that `cursor` stays on the screen."""
        for row in self.rows:
            row.fit(columns)
        self.columns = columns
        while len(self.rows) > max(height, cursor + 1):
            self.rows.pop()
        left = self.rows[: max(0, len(self.rows) - height)]
        del self.rows[: len(left)]
        self.rows += [self._row(columns, PLAIN) for _ in range(height - len(self.rows))]
        return left


class Screen:
    """A screen with its history. What leaves the history is counted, so that a row keeps its number."""

    is_printout: ClassVar[bool] = False
    """Whether it keeps what was printed as text: tabs are characters then, and test patterns are not drawn."""
    makes_row: ClassVar[type[Row]] = Row

    def __init__(self, height: int, columns: int, history_rows: int = HISTORY_ROWS) -> None:
        self.height, self.columns = height, columns
        self.grid = Grid(height, columns, self.makes_row)
        self.history: deque[KeptRow] = deque(maxlen=history_rows)
        self.forgotten_rows = 0
        self._main = self.grid
        self.reset()
        self.forgotten_rows = 0

    def reset(self) -> None:
        """Start again, as if just switched on; the history stays."""
        self.grid = self._main = Grid(self.height, self.columns, self.makes_row)
        self.modes = Modes()
        self.cursor = Cursor()
        self._saved: dict[bool, Cursor] = {}
        self.top, self.bottom = 0, self.height - 1
        self.tabs = set(range(0, self.columns, TAB))

    def row(self, number: int) -> KeptRow:
        """Return a row, by its number since the beginning; one that is not there is empty."""
        at = number - self.forgotten_rows
        if 0 <= at < len(self.history):
            return self.history[at]
        at -= len(self.history)
        return self.grid.rows[at].kept() if 0 <= at < self.height else KeptRow()

    @property
    def first_row(self) -> int:
        """The number of the row at the top of the screen."""
        return self.forgotten_rows + len(self.history)

    # -- moving --

    def move_to(self, row: int | None, column: int | None) -> None:
        """Put the cursor there, within the screen; rows count from the top margin where that is the origin."""
        cursor = self.cursor
        cursor.is_past_end = False
        if row is not None:
            first, last = (self.top, self.bottom) if cursor.is_origin else (0, self.height - 1)
            cursor.row = max(first, min(first + row, last))
        if column is not None:
            cursor.column = max(0, min(column, self.columns - 1))

    def move_by(self, rows: int) -> None:
        """Move the cursor up or down, no further than the margin that is in the way."""
        cursor = self.cursor
        cursor.is_past_end = False
        first = self.top if cursor.row >= self.top else 0
        last = self.bottom if cursor.row <= self.bottom else self.height - 1
        cursor.row = max(first, min(cursor.row + rows, last))

    def line_feed(self) -> None:
        """Go one row down, and scroll at the bottom margin."""
        self.cursor.is_past_end = False
        if self.cursor.row == self.bottom:
            self.scroll_up(1)
        elif self.cursor.row < self.height - 1:
            self.cursor.row += 1

    def reverse_line_feed(self) -> None:
        """Go one row up, and scroll at the top margin."""
        self.cursor.is_past_end = False
        if self.cursor.row == self.top:
            self.grid.scroll_down(self.top, self.bottom, 1, self.blank_look)
        elif self.cursor.row:
            self.cursor.row -= 1

    def scroll_up(self, count: int) -> None:
        """Scroll within the margins; from the top of the usual screen rows go into the history."""
        left = self.grid.scroll_up(self.top, self.bottom, count, self.blank_look)
        if self.top == 0 and not self.modes.is_alternate:
            self.keep(left)

    def keep(self, rows: list[Row]) -> None:
        """Put rows into the history."""
        self.keep_all(row.kept() for row in rows)

    def keep_all(self, rows: Iterable[KeptRow]) -> None:
        """Put rows that no longer change into the history."""
        history = self.history
        for row in rows:
            self.forgotten_rows += len(history) == history.maxlen
            history.append(row)

    @property
    def blank_look(self) -> PrintedStyle:
        """How cells look that are made blank: they have the ground of what is written now."""
        ground = self.cursor.look.background
        return PrintedStyle(background=ground) if ground else PLAIN

    # -- the whole of it --

    def save_cursor(self) -> None:
        """Remember the cursor, for each of the two screens."""
        self._saved[self.modes.is_alternate] = replace(self.cursor)

    def restore_cursor(self) -> None:
        """Put the cursor where it was remembered."""
        self.cursor = replace(self._saved.get(self.modes.is_alternate, Cursor()))
        self.cursor.row = min(self.cursor.row, self.height - 1)
        self.cursor.column = min(self.cursor.column, self.columns - 1)

    def use_alternate(self, *, is_on: bool) -> None:
        """Show the screen without history, empty, or the usual one as it was left."""
        if is_on != self.modes.is_alternate:
            self.modes.is_alternate = is_on
            self.grid = Grid(self.height, self.columns, self.makes_row) if is_on else self._main

    def resize(self, height: int, columns: int) -> None:
        """Have another size; rows that no longer fit above the cursor go into the history."""
        left = self.grid.fit(height, columns, self.cursor.row)
        self.cursor.row = max(0, self.cursor.row - len(left))
        if self.modes.is_alternate:
            waiting = self._saved.setdefault(False, Cursor(row=len(self._main.rows) - 1))
            left = self._main.fit(height, columns, min(waiting.row, len(self._main.rows) - 1))
            waiting.row = max(0, waiting.row - len(left))
        self.keep(left)
        self.height, self.columns = height, columns
        self.top, self.bottom = 0, height - 1
        self.tabs = set(range(0, columns, TAB))
        self.move_to(None, self.cursor.column)
        self.cursor.row = min(self.cursor.row, height - 1)
