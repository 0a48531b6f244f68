"""From which line to which a definition goes, by how the code is laid out: no parser, in any language.

What is indented deeper belongs to it, and so do brackets that close at its own depth. Where a brace is opened, all up
to the one that closes it does, whatever stands between. The decorators and comments right above come along.
"""

import re
from collections.abc import Sequence

_MOST_ABOVE = 40
_ABOVE = re.compile(
    r"[ \t]*(?:@|#\[|#(?![ ]*(?:include|if|ifdef|ifndef|else|endif|define|pragma|import)\b)|//|/\*|\*|--)"
)
_CLOSING = re.compile(r"[ \t]*(?:[)\]}{]|end\b|begin\b)")
_LONG_TEXT = re.compile(r'"""|\'\'\'')


def extent_of(lines: Sequence[str], at: int) -> tuple[int, int]:
    """Return the first and the last line (from 0) of the definition that begins in line `at`."""
    return _first(lines, at), _last(lines, at)


def _first(lines: Sequence[str], at: int) -> int:
    depth = _depth(lines[at])
    first = at
    while first > max(at - _MOST_ABOVE, 0):
        above = lines[first - 1]
        is_inside_comment = above.lstrip().startswith("*")
        if _ABOVE.match(above) is None or _depth(above) - is_inside_comment != depth:
            break
        first -= 1
    return first


def _last(lines: Sequence[str], at: int) -> int:
    depth = _depth(lines[at])
    last = _last_by_depth(lines, at, depth)
    header = range(at, last + 1)
    opening = next(
        (line for line in header if lines[line].rstrip().endswith("{") and _depth(lines[line]) <= depth), None
    )
    if opening is None:
        return last
    ends = (line for line in range(opening + 1, len(lines)) if _closes_brace(lines[line], depth))
    return next(ends, last)


def _closes_brace(line: str, depth: int) -> bool:
    return line.lstrip().startswith("}") and not line.rstrip().endswith("{") and _depth(line) <= depth


def _last_by_depth(lines: Sequence[str], at: int, depth: int) -> int:
    """Return the last line that is deeper, or closes what was opened."""
    last = at
    is_in_text = _ends_in_text(lines[at], is_in_text=False)
    for line in range(at + 1, len(lines)):
        text = lines[line]
        goes_on = lines[line - 1].rstrip().endswith("\\")
        if text.strip() and not (is_in_text or goes_on):
            deeper = _depth(text) > depth
            if not deeper and (_depth(text) < depth or _CLOSING.match(text) is None):
                break
        if text.strip():
            last = line
        is_in_text = _ends_in_text(text, is_in_text=is_in_text)
    return last


def _ends_in_text(line: str, *, is_in_text: bool) -> bool:
    """Whether a text between three quotation marks goes on behind a line."""
    return is_in_text != bool(len(_LONG_TEXT.findall(line)) % 2)


def _depth(line: str) -> int:
    expanded = line.expandtabs(8)
    return len(expanded) - len(expanded.lstrip())
