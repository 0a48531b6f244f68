"""The screen of a terminal: where the cursor is, what is written there, and what has scrolled out of it.

Follows ECMA-48 and, where that is silent, xterm (its "Control Sequences"). A narrower screen cuts its rows.

Each control sequence is carried out by one small function, found by its last character. Unlisted sequences do nothing;
above all, nothing that a program prints reaches the clipboard, a file or a link.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import ClassVar, Final

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.terminal.rows import PLAIN, TAB, KeptRow, PrintedStyle, Row, WrittenRow, changed, width

HISTORY_ROWS = 5_000


class Cursor(Struct):
    row: int = 0
    column: int = 0
    is_past_end: bool = False
    """Whether the last column was written to, so that the next character begins a new row."""
    look: PrintedStyle = PLAIN
    draws_lines: tuple[bool, bool] = (False, False)
    """Whether each of the two character sets is the line-drawing one."""
    character_set: int = 0
    is_origin: bool = False
    """Whether rows count from the top margin."""


class Modes(Struct):
    wraps: bool = True
    inserts: bool = False
    returns_with_line_feed: bool = False
    shows_cursor: bool = True
    cursor_keys: bool = False
    """Whether arrow keys send their application sequences (DECCKM)."""
    brackets_paste: bool = False
    reports_focus: bool = False
    is_alternate: bool = False
    """Whether the alternate screen is shown: it has no history and is used by full-screen programs."""


class Grid:
    """The rows of the screen, as many as it is high. The caller checks positions."""

    def __init__(self, height: int, columns: int, makes_row: type[Row] = Row) -> None:
        self._row = makes_row
        self.rows = [makes_row(columns) for _ in range(height)]
        self.columns = columns

    def scroll_up(self, top: int, bottom: int, count: int, look: PrintedStyle) -> list[Row]:
        """Move the rows from `top` to `bottom` (inclusive) up, and return those that leave."""
        count = min(count, bottom - top + 1)
        left = self.rows[top : top + count]
        del self.rows[top : top + count]
        after = bottom - count + 1
        self.rows[after:after] = [self._row(self.columns, look) for _ in range(count)]
        return left

    def scroll_down(self, top: int, bottom: int, count: int, look: PrintedStyle) -> None:
        """Move the rows from `top` to `bottom` (inclusive) down; those that leave are lost."""
        count = min(count, bottom - top + 1)
        del self.rows[bottom - count + 1 : bottom + 1]
        self.rows[top:top] = [self._row(self.columns, look) for _ in range(count)]

    def erase(self, first: int, end: int, look: PrintedStyle) -> None:
        for number in range(first, end):
            self.rows[number] = self._row(self.columns, look)

    def fit(self, height: int, columns: int, cursor: int) -> list[Row]:
        """Resize, and return the rows that leave at the top so that `cursor` stays on the screen."""
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
    """A screen with its history. Rows that leave the history are counted, so that every row keeps its number."""

    is_printout: ClassVar[bool] = False
    """Whether it keeps printed output as text: then tabs are characters, and test patterns are not drawn."""
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
        """Return a row by its number since the beginning; an empty one if it does not exist."""
        at = number - self.forgotten_rows
        if 0 <= at < len(self.history):
            return self.history[at]
        at -= len(self.history)
        return self.grid.rows[at].kept() if 0 <= at < self.height else KeptRow()

    @property
    def first_row(self) -> int:
        return self.forgotten_rows + len(self.history)

    # -- moving --

    def move_to(self, row: int | None, column: int | None) -> None:
        """Move the cursor, clamped to the screen; rows count from the top margin in origin mode. `None`
        stays as it is.
        """
        cursor = self.cursor
        cursor.is_past_end = False
        if row is not None:
            first, last = (self.top, self.bottom) if cursor.is_origin else (0, self.height - 1)
            cursor.row = max(first, min(first + row, last))
        if column is not None:
            cursor.column = max(0, min(column, self.columns - 1))

    def move_by(self, rows: int) -> None:
        """Move the cursor up or down, but not past a margin."""
        cursor = self.cursor
        cursor.is_past_end = False
        first = self.top if cursor.row >= self.top else 0
        last = self.bottom if cursor.row <= self.bottom else self.height - 1
        cursor.row = max(first, min(cursor.row + rows, last))

    def line_feed(self) -> None:
        self.cursor.is_past_end = False
        if self.cursor.row == self.bottom:
            self.scroll_up(1)
        elif self.cursor.row < self.height - 1:
            self.cursor.row += 1

    def reverse_line_feed(self) -> None:
        self.cursor.is_past_end = False
        if self.cursor.row == self.top:
            self.grid.scroll_down(self.top, self.bottom, 1, self.blank_look)
        elif self.cursor.row:
            self.cursor.row -= 1

    def scroll_up(self, count: int) -> None:
        """Scroll within the margins; rows that leave the main screen at the top go into the history."""
        left = self.grid.scroll_up(self.top, self.bottom, count, self.blank_look)
        if self.top == 0 and not self.modes.is_alternate:
            self.keep(left)

    def keep(self, rows: list[Row]) -> None:
        self.keep_all(row.kept() for row in rows)

    def keep_all(self, rows: Iterable[KeptRow]) -> None:
        history = self.history
        for row in rows:
            self.forgotten_rows += len(history) == history.maxlen
            history.append(row)

    @property
    def blank_look(self) -> PrintedStyle:
        """The look of blanked cells: the current background."""
        ground = self.cursor.look.background
        return PrintedStyle(background=ground) if ground else PLAIN

    # -- the whole of it --

    def save_cursor(self) -> None:
        """Save the cursor, separately for each of the two screens."""
        self._saved[self.modes.is_alternate] = replace(self.cursor)

    def restore_cursor(self) -> None:
        self.cursor = replace(self._saved.get(self.modes.is_alternate, Cursor()))
        self.cursor.row = min(self.cursor.row, self.height - 1)
        self.cursor.column = min(self.cursor.column, self.columns - 1)

    def use_alternate(self, *, is_on: bool) -> None:
        """Show the alternate screen, cleared, or the main one as it was left."""
        if is_on != self.modes.is_alternate:
            self.modes.is_alternate = is_on
            self.grid = Grid(self.height, self.columns, self.makes_row) if is_on else self._main

    def resize(self, height: int, columns: int) -> None:
        """Resize; rows that no longer fit above the cursor go into the history."""
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


_LINES = str.maketrans("`abcdefghijklmnopqrstuvwxyz{|}~", "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")
"""The characters that programs draw frames with (DEC Special Graphics)."""


class Writer:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._last = ""

    def write(self, text: str) -> None:
        cursor = self._screen.cursor
        if cursor.draws_lines[cursor.character_set]:
            text = text.translate(_LINES)
        self._last = text[-1]
        if text.isascii() or (width(text) == 1 if len(text) == 1 else all(width(character) == 1 for character in text)):
            self._write_narrow(text)
            return
        for character in text:
            match width(character):
                case 0:
                    if not self._row().add_mark(max(0, cursor.column - (not cursor.is_past_end)), character):
                        self._write_narrow(character)
                case 1:
                    self._write_narrow(character)
                case _:
                    self._write_wide(character)

    def _write_narrow(self, text: str) -> None:
        at = 0
        while at < len(text):
            room = self._room()
            part = text[at : at + room]
            if room < len(text) - at and not self._screen.modes.wraps:  # the rest overwrites the last cell
                part = part[:-1] + text[-1]
                at = len(text)
            self._make_way(len(part))
            self._row().put(self._screen.cursor.column, part, self._screen.cursor.look)
            self._advance(len(part))
            at += len(part)

    def _write_wide(self, character: str) -> None:
        if self._screen.columns < 2:
            return
        if self._room() < 2:
            if not self._screen.modes.wraps:
                return
            self._screen.cursor.is_past_end = True
            self._room()
        self._make_way(2)
        self._row().put_wide(self._screen.cursor.column, character, self._screen.cursor.look)
        self._advance(2)

    def _room(self) -> int:
        """Return how many cells are left in the row, after wrapping to a new one if needed."""
        cursor = self._screen.cursor
        if cursor.is_past_end and self._screen.modes.wraps:
            self._row().is_continued = True
            cursor.column = 0
            self._screen.line_feed()
        return self._screen.columns - cursor.column

    def _make_way(self, count: int) -> None:
        if self._screen.modes.inserts:
            self._row().insert(self._screen.cursor.column, count, self._screen.cursor.look)

    def _advance(self, count: int) -> None:
        cursor = self._screen.cursor
        cursor.column += count
        cursor.is_past_end = cursor.column >= self._screen.columns
        if cursor.is_past_end:
            cursor.column = self._screen.columns - 1

    def _row(self) -> Row:
        return self._screen.grid.rows[self._screen.cursor.row]

    def tab(self) -> None:
        """Write a tab at the end of a printed row; elsewhere only move the cursor to the tab stop."""
        room, cursor = self._room(), self._screen.cursor
        row, width = self._row(), min(TAB - cursor.column % TAB, room)
        if isinstance(row, WrittenRow) and cursor.column >= len(row.cells):
            row.put_tab(cursor.column, width, cursor.look)
            self._advance(width)
        else:
            self._screen.move_to(None, cursor.column + width)

    def repeat(self, count: int) -> None:
        if self._last:
            self.write(self._last * min(count, self._screen.columns))


Numbers = list[int]
_Action = Callable[[Screen, Numbers], object]

_MOST = 100_000
"""Larger numbers in a sequence are reduced to this."""


def numbers_of(parameters: str) -> Numbers:
    """Return the numbers of a sequence; missing ones are 0."""
    return [min(int(part), _MOST) if part.isdigit() else 0 for part in parameters.split(";")]


def carry_out(screen: Screen, parameters: str, between: str, final: str) -> None:
    """Carry out a control sequence (CSI)."""
    if between == "!" and final == "p":
        _soft_reset(screen)
    elif between:
        return
    elif parameters[:1] == "?":
        if final in "hl":
            for number in numbers_of(parameters[1:]):
                _set_private(screen, number, is_on=final == "h")
        elif final in "JK":
            _ACTIONS[final](screen, numbers_of(parameters[1:]))
    elif parameters[:1] in ("<", "=", ">"):
        return
    elif final == "m":
        screen.cursor.look = changed(screen.cursor.look, parameters)
    elif (action := _ACTIONS.get(final)) is not None:
        action(screen, numbers_of(parameters))


def escape(screen: Screen, between: str, final: str) -> None:
    if between in ("(", ")"):
        first, second = screen.cursor.draws_lines
        is_lines = final == "0"
        screen.cursor.draws_lines = (is_lines, second) if between == "(" else (first, is_lines)
    elif between == "#" and final == "8" and not screen.is_printout:
        for row in screen.grid.rows:
            row.put(0, "E" * screen.columns, screen.blank_look)
    elif not between and (action := _ESCAPES.get(final)) is not None:
        action(screen)


def control(screen: Screen, character: str) -> None:
    cursor = screen.cursor
    match character:
        case "\n" | "\x0b" | "\x0c":
            screen.line_feed()
            if screen.modes.returns_with_line_feed:
                cursor.column = 0
        case "\r":
            screen.move_to(None, 0)
        case "\b":
            screen.move_to(None, cursor.column - 1)
        case "\t":
            screen.move_to(None, min((tab for tab in screen.tabs if tab > cursor.column), default=screen.columns - 1))
        case "\x0e" | "\x0f":
            cursor.character_set = character == "\x0e"
        case _:
            return


def _count(numbers: Numbers) -> int:
    return max(1, numbers[0])


def _forward(screen: Screen, numbers: Numbers) -> None:
    screen.move_to(None, screen.cursor.column + _count(numbers))


def _back(screen: Screen, numbers: Numbers) -> None:
    screen.move_to(None, screen.cursor.column - _count(numbers))


def _place(screen: Screen, numbers: Numbers) -> None:
    screen.move_to(_count(numbers) - 1, _count(numbers[1:] or [1]) - 1)


def _line_start(screen: Screen, rows: int) -> None:
    screen.move_by(rows)
    screen.move_to(None, 0)


def _tabs_back(screen: Screen, numbers: Numbers) -> None:
    for _ in range(min(_count(numbers), screen.columns)):
        screen.move_to(None, max((tab for tab in screen.tabs if tab < screen.cursor.column), default=0))


def _tabs_on(screen: Screen, numbers: Numbers) -> None:
    for _ in range(min(_count(numbers), screen.columns)):
        control(screen, "\t")


def _clear_tabs(screen: Screen, numbers: Numbers) -> None:
    if numbers[0] == 3:
        screen.tabs.clear()
    elif numbers[0] == 0:
        screen.tabs.discard(screen.cursor.column)


def _row(screen: Screen) -> Row:
    return screen.grid.rows[screen.cursor.row]


def _erase_screen(screen: Screen, numbers: Numbers) -> None:
    row, look = screen.cursor.row, screen.blank_look
    match numbers[0]:
        case 0:
            _erase_row(screen, [0])
            screen.grid.erase(row + 1, screen.height, look)
        case 1:
            _erase_row(screen, [1])
            screen.grid.erase(0, row, look)
        case 2:
            screen.grid.erase(0, screen.height, look)
        case 3:
            screen.forgotten_rows += len(screen.history)
            screen.history.clear()
        case _:
            return


def _erase_row(screen: Screen, numbers: Numbers) -> None:
    column, row = screen.cursor.column, _row(screen)
    start, end = {0: (column, screen.columns), 1: (0, column + 1), 2: (0, screen.columns)}.get(numbers[0], (0, 0))
    row.erase(start, end, screen.blank_look)
    if end == screen.columns:
        row.is_continued = False


def _erase_cells(screen: Screen, numbers: Numbers) -> None:
    column = screen.cursor.column
    _row(screen).erase(column, min(column + _count(numbers), screen.columns), screen.blank_look)


def _insert_cells(screen: Screen, numbers: Numbers) -> None:
    column = screen.cursor.column
    _row(screen).insert(column, min(_count(numbers), screen.columns - column), screen.blank_look)


def _delete_cells(screen: Screen, numbers: Numbers) -> None:
    column = screen.cursor.column
    _row(screen).delete(column, min(_count(numbers), screen.columns - column), screen.blank_look)


def _insert_rows(screen: Screen, numbers: Numbers) -> None:
    if screen.top <= screen.cursor.row <= screen.bottom:
        screen.grid.scroll_down(screen.cursor.row, screen.bottom, _count(numbers), screen.blank_look)
        screen.move_to(None, 0)


def _delete_rows(screen: Screen, numbers: Numbers) -> None:
    if screen.top <= screen.cursor.row <= screen.bottom:
        screen.grid.scroll_up(screen.cursor.row, screen.bottom, _count(numbers), screen.blank_look)
        screen.move_to(None, 0)


def _scroll_down(screen: Screen, numbers: Numbers) -> None:
    screen.grid.scroll_down(screen.top, screen.bottom, _count(numbers), screen.blank_look)


def _margins(screen: Screen, numbers: Numbers) -> None:
    top, bottom = _count(numbers) - 1, (numbers[1:] or [0])[0] or screen.height
    bottom = min(bottom, screen.height) - 1
    if top < bottom:
        screen.top, screen.bottom = top, bottom
        screen.move_to(0, 0)


def _set_mode(screen: Screen, numbers: Numbers, *, is_on: bool) -> None:
    for number in numbers:
        if number == 4:
            screen.modes.inserts = is_on
        elif number == 20:
            screen.modes.returns_with_line_feed = is_on


_PRIVATE: Final = {1: "cursor_keys", 7: "wraps", 25: "shows_cursor", 1004: "reports_focus", 2004: "brackets_paste"}


def _set_private(screen: Screen, number: int, *, is_on: bool) -> None:
    if (name := _PRIVATE.get(number)) is not None:
        setattr(screen.modes, name, is_on)
    elif number == 6:
        screen.cursor.is_origin = is_on
        screen.move_to(0, 0)
    elif number in (47, 1047):
        screen.use_alternate(is_on=is_on)
    elif number == 1048:
        screen.save_cursor() if is_on else screen.restore_cursor()
    elif number == 1049 and is_on != screen.modes.is_alternate:
        if is_on:
            screen.save_cursor()
        screen.use_alternate(is_on=is_on)
        if not is_on:
            screen.restore_cursor()


def _soft_reset(screen: Screen) -> None:
    is_alternate = screen.modes.is_alternate
    screen.modes = Modes(is_alternate=is_alternate)
    screen.top, screen.bottom = 0, screen.height - 1
    screen.cursor = Cursor(row=screen.cursor.row, column=screen.cursor.column)


def _next_row(screen: Screen) -> None:
    screen.move_to(None, 0)
    screen.line_feed()


_ACTIONS: Final[dict[str, _Action]] = {
    "@": _insert_cells,
    "A": lambda screen, numbers: screen.move_by(-_count(numbers)),
    "B": lambda screen, numbers: screen.move_by(_count(numbers)),
    "C": _forward,
    "D": _back,
    "E": lambda screen, numbers: _line_start(screen, _count(numbers)),
    "F": lambda screen, numbers: _line_start(screen, -_count(numbers)),
    "G": lambda screen, numbers: screen.move_to(None, _count(numbers) - 1),
    "H": _place,
    "I": _tabs_on,
    "J": _erase_screen,
    "K": _erase_row,
    "L": _insert_rows,
    "M": _delete_rows,
    "P": _delete_cells,
    "S": lambda screen, numbers: screen.scroll_up(_count(numbers)),
    "T": _scroll_down,
    "X": _erase_cells,
    "Z": _tabs_back,
    "`": lambda screen, numbers: screen.move_to(None, _count(numbers) - 1),
    "a": _forward,
    "d": lambda screen, numbers: screen.move_to(_count(numbers) - 1, None),
    "e": lambda screen, numbers: screen.move_by(_count(numbers)),
    "f": _place,
    "g": _clear_tabs,
    "h": lambda screen, numbers: _set_mode(screen, numbers, is_on=True),
    "l": lambda screen, numbers: _set_mode(screen, numbers, is_on=False),
    "r": _margins,
    "s": lambda screen, _numbers: screen.save_cursor(),
    "u": lambda screen, _numbers: screen.restore_cursor(),
}

_ESCAPES: Final[dict[str, Callable[[Screen], object]]] = {
    "7": Screen.save_cursor,
    "8": Screen.restore_cursor,
    "D": Screen.line_feed,
    "E": _next_row,
    "H": lambda screen: screen.tabs.add(screen.cursor.column),
    "M": Screen.reverse_line_feed,
    "c": Screen.reset,
}
