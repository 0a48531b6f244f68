r"""Replacing whole lines: every other line keeps its bytes, and a new one gets the ending that belongs there.

A new line takes the ending of the line it replaces (the first that of the first, and so on), and where it replaces
none, that of the nearest line before it, else after it. A missing newline at the end of the file stays missing.
"""

from collections.abc import Sequence
from itertools import chain

from msgspec import Struct

from desktop_agent.core.tools.files.textfile import as_seen


class Splice(Struct, frozen=True, kw_only=True):
    r"""Lines `start` to `end` (from 0, `end` excluded) become `added`, which come without their `\n`."""

    start: int
    end: int
    added: tuple[str, ...]
    is_verbatim: bool = False
    r"""The added lines carry their own `\r`, or mean to have none."""
    ends_with_newline: bool | None = None
    """Whether the last of `added` ends in a newline, where it becomes the file's last line. None: as it was."""


def split_block(text: str) -> tuple[str, ...]:
    r"""Return the lines of a text that stands for whole lines; one final newline says nothing more."""
    return tuple(as_seen(text).removesuffix("\n").split("\n"))


def splice(lines: Sequence[str], splices: Sequence[Splice]) -> list[str]:
    """Return `lines` with all `splices` made, which are in order and do not overlap. Lines carry their endings."""
    result: list[str] = []
    done = 0
    for item in splices:
        result += lines[done : item.start]
        added = _with_endings(item, lines)
        if added and item.end == len(lines):
            _settle_end(result, added, item, lines)
        result += added
        done = item.end
    return [*result, *lines[done:]]


def _with_endings(item: Splice, lines: Sequence[str]) -> list[str]:
    if item.is_verbatim:
        return [f"{text}\n" for text in item.added]
    replaced = [ending for line in lines[item.start : item.end] if (ending := _ending(line))]
    near = replaced[-1] if replaced else _ending_near(lines, item.start)
    return [
        text.removesuffix("\r") + (replaced[number] if number < len(replaced) else near)
        for number, text in enumerate(item.added)
    ]


def _settle_end(result: list[str], added: list[str], item: Splice, lines: Sequence[str]) -> None:
    """Make the end of the file, which `added` will be, end as it should."""
    is_open = bool(lines) and not lines[-1].endswith("\n")
    if is_open and item.start == len(lines) and not result[-1].endswith("\n"):
        result[-1] += _ending_near(lines, item.start)
    is_closed = not is_open if item.ends_with_newline is None else item.ends_with_newline
    if not is_closed and item.added[-1]:  # an empty line without a newline would be no line
        ending = "\n" if item.is_verbatim else _ending(added[-1])
        added[-1] = added[-1].removesuffix(ending)


def _ending(line: str) -> str:
    if line.endswith("\r\n"):
        return "\r\n"
    return "\n" if line.endswith("\n") else ""


def _ending_near(lines: Sequence[str], index: int) -> str:
    nearest_first = chain(range(index - 1, -1, -1), range(index, len(lines)))
    return next((ending for number in nearest_first if (ending := _ending(lines[number]))), "\n")
