"""The last lines of an output that grows. Reading on costs as much as what was added, and only the end is read."""

from collections import deque

from desktop_agent.ui.terminal.line import MAX_LINE, PrintedLine, goes_back, read_line
from desktop_agent.ui.terminal.look import PLAIN, PrintedStyle, look_after

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
        self._head = ""
        """The beginning of that line when it is long; `_pending` is its end then, and this much between was dropped."""
        self._skipped = 0
        self._head_look: PrintedStyle = PLAIN
        self._look: PrintedStyle = PLAIN
        """How `_pending` begins."""

    @property
    def hidden_lines(self) -> int:
        """How many lines came before those that are kept."""
        return max(0, self._ended + bool(self._pending) - self._count)

    @property
    def cut(self) -> tuple[int, int]:
        """How many of the lines go on beyond what is shown of them, and for how many characters."""
        cuts = [line.cut_chars for line in self.lines() if line.cut_chars]
        return len(cuts), sum(cuts)

    def feed(self, text: str) -> None:
        """Take in what was printed next."""
        self._ended += text.count("\n")
        parts = text.rsplit("\n", self._count + 1)
        parts[0] = self._pending + parts[0]
        if self._head and goes_back(parts[0]):
            self._head, self._skipped = "", 0
        if len(parts) > self._count + 1:  # everything kept so far, and the first of these, is out of sight
            self._look = look_after(parts[0][-_LOOK_BACK:], self._look)
            self._lines.clear()
            self._head, self._skipped = "", 0
            del parts[0]
        for raw in parts[:-1]:
            self._lines.append(self._read(raw))
        self._pending = parts[-1]
        self._shorten_pending()

    def _shorten_pending(self) -> None:
        """Keep the beginning and the end of a line that has not ended; of one that overwrites itself, the end."""
        if len(self._pending) <= 2 * _MOST_PENDING:
            return
        if not self._head and not goes_back(self._pending):
            self._head, self._head_look = self._pending[:_MOST_PENDING], self._look
            self._pending = self._pending[_MOST_PENDING:]
        cut = max(0, len(self._pending) - _MOST_PENDING)
        if self._head:
            self._skipped += cut
        self._look = look_after(self._pending[:cut][-_LOOK_BACK:], self._look)
        self._pending = self._pending[cut:]

    def _read(self, raw: str) -> PrintedLine:
        """Read a line that has ended, of which `raw` is all or, behind the beginning that is kept, the rest."""
        if self._head:
            line = self._begun(len(raw))
            self._look = look_after(raw[-_LOOK_BACK:], self._look)
            self._head, self._skipped = "", 0
            return line
        line, self._look = _read(raw, self._look)
        return line

    def _begun(self, behind: int) -> PrintedLine:
        """Return the beginning of a line that goes on for so many characters behind what was skipped."""
        return read_line(self._head, self._head_look)[0]._replace(cut_chars=self._skipped + behind)

    def lines(self) -> list[PrintedLine]:
        """Return the last lines, with the one that has not ended."""
        lines = list(self._lines)
        if self._head:
            lines.append(self._begun(len(self._pending)))
        elif self._pending:
            lines.append(_read(self._pending, self._look)[0])
        return [shortened(line) for line in lines[-self._count :]]


def _read(raw: str, look: PrintedStyle) -> tuple[PrintedLine, PrintedStyle]:
    """Read the beginning of a line that begins with `look`, or the end of one that overwrites itself."""
    if len(raw) <= _MOST_PENDING:
        return read_line(raw, look)
    if goes_back(raw):
        return read_line(raw, look_after(raw[:-_MOST_PENDING][-_LOOK_BACK:], look))
    line, _ = read_line(raw[:_MOST_PENDING], look)
    return line._replace(cut_chars=len(raw) - _MOST_PENDING), look_after(raw[-_LOOK_BACK:], look)


def shortened(line: PrintedLine) -> PrintedLine:
    """Return as much of a line as is shown."""
    if len(line.text) <= MAX_LINE:
        return line
    text = line.text[:MAX_LINE]
    end = len(text) + sum(letter > "\uffff" for letter in text)
    runs = (run._replace(length=min(run.length, end - run.start)) for run in line.runs if run.start < end)
    return PrintedLine(text, tuple(runs), line.cut_chars + len(line.text) - MAX_LINE)
