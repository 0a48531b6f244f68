"""Writes changes as a patch for `git apply`, forwards and in reverse: exact bytes, modes, symlinks, renames.

The format is git's extended unified diff (git-diff, "Generating patch text with -p"), with `core.quotePath` off.
"""

import hashlib
import io
import stat
import zlib
from base64 import b85encode
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from msgspec import Struct

from desktop_agent.core.base.file_names import quoted_name
from desktop_agent.core.diff.diff import MAX_COMPARED_BYTES, find_edits
from desktop_agent.core.diff.hunks import group
from desktop_agent.core.diff.text import encode_lines, read_texts
from desktop_agent.core.protocol.model import Edit, FileChange, FileImage

Contents = Callable[[FileImage | None], bytes | None]
"""None for an absent file. Raises `StorageError`."""

CONTEXT_LINES = 3
_NO_NEWLINE = b"\n\\ No newline at end of file\n"
_SPECIAL = {"fifo": "named pipe", "socket": "socket"}


class PatchFile(Struct, frozen=True):
    change: FileChange
    before: bytes | None
    after: bytes | None


def make_patch(files: Iterable[PatchFile], *, is_for_reading: bool = False) -> bytes:
    """Return the patch; empty if nothing changed that git would record. Comment lines at the top name other changes.

    With `is_for_reading`, lines in other encodings are in UTF-8: the patch is then text, but cannot be applied.
    """
    left_out: list[bytes] = []
    steps: list[_Step] = []
    for file in files:
        left_out += (f"# not in this patch: {note}\n".encode() for note in _left_out(file.change))
        steps += _steps(file)
    renames = [(old.path, new.path) for old, new in steps if old and new and old.path != new.path]
    origins, targets = {origin for origin, _ in renames}, {target for _, target in renames}
    taken = targets | {new.path for old, new in steps if new and not old}
    steps.sort(key=lambda step: _rank(step, origins, taken))
    return b"".join([*left_out, *(part for step in steps for part in _section(*step, is_for_reading=is_for_reading))])


def patch_of(changes: Iterable[FileChange], contents: Contents, *, is_for_reading: bool = False) -> bytes:
    files = (PatchFile(change, contents(change.before), contents(change.after)) for change in changes)
    return make_patch(files, is_for_reading=is_for_reading)


class _Side(Struct, frozen=True):
    """A file as git stores it: `mode` is `100644`, `100755` or `120000`."""

    path: str
    mode: int
    content: bytes

    @property
    def type(self) -> int:
        return stat.S_IFMT(self.mode)

    @property
    def is_text(self) -> bool:
        return b"\0" not in self.content


class _Step(NamedTuple):
    old: _Side | None
    new: _Side | None


def _rank(step: _Step, origins: Set[str], taken: Set[str]) -> int:
    """Rank a step: a file leaves a path before another takes it, because git applies steps to earlier results."""
    if step.new is None:
        return -1 if step.old is not None and step.old.path in taken else 0
    return 1 if step.old is None and step.new.path in origins else 0


def _left_out(change: FileChange) -> Iterator[str]:
    before, after = change.before, change.after
    if before and before.kind in _SPECIAL:
        yield f"the {_SPECIAL[before.kind]} {quoted_name(change.moved_from or change.path)}, which is gone or different"
    if after and after.kind in _SPECIAL:
        yield f"the {_SPECIAL[after.kind]} {quoted_name(change.path)}, which is new or different"
    if before and before.kind == "folder" and not (after and after.kind == "folder"):
        yield f"the folder {quoted_name(change.moved_from or change.path)}, which is gone"
    if after and after.kind == "folder" and not (before and before.kind == "folder"):
        yield f"the folder {quoted_name(change.path)}, which is new"
    if before and after and before.kind == after.kind and before.mode != after.mode:
        is_folder = before.kind == "folder"
        if is_folder or (before.kind == "file" and _git_mode(before) == _git_mode(after)):
            yield f"mode {before.mode:o} → {after.mode:o} of {quoted_name(change.path)}"


def _steps(file: PatchFile) -> Iterator[_Step]:
    change = file.change
    old = _side(change.moved_from or change.path, change.before, file.before)
    new = _side(change.path, change.after, file.after)
    if old and new and old.type != new.type:
        # Git has no change of type, so the old file is deleted and the new one is added.
        yield _Step(old, None)
        yield _Step(None, new)
    elif old != new:
        yield _Step(old, new)


def _side(path: str, image: FileImage | None, content: bytes | None) -> _Side | None:
    if image is None or image.kind == "folder" or image.kind in _SPECIAL:
        return None
    return _Side(path, _git_mode(image), content or b"")


def _section(old: _Side | None, new: _Side | None, *, is_for_reading: bool) -> Iterator[bytes]:
    old_content, new_content = old.content if old else None, new.content if new else None
    edits = _edits(old, new)
    old_path, new_path = old.path if old else new.path if new else "", new.path if new else old.path if old else ""
    yield f"diff --git {quoted_name(f'a/{old_path}')} {quoted_name(f'b/{new_path}')}\n".encode()
    yield from _mode_lines(old, new)
    if old and new and old.path != new.path:
        yield f"similarity index {_similarity(old.content, new.content, edits)}%\n".encode()
        yield f"rename from {quoted_name(old.path)}\nrename to {quoted_name(new.path)}\n".encode()
    if old_content == new_content:
        return
    same_mode = f" {old.mode:o}" if old and new and old.mode == new.mode else ""
    yield f"index {blob_id(old_content)}..{blob_id(new_content)}{same_mode}\n".encode()
    if edits is None:
        yield from binary_section(old_content, new_content)
    elif edits:
        yield f"--- {_in_header(quoted_name(f'a/{old.path}')) if old else '/dev/null'}\n".encode()
        yield f"+++ {_in_header(quoted_name(f'b/{new.path}')) if new else '/dev/null'}\n".encode()
        contents = old_content or b"", new_content or b""
        if is_for_reading:
            texts = zip(contents, read_texts(*contents), strict=True)
            old_content, new_content = (encode_lines((text.content,), "utf-8") if text else raw for raw, text in texts)
        yield from _hunk_lines(old_content or b"", new_content or b"", edits)


def _edits(old: _Side | None, new: _Side | None) -> list[Edit] | None:
    """None if the lines cannot be compared, because they are not text or too long."""
    sides = [side for side in (old, new) if side is not None]
    if sum(len(side.content) for side in sides) > MAX_COMPARED_BYTES or not all(side.is_text for side in sides):
        return None
    edits = find_edits(old.content if old else b"", new.content if new else b"")
    return [edit for edit in edits if edit.old_start < edit.old_end or edit.new_start < edit.new_end]


def _mode_lines(old: _Side | None, new: _Side | None) -> Iterator[bytes]:
    if old is None and new is not None:
        yield f"new file mode {new.mode:o}\n".encode()
    elif new is None and old is not None:
        yield f"deleted file mode {old.mode:o}\n".encode()
    elif old and new and (old.mode != new.mode or (old.path != new.path and stat.S_ISLNK(old.mode))):
        # For a renamed link, both sides must say that it is a link: another file may come below its path.
        yield f"old mode {old.mode:o}\nnew mode {new.mode:o}\n".encode()


def _similarity(old: bytes, new: bytes, edits: Sequence[Edit] | None) -> int:
    if old == new:
        return 100
    if edits is None:
        return 0
    lines = _lines(new)
    added = sum(len(line) for edit in edits for line in lines[edit.new_start : edit.new_end])
    return (len(new) - added) * 100 // max(len(old), len(new))


def _hunk_lines(old: bytes, new: bytes, edits: Sequence[Edit]) -> Iterator[bytes]:
    old_lines, new_lines = _lines(old), _lines(new)
    for hunk in group(edits, old_count=len(old_lines), context=CONTEXT_LINES):
        yield f"@@ -{_range(hunk.old_start, hunk.old_end)} +{_range(hunk.new_start, hunk.new_end)} @@\n".encode()
        old_at = hunk.old_start
        for edit in hunk.edits:
            yield from _marked(b" ", old_lines[old_at : edit.old_start])
            yield from _marked(b"-", old_lines[edit.old_start : edit.old_end])
            yield from _marked(b"+", new_lines[edit.new_start : edit.new_end])
            old_at = edit.old_end
        yield from _marked(b" ", old_lines[old_at : hunk.old_end])


def _lines(content: bytes) -> list[bytes]:
    return list(io.BytesIO(content))


def _range(start: int, end: int) -> str:
    count = end - start
    return f"{start + 1 if count else start},{count}"


def _marked(sign: bytes, lines: Sequence[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield sign + line
        if not line.endswith(b"\n"):
            yield _NO_NEWLINE


def _git_mode(image: FileImage) -> int:
    if image.kind == "symlink":
        return 0o120000
    return 0o100755 if image.mode & stat.S_IXUSR else 0o100644


def _in_header(name: str) -> str:
    # A tab ends a name with spaces. Otherwise `patch` takes the text after the space for a date.
    return f"{name}\t" if " " in name and not name.startswith('"') else name


NO_BLOB = "0" * 40
_LINE_BYTES = 52
_LINE_CHARS = _LINE_BYTES // 4 * 5
_BLOCK_LINES = 16_384
_LENGTHS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def blob_id(content: bytes | None) -> str:
    if content is None:
        return NO_BLOB
    hasher = hashlib.sha1(b"blob %d\0" % len(content), usedforsecurity=False)
    hasher.update(content)
    return hasher.hexdigest()


def binary_section(old: bytes | None, new: bytes | None) -> Iterator[bytes]:
    yield b"GIT binary patch\n"
    yield from _literal(new or b"")
    yield from _literal(old or b"")


def _literal(content: bytes) -> Iterator[bytes]:
    yield b"literal %d\n" % len(content)
    deflated = zlib.compress(content)
    block_bytes = _BLOCK_LINES * _LINE_BYTES
    for start in range(0, len(deflated), block_bytes):
        block = deflated[start : start + block_bytes]
        encoded = b85encode(block, pad=True)
        for line in range(-(-len(block) // _LINE_BYTES)):
            length = min(_LINE_BYTES, len(block) - line * _LINE_BYTES)
            yield _LENGTHS[length - 1 : length]
            yield encoded[line * _LINE_CHARS : (line + 1) * _LINE_CHARS] + b"\n"
    yield b"\n"
