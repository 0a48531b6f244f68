r"""Lines in a plain editor and back to exact bytes: what was not edited keeps every byte that an editor cannot hold.

Editors know one kind of line ending, and neither byte order marks nor bytes that are not UTF-8. They are given lines
joined with `\n`, in which such characters have stand-ins, always the same; afterwards, untouched lines are taken from
the original.
"""

import re
from collections.abc import Sequence

from desktop_agent.core.diff.diff import find_edits
from desktop_agent.core.diff.text import BOM, encode_lines, without_ending

# What Qt's documents change or drop: other line ends, frame marks, NUL, and halves of surrogate pairs (bytes that are
# not UTF-8). Stand-ins are private characters that no font and hardly any text has.
_UNHELD = re.compile("[\x00\r\u2028\u2029\ufdd0\ufdd1\ufeff\ud800-\udfff]")
_STAND_IN = re.compile("[\U000f0000-\U000fffff]")
_PLANE = 0xF0000


def editor_text(lines: Sequence[str], *, is_start: bool = True) -> str:
    """Return `lines` (with their endings) as text for an editor. `is_start`: they are the first of the file."""
    text = "".join(lines)
    return _shown(text.removeprefix(BOM) if is_start else text)


def edited_lines(original: Sequence[str], edited: str) -> tuple[str, ...]:
    r"""Return the exact lines of `edited`, which was `editor_text(original)` before the user edited it.

    New lines end as the line before them does, and a byte order mark stays in front.
    """
    has_mark = bool(original) and original[0].startswith(BOM)
    exact = [original[0].removeprefix(BOM), *original[1:]] if original else []
    shown = [_shown(line) for line in exact]
    lines = [line + "\n" for line in edited.split("\n")]
    lines[-1] = lines[-1][:-1]
    if not lines[-1]:
        lines.pop()
    result: list[str] = []
    at = 0
    for edit in find_edits(_utf8(shown), _utf8(lines)):
        result += exact[at : edit.old_start]
        ending = _ending_near(exact, edit.old_start)
        result += (_exact(line, ending) for line in lines[edit.new_start : edit.new_end])
        at = edit.old_end
    result += exact[at:]
    return (BOM + result[0], *result[1:]) if has_mark and result else tuple(result)


def encode_edited(original: Sequence[str], edited: str, encoding: str) -> bytes:
    """Return `edited_lines` as the bytes of the file."""
    return encode_lines(edited_lines(original, edited), encoding)


def _shown(text: str) -> str:
    return _UNHELD.sub(lambda match: chr(_PLANE + ord(match.group())), text.replace("\r\n", "\n"))


def _exact(line: str, ending: str) -> str:
    text = without_ending(line)
    restored = _STAND_IN.sub(_original_char, text)
    return restored + ending if line.endswith("\n") else restored


def _original_char(match: re.Match[str]) -> str:
    char = chr(ord(match.group()) - _PLANE)
    return char if _UNHELD.match(char) else match.group()


def _ending_near(lines: Sequence[str], at: int) -> str:
    """Return how the line before `at` ends, else the one there, else the one kind of ending that everybody has."""
    for line in (*lines[max(0, at - 1) : at], *lines[at : at + 1]):
        if line.endswith("\n"):
            return "\r\n" if line.endswith("\r\n") else "\n"
    return "\n"


def _utf8(lines: Sequence[str]) -> bytes:
    return "".join(lines).encode("utf-8", "surrogatepass")
