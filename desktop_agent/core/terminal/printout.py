"""Reads program output as a terminal shows it, for the model, cards, exports and search."""

import re
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from desktop_agent.core.base.regex import regex
from desktop_agent.core.terminal.emulator import Emulator
from desktop_agent.core.terminal.rows import (
    PLAIN,
    SGR,
    PrintedRow,
    PrintedStyle,
    Row,
    Run,
    WrittenRow,
    changed,
    look_after,
)
from desktop_agent.core.terminal.screen import Screen

ROWS: Final = 40
COLUMNS: Final = 1_000
"""The most characters in a row. A longer line continues in the next row, because a window lays out a row as a whole."""
_MOST_CELLS: Final = 8
_MOST_LINES: Final = 2_000
_EFFORT_OF_A_ROW: Final = 32
_LEAST_BULK: Final = 4_096

_TEXT = r"[^\x00-\x08\x0a-\x1f\x7f-\x9f]*"
_PLAIN_LINES = regex(rf"(?:{_TEXT}(?:\x1b\[[0-9;:]{{0,100}}m{_TEXT})*\r?\n){{1,{_MOST_LINES}}}")
_CONTROL = regex(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_IGNORED = bytes({*range(0x07), *range(0x10, 0x18), 0x19, *range(0x1C, 0x20), 0x7F})
"""Control characters that terminals ignore anywhere. A file of zeros is full of them."""
_IGNORED_TEXT = regex(f"[{re.escape(_IGNORED.decode())}]+")
_BULK = bytes({0x09, 0x0A, *range(0x20, 0x7F), *range(0x80, 0xC2), *range(0xC3, 0x100)})
"""Bytes that are text or line ends whatever is next to them. 0xC2 is not one: it may begin a C1 control."""


class _PrintedScreen(Screen):
    is_printout: ClassVar[bool] = True
    makes_row: ClassVar[type[Row]] = WrittenRow

    def __init__(self) -> None:
        self.left: list[PrintedRow] = []
        super().__init__(ROWS, COLUMNS, history_rows=0)

    def keep(self, rows: list[Row]) -> None:
        self.left += _printed(rows)

    @property
    def main_rows(self) -> list[Row]:
        return self._main

    @property
    def blank_look(self) -> PrintedStyle:
        return PLAIN


class Printout:
    def __init__(
        self,
        settled: Callable[[Sequence[PrintedRow]], None],
        *,
        unseen: Callable[[str], None] | None = None,
        seen_rows: int = 0,
    ) -> None:
        """`settled` receives the rows that no longer change, in order.

        `unseen` speeds up floods: only the last `seen_rows` plain lines become rows, and `unseen` receives the text
        before them.
        """
        self.effort = 0
        """In characters. Each finished row counts as a fixed number of them."""
        self._settled = settled
        self._unseen = unseen
        self._seen_rows = seen_rows
        self._screen = _PrintedScreen()
        self._emulator = Emulator(ROWS, COLUMNS, answered=lambda _: None, screen=self._screen)

    def feed(self, text: str) -> None:
        text = _IGNORED_TEXT.sub("", text)
        at = 0
        while at < len(text):
            lines = _PLAIN_LINES.match(text, at) if self.is_fresh else None
            if lines is not None:
                self._take_lines(lines[0])
                at = lines.end()
            else:
                end = text.find("\n", at) + 1 or len(text)
                self._take(text[at:end])
                at = end

    def feed_bytes(self, output: bytes, text_of: Callable[[bytes], str], unseen: Callable[[bytes], None]) -> None:
        """`text_of` decodes the bytes. Most of a flood goes to `unseen` without decoding."""
        output = output.translate(None, _IGNORED)
        if len(output) >= _LEAST_BULK and not self.is_fresh:  # first complete the unfinished line of the last piece
            end = output.find(b"\n") + 1
            self.feed(text_of(output[:end]))
            output = output[end:]
        if len(output) >= _LEAST_BULK and self.is_fresh and not output.translate(None, _BULK):
            end = len(output)
            for _ in range(ROWS + 1):
                end = max(0, output.rfind(b"\n", 0, end))
            if end:
                self._clear_for(lambda: unseen(output[: end + 1]))
                self.feed(text_of(output[end + 1 :]))
                return
        self.feed(text_of(output))

    @property
    def is_fresh(self) -> bool:
        screen = self._screen
        cursor, modes = screen.cursor, screen.modes
        if cursor.column or cursor.is_past_end or cursor.is_origin or any(cursor.draws_lines):
            return False
        if not screen.scrolls_whole or modes.inserts or not modes.wraps:
            return False
        return not self._emulator.is_unfinished and not any(row.cells for row in screen.rows[cursor.row :])

    def standing(self) -> list[PrintedRow]:
        """The rows that may still change, up to the last one that has text or the cursor."""
        screen = self._screen
        rows = _printed(_to_the_last(screen.main_rows, -1 if screen.modes.is_alternate else screen.cursor.row))
        if screen.modes.is_alternate:
            rows += _printed(_to_the_last(screen.rows, screen.cursor.row))
        return rows

    def _take(self, text: str) -> None:
        self._emulator.take_text(text.replace("\n", "\r\n"))
        self.effort += len(text) + _EFFORT_OF_A_ROW * len(self._screen.left)
        if self._screen.left:
            left, self._screen.left = self._screen.left, []
            self._settled(left)

    def _take_lines(self, text: str) -> None:
        cursor = self._screen.cursor
        if self._unseen is not None:
            text = self._without_unseen(text, self._unseen)
        rows: list[PrintedRow] = []
        for line in text.replace("\r\n", "\n").split("\n")[:-1]:
            if not _fits(line):
                self._add(rows)
                rows = []
                self._take(line + "\n")
                continue
            if cursor.look == PLAIN and "\x1b" not in line:
                rows.append(PrintedRow(line))
            else:
                row, cursor.look = _coloured(line, cursor.look)
                rows.append(row)
        self._add(rows)

    def _without_unseen(self, text: str, unseen: Callable[[str], None]) -> str:
        start = len(text) - 1
        for _ in range(ROWS + self._seen_rows):
            start = text.rfind("\n", 0, start)
            if start < 0:
                return text
        self._clear_for(lambda: unseen(text[: start + 1]))
        self._screen.cursor.look = look_after(text[: start + 1], self._screen.cursor.look)
        return text[start + 1 :]

    def _clear_for(self, give: Callable[[], None]) -> None:
        screen = self._screen
        self._settled(_printed(screen.rows[: screen.cursor.row]))
        give()
        screen.rows[:] = screen.blank_rows(ROWS)
        screen.cursor.row = 0

    def _add(self, rows: list[PrintedRow]) -> None:
        screen = self._screen
        above = screen.rows[: screen.cursor.row]
        excess = max(0, len(above) + len(rows) - (ROWS - 1))
        settled = _printed(above[:excess]) + rows[: max(0, excess - len(above))]
        if settled:
            self._settled(settled)
        kept = [*above[excess:], *(WrittenRow.of(row, COLUMNS) for row in rows[max(0, excess - len(above)) :])]
        screen.cursor.row = len(kept)
        screen.rows[:] = kept + screen.blank_rows(ROWS - len(kept))


def plain_text(text: str) -> str:
    """The text, without colours, that a terminal shows after `text` was printed."""
    if _CONTROL.search(text) is None:
        return text
    rows: list[PrintedRow] = []
    printout = Printout(rows.extend)
    printout.feed(text)
    return joined(rows) + joined(printout.standing()).removesuffix("\n")


def joined(rows: Sequence[PrintedRow]) -> str:
    return "".join(row.text if row.is_continued else f"{row.text}\n" for row in rows)


def _fits(line: str) -> bool:
    if len(line) * _MOST_CELLS <= COLUMNS:
        return True
    return len(line) <= COLUMNS and line.isascii() and "\t" not in line


def _coloured(line: str, look: PrintedStyle) -> tuple[PrintedRow, PrintedStyle]:
    text, *rest = SGR.split(line)
    runs = [Run(0, len(text), look)] if text and look != PLAIN else []
    for parameters, part in zip(rest[::2], rest[1::2], strict=True):
        look = changed(look, parameters)
        if part and look != PLAIN:
            last = runs[-1] if runs else None
            if last is not None and last.look == look and last.start + last.length == len(text):
                runs[-1] = Run(last.start, last.length + len(part), look)
            else:
                runs.append(Run(len(text), len(part), look))
        text += part
    return PrintedRow(text, tuple(runs)), look


def _printed(rows: Sequence[Row]) -> list[PrintedRow]:
    return [row.printed() for row in rows if isinstance(row, WrittenRow)]


def _to_the_last(rows: Sequence[Row], cursor_row: int) -> Sequence[Row]:
    last = max((number for number, row in enumerate(rows) if row.cells), default=-1)
    return rows[: max(last, cursor_row) + 1]
