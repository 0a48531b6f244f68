"""Shows untrusted text without invisible characters and without characters that reorder their surroundings."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.plain_text import (
    HIDDEN,
    HIDING,
    MOST_BLANKS,
    MOST_SHOWN_CHARS,
    has_hidden,
    is_hiding,
    name_of,
    named,
)

_FOUND = re.compile(rf"(?P<blanks> {{{MOST_BLANKS},}}|\t{{{MOST_BLANKS // 5},}})|(?P<hidden>{HIDING.pattern})")


class TextPiece(NamedTuple):
    shown: str
    original: str
    is_cut: bool = False

    @property
    def is_stand_in(self) -> bool:
        return self.shown != self.original


def pieces(text: str) -> Iterator[TextPiece]:
    """Split `text` into pieces: names for invisible characters, counts for long blanks, a note for the cut end."""
    head, rest = text[:MOST_SHOWN_CHARS], text[MOST_SHOWN_CHARS:]
    at = 0
    for match in _FOUND.finditer(head):
        original = match[0]
        if original in "\n\t":
            continue
        if match.start() > at:
            yield TextPiece(head[at : match.start()], head[at : match.start()])
        yield TextPiece(_shown(original), original)
        at = match.end()
    if at < len(head):
        yield TextPiece(head[at:], head[at:])
    if rest:
        yield TextPiece(f"·What follows these {len(head):,} characters is not shown·", rest, is_cut=True)


def _shown(original: str) -> str:
    if len(original) == 1:
        return name_of(original)
    return f"·{len(original):,} {'spaces' if original[0] == ' ' else 'tabs'}·"


MAX_DRAWN_CHARS = 5_000
"""How much of a line is drawn, because shaping a line of a million characters takes half a second."""
TAB_WIDTH = 4

_BOM = "\ufeff"
_NEEDS_MAP = re.compile(rf"[{HIDDEN}\u200c\u200d\U00010000-\U0010ffff]")

_PLAIN = bytes(range(0x20, 0x7F))


class VisibleLine(NamedTuple):
    """A shown line. Positions count UTF-16 units of `text`, offsets characters. Between breaks, both grow alike."""

    text: str
    cut_chars: int = 0
    break_offsets: tuple[int, ...] = (0,)
    break_positions: tuple[int, ...] = (0,)

    def position(self, offset: int) -> int:
        at = bisect_right(self.break_offsets, offset) - 1
        return self.break_positions[at] + offset - self.break_offsets[at]

    def offset(self, position: int) -> int:
        """Return the offset of the character drawn at `position`, also for positions within a character's name."""
        at = bisect_right(self.break_positions, position) - 1
        offset = self.break_offsets[at] + position - self.break_positions[at]
        is_last = at + 1 == len(self.break_offsets)
        return offset if is_last else min(offset, max(self.break_offsets[at], self.break_offsets[at + 1] - 1))


def visible_line(line: str, *, is_first: bool = False) -> VisibleLine:
    """`line` has no ending. A byte order mark is shown unless it begins the first line."""
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
    """Whether `text` is printable ASCII. `isprintable` takes five times as long: 1.6 ms for a page of long lines."""
    return text.isascii() and not text.encode("ascii").translate(None, _PLAIN)


def _drawn(char: str, line: str, index: int, column: int) -> str:
    if char == "\t":
        return " " * (TAB_WIDTH - column % TAB_WIDTH)
    return name_of(char) if is_hiding(line, index, is_content=True) else char


def utf16_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def index_of(text: str, position: int) -> int:
    """Convert a position of Qt, which counts UTF-16 code units, to an index in `text`."""
    if text.isascii():
        return position
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * position].decode("utf-16-le", "surrogatepass"))


def encoding_name(encoding: str) -> str:
    return re.sub("^(UTF-16)-", r"\1 ", encoding.upper())


def lowered(text: str) -> str:
    """Return `text` in lower case but of the same length: a capital that would become two characters stays."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


_MOST_SHOWN_CHARS = 600
"""How much of a line with hidden characters a note repeats. More is not needed, as the command is shown above."""
_BLANKS = re.compile(r" {9,}")


def visible(text: str) -> str:
    """Name characters that are invisible or reorder others. A note replaces the end of a very long line."""
    return "\n".join(map(_visible_line, text.split("\n")))


def one_line(text: str) -> str:
    return " ⏎ ".join(visible(text).split("\n"))


def explained(explanation: str, subagent: str = "") -> str:
    """Return who asks, if a sub-agent does, and the model's explanation of a call, marked as the model's words."""
    words = " ".join(explanation.split())
    asks = QCoreApplication.translate("ApprovalRequest", "The sub-agent “{0}” asks.").format(_cut(visible(subagent)))
    says = QCoreApplication.translate("ApprovalRequest", "The agent says: {0}").format(_cut(visible(words)))
    return " ".join([*([asks] if subagent else ()), *([says] if words else ())])


def hidden_text_risks(command: str) -> list[str]:
    hidden = [_cut(_visible_line(line)) for line in command.split("\n") if has_hidden(line)]
    text = QCoreApplication.translate("ApprovalRequest", "The command contains invisible characters. It really is: {0}")
    return [text.format(_cut(" ⏎ ".join(hidden)))] if hidden else []


def _visible_line(line: str) -> str:
    if line.isascii() and line.isprintable() and len(line) <= MAX_DRAWN_CHARS:
        return line
    more = len(line) - MAX_DRAWN_CHARS
    drawn = HIDING.sub(lambda match: name_of(match.group()), line[:MAX_DRAWN_CHARS].expandtabs(4))
    if more <= 0:
        return drawn
    return drawn + QCoreApplication.translate("ApprovalRequest", " … {0} more characters").format(f"{more:,}")


def _cut(text: str) -> str:
    text = _BLANKS.sub(lambda match: f" ·{len(match.group()):,} spaces· ", text)
    return text if len(text) <= _MOST_SHOWN_CHARS else f"{text[:_MOST_SHOWN_CHARS]}…"


_CODE = re.compile(r"`([^`\n]+)`")


def quoted(text: str) -> str:
    return _CODE.sub(lambda code: in_quotes(code[1]), text)


def in_quotes(text: str) -> str:
    return QCoreApplication.translate("Quoting", "“{0}”").format(text)


def plain_tooltip(text: str) -> str:
    """Return `text` escaped, so that a tooltip shows it literally and not as HTML. Invisible characters are named."""
    shown = "\n".join(map(named, text.replace("\t", "    ").split("\n")))
    escaped = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<p style='white-space: pre-wrap'>{escaped}</p>" if text else ""
