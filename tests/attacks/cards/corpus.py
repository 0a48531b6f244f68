"""Commands that look like others, hide what they do, or change between the question and its answer."""

from dataclasses import dataclass
from typing import Literal

Way = Literal["mouse", "key", "type", "look", "refuse", "swap"]
"""The user's answer: clicks *Allow once*, presses Ctrl+Shift+A, types a `2` first, looks at everything first, tries
without having seen everything, or answers after a script was replaced.
"""


@dataclass(frozen=True)
class Case:
    """A command, the answer to it, and the exact content of files afterwards."""

    name: str
    command: str
    way: Way
    files: dict[str, bytes]


_COMMENT = ("\u2028", "\u2029", "\ufdd0", "\ufdd1", "\r", "\x85", "\u202e", "\ufe0f", "\u2800", "\u3000", "\U000e0041")
_KEPT = ("\u2028", "\u2029", "\ufdd0", "\xa0", "\r", "\u2066")


def _code(char: str) -> str:
    return f"U+{ord(char):04X}"


CASES = (
    *(
        Case(f"comment {_code(char)}", f"touch a #{char}touch HIDDEN", "key" if at % 2 else "mouse", {"a": b""})
        for at, char in enumerate(_COMMENT)
    ),
    *(
        Case(f"heredoc {_code(char)}", f"cat > a <<'E'\nA{char}B\nE", "mouse", {"a": f"A{char}B\n".encode()})
        for char in _KEPT
    ),
    *(
        Case(f"typed beside {_code(char)}", f"printf '%s' 'x{char}y' > a", "type", {"a2": f"x{char}y".encode()})
        for char in _KEPT[:4]
    ),
    Case("many blanks", f"touch a{' ' * 6_000}; touch b", "key", {"a": b"", "b": b""}),
    Case("many lines", f"touch a{chr(10) * 300}touch HIDDEN", "refuse", {}),
    Case("a long line", f"touch a # {'x' * 6_000}\ntouch HIDDEN", "refuse", {}),
    Case("many lines, all seen", f"touch a{chr(10) * 60}touch b", "look", {"a": b"", "b": b""}),
    Case("exchanged script", "sh run.sh", "swap", {}),
)
