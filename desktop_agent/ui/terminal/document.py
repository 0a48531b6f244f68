"""A long output as a text document whose colours are worked out line by line, when a line is seen."""

import re
from typing import TYPE_CHECKING, NamedTuple

from desktop_agent.ui.terminal.line import PrintedLine, read_line
from desktop_agent.ui.terminal.look import PLAIN, look_after

if TYPE_CHECKING:
    from collections.abc import Sequence

_LOOK_BACK_LINES = 200
"""How many lines before a line colours are looked for that go on in it."""
_MAX_LINE = 1_000_000
_NOT_PLAIN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class PrintedDocument(NamedTuple):
    """The text as it is shown, and the lines as they were printed."""

    text: str
    raw_lines: "Sequence[str]"
    has_colours: bool

    @classmethod
    def read(cls, printed: str) -> "PrintedDocument":
        """Read an output of any length. Takes time in proportion to it: to be called in a thread."""
        raw_lines = printed.replace("\r\n", "\n").split("\n")
        lines = (_shown(raw).text if _NOT_PLAIN.search(raw) else raw for raw in raw_lines)
        text = "\n".join(lines).replace("\u2028", " ").replace("\u2029", " ")  # would be lines of their own
        return cls(text, raw_lines, "\x1b[" in printed)

    def line(self, number: int) -> PrintedLine:
        """Return a line with its colours."""
        first = max(0, number - _LOOK_BACK_LINES)
        before = "\n".join(self.raw_lines[first:number])
        raw = self.raw_lines[number]
        return read_line(raw, look_after(before, PLAIN), limit=_MAX_LINE)[0]


def _shown(raw: str) -> PrintedLine:
    return read_line(raw, limit=_MAX_LINE)[0]
