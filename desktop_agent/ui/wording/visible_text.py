"""Lines of code as they can be drawn: nothing in them is invisible, and nothing reorders what stands beside it.

Code that looks harmless but is not relies on characters that are not drawn: bidirectional controls (CVE-2021-42574,
"Trojan Source"), zero-width characters, tags that smuggle text. They are replaced by their names; tabs become blanks.
"""

import re
from bisect import bisect_right
from typing import NamedTuple

from desktop_agent.core.base.plain_text import HIDDEN, is_hiding, name_of

MAX_DRAWN_CHARS = 5_000
"""What a longer line has beyond this is not drawn: shaping a line of a million characters takes half a second."""
TAB_WIDTH = 4

_BOM = "\ufeff"
_NEEDS_MAP = re.compile(rf"[{HIDDEN}\u200c\u200d\U00010000-\U0010ffff]")

_PLAIN = bytes(range(0x20, 0x7F))


class VisibleLine(NamedTuple):
    """A line as it is drawn, without its ending.

    Positions are Qt's: UTF-16 code units of `text`. Offsets are Python's: characters of the line itself. The two run
    in parallel between the breaks, which stand before and behind every character that is drawn as something else.
    """

    text: str
    cut_chars: int = 0
    """How many characters at its end are not drawn."""
    break_offsets: tuple[int, ...] = (0,)
    break_positions: tuple[int, ...] = (0,)

    def position(self, offset: int) -> int:
        """Return where the character at `offset` is drawn."""
        at = bisect_right(self.break_offsets, offset) - 1
        return self.break_positions[at] + offset - self.break_offsets[at]

    def offset(self, position: int) -> int:
        """Return which character is drawn at `position`; inside the name of a character, that character."""
        at = bisect_right(self.break_positions, position) - 1
        offset = self.break_offsets[at] + position - self.break_positions[at]
        is_last = at + 1 == len(self.break_offsets)
        return offset if is_last else min(offset, max(self.break_offsets[at], self.break_offsets[at + 1] - 1))


def visible_line(line: str, *, is_first: bool = False) -> VisibleLine:
    """Return how to draw `line` (without its ending). A byte order mark is only shown where it does not belong."""
    cut_chars = max(0, len(line) - MAX_DRAWN_CHARS)
    drawn = line[:MAX_DRAWN_CHARS]
    if _is_plain(drawn) or not _NEEDS_MAP.search(drawn):
        return VisibleLine(drawn, cut_chars)
    pieces: list[str] = []
    offsets, positions = [0], [0]
    at = position = column = 0
    for match in _NEEDS_MAP.finditer(drawn):
        char, start = match.group(), match.start()
        is_mark = char == _BOM and start == 0 and is_first
        piece = "" if is_mark else _drawn(char, drawn, start, column + start - at)
        pieces += (drawn[at:start], piece)
        column += start - at + len(piece)
        position += start - at
        offsets += (start, start + 1)
        positions += (position, position := position + utf16_length(piece))
        at = start + 1
    pieces.append(drawn[at:])
    return VisibleLine("".join(pieces), cut_chars, tuple(offsets), tuple(positions))


def _is_plain(text: str) -> bool:
    """Whether all of it is printable ASCII. `isprintable` takes five times as long: a page of long lines 1.6 ms."""
    return text.isascii() and not text.encode("ascii").translate(None, _PLAIN)


def _drawn(char: str, line: str, index: int, column: int) -> str:
    if char == "\t":
        return " " * (TAB_WIDTH - column % TAB_WIDTH)
    return name_of(char) if is_hiding(line, index, is_content=True) else char


def utf16_length(text: str) -> int:
    """Return how many positions `text` takes in Qt."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
