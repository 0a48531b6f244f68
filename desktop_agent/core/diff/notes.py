"""What a change did that its lines alone do not show, in words: modes, encodings, line endings, the last newline."""

import stat
from collections.abc import Iterator

from desktop_agent.core.diff.text import Text, as_utf8, endings_of
from desktop_agent.core.diff.version import Version

TOO_DIFFERENT_NOTE = (
    "too different to compare line by line: all from the first to the last difference is shown as changed"
)

_NAMES = {"symlink": "symbolic link", "fifo": "named pipe", "socket": "socket"}


def too_large_note(before: bytes, after: bytes) -> str:
    """Return the note for a change that is not compared line by line."""
    size, lines = len(before) + len(after), before.count(b"\n") + after.count(b"\n")
    return f"too large to compare line by line ({size / 1_000_000:.0f} MB, {lines:,} lines)"


def describe(old: Version, new: Version) -> Iterator[str]:
    """Yield the notes about a change from `old` to `new`, the most important first."""
    yield from _file_notes(old, new)
    if old.text is None or new.text is None or new.image is None or new.kind == "symlink":
        return
    before = old.text if old.image is not None else None
    yield from _encoding_notes(before, new.text)
    yield from _endings_notes(old, new)
    yield from _last_newline_notes(before, new.text)


def _file_notes(old: Version, new: Version) -> Iterator[str]:
    if new.mode is None:
        return
    if old.mode is None:
        if new.kind in _NAMES:
            yield _NAMES[new.kind]
        elif new.mode & 0o111:
            yield f"executable (mode {stat.S_IMODE(new.mode):o})"
    elif old.kind != new.kind:
        yield f"{_NAMES.get(old.kind, old.kind)} → {_NAMES.get(new.kind, new.kind)}"
    elif stat.S_IMODE(old.mode) != stat.S_IMODE(new.mode):
        yield f"mode {stat.S_IMODE(old.mode):o} → {stat.S_IMODE(new.mode):o}"


def _encoding_notes(old: Text | None, new: Text) -> Iterator[str]:
    if old and old.content and old.encoding != new.encoding:
        yield f"encoding {old.encoding.upper()} → {new.encoding.upper()}"
    elif new.encoding != "utf-8":
        yield f"encoding {new.encoding.upper()}"
    elif old and old.has_bom != new.has_bom:
        yield "byte order mark added" if new.has_bom else "byte order mark removed"
    if not new.is_valid:
        yield "not all of it is UTF-8: other bytes are shown by their number"


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
