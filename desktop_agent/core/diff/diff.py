"""Finds where two versions of a file differ, line by line, as git does (libgit2). Pure and synchronous."""

import io
import operator
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.diff.text import (
    Text,
    as_utf8,
    decoded,
    encode_lines,
    endings_of,
    is_surely_utf8,
    line_count,
    read_text,
    read_texts,
    without_ending,
)
from desktop_agent.core.protocol.model import Edit, FileChange, FileDiff, FileImage, FileKind

_MODE_TYPES = {"symlink": stat.S_IFLNK, "folder": stat.S_IFDIR, "fifo": stat.S_IFIFO, "socket": stat.S_IFSOCK}


class Version(Struct, frozen=True):
    """A version of a file. An absent file has no image and no bytes."""

    image: FileImage | None
    content: bytes
    text: Text | None

    @classmethod
    def of(cls, image: FileImage | None, content: bytes | None, *, is_text_wanted: bool = True) -> "Version":
        data = content or b""
        return cls(image, data, read_text(data) if is_text_wanted else None)

    @property
    def kind(self) -> FileKind:
        return self.image.kind if self.image else "file"

    @property
    def mode(self) -> int | None:
        """File type and permissions as in `stat`; None for an absent file."""
        if self.image is None:
            return None
        return _MODE_TYPES.get(self.image.kind, stat.S_IFREG) | stat.S_IMODE(self.image.mode)

    @property
    def encoding(self) -> str:
        return self.text.encoding if self.text else "utf-8"


TOO_DIFFERENT_NOTE = (
    "too different to compare line by line: everything from the first to the last difference is shown as changed"
)

_NOT_UTF8_NOTE = "not all of it is UTF-8: other bytes are shown as numbers"

_REPLACED_NOTES = (_NOT_UTF8_NOTE, "encoding ")
"""How notes begin that are wrong once the text is read in its encoding."""

_KIND_NAMES = {"symlink": "symbolic link", "fifo": "named pipe", "socket": "socket"}


def too_large_note(before: bytes, after: bytes) -> str:
    size, lines = len(before) + len(after), before.count(b"\n") + after.count(b"\n")
    return f"too large to compare line by line ({size / 1_000_000:.0f} MB, {lines:,} lines)"


def describe(old: Version, new: Version) -> Iterator[str]:
    """Yield the notes about a change from `old` to `new`, the most important first."""
    yield from _file_notes(old, new)
    if old.text is None or new.text is None or new.image is None or new.kind == "symlink":
        return
    before = old.text if old.image is not None else None
    yield from _encoding_notes(before, new.text)
    if not new.text.is_valid:
        yield _NOT_UTF8_NOTE
    yield from _endings_notes(old, new)
    yield from _last_newline_notes(before, new.text)


def _file_notes(old: Version, new: Version) -> Iterator[str]:
    if new.mode is None:
        return
    if old.mode is None:
        if new.kind in _KIND_NAMES:
            yield _KIND_NAMES[new.kind]
        elif new.mode & 0o111:
            yield f"executable (mode {stat.S_IMODE(new.mode):o})"
    elif old.kind != new.kind:
        yield f"{_KIND_NAMES.get(old.kind, old.kind)} → {_KIND_NAMES.get(new.kind, new.kind)}"
    elif stat.S_IMODE(old.mode) != stat.S_IMODE(new.mode):
        yield f"mode {stat.S_IMODE(old.mode):o} → {stat.S_IMODE(new.mode):o}"


def _encoding_notes(old: Text | None, new: Text) -> Iterator[str]:
    if old and old.content and old.encoding != new.encoding:
        yield f"encoding {old.encoding.upper()} → {new.encoding.upper()}"
    elif new.encoding != "utf-8":
        yield f"encoding {new.encoding.upper()}"
    elif old and old.has_bom != new.has_bom:
        yield "byte order mark added" if new.has_bom else "byte order mark removed"


def _endings_notes(old: Version, new: Version) -> Iterator[str]:
    before, after = as_utf8(old.content) or b"", as_utf8(new.content) or b""
    was, now = endings_of(before), endings_of(after)
    if not was or not now or was == now:
        return
    is_all = before.replace(b"\r\n", b"\n") == after.replace(b"\r\n", b"\n")
    yield f"{'only ' if is_all else ''}line endings changed ({was} → {now})"


def _last_newline_notes(old: Text | None, new: Text) -> Iterator[str]:
    if not new.ends_with_newline and (old is None or old.ends_with_newline):
        yield "no newline at the end of the file"
    elif new.ends_with_newline and new.content and old and not old.ends_with_newline:
        yield "newline added at the end of the file"


MAX_COMPARED_BYTES = 50 * 1024 * 1024
MAX_COMPARED_LINES = 3_000_000
"""A line takes at least 60 bytes of memory."""

_READ_BY_MARKS = {"utf-8", "utf-16-le", "utf-16-be"}

Match = Callable[[bytes, bytes], list[Edit]]
"""Returns where the lines of two UTF-8 texts differ, in order."""


def diff_change(
    change: FileChange, before: bytes | None, after: bytes | None, *, match: Match | None = None
) -> FileDiff:
    """Return the diff of a change. Binary and too large files get a note instead of lines."""
    is_too_large = _is_too_large(before or b"", after or b"")
    old = Version.of(change.before, before, is_text_wanted=not is_too_large)
    new = Version.of(change.after, after, is_text_wanted=not is_too_large)
    notes = tuple(describe(old, new))
    edits: list[Edit] = []
    old_lines: tuple[str, ...] = ()
    new_lines: tuple[str, ...] = ()
    if old.text and new.text:
        edits = (match or find_edits)(as_utf8(old.content) or b"", as_utf8(new.content) or b"")
        old_lines = old.text.lines
        new_lines = _sharing(old_lines, new.text, edits)
    return FileDiff(
        path=change.path,
        kind=change.kind,
        author=change.author,
        old_lines=old_lines,
        new_lines=new_lines,
        edits=tuple(edits),
        is_binary=not is_too_large and (old.text is None or new.text is None),
        old_size=len(old.content),
        new_size=len(new.content),
        notes=(too_large_note(old.content, new.content), *notes) if is_too_large else notes,
        old_mode=old.mode,
        new_mode=new.mode,
        old_encoding=old.encoding,
        new_encoding=new.encoding,
    )


def as_read(diff: FileDiff, before: bytes | None, after: bytes | None) -> FileDiff:
    """Decode the lines for reading, if the text is neither UTF-8 nor UTF-16. Blocks.

    `diff` must have landmarks, because the keys of its hunks come from the undecoded bytes.
    """
    before, after = before or b"", after or b""
    if not (diff.old_lines or diff.new_lines) or stat.S_ISLNK(diff.new_mode or diff.old_mode or 0):
        return diff
    if is_surely_utf8(before) and is_surely_utf8(after):  # much quicker than reading them again
        return diff
    old, new = read_texts(before, after)
    if not old or not new or (old.encoding, new.encoding) == (diff.old_encoding, diff.new_encoding):
        return diff
    return replace(
        diff,
        old_lines=old.lines,
        new_lines=_sharing(old.lines, new, diff.edits) if old.encoding == new.encoding else new.lines,
        old_encoding=old.encoding,
        new_encoding=new.encoding,
        notes=(*(note for note in diff.notes if not note.startswith(_REPLACED_NOTES)), *_encoding_notes(old, new)),
    )


def as_stored(diff: FileDiff) -> FileDiff:
    """Reverse `as_read`."""
    if diff.old_encoding not in _READ_BY_MARKS:
        diff = replace(diff, old_lines=_as_bytes(diff.old_lines, diff.old_encoding), old_encoding="utf-8")
    if diff.new_encoding not in _READ_BY_MARKS:
        diff = replace(diff, new_lines=_as_bytes(diff.new_lines, diff.new_encoding), new_encoding="utf-8")
    return diff


def _as_bytes(lines: Sequence[str], encoding: str) -> Sequence[str]:
    return tuple(decoded(encode_lines((line,), encoding), "utf-8") for line in lines)


def count_lines(before: bytes | None, after: bytes | None, *, match: Match | None = None) -> tuple[int, int]:
    """How many lines `diff_change` would show as added and removed; 0 for files without lines."""
    if before == after or _is_too_large(before or b"", after or b""):
        return 0, 0
    old, new = as_utf8(before or b""), as_utf8(after or b"")
    if old is None or new is None:
        return 0, 0
    edits = (match or find_edits)(old, new)
    return sum(edit.new_end - edit.new_start for edit in edits), sum(edit.old_end - edit.old_start for edit in edits)


def find_edits(before: bytes, after: bytes) -> list[Edit]:
    r"""Return where the lines of two UTF-8 texts differ. Lines end at `\n` and nowhere else.

    If line endings were converted, runs of lines that differ only in the ending are separate edits.
    """
    if not before or not after:
        if before == after:
            return []
        return [Edit(old_start=0, old_end=line_count(before), new_start=0, new_end=line_count(after))]
    if endings_of(before) == endings_of(after):
        return _matched(before, after)
    edits = _matched(before.replace(b"\r\n", b"\n"), after.replace(b"\r\n", b"\n"))
    return list(_with_endings(edits, list(io.BytesIO(before)), list(io.BytesIO(after))))


def find_middle(before: bytes, after: bytes) -> list[Edit]:
    """Return one edit from the first to the last differing line. Takes linear time, unlike `find_edits`."""
    old, new = list(io.BytesIO(before)), list(io.BytesIO(after))
    shorter = min(len(old), len(new))
    start = next((line for line in range(shorter) if old[line] != new[line]), shorter)
    tail = next((line for line in range(shorter - start) if old[-1 - line] != new[-1 - line]), shorter - start)
    if start == len(old) == len(new):
        return []
    return [Edit(old_start=start, old_end=len(old) - tail, new_start=start, new_end=len(new) - tail)]


def is_only_endings(diff: FileDiff, edit: Edit) -> bool:
    if edit.old_end - edit.old_start != edit.new_end - edit.new_start:
        return False
    if without_ending(diff.old_lines[edit.old_start]) != without_ending(diff.new_lines[edit.new_start]):
        return False
    old = "".join(diff.old_lines[edit.old_start : edit.old_end])
    new = "".join(diff.new_lines[edit.new_start : edit.new_end])
    return old.replace("\r\n", "\n") == new.replace("\r\n", "\n")


def _matched(before: bytes, after: bytes) -> list[Edit]:
    import pygit2.enums  # takes 90 ms to import, so it waits for the first diff

    options = pygit2.enums.DiffOption.FORCE_TEXT | pygit2.enums.DiffOption.INDENT_HEURISTIC
    patch = pygit2.Patch.create_from(before, after, flag=options, context_lines=0)
    edits: list[Edit] = []
    for hunk in patch.hunks:
        # As in every unified diff, the line before it names an empty side.
        old = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        new = hunk.new_start - 1 if hunk.new_lines else hunk.new_start
        edits.append(Edit(old_start=old, old_end=old + hunk.old_lines, new_start=new, new_end=new + hunk.new_lines))
    return edits


def _with_endings(edits: list[Edit], old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Edit]:
    old_at = new_at = 0
    for edit in edits:
        yield from _differing(old, new, old_at, edit.old_start, new_at - old_at)
        yield edit
        old_at, new_at = edit.old_end, edit.new_end
    yield from _differing(old, new, old_at, len(old), new_at - old_at)


def _differing(old: Sequence[bytes], new: Sequence[bytes], start: int, end: int, shift: int) -> Iterator[Edit]:
    differs = bytes(map(operator.ne, old[start:end], new[start + shift : end + shift]))
    first = differs.find(1)
    while first >= 0:
        same = differs.find(0, first)
        last = len(differs) if same < 0 else same
        at = start + first
        yield Edit(old_start=at, old_end=start + last, new_start=at + shift, new_end=start + last + shift)
        first = differs.find(1, last)


def _sharing(old: tuple[str, ...], new: Text, edits: Sequence[Edit]) -> tuple[str, ...]:
    shared: list[str] = []
    old_at = at = 0
    for edit in edits:
        same = old[old_at : edit.old_start]
        shared += same
        at += sum(map(len, same))
        for _ in range(edit.new_start, edit.new_end):
            start, at = at, new.content.find("\n", at) + 1 or len(new.content)
            shared.append(new.content[start:at])
        old_at = edit.old_end
    shared += old[old_at:]
    return tuple(shared)


def _is_too_large(before: bytes, after: bytes) -> bool:
    if len(before) + len(after) > MAX_COMPARED_BYTES:
        return True
    return before.count(b"\n") + after.count(b"\n") > MAX_COMPARED_LINES


SHOWN_BYTES = 256
_BLOCK_BYTES = 1 << 16
_ALIGNED_TO = 16


class HexExcerpt(NamedTuple):
    start: int
    before: bytes
    after: bytes
    difference: int | None = None


def first_difference(before: bytes, after: bytes) -> int | None:
    """The first byte that differs, or that only one file has; None if the files are equal."""
    shorter = min(len(before), len(after))
    # Block by block: comparing two large files in one call would not let another thread run.
    for start in range(0, shorter, _BLOCK_BYTES):
        end = min(start + _BLOCK_BYTES, shorter)
        if before[start:end] != after[start:end]:
            return next(at for at in range(start, end) if before[at] != after[at])
    return shorter if len(before) != len(after) else None


def excerpt(before: bytes | None, after: bytes | None) -> HexExcerpt:
    """The bytes to show of two versions (None: absent), around the first difference or at the start."""
    difference = first_difference(before, after) if before is not None and after is not None else None
    start = (difference or 0) // _ALIGNED_TO * _ALIGNED_TO
    end = start + SHOWN_BYTES
    return HexExcerpt(start, (before or b"")[start:end], (after or b"")[start:end], difference)


def printable(data: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data)
