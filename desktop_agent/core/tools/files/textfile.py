r"""A file's text as the model sees it, and exact bytes on the way back.

The model sees `\n` line endings, no byte-order mark, and U+FFFD for bytes that are not text. On disk all of that stays
as it was: an edit changes the bytes of its own region and no others. A line that the edit keeps keeps its ending, and a
new line gets the ending of the line it replaces or follows.
"""

import codecs
import re
from bisect import bisect_left
from collections.abc import Iterable

from msgspec import Struct

BINARY_PROBE_BYTES = 8192

_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"RIFF", "RIFF media file (WebP, WAV or AVI)"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive, or a format built on it such as docx, xlsx, jar or whl"),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ\x00", "xz archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"\x7fELF", "ELF program or library"),
    (b"MZ", "Windows program or library"),
    (b"\xca\xfe\xba\xbe", "Java class or macOS universal program"),
    (b"SQLite format 3\x00", "SQLite database"),
)
_ENDING = re.compile(r"\r?\n")
_SURROGATE = re.compile("[\ud800-\udfff]")


class NotTextError(ValueError):
    """The content is not text that could be written back exactly."""


def byte_order_mark(content: bytes) -> tuple[bytes, str]:
    """Return the mark that `content` begins with and the encoding it stands for; no mark means UTF-8."""
    return next((pair for pair in _BOMS if content.startswith(pair[0])), (b"", "utf-8"))


def looks_binary(beginning: bytes) -> bool:
    """Whether a file that begins like this is not text: a NUL without the mark of an encoding that uses them."""
    mark, _ = byte_order_mark(beginning)
    return not mark and b"\0" in beginning[:BINARY_PROBE_BYTES]


def binary_kind(beginning: bytes) -> str:
    """Return what a binary file is that begins like this, in words."""
    return next((kind for magic, kind in _KINDS if beginning.startswith(magic)), "binary file")


def as_seen(text: str) -> str:
    """Return `text` with the line endings that the model sees."""
    return text.replace("\r\n", "\n")


def as_shown(text: str) -> str:
    """Return a file's text as the model sees it: with U+FFFD for what is not text."""
    if text.isascii():
        return text
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # half a character in UTF-16
        return _SURROGATE.sub("\ufffd", text)


class Replacement(Struct, frozen=True):
    """The outcome of an edit."""

    content: bytes
    lines: tuple[int, ...]
    """The first line (from 1) of each replaced place, as it was before."""


class TextFile:
    """The text of one file. Bytes that are not UTF-8 survive as surrogates."""

    def __init__(self, content: bytes) -> None:
        """Raise `NotTextError` when `content` is not text."""
        self._mark, self._encoding = byte_order_mark(content)
        if looks_binary(content):
            raise NotTextError("the file is binary")
        try:
            self._raw = content[len(self._mark) :].decode(self._encoding, self._errors)
        except UnicodeDecodeError as error:
            raise NotTextError(f"the file is not valid {self._encoding}") from error
        self.text = as_seen(self._raw)
        """What the model quotes. Bytes that are not text are surrogates here, which no quote can match."""

    @property
    def shown_text(self) -> str:
        """What the model sees: the same, with U+FFFD for bytes that are not text."""
        return as_shown(self.text)

    @property
    def total_lines(self) -> int:
        """How many lines the text has; a last one without a newline counts."""
        return self.text.count("\n") + (bool(self.text) and not self.text.endswith("\n"))

    @property
    def lines(self) -> tuple[str, ...]:
        r"""The lines as they are on disk, each with its ending; only `\n` ends a line, also as part of `\r\n`."""
        return tuple(re.findall(r"[^\n]*\n|[^\n]+", self._raw))

    @property
    def has_mark(self) -> bool:
        """Whether the file begins with a byte-order mark, which is in no line."""
        return bool(self._mark)

    def encoded(self, lines: Iterable[str], *, has_mark: bool = True) -> bytes:
        """Return the bytes of a file like this one with `lines` in it; without `has_mark`, without its mark.

        Raises `NotTextError` for what the encoding cannot hold.
        """
        mark = self._mark if has_mark else b""
        try:
            return mark + "".join(lines).encode(self._encoding, self._errors)
        except UnicodeEncodeError as error:
            raise NotTextError(f"{self._encoding} cannot hold the new text") from error

    def line_at(self, index: int) -> int:
        """Return the line (from 1) of the character at `index` of the text."""
        return self.text.count("\n", 0, index) + 1

    def places(self, wanted: str) -> list[int]:
        """Return every index at which `wanted` begins, also where the occurrences overlap."""
        found: list[int] = []
        index = self.text.find(wanted)
        while index >= 0:
            found.append(index)
            index = self.text.find(wanted, index + 1)
        return found

    def replace(self, old: str, new: str) -> Replacement:
        """Replace every `old` by `new`; where occurrences overlap, the first one counts."""
        shifts = self._positions_of_crlf()
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
        raw = "".join([*pieces, self._raw[done:]])
        return Replacement(self._mark + raw.encode(self._encoding, self._errors), tuple(lines))

    @property
    def _errors(self) -> str:
        return "surrogateescape" if self._encoding == "utf-8" else "surrogatepass"

    def _positions_of_crlf(self) -> list[int]:
        r"""Return the indices, in the text as seen, of the newlines that are `\r\n` on disk."""
        return [match.start() - number for number, match in enumerate(re.finditer("\r\n", self._raw))]

    def _with_endings(self, new: str, raw_start: int, raw_end: int) -> str:
        """Return `new` with the line endings of the region that it replaces."""
        if "\n" not in new:
            return new
        region = self._raw[raw_start:raw_end]
        endings: list[str] = _ENDING.findall(region)
        if len(set(endings)) > 1:
            return _with_mixed_endings(new, as_seen(region), endings)
        return new.replace("\n", endings[0] if endings else self._ending_near(raw_start))

    def _ending_near(self, raw_index: int) -> str:
        """Return the ending of the line before `raw_index`, else of the line after it."""
        at = self._raw.rfind("\n", 0, raw_index)
        if at < 0:
            at = self._raw.find("\n", raw_index)
        return "\r\n" if at > 0 and self._raw[at - 1] == "\r" else "\n"


def _with_mixed_endings(new: str, old: str, endings: list[str]) -> str:
    """Return `new` with the endings of `old`: what stays keeps its own, the rest takes that of its counterpart."""
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
