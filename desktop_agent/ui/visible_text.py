"""Lines of code as they can be drawn: nothing in them is invisible, and nothing reorders what stands beside it.

Code that looks harmless but is not relies on characters that are not drawn: bidirectional controls (CVE-2021-42574,
"Trojan Source"), zero-width characters, tags that smuggle text. They are replaced by their names; tabs become blanks.
"""

import re
from bisect import bisect_right
from typing import NamedTuple

MAX_DRAWN_CHARS = 5_000
"""What a longer line has beyond this is not drawn: shaping a line of a million characters takes half a second."""
TAB_WIDTH = 4

_BOM = "\ufeff"
_NAMED = (
    r"\x00-\x1f\x7f-\x9f"  # control characters
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e"  # soft hyphen, joiners, fillers
    r"\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffc"  # zero width, direction, separators
    r"\ud800-\udfff"  # bytes that are not UTF-8
    r"\U000e0000-\U000e0fff"  # tags and variation selectors beyond the basic plane
)
# Joiners shape emoji and several scripts; behind ASCII they only hide.
_HIDDEN = re.compile(rf"[{_NAMED}]|(?<=[\x00-\x7f])[\u200c\u200d]")
_NEEDS_MAP = re.compile(rf"[{_NAMED}\u200c\u200d\U00010000-\U0010ffff]")


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
    if (drawn.isascii() and drawn.isprintable()) or not _NEEDS_MAP.search(drawn):
        return VisibleLine(drawn, cut_chars)
    pieces: list[str] = []
    offsets, positions = [0], [0]
    at = position = column = 0
    for match in _NEEDS_MAP.finditer(drawn):
        char, start = match.group(), match.start()
        piece = _drawn(char, drawn, start, column + start - at, is_first=is_first)
        pieces += (drawn[at:start], piece)
        column += start - at + len(piece)
        position += start - at
        offsets += (start, start + 1)
        positions += (position, position := position + utf16_length(piece))
        at = start + 1
    pieces.append(drawn[at:])
    return VisibleLine("".join(pieces), cut_chars, tuple(offsets), tuple(positions))


def _drawn(char: str, line: str, index: int, column: int, *, is_first: bool) -> str:
    if char == "\t":
        return " " * (TAB_WIDTH - column % TAB_WIDTH)
    if char == _BOM and index == 0 and is_first:
        return ""
    return _name(char) if _HIDDEN.match(line, index) else char


def utf16_length(text: str) -> int:
    """Return how many positions `text` takes in Qt."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def hidden_characters(text: str) -> list[str]:
    """Return the names of the characters in `text` that would not be seen, each once. Tabs and line ends are fine."""
    found = (match.group() for match in _HIDDEN.finditer(text))
    return list(dict.fromkeys(_name(char) for char in found if char not in "\t\n\r"))


def _name(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"⟨U+{code:04X}⟩"
