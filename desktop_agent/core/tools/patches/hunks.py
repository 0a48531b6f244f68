r"""Reading hunks: lines with a sign, below `@@` lines or bare.

Numbers in `@@ -1,3 +1,4 @@` are taken at their word where the lines bear them out, so that a removed `-- x` is not
read as a header. Where they do not, because models count badly, a hunk ends where the next header begins.
"""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from desktop_agent.core.tools.patches.model import HunkLine, PatchError, PatchHunk, Sign

END_OF_FILE = "*** End of File"
NO_NEWLINE = "\\ "
GIT_HEADER = "diff --git "

_NUMBERED = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_SECTION = re.compile(r"\*\*\* (Begin Patch|End Patch|(Add|Update|Delete) File:|Move to:)")
_SIGNS: dict[str, Sign] = {" ": " ", "-": "-", "+": "+"}


def is_hunk_header(line: str) -> bool:
    """Whether `line` begins a hunk."""
    return line.startswith("@@")


def is_diff_header(lines: Sequence[str], at: int) -> bool:
    """Whether the part of a file in a unified diff begins at line `at`."""
    if lines[at].startswith(GIT_HEADER):
        return True
    return lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


def read_hunk(lines: Sequence[str], at: int) -> tuple[PatchHunk, int]:
    """Return the hunk whose header is line `at`, and the index of the line after it."""
    header = lines[at].rstrip()
    if header.startswith("@@@ -"):
        raise PatchError("diffs of merges ('@@@') are not supported; compare with one parent")
    if numbered := _NUMBERED.match(header):
        first, old, _, new = numbered.groups()
        old_count, new_count = (1 if count is None else int(count) for count in (old, new))
        start = int(first) if old_count == 0 else max(int(first) - 1, 0)
        end = _counted_end(lines, at + 1, old_count, new_count)
        end = _next_header(lines, at + 1) if end is None else end
        return replace(_hunk(lines, at + 1, end), start=start), end
    anchors: list[str] = []
    while at < len(lines) and is_hunk_header(lines[at]) and not _NUMBERED.match(lines[at]):
        if anchor := lines[at].rstrip().removeprefix("@@").removesuffix("@@").strip():
            anchors.append(anchor)
        at += 1
    end = _next_header(lines, at)
    return replace(_hunk(lines, at, end), anchors=tuple(anchors)), end


def read_bare_hunk(lines: Sequence[str], at: int) -> tuple[PatchHunk, int]:
    """Return the hunk without a header whose first line is `at`, and the index of the line after it."""
    end = _next_header(lines, at)
    return _hunk(lines, at, end), end


def bare_readings(hunk: PatchHunk) -> tuple[tuple[PatchHunk, ...], ...]:
    """Return the other ways to read a hunk without a header: `- old` with a space that is not text, pair by pair."""
    readings: list[tuple[PatchHunk, ...]] = []
    spaced = all(line.text.startswith(" ") or not line.text for line in hunk.lines)
    bare = replace(hunk, lines=tuple(HunkLine(line.sign, line.text[1:]) for line in hunk.lines)) if spaced else None
    pairs = _pairs(hunk)
    if bare is not None:
        readings.append((bare,))
    if len(pairs) > 1:
        readings.append(pairs)
        if bare is not None:
            readings.append(_pairs(bare))
    return tuple(readings)


def _pairs(hunk: PatchHunk) -> tuple[PatchHunk, ...]:
    """Split replacement lines without context where a removed line follows an added one."""
    if any(line.sign == " " for line in hunk.lines):
        return (hunk,)
    groups: list[list[HunkLine]] = [[]]
    for line in hunk.lines:
        if line.sign == "-" and groups[-1] and groups[-1][-1].sign == "+":
            groups.append([])
        groups[-1].append(line)
    return tuple(replace(hunk, lines=tuple(group)) for group in groups)


def _next_header(lines: Sequence[str], at: int) -> int:
    """Return the index of the first line from `at` on that is no line of a hunk."""

    def is_header(index: int) -> bool:
        line = lines[index]
        return is_hunk_header(line) or _SECTION.match(line) is not None or _ends_hunk(lines, index)

    return next((index for index in range(at, len(lines)) if is_header(index)), len(lines))


def _ends_hunk(lines: Sequence[str], at: int) -> bool:
    """Whether another file begins at line `at`, and not a removed `-- x` that an added `++ y` replaces."""
    if lines[at].startswith(GIT_HEADER):
        return True
    below = next((line for line in lines[at + 2 :] if line.strip()), "")
    return is_diff_header(lines, at) and is_hunk_header(below)


def _counted_end(lines: Sequence[str], at: int, old: int, new: int) -> int | None:
    """Return the index after the lines that the header counts, or None when there are not that many."""
    while (old > 0 or new > 0) and at < len(lines):
        sign = lines[at][:1]
        if sign in ("", " ", "\r"):
            old, new = old - 1, new - 1
        elif sign == "-":
            old -= 1
        elif sign == "+":
            new -= 1
        elif sign != "\\":
            return None
        at += 1
    if at < len(lines) and lines[at].startswith(NO_NEWLINE):
        at += 1
    rest = lines[at] if at < len(lines) else ""
    goes_on = rest[:1] in ("+", "-", " ") and rest.rstrip() not in ("--", "") and not is_diff_header(lines, at)
    return None if old or new or goes_on else at


def _hunk(lines: Sequence[str], at: int, end: int) -> PatchHunk:
    read: list[HunkLine] = []
    is_at_end = False
    ends_with_newline: bool | None = None
    while end > at and not lines[end - 1].strip() and not lines[end - 1].startswith(" "):
        end -= 1  # blank lines between this hunk and what follows
    for number in range(at, end):
        line = lines[number]
        sign = line[:1]
        if line.rstrip() == END_OF_FILE:
            is_at_end = True
        elif line.startswith(NO_NEWLINE):
            is_at_end = True
            if read and read[-1].sign != "-":
                ends_with_newline = False
            elif ends_with_newline is None:
                ends_with_newline = True
        elif sign in _SIGNS:
            read.append(HunkLine(_SIGNS[sign], line[1:]))
        elif not line.strip():
            read.append(HunkLine(" ", line))
        else:
            raise PatchError(
                f"line {number + 1} of the patch has no sign: {line[:120]!r}. In a hunk a line begins with '+' (add), "
                "'-' (remove) or a space (stays)."
            )
    if not read:
        raise PatchError(f"the hunk at line {at} of the patch is empty")
    return PatchHunk(lines=tuple(read), is_at_end=is_at_end, ends_with_newline=ends_with_newline)
