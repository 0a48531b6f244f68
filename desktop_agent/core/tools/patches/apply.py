"""A file with its hunks applied: context keeps its bytes, new lines get the endings and the indent of their place."""

from collections.abc import Sequence

from msgspec import Struct

from desktop_agent.core.tools.files.splice import Splice, splice
from desktop_agent.core.tools.files.textfile import TextFile, as_shown
from desktop_agent.core.tools.patches.hunk_location import ANY_ENDING, ANY_INDENT, EXACT, HunkLocation, place_all
from desktop_agent.core.tools.patches.model import PatchError, PatchHunk

_MARK = "\ufeff"


class Patched(Struct, frozen=True):
    """The outcome."""

    content: bytes
    added: int
    removed: int
    notes: tuple[str, ...]
    """How hunks that were found differ from what the patch says."""


def apply_hunks(
    file: TextFile, hunks: Sequence[PatchHunk], alternatives: Sequence[Sequence[PatchHunk]] = ()
) -> Patched:
    """Return the file with `hunks` applied; with `alternatives`, with the reading that fits.

    Raises `PatchError` when one does not fit, and `NotTextError` for what the file's encoding cannot hold.
    """
    raw = list(file.lines)
    names_mark = file.has_mark and any(text.startswith(_MARK) for hunk in hunks for text in hunk.old)
    if names_mark:  # git takes the mark for a part of the first line
        raw[:1] = [_MARK + line for line in raw[:1] or [""]]
    shown = [as_shown(line.removesuffix("\n")) for line in raw]
    has_lost = any("\ufffd" in text and "\ufffd" not in line for text, line in zip(shown, raw, strict=True))
    places = _place(shown, hunks, alternatives)
    splices: list[Splice] = []
    for place in places:
        if has_lost and any("\ufffd" in line.text for line in place.hunk.lines if line.sign == "+"):
            raise PatchError(
                "a new line has U+FFFD, which stands for bytes of the file that are no valid text. Change only lines "
                "without it."
            )
        splices += _splices(place, raw, shown)
    used = [place.hunk for place in places]
    lines = splice(raw, splices)
    has_mark = not names_mark or (bool(lines) and lines[0].startswith(_MARK))
    if names_mark and has_mark:
        lines[0] = lines[0].removeprefix(_MARK)
    return Patched(
        content=file.encoded(lines, has_mark=has_mark),
        added=sum(line.sign == "+" for hunk in used for line in hunk.lines),
        removed=sum(line.sign == "-" for hunk in used for line in hunk.lines),
        notes=tuple(f"hunk {number}: {place.note}" for number, place in enumerate(places, start=1) if place.note),
    )


def _place(
    shown: Sequence[str], hunks: Sequence[PatchHunk], alternatives: Sequence[Sequence[PatchHunk]]
) -> list[HunkLocation]:
    if not alternatives:
        return place_all(shown, hunks)
    tries = [(hunks, ANY_ENDING), *((reading, ANY_ENDING) for reading in alternatives), (hunks, ANY_INDENT)]
    problem: PatchError | None = None
    for reading, loosest in [*tries, *((reading, ANY_INDENT) for reading in alternatives)]:
        try:
            return place_all(shown, reading, loosest=loosest)
        except PatchError as error:
            problem = error
    assert problem is not None
    raise problem


def _splices(place: HunkLocation, raw: Sequence[str], shown: Sequence[str]) -> list[Splice]:
    """Return one splice for each run of removed and added lines."""
    hunk = place.hunk
    matched = raw[place.start : place.end]
    indent = _Indent(hunk.old, shown[place.start : place.end]) if place.level == ANY_INDENT else None
    is_verbatim = place.level == EXACT and (
        any(line.endswith("\n") for line in matched) or any(text.endswith("\r") for text in hunk.new)
    )
    splices: list[Splice] = []
    added: list[str] = []
    at = begin = place.start

    def close(ends_with_newline: bool | None = None) -> None:
        if added or at > begin:
            splices.append(
                Splice(
                    start=begin,
                    end=at,
                    added=tuple(added),
                    is_verbatim=is_verbatim,
                    ends_with_newline=ends_with_newline,
                )
            )
        added.clear()

    for line in hunk.lines:
        if line.sign == "+":
            added.append(line.text if indent is None else indent.adapted(line.text))
            continue
        if line.sign == " ":
            close()
            begin = at + 1
        at += 1
    close(hunk.ends_with_newline)
    return splices


class _Indent:
    """How the indent of a hunk's lines differs from that of the file's, learnt from the lines that both have."""

    def __init__(self, said: Sequence[str], real: Sequence[str]) -> None:
        self._known: dict[str, str] = {}
        for mine, theirs in zip(said, real, strict=True):
            if mine.strip() and self._known.setdefault(_indent(mine), _indent(theirs)) != _indent(theirs):
                raise PatchError(_UNCLEAR_INDENT)

    def adapted(self, text: str) -> str:
        """Return an added line with the indent that the file would give it."""
        indent = _indent(text)
        if not text.strip() or all(mine == theirs for mine, theirs in self._known.items()):
            return text
        if indent in self._known:
            return self._known[indent] + text[len(indent) :]
        for mine, theirs in self._known.items():
            if theirs.endswith(mine) and all(b == theirs.removesuffix(mine) + a for a, b in self._known.items()):
                return theirs.removesuffix(mine) + text
            if mine.endswith(theirs) and all(a == mine.removesuffix(theirs) + b for a, b in self._known.items()):
                extra = mine.removesuffix(theirs)
                if text.startswith(extra):
                    return text[len(extra) :]
        raise PatchError(_UNCLEAR_INDENT)


_UNCLEAR_INDENT = (
    "the lines of a hunk are in the file with another indent, and what that makes of the new lines is not clear. Read "
    "the file again and write the hunk with its exact white space."
)


def _indent(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]
