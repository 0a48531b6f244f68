"""Command output as a terminal shows it: the last lines of growing output, and its text formats."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from PySide6.QtGui import QColor, QFont, QTextCharFormat

from desktop_agent.core.terminal.printout import Printout
from desktop_agent.core.terminal.rows import PrintedRow, PrintedStyle, Run
from desktop_agent.ui.theme.tokens import Palette, legible, mixed
from desktop_agent.ui.wording import utf16_length

_LIGHT = (
    *("#5F636B", "#B3261E", "#1B7038", "#8A5A00", "#1D5FAE", "#8A3FA0", "#0B6E75", "#3A3D43"),
    *("#676B73", "#A5302A", "#17693A", "#7D5200", "#2456C7", "#9C2F8E", "#0A6B62", "#1D1F23"),
)
_DARK = (
    *("#8A919C", "#F2837B", "#7BCB8F", "#E3B85C", "#7FB4F5", "#CF9BEA", "#5CC8CF", "#C6CAD2"),
    *("#9BA2AD", "#FF9C94", "#93E0A5", "#F2CB78", "#9CC7FF", "#E0B3F7", "#7FDDE2", "#F4F5F7"),
)


def ansi_colours(palette: Palette) -> tuple[str, ...]:
    """Return the 16 colours: black, red, green, yellow, blue, magenta, cyan, white, then their bright versions."""
    return _DARK if palette.is_dark else _LIGHT


_DIM = 0.35


class LookFormats:
    def __init__(self, palette: Palette, ground: str) -> None:
        self._palette = palette
        self._ground = ground
        self._ansi = ansi_colours(palette)
        self._made: dict[PrintedStyle, QTextCharFormat] = {}

    def format(self, look: PrintedStyle) -> QTextCharFormat:
        made = self._made.get(look)
        if made is None:
            made = QTextCharFormat()
            text, ground = self.colours(look)
            made.setForeground(QColor(text))
            if ground:
                made.setBackground(QColor(ground))
            if look.is_bold:
                made.setFontWeight(QFont.Weight.Bold)
            if look.is_italic:
                made.setFontItalic(True)
            if look.is_underlined:
                made.setFontUnderline(True)
            if look.is_struck:
                made.setFontStrikeOut(True)
            self._made[look] = made
        return made

    def colours(self, look: PrintedStyle) -> tuple[str, str]:
        """Return the colours of text and background as `#RRGGBB`. The default background is empty."""
        text = self._colour(look.foreground) or self._palette.text
        ground = self._colour(look.background)
        if look.is_inverse:
            text, ground = ground or self._ground, text
        under = ground or self._ground
        if look.is_dim:
            text = mixed(text, under, _DIM)
        return legible(text, under, self._palette.text_ratio), ground

    def _colour(self, name: str) -> str:
        return self._ansi[int(name[4:])] if name.startswith("ansi") else name


MAX_LINE = 500
"""Characters of a line that are shown; a click shows the whole line."""


class PrintedLine(NamedTuple):
    """The beginning of a line, and the formats of its parts in Qt positions. Parts in the default style have no run."""

    text: str
    runs: tuple[Run, ...] = ()
    cut_chars: int = 0


class Tail:
    """Stores the last `count` lines. Text is fed in pieces, which may end within a line or an escape sequence."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._printout = Printout(self._take, unseen=self._pass_over, seen_rows=count)
        self._ended: deque[PrintedLine] = deque(maxlen=count)
        self._ended_count = 0
        self._open: list[PrintedRow] = []
        """The shown rows of an unfinished line. The number of its other characters is in `_open_cut`."""
        self._open_cut = 0
        self._known: tuple[list[PrintedLine], int] | None = None

    def feed(self, text: str) -> None:
        self._known = None
        self._printout.feed(text)

    def lines(self) -> list[PrintedLine]:
        return self._all()[0]

    @property
    def hidden_lines(self) -> int:
        return max(0, self._all()[1] - self._count)

    @property
    def cut(self) -> tuple[int, int]:
        """The number of lines cut at the shown length, and the total number of characters cut off."""
        cuts = [line.cut_chars for line in self.lines() if line.cut_chars]
        return len(cuts), sum(cuts)

    def _take(self, rows: Sequence[PrintedRow]) -> None:
        for row in rows:
            self._open_cut = _add(row, self._open, self._open_cut)
            if not row.is_continued:
                self._ended.append(_line_of(self._open, self._open_cut))
                self._ended_count += 1
                self._open, self._open_cut = [], 0

    def _pass_over(self, text: str) -> None:
        self._ended_count += text.count("\n")

    def _all(self) -> tuple[list[PrintedLine], int]:
        if self._known is None:
            standing = self._printout.standing()
            if standing and not standing[-1].text:  # a line that begins after the last one
                standing.pop()
            lines = list(lines_of(standing, self._open, self._open_cut))
            self._known = [*self._ended, *lines][-self._count :], self._ended_count + len(lines)
        return self._known


def lines_of(rows: Iterable[PrintedRow], begun: Sequence[PrintedRow] = (), cut_chars: int = 0) -> Iterable[PrintedLine]:
    """Yield the lines that these rows form, each cut to the shown length. The first begins with `begun`."""
    parts = list(begun)
    for row in rows:
        cut_chars = _add(row, parts, cut_chars)
        if not row.is_continued:
            yield _line_of(parts, cut_chars)
            parts, cut_chars = [], 0
    if parts:
        yield _line_of(parts, cut_chars)


def _add(row: PrintedRow, parts: list[PrintedRow], cut_chars: int) -> int:
    if sum(len(part.text) for part in parts) < MAX_LINE:
        parts.append(row)
        return cut_chars
    return cut_chars + len(row.text)


def _line_of(parts: Sequence[PrintedRow], cut_chars: int) -> PrintedLine:
    if len(parts) == 1 and not parts[0].runs and len(parts[0].text) <= MAX_LINE:
        return PrintedLine(parts[0].text, (), cut_chars)
    text, runs = "", list[Run]()
    for part in parts:
        runs += [Run(len(text) + start, length, look) for start, length, look in part.runs]
        text += part.text
    shown = text[:MAX_LINE]
    runs = [Run(start, min(length, MAX_LINE - start), look) for start, length, look in runs if start < MAX_LINE]
    return PrintedLine(shown, in_positions(shown, runs), cut_chars + len(text) - len(shown))


def in_positions(text: str, runs: Iterable[Run]) -> tuple[Run, ...]:
    if text.isascii() or max(text) <= "\uffff":
        return tuple(runs)
    return tuple(
        Run(utf16_length(text[: run.start]), utf16_length(text[run.start : run.start + run.length]), run.look)
        for run in runs
    )
