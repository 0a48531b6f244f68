"""Parses a patch, in any of the forms that models and git write, and finds where its hunks belong in a file.

These are `*** Begin Patch` blocks, unified diffs (git-diff, "Generating patch text with -p"), and bare hunks. Hunks are
compared with the file exactly first, then more loosely.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from operator import methodcaller
from typing import Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.file_names import QUOTED_NAME, unquoted_name
from desktop_agent.core.base.regex import regex
from desktop_agent.core.tools.files.suggest import similar_lines

Action = Literal["Add", "Update", "Delete"]


class PatchHunk(Struct, frozen=True, kw_only=True):
    lines: tuple[str, ...]
    """With their sign (`+`, `-` or a space), without newline. A carriage return before that is kept."""
    start: int | None = None
    """The line (from 0) at which the patch says that the hunk begins. None if it does not say."""
    anchors: tuple[str, ...] = ()
    """Lines that come before the hunk, outermost first."""
    is_at_end: bool = False
    """Whether the last old line of the hunk is the last line of the file."""
    ends_with_newline: bool | None = None
    """Whether the file ends with a newline once the hunk is applied. None if the patch does not say."""

    @property
    def old(self) -> tuple[str, ...]:
        return tuple(line[1:] for line in self.lines if line[0] != "+")

    @property
    def new(self) -> tuple[str, ...]:
        return tuple(line[1:] for line in self.lines if line[0] != "-")


class FilePatch(Struct, frozen=True, kw_only=True):
    action: Action
    paths: tuple[str, ...]
    """Possible paths of the file, best first: git's `a/` may or may not be part of it. Empty if none is given."""
    other_paths: tuple[str, ...] = ()
    """Other possible paths, if the header names two files without saying that one becomes the other."""
    line: int = 0
    """The line of the patch (from 1) at which its header begins."""
    hunks: tuple[PatchHunk, ...] = ()
    alternatives: tuple[tuple[PatchHunk, ...], ...] = ()
    source_path: str | None = None
    is_copy: bool = False
    is_executable: bool | None = None
    """Whether to set or clear the executable bits. None leaves them as they are."""


class PatchError(ValueError):
    pass


FORMS = (
    "Write '*** Begin Patch', then '*** Update File: path' with hunks of ' ', '-' and '+' lines below '@@' lines, "
    "'*** Add File: path' with '+' lines or '*** Delete File: path', then '*** End Patch'; or a unified diff."
)

_HEADER = regex(r"\*\*\* (Add|Update|Delete) File:(.*)")
_MOVE = regex(r"\*\*\* Move to:(.*)")
_OUTER = regex(r"\*\*\* (Begin|End) Patch\s*$")
_WRAPPING = regex(r"(```\w*|apply_patch\b.*|EOF)\s*$")
_COLOUR = regex("\x1b\\[[0-9;]*[mK]")
_COLOURED = regex("\x1b\\[[0-9;]*m(?:diff --git|--- |@@ )")
_BARE_FIRST_LINE = regex(r"[-+ ]|$")


def parse_patch(text: str) -> list[FilePatch]:
    """Return the changes of files in the order of the patch. Raises `PatchError` if it cannot be parsed."""
    lines = _lines(text)
    if any(_COLOURED.match(line) for line in lines):  # as `color.ui=always` makes git write
        lines = [_COLOUR.sub("", line) for line in lines]
    if any(_HEADER.match(line) for line in lines):
        return _read_sections(lines)
    if any(_OUTER.match(line) for line in lines):
        lines = [line for line in lines if not _OUTER.match(line)]
    if any(is_diff_header(lines, at) for at in range(len(lines))):
        return read_diff(lines)
    if any(line.startswith("GIT binary patch") for line in lines):
        raise PatchError("binary patches are not supported")
    return [_read_bare(lines)]


def _lines(text: str) -> list[str]:
    """Return the lines. If all end in CRLF, that is the ending of the patch, not of the files, and is removed."""
    lines = text.removesuffix("\n").split("\n")
    if text.endswith("\n") and all(line.endswith("\r") for line in lines):
        return [line[:-1] for line in lines]
    if len(lines) > 1 and all(line.endswith("\r") for line in lines[:-1]):
        return [line.removesuffix("\r") for line in lines]
    return lines


def _read_sections(lines: Sequence[str]) -> list[FilePatch]:
    patches: list[FilePatch] = []
    at = 0
    while at < len(lines):
        line = lines[at].rstrip()
        header = _HEADER.match(line)
        at += 1
        if header is not None:
            path = header[2].strip()
            if not path:
                raise PatchError(f"line {at} of the patch names no file: {line!r}")
            rest = range(at, len(lines))
            end = next((each for each in rest if _HEADER.match(lines[each]) or _OUTER.match(lines[each])), len(lines))
            patches.append(_section(cast("Action", header[1]), path, lines[:end], at))
            at = end
        elif line and not _OUTER.match(line) and not _WRAPPING.match(line):
            raise PatchError(f"line {at} of the patch belongs to no file: {line[:120]!r}. {FORMS}")
    return patches


def _section(action: Action, path: str, lines: Sequence[str], at: int) -> FilePatch:
    if action == "Add":
        return FilePatch(action="Add", paths=(path,), hunks=_added(lines[at:]))
    if action == "Delete":
        return FilePatch(action="Delete", paths=(path,))
    source = None
    if at < len(lines) and (move := _MOVE.match(lines[at].rstrip())):
        source, path = path, move[1].strip()
        at += 1
        if not path:
            raise PatchError(f"line {at} of the patch does not say where to move {source}")
    hunks = _hunks(lines, at)
    if not hunks and source is None:
        raise PatchError(f"the update of {path} has no hunks. {FORMS}")
    return FilePatch(
        action="Update",
        paths=(path,),
        source_path=source,
        hunks=tuple(hunks),
        alternatives=_other_readings(lines[at], hunks) if hunks else (),
    )


def _added(lines: Sequence[str]) -> tuple[PatchHunk, ...]:
    kept = list(lines)
    while kept and not kept[-1].strip():
        kept.pop()  # an empty line of the new file would have a sign
    taken = tuple("+" + line.removeprefix("+") for line in kept if not line.startswith(("-", "*** ", "@@")))
    return (PatchHunk(lines=taken),) if taken else ()


def _hunks(lines: Sequence[str], at: int) -> list[PatchHunk]:
    hunks: list[PatchHunk] = []
    while at < len(lines):
        if not lines[at].strip() or lines[at].startswith(GIT_HEADER):
            at += 1
            continue
        if is_diff_header(lines, at):
            at += 2  # a second header for the same file, as in a unified diff
            continue
        if is_hunk_header(lines[at]):
            hunk, at = read_hunk(lines, at)
        else:
            end = _next_header(lines, at)
            hunk, at = _hunk(lines, at, end), end
        hunks.append(hunk)
    return hunks


def _other_readings(first_line: str, hunks: Sequence[PatchHunk]) -> tuple[tuple[PatchHunk, ...], ...]:
    return bare_readings(hunks[0]) if len(hunks) == 1 and not is_hunk_header(first_line) else ()


def _read_bare(lines: Sequence[str]) -> FilePatch:
    kept = list(lines)
    for end in (0, -1):
        while kept and (not kept[end].strip() or _WRAPPING.match(kept[end])):
            kept.pop(end)
    if not kept or not (is_hunk_header(kept[0]) or _BARE_FIRST_LINE.match(kept[0])):
        raise PatchError(f"this is no patch. {FORMS}")
    hunks = tuple(_hunks(kept, 0))
    if all(line[0] == " " for hunk in hunks for line in hunk.lines):
        raise PatchError("the patch has no '+' and no '-' line, so it changes nothing")
    return FilePatch(action="Update", paths=(), hunks=hunks, alternatives=_other_readings(kept[0], hunks))


END_OF_FILE = "*** End of File"
NO_NEWLINE = "\\ "
GIT_HEADER = "diff --git "

_NUMBERED = regex(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_SECTION = regex(r"\*\*\* (Begin Patch|End Patch|(Add|Update|Delete) File:|Move to:)")


def is_hunk_header(line: str) -> bool:
    return line.startswith("@@")


def is_diff_header(lines: Sequence[str], at: int) -> bool:
    if lines[at].startswith(GIT_HEADER):
        return True
    return lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


def read_hunk(lines: Sequence[str], at: int) -> tuple[PatchHunk, int]:
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


def bare_readings(hunk: PatchHunk) -> tuple[tuple[PatchHunk, ...], ...]:
    """Return other ways to read a hunk without a header: the space after a sign may be text or not, as in `- old`."""
    spaced = all(line[1:2] in (" ", "") for line in hunk.lines)
    bare = replace(hunk, lines=tuple(line[0] + line[2:] for line in hunk.lines)) if spaced else None
    pairs = _pairs(hunk)
    readings = [] if bare is None else [(bare,)]
    if len(pairs) > 1:
        readings += [pairs] if bare is None else [pairs, _pairs(bare)]
    return tuple(readings)


def _pairs(hunk: PatchHunk) -> tuple[PatchHunk, ...]:
    if any(line[0] == " " for line in hunk.lines):
        return (hunk,)
    groups: list[list[str]] = [[]]
    for line in hunk.lines:
        if line[0] == "-" and groups[-1] and groups[-1][-1][0] == "+":
            groups.append([])
        groups[-1].append(line)
    return tuple(replace(hunk, lines=tuple(group)) for group in groups)


def _next_header(lines: Sequence[str], at: int) -> int:
    def is_header(index: int) -> bool:
        line = lines[index]
        return is_hunk_header(line) or _SECTION.match(line) is not None or _ends_hunk(lines, index)

    return next((index for index in range(at, len(lines)) if is_header(index)), len(lines))


def _ends_hunk(lines: Sequence[str], at: int) -> bool:
    if lines[at].startswith(GIT_HEADER):
        return True
    below = next((line for line in lines[at + 2 :] if line.strip()), "")
    return is_diff_header(lines, at) and is_hunk_header(below)


def _counted_end(lines: Sequence[str], at: int, old: int, new: int) -> int | None:
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
    read: list[str] = []
    is_at_end = False
    ends_with_newline: bool | None = None
    while end > at and not lines[end - 1].strip() and not lines[end - 1].startswith(" "):
        end -= 1  # blank lines between this hunk and what follows
    for number in range(at, end):
        line = lines[number]
        if line.rstrip() == END_OF_FILE:
            is_at_end = True
        elif line.startswith(NO_NEWLINE):
            is_at_end = True
            if read and read[-1][0] != "-":
                ends_with_newline = False
            elif ends_with_newline is None:
                ends_with_newline = True
        elif line.startswith((" ", "-", "+")):
            read.append(line)
        elif not line.strip():
            read.append(f" {line}")
        else:
            raise PatchError(
                f"line {number + 1} of the patch has no sign: {line[:120]!r}. In a hunk a line begins with '+' (add), "
                "'-' (remove) or a space (stays)."
            )
    if not read:
        raise PatchError(f"the hunk at line {at} of the patch is empty")
    return PatchHunk(lines=tuple(read), is_at_end=is_at_end, ends_with_newline=ends_with_newline)


_NOWHERE = "/dev/null"
_STAMP = regex(r"(?:\t.*|\s+\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*)$")


def read_diff(lines: Sequence[str]) -> list[FilePatch]:
    patches: list[FilePatch] = []
    at = 0
    while at < len(lines):
        if is_diff_header(lines, at):
            patch, at = _read_file(lines, at)
            patches.append(patch)
        else:
            at += 1
    return patches


def _read_file(lines: Sequence[str], at: int) -> tuple[FilePatch, int]:
    begin = at
    git_paths: tuple[str, str] | None = None
    named: dict[str, str] = {}  # the values of the header lines, by their first words
    hunks: list[PatchHunk] = []
    if lines[at].startswith(GIT_HEADER):
        git_paths = _git_paths(lines[at].rstrip("\r").removeprefix(GIT_HEADER))
        at += 1
    while at < len(lines):
        line = lines[at].rstrip("\r")
        if is_hunk_header(line):
            hunk, at = read_hunk(lines, at)
            hunks.append(hunk)
            continue
        if line.startswith(GIT_HEADER) or (hunks and is_diff_header(lines, at)):
            break
        if line.startswith(("GIT binary patch", "Binary files ")):
            raise PatchError("binary patches are not supported")
        key = next((key for key in _HEADERS if line.startswith(f"{key} ")), None)
        if key is not None and not hunks:
            named[key] = line.removeprefix(f"{key} ")
        at += 1
    return _file_patch(git_paths, named, tuple(hunks), begin + 1), at


def _file_patch(
    git_paths: tuple[str, str] | None, named: Mapping[str, str], hunks: tuple[PatchHunk, ...], line: int
) -> FilePatch:
    mode = named.get("new file mode") or named.get("new mode")
    if mode is not None and not mode.startswith("100"):
        raise PatchError(f"files of mode {mode} (symlinks and submodules) are not supported; use run_terminal_cmd")
    source = named.get("rename from") or named.get("copy from")
    target = named.get("rename to") or named.get("copy to")
    if "---" in named and "+++" in named:
        old, new = _name(named["---"]), _name(named["+++"])
    elif git_paths is not None:
        old, new = git_paths
    elif target is not None:
        old = new = ""
    else:
        raise PatchError("a 'diff --git' header names no file that can be read; add '--- a/path' and '+++ b/path'")
    action: Action = "Update"
    if old == _NOWHERE or "new file mode" in named:
        action = "Add"
    elif new == _NOWHERE or "deleted file mode" in named:
        action = "Delete"
    paths, others = _paths(old, new, git_paths) if source is None or target is None else ((unquoted_name(target),), ())
    return FilePatch(
        action=action,
        paths=paths,
        other_paths=others,
        line=line,
        hunks=hunks,
        source_path=None if source is None else unquoted_name(source),
        is_copy="copy from" in named,
        is_executable=None if mode is None else int(mode, 8) & 0o111 != 0,
    )


_HEADERS = (
    *("---", "+++", "rename from", "rename to", "copy from", "copy to"),
    *("new file mode", "deleted file mode", "new mode"),
)

_PREFIXES = frozenset(
    pair
    for first, second in (("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"), ("1/", "2/"))
    for pair in ((first, second), (second, first))
)
_BACKUP = regex(r"(?:\.(?:orig|old|bak)|~)$")


def _paths(old: str, new: str, git_paths: tuple[str, str] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    sides = [side for side in (new, old) if side != _NOWHERE]
    pair = (old, new) if len(sides) == 2 else git_paths or (f"a/{old}" if new == _NOWHERE else old, new)
    if len(sides) == 2 and old == new:
        return (new,), ()
    if len(sides) < 2 and git_paths is None:
        (name,) = sides
        return ((name[2:], name) if name.startswith("b/" if new == name else "a/") else (name,)), ()
    tail = _common_tail(*pair)
    if len(sides) < 2:
        plain = [tail] if tail and (pair[0][:2], pair[1][:2]) in _PREFIXES else []
        return tuple(dict.fromkeys([*plain, *sides])), ()
    if (old[:2], new[:2]) in _PREFIXES:
        if old[2:] == new[2:]:
            return (new[2:], new, old), ()
        return (new[2:], new), () if _BACKUP.sub("", old[2:]) == new[2:] else (old[2:], old)
    if tail:  # the user's own prefix (`diff.srcPrefix`), or two folders
        return (tail, new), (old,)
    return (new,), () if _BACKUP.sub("", old) == new else (old,)


def _common_tail(old: str, new: str) -> str:
    parts: list[str] = []
    for mine, other in zip(reversed(old.split("/")[1:]), reversed(new.split("/")[1:]), strict=False):
        if mine != other:
            break
        parts.append(mine)
    return "/".join(reversed(parts))


def _git_paths(text: str) -> tuple[str, str] | None:
    if text.startswith('"') and (first := QUOTED_NAME.match(text)):
        return unquoted_name(first[0]), unquoted_name(text[first.end() :].strip())
    if text.endswith('"') and (last := re.search(r' ("(?:[^"\\]|\\.)*")$', text)):
        return text[: last.start()], unquoted_name(last[1])
    pairs = [(text[: at.start()], text[at.end() :]) for at in re.finditer(" ", text)]
    same = [(old, new) for old, new in pairs if old == new or ((old[:2], new[:2]) in _PREFIXES and old[2:] == new[2:])]
    return same[0] if len(same) == 1 else None


def _name(text: str) -> str:
    if quoted := QUOTED_NAME.match(text):
        return unquoted_name(quoted[0])
    return _STAMP.sub("", text).rstrip()


MOST_LINES_MOVED = 1000

_MOST_PLACES_NAMED = 10
_MOST_VOTES_PER_LINE = 200
_LONGEST_SHOWN = 200

LEVELS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("", str),
    ("", methodcaller("removesuffix", "\r")),
    ("white space at the end of lines was ignored", str.rstrip),
    ("white space at both ends of lines was ignored", str.strip),
)
EXACT, ANY_ENDING, _, ANY_INDENT = range(len(LEVELS))


class HunkLocation(Struct, frozen=True, kw_only=True):
    """Where a hunk belongs: its old lines are lines `start` to `end` of the file (from 0, `end` excluded)."""

    hunk: PatchHunk
    start: int
    end: int
    level: int
    moved: int = 0

    @property
    def note(self) -> str:
        notes = [LEVELS[self.level][0]] if LEVELS[self.level][0] else []
        if self.moved:
            notes.append(f"found {abs(self.moved)} lines {'below' if self.moved > 0 else 'above'} where it says")
        return ", ".join(notes)


def place_all(lines: Sequence[str], hunks: Sequence[PatchHunk], *, loosest: int = ANY_INDENT) -> list[HunkLocation]:
    """Return where the hunks belong, in the order of the file. `lines` have no newlines. Raises `PatchError`."""
    file = _File(lines, loosest)
    for number, hunk in enumerate(hunks, start=1):
        try:
            file.add(hunk)
        except PatchError as error:
            name = f"hunk {number} of {len(hunks)}" if len(hunks) > 1 else "the hunk"
            raise PatchError(f"{name} does not fit: {error}") from None
    return sorted(file.places, key=lambda place: (place.start, place.end))


class _File:
    def __init__(self, lines: Sequence[str], loosest: int) -> None:
        self._lines = lines
        self._levels = range(loosest + 1)
        self._views: dict[int, list[str]] = {}
        self.places: list[HunkLocation] = []
        self._after = 0
        self._drift = 0

    def add(self, hunk: PatchHunk) -> None:
        place = self._place(hunk) if hunk.old else self._place_of_insertion(hunk)
        self.places.append(place)
        self._after = place.end
        if hunk.start is not None:
            self._drift = place.start - hunk.start

    def _place(self, hunk: PatchHunk) -> HunkLocation:
        anchors = self._anchor_lines(hunk.anchors) if hunk.anchors else None
        for level in self._levels:
            found = self._free(hunk, self._find(hunk.old, level))
            if anchors is not None:
                found = sorted({place for anchor in anchors for place in islice((p for p in found if p >= anchor), 1)})
            if not found:
                continue
            start, moved = self._choose(hunk, found)
            return HunkLocation(hunk=hunk, start=start, end=start + len(hunk.old), level=level, moved=moved)
        raise PatchError(self._mismatch(hunk))

    def _choose(self, hunk: PatchHunk, found: list[int]) -> tuple[int, int]:
        expected = None if hunk.start is None else hunk.start + self._drift
        if expected in found:
            return expected, 0
        if len(found) > 1:
            raise PatchError(
                f"its lines are at {_places(found)}. Add lines around the right one, or an '@@ ' line with the "
                "function or class it is in."
            )
        moved = 0 if expected is None else found[0] - expected
        if abs(moved) > MOST_LINES_MOVED:
            raise PatchError(
                f"its lines are at line {found[0] + 1}, which is more than {MOST_LINES_MOVED} lines from where it "
                "says. Correct the line number, or leave the numbers out ('@@')."
            )
        return found[0], moved

    def _place_of_insertion(self, hunk: PatchHunk) -> HunkLocation:
        size = len(self._lines)
        at: int | None = None
        if hunk.is_at_end or not size:
            at = size
        elif hunk.start is not None:
            at = hunk.start + self._drift
            if not self._after <= at <= size:
                raise PatchError(f"it adds lines after line {at}, but the file has {size} lines.")
        elif hunk.anchors:
            anchors = self._anchor_lines(hunk.anchors)
            if len(anchors) > 1:
                raise PatchError(f"its '@@' line is at {_places(anchors)}. Name an outer one too.")
            at = anchors[0] + 1
        if at is None:
            raise PatchError(
                "it only adds lines and does not say where. Add the lines around them, an '@@ ' line that comes before "
                "them, or '*** End of File'."
            )
        return HunkLocation(hunk=hunk, start=at, end=at, level=EXACT)

    def _view(self, level: int) -> list[str]:
        if level not in self._views:
            self._views[level] = [LEVELS[level][1](line) for line in self._lines]
        return self._views[level]

    def _find(self, wanted: Sequence[str], level: int) -> list[int]:
        view = self._view(level)
        needle = [LEVELS[level][1](line) for line in wanted]
        found: list[int] = []
        at = -1
        while True:
            try:
                at = view.index(needle[0], at + 1)
            except ValueError:
                return found
            if view[at : at + len(needle)] == needle:
                found.append(at)

    def _free(self, hunk: PatchHunk, found: list[int]) -> list[int]:
        size = len(hunk.old)
        if hunk.is_at_end:
            found = [start for start in found if start + size == len(self._lines)]
        free = [
            start for start in found if all(start >= place.end or start + size <= place.start for place in self.places)
        ]
        return [start for start in free if start >= self._after] or free

    def _anchor_lines(self, anchors: Sequence[str]) -> list[int]:
        lines = [self._lines_like(anchor) for anchor in anchors]
        found: set[int] = set()
        for outer in lines[0]:
            at: int | None = outer
            for inner in lines[1:]:
                at = next((line for line in inner if at is not None and line > at), None)
            if at is not None:
                found.add(at)
        if not found:
            raise PatchError(f"{anchors[-1]!r} does not come after {anchors[0]!r} in the file.")
        after = {line for line in found if line >= self._after}
        return sorted(after or found)

    def _lines_like(self, anchor: str) -> list[int]:
        view = self._view(ANY_INDENT)
        found = [number for number, line in enumerate(view) if line == anchor]
        if not found:
            begins = re.compile(re.escape(anchor) + (r"(?!\w)" if anchor[-1:].isalnum() or anchor[-1:] == "_" else ""))
            found = [number for number, line in enumerate(view) if begins.match(line)]
        if not found:
            raise PatchError(f"no line of the file is {anchor!r}, which its '@@' line names.{self._similar([anchor])}")
        return found

    def _mismatch(self, hunk: PatchHunk) -> str:
        wanted = [line.strip() for line in hunk.old]
        view = self._view(ANY_INDENT)
        start, fitting = self._best_start(hunk, wanted)
        applied = self._find(hunk.new, ANY_ENDING) if hunk.new else []
        done = f" Its new lines are already at line {applied[0] + 1}; it may have been applied." if applied else ""
        if not fitting:
            return f"none of its lines is in the file.{self._similar(hunk.old)}{done}"
        numbers = [number for number, line in enumerate(hunk.lines, start=1) if line[0] != "+"]
        for index, line in enumerate(wanted):
            at = start + index
            if 0 <= at < len(view) and view[at] == line:
                continue
            shown = _shown(hunk.lines[numbers[index] - 1])
            where = f"line {numbers[index]} of the hunk is {shown}, but "
            if not 0 <= at < len(view):
                return f"{where}the file has only {len(view)} lines.{done}"
            return f"{where}line {at + 1} of the file is {_shown(self._lines[at])}.{done}"
        end = "does not end there" if hunk.is_at_end else "has them where another hunk of the patch already changes it"
        return f"its lines are at line {start + 1}, but the file {end}."

    def _best_start(self, hunk: PatchHunk, wanted: Sequence[str]) -> tuple[int, int]:
        places: dict[str, list[int]] = {}
        for number, line in enumerate(self._view(ANY_INDENT)):
            if line:
                places.setdefault(line, []).append(number)
        votes: Counter[int] = Counter()
        for index, line in enumerate(wanted):
            votes.update(number - index for number in places.get(line, [])[:_MOST_VOTES_PER_LINE])
        if not votes:
            return 0, 0
        expected = self._after if hunk.start is None else hunk.start + self._drift
        return max(votes.items(), key=lambda item: (item[1], -abs(item[0] - expected)))

    def _similar(self, wanted: Sequence[str]) -> str:
        text = "\n".join(self._lines)
        similar = similar_lines("\n".join(wanted), text)
        shown = "; ".join(f"line {number}: {_shown(self._lines[number - 1])}" for number in similar)
        return f" The most similar ones are: {shown}." if similar else ""


def _places(lines: Sequence[int]) -> str:
    named = ", ".join(str(line + 1) for line in lines[:_MOST_PLACES_NAMED])
    return f"{len(lines)} places (lines {named}{', …' if len(lines) > _MOST_PLACES_NAMED else ''})"


def _shown(line: str) -> str:
    text = line.rstrip("\r")
    return repr(text[:_LONGEST_SHOWN] + ("…" if len(text) > _LONGEST_SHOWN else ""))
