"""Writes printable characters on a screen, with the wrapping, widths and character sets of terminals."""

from desktop_agent.core.terminal.rows import TAB, Row, WrittenRow, width
from desktop_agent.core.terminal.screen import Screen

_LINES = str.maketrans("`abcdefghijklmnopqrstuvwxyz{|}~", "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")
"""The characters that programs draw frames with (DEC Special Graphics)."""


class Writer:
    """Writes at the cursor of one screen."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._last = ""

    def write(self, text: str) -> None:
        """Write printable characters at the cursor."""
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
                    if not self._row().add_mark(self._last_written(), character):
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
        """Return how many cells are left in the row, after a new one was begun if need be."""
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

    def _last_written(self) -> int:
        return self._screen.cursor.column if self._screen.cursor.is_past_end else max(0, self._screen.cursor.column - 1)

    def tab(self) -> None:
        """Write a tab where nothing is written yet, and move over what is."""
        room, cursor = self._room(), self._screen.cursor
        row, width = self._row(), min(TAB - cursor.column % TAB, room)
        if isinstance(row, WrittenRow) and cursor.column >= len(row.cells):
            row.put_tab(cursor.column, width, cursor.look)
            self._advance(width)
        else:
            self._screen.move_to(None, cursor.column + width)

    def repeat(self, count: int) -> None:
        """Write the last character again."""
        if self._last:
            self.write(self._last * min(count, self._screen.columns))
