"""Characters that cannot be seen, or that change how the text around them looks: the one place that knows them.

They are the format, control, separator and surrogate characters of Unicode, its blanks but for the space, and those of
`Default_Ignorable_Code_Point` (DerivedCoreProperties.txt of Unicode 16), which fonts draw as nothing. A name, a title
or a command that has one may look like another one; bidirectional controls even reorder what stands beside them
(CVE-2021-42574, "Trojan Source").
"""

import re

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
"""For a character class of a regular expression. The joiners U+200C and U+200D are in `HIDING`: several scripts and
emoji need them, so it depends on what stands before them."""

HIDING = re.compile(rf"[{HIDDEN}]|(?:^|(?<=[\x00-\x7f]))[\u200c\u200d]")
"""Matches every character that must be named where the user decides by a text."""

TURNING = "\u202a-\u202e\u2066-\u2069"
"""For a character class: what overrides the direction of writing. Prose may need other characters that cannot be seen,
such as no-break spaces; with one of these it reads as another text."""

SHAPING = (
    # What emoji of one colour and of many have behind them, and the blank between words of Chinese and Japanese.
    r"(?<=[\u203c\u2049\u2100-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff])\ufe0f"
    r"|(?<=[\u3001-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff9f])\u3000"
)
"""Compiled when it is first met, which takes 2 ms, and kept by `re`."""

MOST_BLANKS = 40
"""A run of this many spaces, or a fifth as many tabs, is shown as a count: it would push what follows out of sight."""

MOST_SHOWN_CHARS = 60_000
"""Longer texts are not shown in full, so they cannot be allowed: laying them out would freeze the window."""


def is_hiding(text: str, index: int, *, is_content: bool = False) -> bool:
    """Whether the character at `index` must be named.

    With `is_content`, in text written to be read (a file, a message), what shapes emoji and separates words of
    Chinese and Japanese may stay; a command or a name has no use for it.
    """
    if HIDING.match(text, index) is None:
        return False
    return not (is_content and re.compile(SHAPING).match(text, index))


def has_hidden(text: str) -> bool:
    """Whether anything in `text` must be named. Tabs and line feeds need not."""
    return any(match.group() not in "\t\n" for match in HIDING.finditer(text))


def name_of(char: str) -> str:
    """Return what is shown in place of a character: `␍`, `⟨U+202E⟩`, or `\\xff` for a byte that is not UTF-8."""
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"⟨U+{code:04X}⟩"


def named(text: str) -> str:
    """Return `text` on one line with names in place of everything that cannot be seen, blanks aside."""
    if text.isascii() and text.isprintable():
        return text
    return HIDING.sub(lambda match: name_of(match.group()), text)
