r"""Parts of a text file: a range of bytes, the last lines, a range of lines, or all of it.

Only what the answer needs is read, and no answer is larger than its limits; what is cut says how to read on.
Lines end at `\n`; `\r\n` is shown as `\n`. Everything here blocks.
"""

import codecs
from collections.abc import Callable
from typing import BinaryIO

from msgspec import Struct

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.system.processes.output import continuation_bytes
from desktop_agent.core.tools.files.textfile import as_seen

MOST_RETURNED_BYTES = 100_000
"""As UTF-8. With its note, an answer stays below the limit of every tool result."""

_CHUNK_BYTES = 1024 * 1024


class PastEndError(ToolError):
    """The first line asked for is behind the last one."""

    def __init__(self, first: int, lines: int) -> None:
        super().__init__(f"offset {first} is past the end: the file has {lines} lines.")
        self.lines = lines


class FilePart(Struct, frozen=True):
    """What was read."""

    text: str
    lines: int
    """How many lines are shown."""
    is_cut: bool = False
    """The limit, not the request, decided where the text ends."""


class TextReader(Struct, kw_only=True):
    """Reads parts of one open file."""

    file: BinaryIO
    size_bytes: int
    start: int
    """The byte at which its text begins."""
    encoding: str
    errors: str
    is_stopped: Callable[[], bool]
    most_bytes: int
    """Of an answer, as UTF-8, without its note."""
    most_lines: int
    """Of an answer, without its note."""

    def byte_range(self, offset: int, limit: int | None) -> FilePart:
        """Read `limit` bytes from `offset` on, or to the end."""
        if offset >= self.size_bytes:
            raise ToolError(f"byte_offset {offset} is past the end: the file has {self.size_bytes} bytes.")
        wanted = min(limit or self.size_bytes, self.size_bytes - offset)
        self.file.seek(offset)
        data = self.file.read(min(wanted, self.most_bytes // 3))  # a replaced byte becomes three
        text = data.decode(self.encoding, self.errors)
        if len(data) == wanted:
            return FilePart(text, _count(text))
        end = offset + len(data)
        note = f"\n[Cut: bytes {offset}-{end - 1} of {self.size_bytes}. Read on with byte_offset={end}.]"
        return FilePart(text + note, _count(text), is_cut=True)

    def last_lines(self, count: int) -> FilePart:
        """Read the last `count` lines."""
        # Four bytes are a whole number of units in UTF-16 and UTF-32 too.
        begin = self.start + max(0, (self.size_bytes - self.start - self.most_bytes) // 4 * 4)
        self.file.seek(begin)
        data = self.file.read(self.size_bytes - begin)
        # What begins inside a character is not the file's fault, so it is no error even when errors are strict.
        errors = self.errors if begin == self.start else "replace"
        text = as_seen(data.decode(self.encoding, errors)).removesuffix("\n")
        lines = text.split("\n")
        if min(count, len(lines)) > self.most_lines:
            count, begin = self.most_lines, max(begin, self.start + 1)
            lines = lines[-count:]
        is_cut = begin > self.start and len(lines) <= count
        shown = "\n".join(lines[-count:])
        encoded = shown.encode()
        if is_cut or len(encoded) > self.most_bytes:
            shown = _end_of(encoded, self.most_bytes)
            note = f"[Cut: the last lines of a file of {self.size_bytes:,} bytes; earlier ones do not fit.]\n"
            return FilePart(note + shown, _count(shown), is_cut=True)
        return FilePart(shown, _count(shown))

    def line_range(self, first: int, count: int | None) -> FilePart:
        """Read `count` lines from line `first` on, or to the end, without the last line's ending."""
        text, is_at_end = self._scan(first, count)
        return self._limited(text.removesuffix("\n"), first, is_at_end=is_at_end)

    def everything(self) -> FilePart:
        """Read the file."""
        text, is_at_end = self._scan(1, None)
        return self._limited(text, 1, is_at_end=is_at_end)

    def _limited(self, text: str, first: int, *, is_at_end: bool) -> FilePart:
        if _count(text) > self.most_lines:
            text, is_at_end = text[: _after_newlines(text, self.most_lines)[0]], False
        encoded = text.encode()
        if is_at_end and len(encoded) <= self.most_bytes:
            return FilePart(text, _count(text))
        shown = encoded[: self.most_bytes].decode("utf-8", "ignore")
        whole, newline, _ = shown.rpartition("\n")
        if newline:
            lines = whole.count("\n") + 1
            advice = f"lines {first}-{first + lines - 1}", f"Read on with offset={first + lines} and limit"
            shown = whole
        else:
            lines = 1
            advice = f"the beginning of line {first}", "Read such long lines in parts with byte_offset and byte_limit"
        note = f"[Cut: {advice[0]} of a file of {self.size_bytes:,} bytes. {advice[1]}, or search the file with grep.]"
        return FilePart(f"{shown}\n{note}", lines, is_cut=True)

    def _scan(self, first: int, count: int | None) -> tuple[str, bool]:
        """Return lines from `first` on, and whether they are all that was asked for (else the limit was passed)."""
        self.file.seek(self.start)
        decoder = codecs.getincrementaldecoder(self.encoding)(self.errors)
        to_skip = first - 1
        to_take = count
        pieces: list[str] = []
        taken_bytes = 0
        last_character = ""
        while True:
            chunk = self.file.read(_CHUNK_BYTES)
            text = decoder.decode(chunk, final=not chunk)
            last_character = text[-1:] or last_character
            skipped, passed = _after_newlines(text, to_skip)
            to_skip -= passed
            text = text[skipped:]
            if to_take is not None:
                end, passed = _after_newlines(text, to_take)
                to_take -= passed
                text = text[:end]
            pieces.append(text)
            taken_bytes += len(text.encode())
            if not chunk or to_take == 0:
                break
            if taken_bytes > 2 * self.most_bytes or self.is_stopped():  # twice: `\r\n` shrinks
                return as_seen("".join(pieces)), False
        if first > 1 and not any(pieces):
            lines = first - 1 - to_skip + (to_skip > 0 and last_character not in ("", "\n"))
            raise PastEndError(first, lines)
        return as_seen("".join(pieces)), True


def _after_newlines(text: str, count: int) -> tuple[int, int]:
    """Return the index after the `count`-th newline, or the end, and how many newlines lie before it."""
    present = text.count("\n") if count else 0
    if present < count:
        return len(text), present
    index = 0
    for _ in range(count):
        index = text.index("\n", index) + 1
    return index, count


def _end_of(encoded: bytes, most_bytes: int) -> str:
    """Return the last whole lines that fit, or the end of the last line."""
    part = encoded[-most_bytes:]
    start = part.find(b"\n") + 1
    return part[start or continuation_bytes(part) :].decode()


def _count(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and bool(text))
