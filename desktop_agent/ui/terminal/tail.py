"""The last lines of a growing output, as a terminal shows them. Reading costs only as much as what was added."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from desktop_agent.core.terminal.printout import Printout
from desktop_agent.core.terminal.rows import PrintedRow, Run
from desktop_agent.ui.wording.visible_text import utf16_length

MAX_LINE = 500
"""Characters of a line that are shown; the whole is one click away."""


class PrintedLine(NamedTuple):
    """The beginning of a line, and how its parts look, in Qt's positions. Parts that look as usual have no run."""

    text: str
    runs: tuple[Run, ...] = ()
    cut_chars: int = 0
    """How many characters follow `text` in the line."""


class Tail:
    """Keeps the last `count` lines. Text is fed in pieces, cut anywhere: also within a line or an escape sequence."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._printout = Printout(self._take, unseen=self._pass_over, seen_rows=count)
        self._ended: deque[PrintedLine] = deque(maxlen=count)
        self._ended_count = 0
        self._open: list[PrintedRow] = []
        """The rows of an unfinished line, as far as it is shown, and the length of the rest."""
        self._open_cut = 0
        self._known: tuple[list[PrintedLine], int] | None = None

    def feed(self, text: str) -> None:
        """Take in what was printed next."""
        self._known = None
        self._printout.feed(text)

    def lines(self) -> list[PrintedLine]:
        """Return the last lines, including the unfinished one."""
        return self._all()[0]

    @property
    def hidden_lines(self) -> int:
        """How many lines came before those that are kept."""
        return max(0, self._all()[1] - self._count)

    @property
    def cut(self) -> tuple[int, int]:
        """How many of the lines go on beyond what is shown of them, and for how many characters."""
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
        """Return the last lines, and how many there are of all."""
        if self._known is None:
            standing = self._printout.standing()
            if standing and not standing[-1].text:  # a line that begins after the last one
                standing.pop()
            lines = list(lines_of(standing, self._open, self._open_cut))
            self._known = [*self._ended, *lines][-self._count :], self._ended_count + len(lines)
        return self._known


def lines_of(rows: Iterable[PrintedRow], begun: Sequence[PrintedRow] = (), cut_chars: int = 0) -> Iterable[PrintedLine]:
    """Yield the lines of these rows, each as far as it is shown; the first one continues what has `begun`."""
    parts = list(begun)
    for row in rows:
        cut_chars = _add(row, parts, cut_chars)
        if not row.is_continued:
            yield _line_of(parts, cut_chars)
            parts, cut_chars = [], 0
    if parts:
        yield _line_of(parts, cut_chars)


def _add(row: PrintedRow, parts: list[PrintedRow], cut_chars: int) -> int:
    """Add a row to a line as far as it is shown; return how many characters of the line are not."""
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
    """Return runs of characters as runs of Qt's positions in `text`."""
    if text.isascii() or max(text) <= "\uffff":
        return tuple(runs)
    return tuple(
        Run(utf16_length(text[: run.start]), utf16_length(text[run.start : run.start + run.length]), run.look)
        for run in runs
    )
