"""The last lines of an output that grows. Reading on costs as much as what was added, and only the end is read."""

from collections import deque

from desktop_agent.ui.terminal.line import MAX_LINE, PrintedLine, read_line
from desktop_agent.ui.terminal.look import PLAIN, Look, look_after

_LOOK_BACK = 8_192
"""How far before what is shown colours are looked for, when nothing resets them nearer."""
_MOST_PENDING = 4 * MAX_LINE


class Tail:
    """Keeps the last `count` lines. Text is fed in pieces, cut anywhere: also within a line or an escape sequence."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._lines: deque[PrintedLine] = deque(maxlen=count)
        self._ended = 0
        self._pending = ""
        """The line that has not ended, as it was printed."""
        self._look: Look = PLAIN
        """How `_pending` begins."""

    @property
    def hidden_lines(self) -> int:
        """How many lines came before those that are kept."""
        return max(0, self._ended + bool(self._pending) - self._count)

    def feed(self, text: str) -> None:
        """Take in what was printed next."""
        self._ended += text.count("\n")
        parts = text.rsplit("\n", self._count + 1)
        parts[0] = self._pending + parts[0]
        if len(parts) > self._count + 1:  # everything kept so far, and the first of these, is out of sight
            self._look = look_after(parts[0][-_LOOK_BACK:], self._look)
            self._lines.clear()
            del parts[0]
        for raw in parts[:-1]:
            self._lines.append(self._read(raw))
        self._pending = parts[-1]
        if len(self._pending) > 2 * _MOST_PENDING:
            cut = len(self._pending) - _MOST_PENDING
            self._look = look_after(self._pending[:cut][-_LOOK_BACK:], self._look)
            self._pending = self._pending[cut:]

    def _read(self, raw: str) -> PrintedLine:
        if len(raw) > _MOST_PENDING:
            self._look = look_after(raw[:-_MOST_PENDING][-_LOOK_BACK:], self._look)
        line, self._look = read_line(raw, self._look)
        return line

    def lines(self) -> list[PrintedLine]:
        """Return the last lines, with the one that has not ended."""
        lines = list(self._lines)
        if self._pending:
            lines.append(read_line(self._pending, self._look)[0])
        return [shortened(line) for line in lines[-self._count :]]


def shortened(line: PrintedLine) -> PrintedLine:
    """Return as much of a line as is shown."""
    if len(line.text) <= MAX_LINE:
        return line
    text = line.text[:MAX_LINE]
    end = len(text) + sum(letter > "\uffff" for letter in text)
    runs = (run._replace(length=min(run.length, end - run.start)) for run in line.runs if run.start < end)
    return PrintedLine(text, tuple(runs))
