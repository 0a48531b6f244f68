"""Carries out control sequences on a screen: one small function each, found by the last character.

What is not listed does nothing, and above all: nothing a program prints reaches the clipboard, a file or a link.
"""

from collections.abc import Callable
from typing import Final

from desktop_agent.core.terminal.look import changed
from desktop_agent.core.terminal.rows import Row
from desktop_agent.core.terminal.screen import Cursor, Modes, Screen

Numbers = list[int]
_Action = Callable[[Screen, Numbers], object]

_MOST = 100_000
"""Larger numbers in a sequence mean no more than this."""


def numbers_of(parameters: str) -> Numbers:
    """Return the numbers of a sequence; missing ones are 0."""
    return [min(int(part), _MOST) if part.isdigit() else 0 for part in parameters.split(";")]


def carry_out(screen: Screen, parameters: str, between: str, final: str) -> None:
    """Do what a sequence says (CSI)."""
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
    """Do what an escape sequence without parameters says."""
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
    """Do what a control character says."""
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
