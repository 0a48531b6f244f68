"""Makes text safe and readable: names invisible characters, escapes control characters, formats amounts.

Invisible characters (Unicode 16) can make a command look like another; some reorder text (CVE-2021-42574).
"""

import math
import re

from desktop_agent.core.base.regex import regex

HIDDEN = (
    r"\x00-\x1f\x7f-\xa0\u00ad\u034f\u061c"  # controls, the no-break space, soft hyphen, joiner, Arabic mark
    r"\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f"  # fillers, a blank, inherent vowels, Mongolian selectors
    r"\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u206f"  # blanks, zero width, separators, directions
    r"\u2800\u3000\u3164"  # an empty Braille pattern, the ideographic blank, a filler
    r"\ud800-\udfff"  # halves of pairs: bytes that are not UTF-8
    r"\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff"  # no characters, selectors, marks, a filler
    r"\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"  # hieroglyphs, shorthand, music
    r"\U0001fffe\U0001ffff\U000e0000-\U000e0fff"  # tags, which smuggle text, and more variation selectors
)
"""For a character class. The joiners are in `HIDING` instead: scripts and emoji need them after some characters."""

HIDING = regex(rf"[{HIDDEN}]|(?:^|(?<=[\x00-\x7f]))[\u200c\u200d]")
"""Matches each character that must be shown by name in a text on which the user bases a decision."""

TURNING = "\u202a-\u202e\u2066-\u2069"
"""For a character class: characters that override the writing direction and make prose read as a different text."""

SHAPING = (
    # The selectors behind emoji (one colour or many), and the blank between words of Chinese and Japanese.
    r"(?<=[\u203c\u2049\u2100-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff])\ufe0f"
    r"|(?<=[\u3001-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff9f])\u3000"
)

MOST_BLANKS = 40
"""A run of this many spaces, or of a fifth as many tabs, is shown as a count: it would push text out of sight."""

MOST_SHOWN_CHARS = 60_000
"""How long a text may be to be shown in full. A longer one cannot be allowed, as its layout would freeze the window."""


def is_hiding(text: str, index: int, *, is_content: bool = False) -> bool:
    """Whether a character is invisible or reorders text. `is_content` permits those that shape emoji or split words."""
    if HIDING.match(text, index) is None:
        return False
    return not (is_content and re.compile(SHAPING).match(text, index))


def has_hidden(text: str) -> bool:
    return any(match.group() not in "\t\n" for match in HIDING.finditer(text))


def name_of(char: str) -> str:
    """Return the name that is shown for a character: `␍`, `⟨U+202E⟩`, or `\\xff` for a byte that is not UTF-8."""
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"⟨U+{code:04X}⟩"


def named(text: str) -> str:
    """Return `text` on one line, with names instead of invisible characters, except for blanks."""
    if text.isascii() and text.isprintable():
        return text
    return HIDING.sub(lambda match: name_of(match.group()), text)


_DIRECTING = regex(rf"[{TURNING}\u061c\u200e\u200f]")


def with_directions_named(text: str) -> str:
    """Replace overrides and isolates by their names. The name of a direction mark precedes the mark, which is kept."""
    if text.isascii():
        return text
    return _DIRECTING.sub(
        lambda match: name_of(match.group()) + (match.group() if match.group() in "\u061c\u200e\u200f" else ""), text
    )


_HALF = regex("[\ud800-\udfff]")
_STEERING = regex(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{TURNING}]")


def is_encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def without_controls(text: str) -> str:
    """Return Unicode text, with control and bidirectional override characters escaped, except for line feed and tab."""
    return without_halves(_STEERING.sub(lambda match: _escape(match.group()), text))


def without_halves(text: str) -> str:
    """Return Unicode text: a byte that is not UTF-8 is escaped as in C, and so is any other lone surrogate."""
    return text if is_encodable(text) else _HALF.sub(lambda match: _escape(match.group()), text)


def escaped_in_json(document: str) -> str:
    """Return the same JSON document with control characters escaped where JSON allows them unescaped."""
    return _STEERING.sub(lambda match: f"\\u{ord(match.group()):04x}", document)


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def number_of(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def on_one_line(text: str) -> str:
    return HIDING.sub(lambda match: _escape(match.group()), text)


def _escape(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\{code - 0xDC00:03o}"
    if char in "\n\t":
        return "\\n" if char == "\n" else "\\t"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_DECIMALS = ((0.1, 2), (0.01, 3), (0.0001, 4))
_NEEDLESS = regex(r"(?<=\.\d\d)(\d*?)0+$")


def money(usd: float, *, is_least: bool = False) -> str:
    """Return an amount as `$12.34`, `$0.042` or `$0.0042`; with `is_least`, as `≥ $12.34`, rounded down."""
    smallest = _DECIMALS[-1][0]
    if 0 < usd < smallest:
        return "> $0" if is_least else f"< ${smallest}"
    decimals = next((digits for least, digits in _DECIMALS if usd >= least), 2)
    if is_least:
        scale = 10**decimals
        usd = math.floor(round(usd * scale, 6)) / scale  # 0.29 * 100 is a little less than 29
    text = _NEEDLESS.sub(r"\1", f"{usd:,.{decimals}f}")
    return f"≥ ${text}" if is_least else f"${text}"


def cost_text(usd: float | None, *, is_partial: bool = False) -> str:
    return "" if usd is None else money(usd, is_least=is_partial)


def duration_text(seconds: float) -> str:
    if seconds < 1:
        return f"{max(1, round(seconds * 1000))} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
