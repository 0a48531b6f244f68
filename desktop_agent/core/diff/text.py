"""Decodes a file's bytes for display: encoding, lines and line endings; or finds that they are not text.

The conversion is lossless: encoding `Text.content` again gives the original bytes.
"""

import io
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.file_types import byte_order_mark, is_binary

Encoding = Literal["utf-8", "utf-16-le", "utf-16-be"]
Endings = Literal["", "LF", "CRLF", "mixed"]

BOM = "\ufeff"


class Text(Struct, frozen=True):
    """A file's text. A byte order mark is kept; invalid UTF-8 becomes surrogates, which `is_valid` checks."""

    content: str
    encoding: Encoding = "utf-8"
    is_valid: bool = True

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines, with their endings. Each access splits the text again."""
        return split_lines(self.content)

    @property
    def has_bom(self) -> bool:
        return self.content.startswith(BOM)

    @property
    def ends_with_newline(self) -> bool:
        return not self.content or self.content.endswith("\n")

    def encoded(self) -> bytes:
        return encode_lines((self.content,), self.encoding)


def read_text(content: bytes) -> Text | None:
    """Return the text in `content`, or `None` when it is not text."""
    encoding = _utf16_of(content)
    if encoding is not None:
        try:
            return Text(content.decode(encoding), encoding)
        except UnicodeDecodeError:
            return None
    if is_binary(content):
        return None
    try:
        return Text(content.decode("utf-8"))
    except UnicodeDecodeError:
        return Text(content.decode("utf-8", "surrogateescape"), is_valid=False)


def as_utf8(content: bytes) -> bytes | None:
    """Return `content` as UTF-8, line for line, or `None` when it is not text. Costs nothing unless it is UTF-16."""
    encoding = _utf16_of(content)
    if encoding is None:
        return None if is_binary(content) else content
    try:
        return content.decode(encoding).encode()
    except UnicodeDecodeError:
        return None


def encode_lines(lines: Iterable[str], encoding: str) -> bytes:
    """Return the bytes of these lines: the inverse of `read_text`."""
    return "".join(lines).encode(encoding, errors_of(encoding))


def decoded(content: bytes, encoding: str) -> str:
    """Decode whole characters of a file for which `read_text` found this encoding."""
    return content.decode(encoding, errors_of(encoding))


def errors_of(encoding: str) -> str:
    """Return the error handler for an encoding: invalid UTF-8 becomes lone surrogates."""
    return "surrogateescape" if encoding == "utf-8" else "strict"


def encoding_named(name: str) -> Encoding:
    match name:
        case "utf-16-le" | "utf-16-be":
            return name
        case _:
            return "utf-8"


def split_lines(text: str) -> tuple[str, ...]:
    r"""Split behind every `\n` and nowhere else: form feeds and Unicode separators are part of a line."""
    return tuple(io.StringIO(text, newline="\n"))


def line_count(content: bytes) -> int:
    return content.count(b"\n") + (bool(content) and not content.endswith(b"\n"))


def endings_of(content: bytes) -> Endings:
    """Return the line endings in `content`; empty if there are none. A lone carriage return is not a line ending."""
    if b"\n" not in content:
        return ""
    carriage_returns = content.count(b"\r\n") if b"\r" in content else 0
    if not carriage_returns:
        return "LF"
    return "CRLF" if carriage_returns == content.count(b"\n") else "mixed"


def without_ending(line: str) -> str:
    if line.endswith("\r\n"):
        return line[:-2]
    return line.removesuffix("\n")


def _utf16_of(content: bytes) -> Encoding | None:
    encoding = byte_order_mark(content)[1]
    return encoding if encoding == "utf-16-le" or encoding == "utf-16-be" else None
