"""The screen of a terminal: cursor, rows, and the history that has scrolled out (ECMA-48, else xterm)."""

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
    look: PrintedStyle = PLAIN
    draws_lines: tuple[bool, bool] = (False, False)
    character_set: int = 0
    is_origin: bool = False


class Modes(Struct):
    wraps: bool = True
    inserts: bool = False
    returns_with_line_feed: bool = False
    shows_cursor: bool = True
    cursor_keys: bool = False
    brackets_paste: bool = False
    is_alternate: bool = False


class Screen:
    """Rows that leave the history are counted, so row numbers never change."""

    is_printout: ClassVar[bool] = False
    """Whether printed output is kept as text. Then tabs are characters, and test patterns are not drawn."""
    makes_row: ClassVar[type[Row]] = Row

    def __init__(self, height: int, columns: int, history_rows: int = HISTORY_ROWS) -> None:
        self.height, self.columns = height, columns
        self.history: deque[KeptRow] = deque(maxlen=history_rows)
        self.forgotten_rows = 0
        self.reset()

    def reset(self) -> None:
        """The history stays."""
        self.rows = self._main = self.blank_rows(self.height)
        self.modes = Modes()
        self.cursor = Cursor()
        self._saved: dict[bool, Cursor] = {}
        self.top, self.bottom = 0, self.height - 1
        self.tabs = set(range(0, self.columns, TAB))

    def blank_rows(self, count: int, look: PrintedStyle = PLAIN) -> list[Row]:
        return [self.makes_row(self.columns, look) for _ in range(count)]

    def row(self, number: int) -> KeptRow:
        """Return a row. `number` counts from the first row ever. Missing rows are empty."""
        at = number - self.forgotten_rows
        if 0 <= at < len(self.history):
            return self.history[at]
        at -= len(self.history)
        return self.rows[at].kept() if 0 <= at < self.height else KeptRow()

    @property
    def first_row(self) -> int:
        return self.forgotten_rows + len(self.history)

    @property
    def current_row(self) -> Row:
        return self.rows[self.cursor.row]

    @property
    def scrolls_whole(self) -> bool:
        """Whether all rows of the main screen scroll together. Rows that leave the screen are then kept."""
        return self.top == 0 and self.bottom == self.height - 1 and not self.modes.is_alternate

    # -- moving --

    def move_to(self, row: int | None, column: int | None) -> None:
        cursor = self.cursor
        cursor.is_past_end = False
        if row is not None:
            first, last = (self.top, self.bottom) if cursor.is_origin else (0, self.height - 1)
            cursor.row = max(first, min(first + row, last))
        if column is not None:
            cursor.column = max(0, min(column, self.columns - 1))

    def move_by(self, rows: int) -> None:
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
            self.shift_rows(self.top, -1)
        elif self.cursor.row:
            self.cursor.row -= 1

    def scroll_up(self, count: int) -> None:
        left = self.shift_rows(self.top, count)
        if self.top == 0 and not self.modes.is_alternate:
            self.keep(left)

    def shift_rows(self, top: int, count: int) -> list[Row]:
        """Move the rows up by `count`, or down if that is negative. Return the rows that leave at the top."""
        rows, end = self.rows, self.bottom + 1
        blank = self.blank_rows(min(abs(count), end - top), self.blank_look)
        if count < 0:
            del rows[end - len(blank) : end]
            rows[top:top] = blank
            return []
        left = rows[top : top + len(blank)]
        rows[end:end] = blank
        del rows[top : top + len(blank)]
        return left

    def keep(self, rows: list[Row]) -> None:
        self.keep_all(row.kept() for row in rows)

    def keep_all(self, rows: Iterable[KeptRow]) -> None:
        history = self.history
        for row in rows:
            self.forgotten_rows += len(history) == history.maxlen
            history.append(row)

    @property
    def blank_look(self) -> PrintedStyle:
        ground = self.cursor.look.background
        return PrintedStyle(background=ground) if ground else PLAIN

    # -- the whole of it --

    def save_cursor(self) -> None:
        self._saved[self.modes.is_alternate] = replace(self.cursor)

    def restore_cursor(self) -> None:
        self.cursor = replace(self._saved.get(self.modes.is_alternate, Cursor()))
        self.cursor.row = min(self.cursor.row, self.height - 1)
        self.cursor.column = min(self.cursor.column, self.columns - 1)

    def use_alternate(self, *, is_on: bool) -> None:
        if is_on != self.modes.is_alternate:
            self.modes.is_alternate = is_on
            self.rows = self.blank_rows(self.height) if is_on else self._main

    def resize(self, height: int, columns: int) -> None:
        self.height, self.columns = height, columns
        left = self._fit(self.rows, self.cursor)
        if self.modes.is_alternate:
            left = self._fit(self._main, self._saved.setdefault(False, Cursor(row=len(self._main) - 1)))
        self.keep(left)
        self.top, self.bottom = 0, height - 1
        self.tabs = set(range(0, columns, TAB))
        self.move_to(None, self.cursor.column)

    def _fit(self, rows: list[Row], cursor: Cursor) -> list[Row]:
        cursor.row = min(cursor.row, len(rows) - 1)
        for row in rows:
            row.fit(self.columns)
        del rows[max(self.height, cursor.row + 1) :]
        left = rows[: max(0, len(rows) - self.height)]
        del rows[: len(left)]
        rows += self.blank_rows(self.height - len(rows))
        cursor.row -= len(left)
        return left


_LINES = str.maketrans("`abcdefghijklmnopqrstuvwxyz{|}~", "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")
"""The characters that programs draw frames with (DEC Special Graphics)."""


class Writer:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.last = ""
        """The character that can be repeated: the one just before, if nothing else came in between (ECMA-48, REP)."""

    def write(self, text: str) -> None:
        cursor = self._screen.cursor
        if cursor.draws_lines[cursor.character_set]:
            text = text.translate(_LINES)
        self.last = text[-1]
        if text.isascii() or (width(text) == 1 if len(text) == 1 else all(width(character) == 1 for character in text)):
            self._write_narrow(text)
            return
        for character in text:
            match width(character):
                case 0:
                    if not self._screen.current_row.add_mark(
                        max(0, cursor.column - (not cursor.is_past_end)), character
                    ):
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
            self._screen.current_row.put(self._screen.cursor.column, part, self._screen.cursor.look)
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
        self._screen.current_row.put_wide(self._screen.cursor.column, character, self._screen.cursor.look)
        self._advance(2)

    def _room(self) -> int:
        """How many cells are left in the row. If there are none, begin a new row first."""
        cursor = self._screen.cursor
        if cursor.is_past_end and self._screen.modes.wraps:
            self._screen.current_row.is_continued = True
            cursor.column = 0
            self._screen.line_feed()
        return self._screen.columns - cursor.column

    def _make_way(self, count: int) -> None:
        if self._screen.modes.inserts:
            self._screen.current_row.insert(self._screen.cursor.column, count, self._screen.cursor.look)

    def _advance(self, count: int) -> None:
        cursor = self._screen.cursor
        cursor.column += count
        cursor.is_past_end = cursor.column >= self._screen.columns
        if cursor.is_past_end:
            cursor.column = self._screen.columns - 1

    def tab(self) -> None:
        room, cursor = self._room(), self._screen.cursor
        row, width = self._screen.current_row, min(TAB - cursor.column % TAB, room)
        if isinstance(row, WrittenRow) and cursor.column >= len(row.cells):
            row.put_tab(cursor.column, width, cursor.look)
            self._advance(width)
        else:
            self._screen.move_to(None, cursor.column + width)

    def repeat(self, count: int) -> None:
        if self.last:
            self.write(self.last * min(count, self._screen.columns))


Numbers = list[int]

_MOST = 100_000


def numbers_of(parameters: str) -> Numbers:
    return [min(int(part), _MOST) if part.isdigit() else 0 for part in parameters.split(";")]


def carry_out(screen: Screen, parameters: str, between: str, final: str) -> None:
    if between:
        if (between, final) == ("!", "p"):
            screen.modes = Modes(is_alternate=screen.modes.is_alternate)
            screen.top, screen.bottom = 0, screen.height - 1
            screen.cursor = Cursor(row=screen.cursor.row, column=screen.cursor.column)
    elif parameters[:1] == "?":
        numbers = numbers_of(parameters[1:])
        if final in "hl":
            for number in numbers:
                _set_private(screen, number, is_on=final == "h")
        elif final in "JK":
            _BY_NUMBERS[final](screen, numbers)
    elif parameters[:1] in ("<", "=", ">"):
        return
    elif final == "m":
        screen.cursor.look = changed(screen.cursor.look, parameters)
    elif (final := _SAME.get(final, final)) in _BY_COUNT:
        _BY_COUNT[final](screen, max(1, numbers_of(parameters)[0]))
    elif final in _BY_NUMBERS:
        _BY_NUMBERS[final](screen, numbers_of(parameters))


def escape(screen: Screen, between: str, final: str) -> None:
    if between in ("(", ")"):
        first, second = screen.cursor.draws_lines
        is_lines = final == "0"
        screen.cursor.draws_lines = (is_lines, second) if between == "(" else (first, is_lines)
    elif between == "#" and final == "8" and not screen.is_printout:
        for row in screen.rows:
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


def _place(screen: Screen, numbers: Numbers) -> None:
    row, column, *_ = [*numbers, 0]
    screen.move_to(max(1, row) - 1, max(1, column) - 1)


def _line_start(screen: Screen, rows: int) -> None:
    screen.move_by(rows)
    screen.move_to(None, 0)


def _tabs_back(screen: Screen, count: int) -> None:
    for _ in range(min(count, screen.columns)):
        screen.move_to(None, max((tab for tab in screen.tabs if tab < screen.cursor.column), default=0))


def _tabs_on(screen: Screen, count: int) -> None:
    for _ in range(min(count, screen.columns)):
        control(screen, "\t")


def _clear_tabs(screen: Screen, numbers: Numbers) -> None:
    if numbers[0] == 3:
        screen.tabs.clear()
    elif numbers[0] == 0:
        screen.tabs.discard(screen.cursor.column)


def _erase_screen(screen: Screen, numbers: Numbers) -> None:
    row, what = screen.cursor.row, numbers[0]
    if what == 3:
        screen.forgotten_rows += len(screen.history)
        screen.history.clear()
    elif what < 3:
        if what < 2:
            _erase_row(screen, numbers)
        start, end = ((row + 1, screen.height), (0, row), (0, screen.height))[what]
        screen.rows[start:end] = screen.blank_rows(end - start, screen.blank_look)


def _erase_row(screen: Screen, numbers: Numbers) -> None:
    column, row = screen.cursor.column, screen.current_row
    start, end = {0: (column, screen.columns), 1: (0, column + 1), 2: (0, screen.columns)}.get(numbers[0], (0, 0))
    row.erase(start, end, screen.blank_look)
    if end == screen.columns:
        row.is_continued = False


def _shift_from_cursor(screen: Screen, count: int) -> None:
    if screen.top <= screen.cursor.row <= screen.bottom:
        screen.shift_rows(screen.cursor.row, count)
        screen.move_to(None, 0)


def _margins(screen: Screen, numbers: Numbers) -> None:
    top, bottom, *_ = [*numbers, 0]
    top, bottom = max(1, top) - 1, min(bottom or screen.height, screen.height) - 1
    if top < bottom:
        screen.top, screen.bottom = top, bottom
        screen.move_to(0, 0)


def _set_mode(screen: Screen, numbers: Numbers, *, is_on: bool) -> None:
    for number in numbers:
        if number == 4:
            screen.modes.inserts = is_on
        elif number == 20:
            screen.modes.returns_with_line_feed = is_on


_PRIVATE: Final = {1: "cursor_keys", 7: "wraps", 25: "shows_cursor", 2004: "brackets_paste"}


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


def _next_row(screen: Screen) -> None:
    screen.move_to(None, 0)
    screen.line_feed()


_SAME: Final = {"a": "C", "e": "B", "f": "H", "`": "G"}

_BY_COUNT: Final[dict[str, Callable[[Screen, int], object]]] = {
    "@": lambda screen, count: screen.current_row.insert(screen.cursor.column, count, screen.blank_look),
    "A": lambda screen, count: screen.move_by(-count),
    "B": Screen.move_by,
    "C": lambda screen, count: screen.move_to(None, screen.cursor.column + count),
    "D": lambda screen, count: screen.move_to(None, screen.cursor.column - count),
    "E": _line_start,
    "F": lambda screen, count: _line_start(screen, -count),
    "G": lambda screen, count: screen.move_to(None, count - 1),
    "I": _tabs_on,
    "L": lambda screen, count: _shift_from_cursor(screen, -count),
    "M": _shift_from_cursor,
    "P": lambda screen, count: screen.current_row.delete(screen.cursor.column, count, screen.blank_look),
    "S": Screen.scroll_up,
    "T": lambda screen, count: screen.shift_rows(screen.top, -count),
    "X": lambda screen, count: screen.current_row.erase(
        screen.cursor.column, screen.cursor.column + count, screen.blank_look
    ),
    "Z": _tabs_back,
    "d": lambda screen, count: screen.move_to(count - 1, None),
}
"""Sequences with one number, which is a count. If it is missing, it is 1."""

_BY_NUMBERS: Final[dict[str, Callable[[Screen, Numbers], object]]] = {
    "H": _place,
    "J": _erase_screen,
    "K": _erase_row,
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
