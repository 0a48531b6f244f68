"""Splits what a program prints into text and control sequences (ECMA-48), wherever it is cut into pieces.

Strings for the terminal (titles, links, device control) end at their terminator, or with their line: one without an end
must not hide what is printed after it. Of one that is too long only the beginning is kept. A sequence whose parameters
are malformed, or that another one interrupts, does nothing. C1 controls are dropped: in UTF-8 no program needs them.
"""

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

Kind = Literal["text", "control", "escape", "sequence", "command"]

_LONGEST_STRING: Final = 4_096

_TOKEN = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
    r"|(?P<sequence>\x1b\[(?P<parameters>[<-?]?[0-9:;]{0,200})(?P<between>[ -/]{0,8})(?P<final>[@-~]))"
    r"|(?P<malformed>\x1b\[[ -?]{0,300}(?:[@-~]|(?=[\x18\x1a\x1b])))"
    r"|(?P<string>\x1b[\]PX^_])"
    r"|(?P<escape>\x1b(?P<set>[ -/]{0,8})(?P<function>[0-OQ-WYZ\\`-~]))"
    r"|(?P<unfinished>\x1b(?:\[[ -?]{0,300}|[ -/]{0,8})\Z)"
    r"|(?P<control>[\x00-\x1f\x7f-\x9f])"
)
_END = re.compile(r"[\x07\n\x18\x1a\x1b]")


class Token(NamedTuple):
    """One piece: text as it is, a control character, or a sequence by its parts."""

    kind: Kind
    text: str
    """The text; the control; the parameters of a sequence; the whole of a `command` (OSC)."""
    between: str = ""
    """The intermediate characters of an escape or a sequence."""
    final: str = ""


class Tokenizer:
    """Reads pieces of output one after another; what is not finished waits for the next."""

    def __init__(self) -> None:
        self._unfinished = ""
        self._string: str | None = None
        """What has come of a string: its kind, then its content."""

    @property
    def is_amid(self) -> bool:
        """Whether a sequence has begun and is not over."""
        return bool(self._unfinished) or self._string is not None

    def read(self, text: str) -> Iterator[Token]:
        """Yield what is complete."""
        text, self._unfinished = self._unfinished + text, ""
        at = 0
        while at < len(text):
            if self._string is not None:
                at, token = self._read_string(text, at)
                if token is not None:
                    yield token
                continue
            match = _TOKEN.match(text, at)
            if match is None:  # an escape before something that no sequence begins with
                at += 1
                continue
            at = match.end()
            kind = match.lastgroup
            if kind == "text" or kind == "control":
                yield Token(kind, match[0])
            elif kind == "sequence":
                yield Token(kind, match["parameters"], match["between"], match["final"])
            elif kind == "escape":
                yield Token(kind, "", match["set"], match["function"])
            elif kind == "string":
                self._string = match[0][1]
            elif kind == "unfinished":
                self._unfinished = match[0]

    def _read_string(self, text: str, at: int) -> tuple[int, Token | None]:
        """Go on with a string; return where it was left, and what it was if it is over."""
        assert self._string is not None
        end = _END.search(text, at)
        stop = end.start() if end is not None else len(text)
        self._string += text[at : min(stop, at + _LONGEST_STRING - len(self._string))] if stop > at else ""
        if end is None:
            return len(text), None
        if end[0] == "\x07" and self._string[0] != "]":  # only commands end with it
            return end.end(), None
        is_escape = end[0] == "\x1b"
        if is_escape and end.end() == len(text):
            self._unfinished = "\x1b"
            return len(text), None
        whole, self._string = self._string, None
        is_ended = end[0] == "\x07" or (is_escape and text[end.end()] == "\\")
        is_cut = end[0] in "\x1b\n"
        after = end.end() + 1 if is_escape and is_ended else end.start() if is_cut else end.end()
        return after, Token("command", whole[1:]) if is_ended and whole[0] == "]" else None
