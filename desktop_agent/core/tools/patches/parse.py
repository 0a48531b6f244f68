"""Reading a patch: what it does to which files, in any of the forms that models and git write.

- `*** Begin Patch` … `*** End Patch` around any number of `*** Add File:`, `*** Update File:` (with `*** Move to:`)
  and `*** Delete File:`; the two outer lines may be missing.
- Unified diffs (`gitdiff`).
- An update without a header: hunks, or bare `- old` and `+ new` lines.
"""

import re
from collections.abc import Sequence

from desktop_agent.core.tools.patches.gitdiff import read_diff
from desktop_agent.core.tools.patches.hunks import (
    GIT_HEADER,
    bare_readings,
    is_diff_header,
    is_hunk_header,
    read_bare_hunk,
    read_hunk,
)
from desktop_agent.core.tools.patches.model import Action, FilePatch, PatchError, PatchHunk

FORMS = (
    "Write '*** Begin Patch', then '*** Update File: path' with hunks of ' ', '-' and '+' lines below '@@' lines, "
    "'*** Add File: path' with '+' lines or '*** Delete File: path', then '*** End Patch'; or a unified diff."
)

_HEADER = re.compile(r"\*\*\* (Add|Update|Delete) File:(.*)")
_MOVE = re.compile(r"\*\*\* Move to:(.*)")
_OUTER = re.compile(r"\*\*\* (Begin|End) Patch\s*$")
_WRAPPING = re.compile(r"(```\w*|apply_patch\b.*|EOF)\s*$")
_BARE_FIRST_LINE = re.compile(r"[-+ ]|$")
_ACTIONS: dict[str, Action] = {"Add": "Add", "Update": "Update", "Delete": "Delete"}


def parse_patch(text: str) -> list[FilePatch]:
    """Return what the patch does to each file, in its order. Raises `PatchError` for what cannot be read."""
    lines = _lines(text)
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
    r"""Split the patch. Where every line ends in `\r\n` that is how it was written, and says nothing of the files."""
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
            end = _section_end(lines, at)
            patches.append(_section(_ACTIONS[header[1]], path, lines[:end], at))
            at = end
        elif line and not _OUTER.match(line) and not _WRAPPING.match(line):
            raise PatchError(f"line {at} of the patch belongs to no file: {line[:120]!r}. {FORMS}")
    return patches


def _section_end(lines: Sequence[str], at: int) -> int:
    return next(
        (index for index in range(at, len(lines)) if _HEADER.match(lines[index]) or _OUTER.match(lines[index])),
        len(lines),
    )


def _section(action: Action, path: str, lines: Sequence[str], at: int) -> FilePatch:
    if action == "Add":
        return FilePatch(action="Add", paths=(path,), content=_added_content(lines[at:]))
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


def _added_content(lines: Sequence[str]) -> str:
    kept = list(lines)
    while kept and not kept[-1].strip():
        kept.pop()  # an empty line of the file has its sign
    taken = [
        line.removeprefix("+") for line in kept if not line.startswith("-") and not line.startswith(("*** ", "@@"))
    ]
    return "".join(f"{line}\n" for line in taken)


def _hunks(lines: Sequence[str], at: int) -> list[PatchHunk]:
    hunks: list[PatchHunk] = []
    while at < len(lines):
        if not lines[at].strip() or lines[at].startswith(GIT_HEADER):
            at += 1
            continue
        if is_diff_header(lines, at):
            at += 2  # the same file, named once more as in a unified diff
            continue
        read = read_hunk if is_hunk_header(lines[at]) else read_bare_hunk
        hunk, at = read(lines, at)
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
    if not any(hunk.has_changes for hunk in hunks):
        raise PatchError("the patch has no '+' and no '-' line, so it changes nothing")
    return FilePatch(action="Update", paths=(), hunks=hunks, alternatives=_other_readings(kept[0], hunks))
