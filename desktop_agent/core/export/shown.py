"""Text that anybody wrote, as it may stand in a document: no keys, no control characters, nothing that hides."""

import re

from desktop_agent.core.providers.surrogates import repaired
from desktop_agent.core.secrets import mask
from desktop_agent.core.tools.terminal_text import plain_text

MAX_CHARS = 200_000
"""How much of one text a document shows."""

# Control pictures (U+2400 …) for the controls of ASCII; what reorders or hides text is named.
_VISIBLE: dict[int, str] = (
    {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}
    | {0x7F: "\u2421"}
    | dict.fromkeys(range(0x80, 0xA0), "\ufffd")
    | {
        code: f"[U+{code:04X}]"
        for code in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF, 0x2028, 0x2029)
    }
    | dict.fromkeys((0xFFFE, 0xFFFF), "\ufffd")
)
_UNSAFE = re.compile("[" + "".join(map(re.escape, map(chr, _VISIBLE))) + "]")


def shown(text: str) -> str:
    """Return `text` for people to read; its end is left out when it is longer than `MAX_CHARS`."""
    if len(text) > MAX_CHARS:
        text = f"{text[:MAX_CHARS]}\n[{len(text) - MAX_CHARS:,} more characters are left out here]"
    return visible(mask(repaired(plain_text(text))))


def visible(text: str) -> str:
    """Return `text` with signs in place of characters that one does not see."""
    return text.translate(_VISIBLE) if _UNSAFE.search(text) else text


def one_line(text: str, limit: int = 200) -> str:
    """Return the beginning of `text` on one line."""
    line = " ".join(shown(text[: limit * 4]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
