"""A file's text as the model sees it, whole and in parts, and how edits are turned back into exact bytes.

The model sees LF line endings, no byte-order mark, and U+FFFD for invalid bytes.
"""

import codecs
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import BinaryIO

from msgspec import Struct

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.file_types import HEAD_BYTES, byte_order_mark
from desktop_agent.core.base.regex import regex
from desktop_agent.core.diff.text import is_utf8, legacy_encodings
from desktop_agent.core.system.processes.output import continuation_bytes

_ENDING = regex(r"\r?\n")
_SURROGATE = regex("[\ud800-\udfff]")


class NotTextError(ValueError):
    """The content is not text that could be written back exactly."""


def looks_binary(beginning: bytes) -> bool:
    mark, _ = byte_order_mark(beginning)
    return not mark and b"\0" in beginning[:HEAD_BYTES]


def as_seen(text: str) -> str:
    return text.replace("\r\n", "\n")


def as_shown(text: str) -> str:
    if text.isascii():
        return text
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # half a character in UTF-16
        return _SURROGATE.sub("\ufffd", text)


def recognised_encoding(content: bytes) -> str:
    """Return the encoding of text that is not UTF-8; empty if there is none, or if several give different texts."""
    possible = legacy_encodings(content)
    return possible[0] if possible and len({content.decode(name) for name in possible}) == 1 else ""


class Replacement(Struct, frozen=True):
    content: bytes
    lines: tuple[int, ...]
    """The number (from 1) of the first line of each replaced place, counted as before the change."""


class TextFile:
    """A file's content as text. If the encoding is unknown, bytes that are not ASCII survive as surrogates."""

    def __init__(self, content: bytes, *, quoted: str = "") -> None:
        """`quoted` is what the model quotes from the file. If it has U+FFFD, the model saw UTF-8 with invalid bytes."""
        self._mark, marked = byte_order_mark(content)
        if looks_binary(content):
            raise NotTextError("the file is binary")
        self._legacy = () if self._mark or "\ufffd" in quoted else legacy_encodings(content)
        self._encoding = self._legacy[0] if self._legacy else marked
        if not self._mark and not self._legacy and not is_utf8(content):
            self._encoding = "ascii"
        try:
            self._raw = content[len(self._mark) :].decode(self._encoding, self._errors)
        except UnicodeDecodeError as error:
            raise NotTextError(f"the file is not valid {self._encoding}") from error
        self.text = as_seen(self._raw)
        """The text that the model can quote. Bytes that are not text are surrogates, which no quotation matches."""

    @property
    def shown_text(self) -> str:
        return as_shown(self.text)

    @property
    def total_lines(self) -> int:
        return self.text.count("\n") + (bool(self.text) and not self.text.endswith("\n"))

    @property
    def lines(self) -> tuple[str, ...]:
        r"""The lines on disk, each with its ending. Only `\n` ends a line, also as part of `\r\n`."""
        return tuple(re.findall(r"[^\n]*\n|[^\n]+", self._raw))

    @property
    def encoding(self) -> str:
        """The encoding; empty for UTF-8, and if it is unknown."""
        return "" if self._encoding in ("utf-8", "ascii") else self._encoding

    @property
    def has_mark(self) -> bool:
        """The byte-order mark is not part of any line."""
        return bool(self._mark)

    @property
    def has_only_crlf(self) -> bool:
        return "\n" in self._raw and self._raw.count("\n") == self._raw.count("\r\n")

    def encoded(self, lines: Iterable[str], *, has_mark: bool = True) -> bytes:
        """Return the bytes of these lines. Raises `NotTextError` for characters that the file's encoding lacks."""
        mark = self._mark if has_mark else b""
        text = "".join(lines)
        try:
            content = text.encode(self._encoding, self._errors)
        except UnicodeEncodeError as error:
            lost = repr(text[error.start : error.end][:10])
            if self._encoding == "ascii":
                raise NotTextError(
                    "the file is not UTF-8, and has too little text to tell what its encoding is, so only ASCII can be "
                    f"written into it, not {lost}. Write that in ASCII (as an escape), or convert the file to UTF-8 "
                    "first, with iconv in run_terminal_cmd"
                ) from error
            raise NotTextError(f"the encoding of the file is {self._encoding}, which cannot express {lost}") from error
        self._require_one_reading(text)
        return mark + content

    def _require_one_reading(self, text: str) -> None:
        new = "".join(set(text).difference(self._raw))
        for other in self._legacy[1:]:
            for sign in new:
                if (rival := sign.encode(other, "ignore")) and rival != sign.encode(self._encoding):
                    raise NotTextError(
                        f"the encoding of the file is {self._encoding} or {other}: too little text to tell, and they "
                        f"express {sign!r} differently. Write it in ASCII (as an escape), or convert the file to UTF-8 "
                        "first, with iconv in run_terminal_cmd"
                    )

    def line_at(self, index: int) -> int:
        return self.text.count("\n", 0, index) + 1

    def places(self, wanted: str) -> list[int]:
        found: list[int] = []
        index = self.text.find(wanted)
        while index >= 0:
            found.append(index)
            index = self.text.find(wanted, index + 1)
        return found

    def replace(self, old: str, new: str) -> Replacement:
        """Replace `old` wherever it occurs. Raises `NotTextError` for characters that the encoding lacks."""
        # The indices, in the text as seen, of the newlines that are `\r\n` on disk.
        shifts = [match.start() - number for number, match in enumerate(re.finditer("\r\n", self._raw))]
        pieces: list[str] = []
        lines: list[int] = []
        done = line = seen = 0
        index = self.text.find(old)
        while index >= 0:
            line += self.text.count("\n", seen, index)
            lines.append(line + 1)
            seen, end = index, index + len(old)
            raw_start, raw_end = index + bisect_left(shifts, index), end + bisect_left(shifts, end)
            pieces += (self._raw[done:raw_start], self._with_endings(new, raw_start, raw_end))
            done = raw_end
            index = self.text.find(old, end)
        return Replacement(self.encoded([*pieces, self._raw[done:]]), tuple(lines))

    def rewritten(self, text: str) -> bytes:
        """Return the bytes of the file with another text, as seen. Its encoding, mark and line endings stay."""
        return self.encoded([self._with_endings(text, 0, len(self._raw))])

    @property
    def _errors(self) -> str:
        if self._legacy:
            return "strict"
        return "surrogateescape" if self._encoding in ("utf-8", "ascii") else "surrogatepass"

    def _with_endings(self, new: str, raw_start: int, raw_end: int) -> str:
        if "\n" not in new:
            return new
        region = self._raw[raw_start:raw_end]
        endings: list[str] = _ENDING.findall(region)
        if len(set(endings)) > 1:
            return _with_mixed_endings(new, as_seen(region), endings)
        return new.replace("\n", endings[0] if endings else self._ending_near(raw_start))

    def _ending_near(self, raw_index: int) -> str:
        at = self._raw.rfind("\n", 0, raw_index)
        if at < 0:
            at = self._raw.find("\n", raw_index)
        return "\r\n" if at > 0 and self._raw[at - 1] == "\r" else "\n"


def _with_mixed_endings(new: str, old: str, endings: list[str]) -> str:
    """Return `new` with line endings: unchanged lines keep theirs, others get those of the lines they replace."""
    old_lines, new_lines = old.split("\n"), new.split("\n")
    limit = min(len(old_lines), len(new_lines))
    same_before = next((n for n in range(limit) if old_lines[n] != new_lines[n]), limit)
    limit -= same_before
    same_after = next((n for n in range(limit) if old_lines[-1 - n] != new_lines[-1 - n]), limit)
    last_changed = min(len(endings) - same_after, len(endings) - 1)
    pieces: list[str] = []
    for number, line in enumerate(new_lines[:-1]):
        from_end = len(new_lines) - 1 - number
        stays_after = from_end < same_after
        pieces += (line, endings[-from_end] if stays_after else endings[min(number, last_changed)])
    return "".join([*pieces, new_lines[-1]])


MOST_RETURNED_BYTES = 100_000
"""With its note, an answer stays below the limit of every tool result."""

_CHUNK_BYTES = 1024 * 1024


class PastEndError(ToolError):
    def __init__(self, first: int, lines: int) -> None:
        super().__init__(f"offset {first} is past the end: the file has {lines} lines.")
        self.lines = lines


class FilePart(Struct, frozen=True):
    text: str
    lines: int
    is_cut: bool = False
    """Whether the text ends where it does because of the limit."""


class TextReader(Struct, kw_only=True):
    file: BinaryIO
    size_bytes: int
    start: int
    encoding: str
    errors: str
    is_stopped: Callable[[], bool]
    most_bytes: int
    most_lines: int

    def byte_range(self, offset: int, limit: int | None) -> FilePart:
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
        # Four bytes are a whole number of units in UTF-16 and UTF-32 too.
        begin = self.start + max(0, (self.size_bytes - self.start - self.most_bytes) // 4 * 4)
        self.file.seek(begin)
        data = self.file.read(self.size_bytes - begin)
        # The part may begin inside a character. That is no error of the file, even in strict mode.
        errors = self.errors if begin == self.start else "replace"
        lines = as_seen(data.decode(self.encoding, errors)).removesuffix("\n").split("\n")
        if min(count, len(lines)) > self.most_lines:
            count, begin = self.most_lines, max(begin, self.start + 1)
            lines = lines[-count:]
        is_cut = begin > self.start and len(lines) <= count
        shown = "\n".join(lines[-count:])
        encoded = shown.encode()
        if is_cut or len(encoded) > self.most_bytes:
            part = encoded[-self.most_bytes :]
            start = part.find(b"\n") + 1
            shown = part[start or continuation_bytes(part) :].decode()
            note = f"[Cut: the last lines of a file of {self.size_bytes:,} bytes; earlier ones do not fit.]\n"
            return FilePart(note + shown, _count(shown), is_cut=True)
        return FilePart(shown, _count(shown))

    def line_range(self, first: int, count: int | None) -> FilePart:
        """Return `count` lines, or all to the end if it is None. The last line comes without its ending."""
        text, is_at_end = self._scan(first, count)
        return self._limited(text.removesuffix("\n"), first, is_at_end=is_at_end)

    def everything(self) -> FilePart:
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
    present = text.count("\n") if count else 0
    if present < count:
        return len(text), present
    index = 0
    for _ in range(count):
        index = text.index("\n", index) + 1
    return index, count


def _count(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and bool(text))


class Splice(Struct, frozen=True, kw_only=True):
    r"""A replacement: lines `start` to `end` (from 0, `end` excluded) become `added`, which come without their `\n`."""

    start: int
    end: int
    added: tuple[str, ...]
    is_verbatim: bool = False
    ends_with_newline: bool | None = None
    """Whether the file ends with a newline if the last of `added` becomes its last line. None changes nothing."""


def split_block(text: str) -> tuple[str, ...]:
    return tuple(as_seen(text).removesuffix("\n").split("\n"))


def splice(lines: Sequence[str], splices: Sequence[Splice]) -> list[str]:
    """`splices` must be in order and not overlap. Lines include their endings."""
    result: list[str] = []
    done = 0
    for item in splices:
        result += lines[done : item.start]
        added = _with_endings(item, lines)
        if added and item.end == len(lines):
            _settle_end(result, added, item, lines)
        result += added
        done = item.end
    return [*result, *lines[done:]]


def _with_endings(item: Splice, lines: Sequence[str]) -> list[str]:
    if item.is_verbatim:
        return [f"{text}\n" for text in item.added]
    replaced = [ending for line in lines[item.start : item.end] if (ending := _ending(line))]
    near = replaced[-1] if replaced else _ending_near(lines, item.start)
    return [
        text.removesuffix("\r") + (replaced[number] if number < len(replaced) else near)
        for number, text in enumerate(item.added)
    ]


def _settle_end(result: list[str], added: list[str], item: Splice, lines: Sequence[str]) -> None:
    is_open = bool(lines) and not lines[-1].endswith("\n")
    if is_open and item.start == len(lines) and not result[-1].endswith("\n"):
        result[-1] += _ending_near(lines, item.start)
    is_closed = not is_open if item.ends_with_newline is None else item.ends_with_newline
    if not is_closed and item.added[-1]:  # without its newline, an empty line would vanish
        ending = "\n" if item.is_verbatim else _ending(added[-1])
        added[-1] = added[-1].removesuffix(ending)


def _ending(line: str) -> str:
    if line.endswith("\r\n"):
        return "\r\n"
    return "\n" if line.endswith("\n") else ""


def _ending_near(lines: Sequence[str], index: int) -> str:
    nearest_first = chain(range(index - 1, -1, -1), range(index, len(lines)))
    return next((ending for number in nearest_first if (ending := _ending(lines[number]))), "\n")
