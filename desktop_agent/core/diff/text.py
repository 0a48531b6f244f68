"""Decodes a file's bytes for display into lines with their endings. Encoding them gives the same bytes."""

import io
import re
import unicodedata
from codecs import lookup
from collections.abc import Iterable
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.file_types import byte_order_mark, is_binary
from desktop_agent.core.base.regex import regex

Endings = Literal["", "LF", "CRLF", "mixed"]

BOM = "\ufeff"


class Text(Struct, frozen=True):
    """A file's text, including a byte order mark. Invalid UTF-8 becomes surrogates; then `is_valid` is false."""

    content: str
    encoding: str = "utf-8"
    is_valid: bool = True

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines with their endings. Each access splits the text again."""
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
    """Decode the content; None if it is not text."""
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


def read_texts(*contents: bytes) -> tuple[Text | None, ...]:
    """Decode text that is neither UTF-8 nor UTF-16 for reading, too. Blocks.

    `contents` are versions of one file. Their encoding is recognised from all of them together.
    """
    texts = [read_text(content) for content in contents]
    others = [content for text, content in zip(texts, contents, strict=True) if text and _may_be_legacy(text)]
    encoding = next(iter(legacy_encodings(b"\n".join(others))), "") if others else ""
    if not encoding:
        return tuple(texts)
    return tuple(
        Text(content.decode(encoding), encoding) if text and (content in others or content.isascii()) else text
        for text, content in zip(texts, contents, strict=True)
    )


def _may_be_legacy(text: Text) -> bool:
    return text.encoding == "utf-8" and (_ESCAPE in text.content if text.is_valid else not is_utf8(text.encoded()))


def as_utf8(content: bytes) -> bytes | None:
    """Return the text in UTF-8; None if the content is not text. Copies only UTF-16."""
    encoding = _utf16_of(content)
    if encoding is None:
        return None if is_binary(content) else content
    try:
        return content.decode(encoding).encode()
    except UnicodeDecodeError:
        return None


def encode_lines(lines: Iterable[str], encoding: str) -> bytes:
    """Reverse `read_text`."""
    return "".join(lines).encode(encoding, errors_of(encoding))


def decoded(content: bytes, encoding: str) -> str:
    return content.decode(encoding, errors_of(encoding))


def errors_of(encoding: str) -> str:
    return "surrogateescape" if encoding == "utf-8" else "strict"


def split_lines(text: str) -> tuple[str, ...]:
    r"""Split after every `\n` and nowhere else: form feeds and Unicode separators are part of a line."""
    return tuple(io.StringIO(text, newline="\n"))


def line_count(content: bytes) -> int:
    return content.count(b"\n") + (bool(content) and not content.endswith(b"\n"))


def endings_of(content: bytes) -> Endings:
    """Return the line endings; empty if there are none. A lone carriage return is not a line ending."""
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


def _utf16_of(content: bytes) -> str | None:
    encoding = byte_order_mark(content)[1]
    return encoding if encoding == "utf-16-le" or encoding == "utf-16-be" else None


_LEGACY_ENCODINGS = [
    "cp1252", "iso8859-15", "cp1250", "iso8859-2", "cp1251", "koi8-r", "koi8-u", "iso8859-5", "cp866",
    "mac-roman", "cp437", "cp850", "cp852", "cp1253", "iso8859-7", "cp1254", "cp1255", "cp1256",
    "cp1257", "cp1258", "cp874", "cp932", "euc_jis_2004", "iso2022_jp_2", "gb18030", "big5hkscs", "cp949",
]  # fmt: skip

_CONFIDENT = 0.06
"""A lower confidence of the detector is as often wrong as right. A line in any language has 0.08 or more."""
_LEAST_BYTES = 8
"""If a text has fewer bytes beyond ASCII than this, no encoding is ruled out by its likelihood."""
_AS_LIKELY = 0.75
"""If the detector is confident, encodings with less than this share of the highest confidence are ruled out."""
_ESCAPED = "iso2022_jp_2"
_ESCAPE = "\x1b$"
"""Text in ISO 2022 switches to Japanese characters with this."""
_NARROWER = {
    "gb18030": "gbk",
    "big5hkscs": "big5",
    "euc_jis_2004": "euc_jp",
    "iso2022_jp_2": "iso2022_jp",
    "cp949": "euc_kr",
}
"""By a wider encoding, the narrower one to report if it fits the file, because some programs know only that."""
_MOST_SAMPLED = 64 * 1024
_CHARACTERS_PER_STRAY = 4
"""A text with at least this many valid characters for each stray byte is UTF-8, only damaged."""

_BEYOND_ASCII = regex(r"[^\x00-\x7f]")
_BYTE_BEYOND_ASCII = regex(rb"[^\x00-\x7f]")
_CONTROL = regex(r"[\x80-\x84\x86-\x9f]")
_STRAY = regex("[\udc80-\udcff]")
_WORD = regex(r"[^\W\d_]+(?:[^\x00-\x7f\s]+[^\W\d_]+)*")
_BETWEEN_LATIN = "[A-Za-z][\u3400-\u9fff\uac00-\ud7a3][A-Za-z]"  # compiled when needed, which takes 1 ms
_WITHIN_WORDS = frozenset("\u00ad\u00b7\u2010\u2011\u2013\u2014\u2018\u2019\u2026")
_NEVER_WITHIN_WORDS = frozenset("\u02c6\u02c7\u02d8\u02d9\u02da\u02db\u02dc\u02dd\xaa\xba\u207f\ufb01\ufb02")
_ALPHABETS = frozenset({"LATIN", "CYRILLIC", "GREEK", "HEBREW", "ARABIC", "THAI"})


def legacy_encodings(content: bytes) -> tuple[str, ...]:
    """The possible encodings of a text that is not UTF-8 and has no byte order mark, the likeliest first.

    Each decodes all of `content` exactly, to text that reads well. Empty if none fits. Blocks.
    """
    if is_utf8(content) and _ESCAPE.encode() not in content:
        return ()
    from chardet import detect_all  # its models take 0.2 s to load, and most files are UTF-8

    sample = b"\n".join(line for line in content.split(b"\n") if not line.isascii() or _ESCAPE.encode() in line)
    if len(sample) > _MOST_SAMPLED:
        sample = sample[:_MOST_SAMPLED].rpartition(b"\n")[0] or sample
    guesses = detect_all(sample, ignore_threshold=True, include_encodings=_LEGACY_ENCODINGS, compat_names=False)
    likely = {lookup(each["encoding"] or "").name: each["confidence"] for each in guesses if each["language"]}
    candidates = (lookup(name).name for name in _LEGACY_ENCODINGS)
    is_escaped = content.isascii()
    fitting = [name for name in candidates if (name == _ESCAPED) == is_escaped and _reads_well(sample, name)]
    best = max((likely.get(name, 0) for name in fitting), default=0)
    if best >= _CONFIDENT and (is_escaped or len(_BYTE_BEYOND_ASCII.findall(sample)) >= _LEAST_BYTES):
        fitting = [name for name in fitting if likely.get(name, 0) >= best * _AS_LIKELY]
    fitting.sort(key=lambda name: -round(likely.get(name, 0), 2))
    pairs = ((_NARROWER.get(name, name), name) for name in fitting if _is_exact(content, name))
    return tuple(narrow if _is_exact(content, narrow) else name for narrow, name in pairs)


def is_surely_utf8(content: bytes) -> bool:
    """Whether all of the content is UTF-8 and no escape hints at an encoding in ASCII."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return b"\x1b" not in content


def is_utf8(content: bytes) -> bool:
    """Whether the content is UTF-8, perhaps with a few invalid bytes."""
    text = content.decode("utf-8", "surrogateescape")
    stray = len(_STRAY.findall(text))
    return not stray or len(_BEYOND_ASCII.findall(text)) - stray >= _CHARACTERS_PER_STRAY * stray


def _is_exact(content: bytes, encoding: str) -> bool:
    try:
        return content.decode(encoding).encode(encoding) == content
    except UnicodeError:
        return False


def _reads_well(content: bytes, encoding: str) -> bool:
    if not _is_exact(content, encoding):
        return False
    text = content.decode(encoding)[:_MOST_SAMPLED]
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    return not _CONTROL.search(text) and sum(map(_is_odd, words)) * 50 <= len(words)


def _is_odd(word: str) -> bool:
    alphabets = {unicodedata.name(sign, "").partition(" ")[0] for sign in word if sign.isalpha()}
    if len(alphabets & _ALPHABETS) > 1 or re.search(_BETWEEN_LATIN, word):
        return True
    if alphabets & _ALPHABETS and any(
        sign in _NEVER_WITHIN_WORDS
        or not (sign.isalpha() or unicodedata.category(sign)[0] == "M" or sign in _WITHIN_WORDS or sign > "\u2e80")
        for sign in word
    ):
        return True
    return any(first.islower() and second.isupper() and not second.isascii() for first, second in pairwise(word))
