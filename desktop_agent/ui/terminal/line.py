"""One printed line as a terminal would leave it: overwritten text overwritten, escape sequences resolved or dropped."""

import re
from typing import NamedTuple

from desktop_agent.ui.terminal.look import PLAIN, PrintedStyle, changed

MAX_LINE = 500
"""Characters of a line that are shown; the whole is one click away."""

_MOST_RAW = 4 * MAX_LINE

_PIECES = re.compile(
    r"(?P<escape>\x1b\[(?P<parameters>[0-?]*)[ -/]*(?P<final>[@-~])"  # colours, erasing, cursor movement (CSI)
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"  # titles, links and other strings (OSC, DCS …)
    r"|\x1b[ -/]*[0-Z\\^-~]"  # everything else that begins with an escape
    r"|\x1b(?:\[[0-?]*[ -/]*)?$)"  # one whose rest has not come yet
    r"|(?P<control>[\x00-\x08\x0a-\x1f\x7f-\x9f])"
)


_GOES_BACK = re.compile(r"[\r\b]|\x1b\[[12]K")


class Run(NamedTuple):
    """`length` UTF-16 units from `start` with one look."""

    start: int
    length: int
    look: PrintedStyle


class PrintedLine(NamedTuple):
    """A line without escape sequences, and how its parts look. Parts that look as usual have no run."""

    text: str
    runs: tuple[Run, ...] = ()
    cut_chars: int = 0
    """How far it goes on beyond `text`, in characters as they were printed."""


def goes_back(raw: str) -> bool:
    """Whether a line overwrites some of itself, so that its end says more than its beginning."""
    return "\r" in raw.rstrip("\r") or "\b" in raw


def read_line(raw: str, look: PrintedStyle = PLAIN, *, limit: int = _MOST_RAW) -> tuple[PrintedLine, PrintedStyle]:
    """Read one line, which begins with `look`; return it, and how the next one begins.

    Of a line longer than `limit` only the end is read: the caller knows how that begins, or does not mind.
    """
    raw = raw[-limit:]
    if raw.isprintable() and look == PLAIN:
        return PrintedLine(raw[:limit]), look
    raw = raw.rstrip("\r")
    line = _Line() if _GOES_BACK.search(raw) else _Straight()
    at = 0
    for piece in _PIECES.finditer(raw):
        line.write(raw[at : piece.start()], look)
        at = piece.end()
        if piece["final"] == "m" and not piece["parameters"].strip("0123456789;:"):
            look = changed(look, piece["parameters"])
        elif piece["final"] == "K":
            line.erase(piece["parameters"])
        elif piece["control"] is not None:
            line.control(piece["control"])
    line.write(raw[at:], look)
    return line.read(), look


class _Straight:
    """A line that is written from left to right, as most are."""

    def __init__(self) -> None:
        self._text = ""
        self._at = 0
        self._runs: list[Run] = []

    def write(self, text: str, look: PrintedStyle) -> None:
        """Append `text`."""
        length = len(text) if text.isascii() else len(text) + sum(letter > "\uffff" for letter in text)
        if look != PLAIN and length:
            last = self._runs[-1] if self._runs else None
            if last is not None and last.look == look and last.start + last.length == self._at:
                self._runs[-1] = Run(last.start, last.length + length, look)
            else:
                self._runs.append(Run(self._at, length, look))
        self._text += text
        self._at += length

    def control(self, letter: str) -> None:
        """Nothing that matters here."""

    def erase(self, parameters: str) -> None:
        """Nothing: there is nothing behind the end."""

    def read(self) -> PrintedLine:
        """Return what was written."""
        return PrintedLine(self._text, tuple(self._runs))


class _Line:
    """Cells with a cursor."""

    def __init__(self) -> None:
        self._letters: list[str] = []
        self._looks: list[PrintedStyle] = []
        self._cursor = 0

    def write(self, text: str, look: PrintedStyle) -> None:
        """Put `text` at the cursor, over what is there."""
        if text:
            if (missing := self._cursor - len(self._letters)) > 0:
                self._letters += " " * missing
                self._looks += [PLAIN] * missing
            end = self._cursor + len(text)
            self._letters[self._cursor : end] = text
            self._looks[self._cursor : end] = [look] * len(text)
            self._cursor = end

    def control(self, letter: str) -> None:
        """Go back: to the start of the line, or over the last letter. Other control characters do nothing."""
        if letter == "\r":
            self._cursor = 0
        elif letter == "\b" and self._cursor:
            self._cursor -= 1
            if self._cursor == len(self._letters) - 1:
                del self._letters[self._cursor :], self._looks[self._cursor :]

    def erase(self, parameters: str) -> None:
        """Erase to the end of the line (0), to its start (1), or all of it (2)."""
        if parameters == "1":
            end = min(self._cursor, len(self._letters))
            self._letters[:end] = " " * end
            self._looks[:end] = [PLAIN] * end
        elif parameters in ("", "0", "2"):
            start = 0 if parameters == "2" else self._cursor
            del self._letters[start:], self._looks[start:]

    def read(self) -> PrintedLine:
        """Return what is left."""
        runs: list[Run] = []
        at = 0
        before = PLAIN
        start = 0
        for letter, look in zip(self._letters, self._looks, strict=True):
            if look != before:
                if before != PLAIN:
                    runs.append(Run(start, at - start, before))
                start, before = at, look
            at += 1 if letter <= "\uffff" else 2
        if before != PLAIN:
            runs.append(Run(start, at - start, before))
        return PrintedLine("".join(self._letters), tuple(run for run in runs if run.length))
