"""The console: results on standard output, everything else on standard error. The only place that prints."""

import getpass
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO, TypeVar, cast

from msgspec import Struct, field

from desktop_agent.core.base.errors import AgentError, UsageError
from desktop_agent.core.base.file_names import legible_names
from desktop_agent.core.base.plain_text import escaped_in_json, on_one_line, without_controls
from desktop_agent.core.protocol.model import JsonObject

T = TypeVar("T", str, bytes)
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


class OutputError(AgentError):
    """Standard output or error cannot be written: the disk is full, or (`is_closed`) the reader has gone.

    When the reader has gone, a command ends silently, as programs in a pipe do.
    """

    def __init__(self, error: OSError, *, stream: str = "output") -> None:
        hint = "Free some disk space, or send the output elsewhere."
        super().__init__(f"Standard {stream} could not be written.", hint=hint, detail=str(error))
        self.is_closed = isinstance(error, BrokenPipeError)


class Console(Struct, frozen=True):
    """Where a command writes; just one JSON document if `is_json`. Methods that write a result raise `OutputError`."""

    is_json: bool = False
    out: TextIOWrapper = field(default_factory=lambda: _standard_output())  # noqa: PLW0108 - defined below
    err: TextIO = field(default_factory=lambda: sys.stderr)

    def result(self, document: JsonObject, text: str) -> None:
        shown = _json(document, indent=2) if self.is_json else without_controls(text)
        self._write(self.out.write, shown.rstrip("\n") + "\n" if shown else "")

    def line(self, record: JsonObject) -> None:
        self._write(self.out.write, _json(record) + "\n")

    def write_line(self, line: str) -> None:
        self._write(self.out.write, escaped_in_json(line) + "\n")

    def write_bytes(self, content: bytes) -> None:
        self._write(self.out.buffer.write, content)

    def say(self, text: str) -> None:
        """Tell the user something that is not part of the result. Errors of standard error are ignored."""
        with suppress(OutputError):
            self.report(text)

    def report(self, text: str) -> None:
        """Report progress that the user asked for. Raises `OutputError` when standard error cannot be written."""
        try:
            self.err.write(without_controls(text) + "\n")
            self.err.flush()
        except OSError as error:
            _silence(self.err)
            raise OutputError(error, stream="error") from error

    def fail(self, error: AgentError) -> None:
        if self.is_json:
            self.result({"error": {"title": error.title, "hint": error.hint, "detail": error.detail}}, "")
        self.say("\n".join(filter(None, (f"error: {error.title}", error.hint, error.detail))))

    def _write(self, write: Callable[[T], object], content: T) -> None:
        try:
            self.out.flush()
            write(content)
            self.out.flush()
        except OSError as error:
            _silence(self.out)
            raise OutputError(error) from error


def is_confirmed(console: Console, lines: Sequence[str], question: str) -> bool:
    """Ask the user on the terminal, below these lines. Blocks. Raises `UsageError` where no user can answer."""
    for line in lines:
        console.say(line)
    if not sys.stdin.isatty():
        raise UsageError("This has to be confirmed.", hint="Confirm it with --yes.")
    console.say(f"{question} [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def typed_secret(prompt: str, missing: UsageError, *, is_whole: bool = False) -> str:
    """Ask for a secret without showing it. From a pipe, read a line, or all of it. Raises `missing` if it is empty."""
    read = sys.stdin.read if is_whole else sys.stdin.readline
    secret = (getpass.getpass(prompt) if sys.stdin.isatty() else read()).strip()
    if not secret:
        raise missing
    return secret


def _json(document: JsonObject, indent: int | None = None) -> str:
    return escaped_in_json(json.dumps(legible_names(document), ensure_ascii=False, indent=indent))


def _standard_output() -> TextIOWrapper:
    """Return standard output, set to escape what its encoding lacks, such as in file names that are not UTF-8."""
    out = cast("TextIOWrapper", sys.stdout)
    out.reconfigure(errors="backslashreplace")
    return out


def _silence(stream: TextIO) -> None:
    """Discard further output. Without this, buffered output would fail again at exit, with an error message."""
    with suppress(OSError), Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


class TerminalLine:
    """One terminal line that is overwritten in place. Shows nothing without a terminal that can erase."""

    def __init__(self, terminal: TextIO, term: str) -> None:
        self._terminal = terminal
        self.is_shown = terminal.isatty() and term not in ("", "dumb")

    def write(self, line: str) -> None:
        """Write `line` over the previous one. An empty line makes room for other output."""
        if self.is_shown:
            with suppress(OSError, ValueError):  # the terminal is gone
                self._terminal.write(f"\r\x1b[K{line}")
                self._terminal.flush()


def table(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Return `rows` as aligned columns, two spaces apart. The columns in `right` are right-aligned.

    A cell is shown `on_one_line`, so that no name can forge a row or shift a column.
    """
    if not rows:
        return ""
    rows = [[on_one_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]

    def cell(column: int, text: str) -> str:
        return text.rjust(widths[column]) if column in right else text.ljust(widths[column])

    return "\n".join("  ".join(cell(i, text) for i, text in enumerate(row)).rstrip() for row in rows)


def size_text(size_bytes: int) -> str:
    """Return a size in decimal units with one decimal place, such as `1.2 MB`; whole bytes below 1 kB."""
    size, unit = float(size_bytes), 0
    while round(size, 1) >= 1000 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{size_bytes} {_UNITS[0]}"
