"""Ready-made changes from contents before and after."""

from hashlib import blake2b

from desktop_agent.core.base.file_types import is_binary
from desktop_agent.core.diff.diff import count_lines, diff_change
from desktop_agent.core.protocol.model import Author, ChangeKind, FileChange, FileDiff, FileImage, FileKind


def make_diff(
    before: str | bytes | None,
    after: str | bytes | None,
    *,
    path: str = "src/app.py",
    mode: int = 0o644,
    kind: FileKind = "file",
) -> FileDiff:
    """Compare two contents as one change of `path`, after which it has this mode; `None`: the file is absent."""
    old, new = bytes_of(before), bytes_of(after)
    return diff_change(change_of("1.1", path, old, new, mode=mode, kind=kind), old, new)


def bytes_of(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content


def change_of(
    change_id: str,
    path: str,
    before: bytes | None,
    after: bytes | None,
    *,
    author: Author = "agent",
    mode: int = 0o644,
    kind: FileKind = "file",
) -> FileChange:
    what: ChangeKind = "created" if before is None else "deleted" if after is None else "modified"
    added, removed = count_lines(before, after)
    return FileChange(
        id=change_id,
        path=path,
        kind=what,
        author=author,
        before=image_of(before, 0o644),
        after=image_of(after, mode, kind),
        added=added,
        removed=removed,
        is_binary=any(content is not None and is_binary(content) for content in (before, after)),
    )


def image_of(content: bytes | None, mode: int = 0o644, kind: FileKind = "file") -> FileImage | None:
    if content is None:
        return None
    return FileImage(digest=blake2b(content, digest_size=32).hexdigest(), size=len(content), mode=mode, kind=kind)
