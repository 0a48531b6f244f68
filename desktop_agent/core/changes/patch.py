r"""Diffs as a patch that `git apply` takes: new, deleted, changed and emptied files, modes, symlinks, missing newlines.

The format is git's extended unified diff (git-diff, "Generating patch text with -p"). Paths are quoted as git quotes
them with `core.quotePath` off.
"""

import stat
from collections.abc import Iterable, Iterator
from dataclasses import replace

from desktop_agent.core.changes.hunks import Hunk, group
from desktop_agent.core.changes.text import encode_lines
from desktop_agent.core.model import Edit, FileDiff

CONTEXT_LINES = 3
_NO_NEWLINE = b"\\ No newline at end of file\n"
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f"}
_ESCAPES["\r"] = "\\r"


def patch_text(diffs: Iterable[FileDiff]) -> bytes:
    """Return the patch for `diffs`, as bytes because files need not be UTF-8.

    A diff without lines cannot be in a patch of text: binary and UTF-16 files, and those too large to compare, are
    named at the top, where git skips what it does not know. Empty when nothing changed that git would record.
    """
    left_out: list[bytes] = []
    parts: list[bytes] = []
    for diff in diffs:
        if _is_text(diff):
            parts += _file_patch(diff)
        else:
            left_out.append(f"# not in this patch, because it is not UTF-8 text: {_quoted(diff.path)}\n".encode())
    return b"".join(left_out + parts)


def _is_text(diff: FileDiff) -> bool:
    has_lines = bool(diff.old_lines or diff.new_lines) or not (diff.old_size or diff.new_size)
    return has_lines and not diff.is_binary and diff.old_encoding == diff.new_encoding == "utf-8"


def _file_patch(diff: FileDiff) -> Iterator[bytes]:
    old_mode, new_mode = _git_mode(diff.old_mode), _git_mode(diff.new_mode)
    if old_mode and new_mode and stat.S_IFMT(old_mode) != stat.S_IFMT(new_mode):
        # Git has no change of type: the old thing goes, and the new one comes.
        everything = Edit(old_start=0, old_end=len(diff.old_lines), new_start=0, new_end=0)
        yield from _file_patch(replace(diff, new_mode=None, new_lines=(), edits=(everything,)))
        everything = Edit(old_start=0, old_end=0, new_start=0, new_end=len(diff.new_lines))
        yield from _file_patch(replace(diff, old_mode=None, old_lines=(), edits=(everything,)))
        return
    if old_mode == new_mode and not diff.edits:
        return
    old_name, new_name = _quoted(f"a/{diff.path}"), _quoted(f"b/{diff.path}")
    yield f"diff --git {old_name} {new_name}\n".encode()
    if old_mode is None:
        yield f"new file mode {new_mode:o}\n".encode()
    elif new_mode is None:
        yield f"deleted file mode {old_mode:o}\n".encode()
    elif old_mode != new_mode:
        yield f"old mode {old_mode:o}\nnew mode {new_mode:o}\n".encode()
    hunks = group([edit for edit in diff.edits if _is_real(edit)], old_count=len(diff.old_lines), context=CONTEXT_LINES)
    if hunks:
        yield f"--- {'/dev/null' if old_mode is None else _in_header(old_name)}\n".encode()
        yield f"+++ {'/dev/null' if new_mode is None else _in_header(new_name)}\n".encode()
    for hunk in hunks:
        yield from _hunk_patch(diff, hunk)


def _hunk_patch(diff: FileDiff, hunk: Hunk) -> Iterator[bytes]:
    yield f"@@ -{_range(hunk.old_start, hunk.old_end)} +{_range(hunk.new_start, hunk.new_end)} @@\n".encode()
    old_at = hunk.old_start
    for edit in hunk.edits:
        yield from _marked(b" ", diff.old_lines[old_at : edit.old_start])
        yield from _marked(b"-", diff.old_lines[edit.old_start : edit.old_end])
        yield from _marked(b"+", diff.new_lines[edit.new_start : edit.new_end])
        old_at = edit.old_end
    yield from _marked(b" ", diff.old_lines[old_at : hunk.old_end])


def _marked(sign: bytes, lines: tuple[str, ...]) -> Iterator[bytes]:
    for line in lines:
        yield sign + encode_lines((line,), "utf-8")
        if not line.endswith("\n"):
            yield b"\n" + _NO_NEWLINE


def _is_real(edit: Edit) -> bool:
    return edit.old_start < edit.old_end or edit.new_start < edit.new_end


def _range(start: int, end: int) -> str:
    count = end - start
    return f"{start + 1 if count else start},{count}"


def _git_mode(mode: int | None) -> int | None:
    """The one of the three modes that git knows: `100644`, `100755`, `120000`."""
    if mode is None:
        return None
    if stat.S_ISLNK(mode):
        return 0o120000
    return 0o100755 if mode & stat.S_IXUSR else 0o100644


def _quoted(name: str) -> str:
    """The name as git writes it: in C quotes when it has quotes, backslashes, control characters or foreign bytes."""
    escaped = "".join(_ESCAPES.get(char) or _octal(char) for char in name)
    return name if escaped == name else f'"{escaped}"'


def _octal(char: str) -> str:
    if char >= " " and char != "\x7f" and not "\udc80" <= char <= "\udcff":
        return char
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))


def _in_header(name: str) -> str:
    # A tab ends a name that has a space, or `patch` would take what follows the space for a date.
    return f"{name}\t" if " " in name and not name.startswith('"') else name
