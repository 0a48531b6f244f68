"""Where the lines of a diff are wrapped. It is counted in columns, so that all heights are known before any layout."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from desktop_agent.core.diff.rows import DiffRow, DiffRows, LineSide
from desktop_agent.core.diff.text import without_ending
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.diff.diff_document import line_of
from desktop_agent.ui.wording.visible_text import MAX_DRAWN_CHARS, TAB_WIDTH, VisibleLine, visible_line

MAX_ROWS = 10_000
MAX_LINES = 50_000
MAX_BYTES = 12_000_000
MAX_COLUMNS = 1_000_000
"""The largest diff that is wrapped, and how much its long lines may take. Counting more takes longer than a frame."""
LEAST_COLUMNS = 16
_SHORT = 200
"""How many columns a long line counts for at least, because looking at it takes a while."""
_TAG_COLUMNS = 10
"""The room for the number of characters that are not drawn of a very long line."""
_MOST_LOOKED_AT = MAX_DRAWN_CHARS + _TAG_COLUMNS
_LONGEST_NAME = 60
"""The most columns that stand for an invisible character."""
_WIDTHS = bytes(1 if block < 0x05 or 0x20 <= block < 0x26 else 2 for block in range(256))
"""The columns of the characters in each block. Those that the code font may lack are at most two wide in another."""
_SECOND_HALVES = bytes(range(0xDC, 0xE0))
"""The high bytes of the second surrogate of a character in UTF-16."""
_PLAIN = bytes((*range(0x20, 0x7F), *b"\t\r\n"))


def wrap(line: VisibleLine, columns: int) -> tuple[int, ...]:
    """Return where the parts of a line start, as indices of its text: at 0 and then, if possible, after blanks."""
    text = line.text + " " * _TAG_COLUMNS if line.cut_chars else line.text
    ends = [] if text.isascii() else list(accumulate(_widths_of(text)))
    starts = [0]
    while True:
        at = starts[-1]
        end = bisect_right(ends, (ends[at - 1] if at else 0) + columns) if ends else at + columns
        if end >= len(text):
            return tuple(starts)
        starts.append(text.rfind(" ", at + (end - at) // 2, end) + 1 or end)


def _widths_of(text: str) -> bytes:
    """Return the columns of each character. `text` has no lone surrogates."""
    return text.encode("utf-16-le", "surrogatepass")[1::2].translate(_WIDTHS, _SECOND_HALVES)


class LineWrapping:
    """Counts the parts of the lines of a diff, each line once for a width."""

    def __init__(self) -> None:
        self._diff: FileDiff | None = None
        self._widths: dict[LineSide, Sequence[int]] = {}
        self._rows: DiffRows | None = None
        self._shown: Sequence[DiffRow] = ()
        self._columns = 0
        self._parts: dict[tuple[LineSide, int], int] = {}

    def extra_parts(self, rows: DiffRows, sides: Sequence[LineSide | None], columns: int) -> dict[int, int] | None:
        """Return how many extra parts wrapped rows have, in panes of these sides. `None` if the diff is too large."""
        diff = rows.diff
        is_large = len(diff.old_lines) + len(diff.new_lines) > MAX_LINES or diff.old_size + diff.new_size > MAX_BYTES
        if is_large or len(rows) > MAX_ROWS:
            return None
        if not len(rows):
            return {}
        if diff is not self._diff or columns != self._columns:
            self._columns, self._parts = columns, {}
        if diff is not self._diff:
            self._diff, self._widths = diff, {"old": _widths(diff.old_lines), "new": _widths(diff.new_lines)}
        if rows is not self._rows:
            self._rows, self._shown = rows, rows.between(0, len(rows) - 1)
        if not any(width > columns for widths in self._widths.values() for width in widths):
            return {}
        found = [
            (index, shown)
            for index, row in enumerate(self._shown)
            for side in sides
            if (shown := line_of(row, side)) and self._widths[shown[0]][shown[1]] > columns
        ]
        if sum(max(_SHORT, self._widths[side][line]) for _, (side, line) in found) > MAX_COLUMNS:
            return None
        extra: dict[int, int] = {}
        for index, (side, line) in found:
            extra[index] = max(self._extra(side, line), extra.get(index, 0))
        return {index: parts for index, parts in extra.items() if parts}

    def _extra(self, side: LineSide, line: int) -> int:
        if (side, line) not in self._parts:
            assert self._diff is not None
            text = (self._diff.old_lines if side == "old" else self._diff.new_lines)[line]
            visible = visible_line(without_ending(text), is_first=line == 0)
            self._parts[side, line] = len(wrap(visible, self._columns)) - 1
        return self._parts[side, line]


def _widths(lines: Sequence[str]) -> Sequence[int]:
    drawn = [line if len(line) <= _MOST_LOOKED_AT else line[:_MOST_LOOKED_AT] for line in lines]
    text = "".join(drawn)
    if _is_plain(text):
        return (
            [len(line) + (TAB_WIDTH - 1) * line.count("\t") for line in drawn]
            if "\t" in text
            else list(map(len, drawn))
        )
    return list(map(_most_columns, drawn))


def _most_columns(line: str) -> int:
    if _is_plain(line):
        return len(line) + (TAB_WIDTH - 1) * line.count("\t")
    if not without_ending(line).isprintable():
        return _LONGEST_NAME * len(line)
    return sum(_widths_of(line))


def _is_plain(text: str) -> bool:
    return text.isascii() and not text.encode("ascii").translate(None, _PLAIN)
