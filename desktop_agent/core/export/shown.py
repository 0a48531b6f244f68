"""Text from any source, as it may stand in a document: no keys, no control characters, nothing that hides."""

import re

from desktop_agent.core.base.hidden_text import TURNING, name_of
from desktop_agent.core.base.secrets import mask
from desktop_agent.core.providers.surrogates import repaired
from desktop_agent.core.terminal.printout import plain_text

MAX_CHARS = 200_000
"""How much of one text a document shows."""

_UNSAFE = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{TURNING}\u061c\u200e\u200f\u2028\u2029\ufeff\ufffe\uffff]")
"""Less than `hidden_text.HIDING`: a document quotes prose, in which no-break spaces and emoji belong."""


def shown(text: str) -> str:
    """Return `text` for people to read; its end is left out when it is longer than `MAX_CHARS`."""
    if len(text) > MAX_CHARS:
        text = f"{text[:MAX_CHARS]}\n[{len(text) - MAX_CHARS:,} more characters are left out here]"
    # Masked twice: a colour may separate a key from a word, and a backspace may complete one.
    return visible(mask(repaired(plain_text(mask(text).replace("\0", name_of("\0"))))))


def visible(text: str) -> str:
    """Return `text` with signs in place of characters that one does not see."""
    return _UNSAFE.sub(lambda match: _sign(match.group()), text)


def _sign(char: str) -> str:
    """Return the name of a character; for C1 controls and noncharacters the replacement character."""
    code = ord(char)
    if code < 0x80:
        return name_of(char)
    return "\ufffd" if code < 0xA0 or code > 0xFFFD else f"[U+{code:04X}]"


def one_line(text: str, limit: int = 200) -> str:
    """Return the beginning of `text` on one line."""
    line = " ".join(shown(text[: limit * 4]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
