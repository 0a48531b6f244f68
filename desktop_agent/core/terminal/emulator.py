"""A terminal without a window: it takes the bytes of a program, and provides a screen with its history.

An answer to a query arrives as if it were typed, so it never contains text of the program. Sequences follow ECMA-48.
"""

import threading
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from itertools import islice, takewhile
from typing import Final, Literal, NamedTuple

from desktop_agent.core.base.regex import regex
from desktop_agent.core.terminal.rows import BLANK, PLAIN, KeptRow, Row
from desktop_agent.core.terminal.screen import HISTORY_ROWS, Screen, Writer, carry_out, control, escape, numbers_of

Kind = Literal["text", "control", "escape", "sequence", "command"]

_LONGEST_STRING: Final = 4_096

_TOKEN = regex(
    r"(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
    r"|(?P<sequence>\x1b\[(?P<parameters>[<-?]?[0-9:;]{0,200})(?P<between>[ -/]{0,8})(?P<final>[@-~]))"
    r"|(?P<malformed>\x1b\[[ -?]{0,300}(?:[@-~]|(?=[\x18\x1a\x1b])))"
    r"|(?P<string>\x1b[\]PX^_])"
    r"|(?P<escape>\x1b(?P<set>[ -/]{0,8})(?P<function>[0-OQ-WYZ\\`-~]))"
    r"|(?P<unfinished>\x1b(?:\[[ -?]{0,300}|[ -/]{0,8})\Z)"
    r"|(?P<control>[\x00-\x1f\x7f-\x9f])"
)
_END = regex(r"[\x07\n\x18\x1a\x1b]")


class Token(NamedTuple):
    kind: Kind
    text: str
    """By kind: the text, the control character, the parameters of a sequence, or the whole of a `command` (OSC)."""
    between: str = ""
    final: str = ""


class Tokenizer:
    def __init__(self) -> None:
        self._unfinished = ""
        self._string: str | None = None

    @property
    def is_unfinished(self) -> bool:
        return bool(self._unfinished) or self._string is not None

    def read(self, text: str) -> Iterator[Token]:
        text, self._unfinished = self._unfinished + text, ""
        at = 0
        while at < len(text):
            if self._string is not None:
                at, token = self._read_string(text, at)
                if token is not None:
                    yield token
                continue
            match = _TOKEN.match(text, at)
            if match is None:  # an escape character that begins no sequence
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


_TOKENS_A_STEP: Final = 16
_CHARS_A_STEP: Final = 512
_LINES_A_STEP: Final = 200
_LONGEST_TITLE: Final = 120
_MOST_ANSWERS: Final = 32
"""How many answers one piece of output gets. A program that asks more often wants to fill the shell's input."""

IDENTITY: Final = "\x1b[?62;22c"
_SECOND_IDENTITY: Final = "\x1b[>1;0;0c"


class Emulator:
    """The pieces of output can be cut anywhere."""

    def __init__(
        self,
        height: int,
        columns: int,
        *,
        answered: Callable[[bytes], None],
        history_rows: int = HISTORY_ROWS,
        screen: Screen | None = None,
    ) -> None:
        """`answered` receives answers to the program. `screen` replaces the usual screen."""
        self.screen = screen or Screen(height, columns, history_rows)
        self.title = ""
        """The title that the program set. It is untrusted text and must be shown as such."""
        self.colours: tuple[str, str] = ("#000000", "#FFFFFF")
        self._writer = Writer(self.screen)
        self._tokenizer = Tokenizer()
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._answered = answered
        self._answers = 0

    @property
    def is_unfinished(self) -> bool:
        return self._tokenizer.is_unfinished

    @property
    def is_scrolling(self) -> bool:
        is_unfinished = self._tokenizer.is_unfinished or self._decoder.getstate()[0] != b""
        screen = self.screen
        return screen.scrolls_whole and screen.cursor.row == screen.bottom and not is_unfinished

    def feed(self, output: bytes) -> None:
        for _ in self.steps(output):
            pass

    def steps(self, output: bytes) -> Iterator[None]:
        """Take the output in steps of a fraction of a millisecond, between which other work can be done."""
        text = self._decoder.decode(output)
        self._answers = 0
        if len(text) >= LEAST_CHARS and self.is_scrolling:
            yield from self._flow(text)
        else:
            yield from self._take_all(text)

    def take_text(self, text: str) -> None:
        for token in self._tokenizer.read(text):
            self._take(token)

    def _flow(self, text: str) -> Iterator[None]:
        *lines, rest = text.split(LINE_END)
        at = 0
        while at < len(lines):
            plain = plain_lines(islice(lines, at, at + _LINES_A_STEP), self.screen.columns) if self._is_ready else []
            if plain:
                scroll_in(self.screen, plain)
                yield
            else:
                yield from self._take_all(lines[at] + LINE_END)
            at += len(plain) or 1
        yield from self._take_all(rest)

    @property
    def _is_ready(self) -> bool:
        return is_ready(self.screen) and not self._tokenizer.is_unfinished

    def _take_all(self, text: str) -> Iterator[None]:
        done = 0
        for at in range(0, len(text), _CHARS_A_STEP):
            for token in self._tokenizer.read(text[at : at + _CHARS_A_STEP]):
                self._take(token)
                done += 1
                if done % _TOKENS_A_STEP == 0:
                    yield
            yield

    def _take(self, token: Token) -> None:
        if token.kind != "text" and token.final != "b":
            self._writer.last = ""
        match token.kind:
            case "text":
                self._writer.write(token.text)
            case "control" if token.text == "\t" and self.screen.is_printout:
                self._writer.tab()
            case "control":
                control(self.screen, token.text)
            case "escape":
                escape(self.screen, token.between, token.final)
            case "sequence":
                if token.final == "b" and not token.between:
                    self._writer.repeat(max(1, numbers_of(token.text)[0]))
                elif token.final in "cn":
                    self._answer(_answer(self.screen, token.text, token.between, token.final))
                else:
                    carry_out(self.screen, token.text, token.between, token.final)
            case "command":
                self._take_command(token.text)

    def _take_command(self, command: str) -> None:
        """All commands but titles and colour queries (clipboard, links, palettes) do nothing."""
        number, _, text = command.partition(";")
        if number in ("0", "2"):
            self.title = text[:_LONGEST_TITLE]
        else:
            self._answer(_answer_colour(command, *self.colours))

    def _answer(self, text: str) -> None:
        self._answers += bool(text)
        if text and self._answers <= _MOST_ANSWERS:
            self._answered(text.encode())


def _answer(screen: Screen, parameters: str, between: str, final: str) -> str:
    if between:
        return ""
    match parameters, final:
        case (("" | "0"), "c"):
            return IDENTITY
        case ((">" | ">0"), "c"):
            return _SECOND_IDENTITY
        case "5", "n":
            return "\x1b[0n"
        case (("6" | "?6"), "n"):
            top = screen.top if screen.cursor.is_origin else 0
            return f"\x1b[{screen.cursor.row - top + 1};{screen.cursor.column + 1}R"
        case _:
            return ""


def _answer_colour(command: str, text: str, ground: str) -> str:
    colour = {"10;?": text, "11;?": ground}.get(command)
    if colour is None:
        return ""
    parts = "/".join(colour[at : at + 2] * 2 for at in (1, 3, 5)).lower()
    return f"\x1b]{command[:2]};rgb:{parts}\x1b\\"


LINE_END: Final = "\r\n"
LEAST_CHARS: Final = 4_096


def is_ready(screen: Screen) -> bool:
    cursor, row = screen.cursor, screen.current_row
    if not screen.scrolls_whole or cursor.row != screen.bottom:
        return False
    if cursor.column or cursor.is_past_end or cursor.look != PLAIN:
        return False
    is_empty = row.cells.count(BLANK) == len(row.cells) and row.looks.count(PLAIN) == len(row.looks)
    return is_empty and not any(cursor.draws_lines)


def plain_lines(lines: Iterator[str], columns: int) -> list[str]:
    return list(takewhile(lambda line: len(line) <= columns and line.isascii() and line.isprintable(), lines))


def scroll_in(screen: Screen, lines: list[str]) -> None:
    rows = [*screen.rows[:-1], *lines]
    left = len(rows) - (screen.height - 1)
    screen.keep_all(row.kept() if isinstance(row, Row) else KeptRow(row.rstrip(BLANK)) for row in rows[:left])
    shown = [row if isinstance(row, Row) else Row(screen.columns) for row in (*rows[left:], "")]
    for row, line in zip(shown, rows[left:], strict=False):
        if isinstance(line, str):
            row.put(0, line, PLAIN)
    screen.rows[:] = shown


MOST_BYTES: Final = 1024 * 1024
"""How many bytes may wait. A program that prints faster is blocked, as in every terminal."""

FLOOD_BYTES: Final = 64 * 1024

_PLAIN = bytes({0x09, 0x0A, 0x0D, *range(0x20, 0x7F), *range(0x80, 0x100)})
_SGR = regex(rb"\x1b\[[0-9;:]*m")


class Backlog:
    """The reading thread adds output, and the window's thread takes it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._is_closed = False
        self._room = threading.Condition()

    def put(self, output: bytes) -> bool:
        """Return whether no output was waiting before. Blocks while too much is waiting."""
        with self._room:
            self._room.wait_for(lambda: self._size < MOST_BYTES or self._is_closed)
            if self._is_closed:
                return False
            self._parts.append(output)
            self._size += len(output)
            return len(self._parts) == 1

    def take(self) -> bytes:
        with self._room:
            parts, self._parts, self._size = self._parts, [], 0
            self._room.notify_all()
        return b"".join(parts)

    def close(self) -> None:
        with self._room:
            self._is_closed = True
            self._parts.clear()
            self._size = 0
            self._room.notify_all()


def without_unseen(output: bytes, rows: int) -> bytes:
    """Leave out plain lines that scroll out of the last `rows`. Their colours stay in effect.

    Use it only for a screen that scrolls as a whole, with the cursor at the bottom.
    """
    if len(output) < FLOOD_BYTES:
        return output
    at = len(output)
    for _ in range(rows):
        at = output.rfind(b"\n", 0, at)
        if at < 0:
            return output
    head = output[: at + 1]
    if not head.endswith(b"\r\n"):
        return output
    strange = head.translate(None, _PLAIN)
    if not strange:
        return output[at + 1 :]
    sequences = _SGR.findall(head)
    if strange.count(b"\x1b") != len(strange) or len(sequences) != len(strange):
        return output
    last_reset = max(head.rfind(b"\x1b[0m"), head.rfind(b"\x1b[m"), 0)
    return b"".join(_SGR.findall(head, last_reset)) + output[at + 1 :]
