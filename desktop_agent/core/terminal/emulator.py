"""A terminal without a window: bytes of a program in, a screen with its history out.

Programs that ask get a few facts in fixed words, and nothing that a program has printed, because an answer arrives as
if it were typed. An answer with the asker's own text (a title, a setting by its name) would let a file that is only
displayed type into the shell.
"""

from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from desktop_agent.core.terminal.controls import carry_out, control, escape, numbers_of
from desktop_agent.core.terminal.plain_lines import LEAST_CHARS, LINE_END, is_ready, plain_lines, scroll_in
from desktop_agent.core.terminal.screen import HISTORY_ROWS, Screen
from desktop_agent.core.terminal.tokenizer import Token, Tokenizer
from desktop_agent.core.terminal.writing import Writer

_TOKENS_A_STEP: Final = 16
_CHARS_A_STEP: Final = 512
_LINES_A_STEP: Final = 200
_LONGEST_TITLE: Final = 120
_MOST_ANSWERS: Final = 32
"""The most answers to one piece of output. A program that asks more often wants to fill the shell's input."""

IDENTITY: Final = "\x1b[?62;22c"
"""A VT220 with colours."""
_SECOND_IDENTITY: Final = "\x1b[>1;0;0c"


class Emulator:
    """Takes what a program prints, in pieces cut anywhere."""

    def __init__(
        self,
        height: int,
        columns: int,
        *,
        answered: Callable[[bytes], None],
        history_rows: int = HISTORY_ROWS,
        screen: Screen | None = None,
    ) -> None:
        """`answered` gets what is to be sent back to the program; `screen` replaces the usual screen."""
        self.screen = screen or Screen(height, columns, history_rows)
        self.title = ""
        """What the program calls itself. It is a stranger's text and must be shown as such."""
        self.colours: tuple[str, str] = ("#000000", "#FFFFFF")
        """Of text and ground, for programs that ask."""
        self._writer = Writer(self.screen)
        self._tokenizer = Tokenizer()
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._answered = answered
        self._answers = 0

    @property
    def is_amid(self) -> bool:
        """Whether a sequence has begun and is not over."""
        return self._tokenizer.is_amid

    @property
    def is_scrolling(self) -> bool:
        """Whether only new lines matter: the cursor is at the end of the usual screen, and no sequence has begun."""
        screen = self.screen
        is_whole = screen.top == 0 and screen.cursor.row == screen.bottom == screen.height - 1
        is_amid = self._tokenizer.is_amid or self._decoder.getstate()[0] != b""
        return is_whole and not is_amid and not screen.modes.is_alternate

    def feed(self, output: bytes) -> None:
        """Take in all of this."""
        for _ in self.steps(output):
            pass

    def steps(self, output: bytes) -> Iterator[None]:
        """Take this in by steps of a fraction of a millisecond, so that other work can be done in between."""
        text = self._decoder.decode(output)
        self._answers = 0
        if len(text) >= LEAST_CHARS and self.is_scrolling:
            yield from self._flow(text)
        else:
            yield from self._take_all(text)

    def take_text(self, text: str) -> None:
        """Take in decoded text."""
        for token in self._tokenizer.read(text):
            self._take(token)

    def _flow(self, text: str) -> Iterator[None]:
        """Take in plain lines at once, and what is between them token by token."""
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
        return is_ready(self.screen) and not self._tokenizer.is_amid

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
                self._take_sequence(token)
            case "command":
                self._take_command(token.text)

    def _take_sequence(self, token: Token) -> None:
        if token.final == "b" and not token.between:
            self._writer.repeat(max(1, numbers_of(token.text)[0]))
        elif token.final in "cn":
            self._answer(_answer(self.screen, token.text, token.between, token.final))
        else:
            carry_out(self.screen, token.text, token.between, token.final)

    def _take_command(self, command: str) -> None:
        """Take a title, or a question for a colour. All others (clipboard, links, palettes) do nothing."""
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
    """Return the answer to a sequence, empty if it asks for nothing that is answered."""
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
    """Return the answer to a command (OSC) that asks for the colour of text or ground, given as `#RRGGBB`."""
    colour = {"10;?": text, "11;?": ground}.get(command)
    if colour is None:
        return ""
    parts = "/".join(colour[at : at + 2] * 2 for at in (1, 3, 5)).lower()
    return f"\x1b]{command[:2]};rgb:{parts}\x1b\\"
