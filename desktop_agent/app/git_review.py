"""The differences that git finds in a folder, for the review. Child processes find them; threads read the files.

Files on disk are compared with the last commit, or with the commit where a branch diverged from the checkout. Git's
contents are read as a checkout would write them, with the line endings of this folder.
"""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.file_names import folders_above
from desktop_agent.core.base.file_types import is_binary
from desktop_agent.core.base.regex import regex
from desktop_agent.core.diff.comparing import Comparer
from desktop_agent.core.diff.diff import count_lines
from desktop_agent.core.diff.text import line_count
from desktop_agent.core.protocol.model import ChangeKind, CommittedFile, FileChange, FileDiff, FileImage, FileKind
from desktop_agent.core.system.files import read_state
from desktop_agent.core.system.git.git_process import read_git
from desktop_agent.core.system.git.repository import NoStatus, Repository, find_repository
from desktop_agent.ui.review.changed_files import GIT_ID
from desktop_agent.ui.review.diff_source import GitState

_EMPTY_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The empty tree, to compare with on a branch without a commit; every git knows it."""
_COMMIT: Final = regex("[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MAX_READ_BYTES: Final = 50 * 1024 * 1024
_SUBMODULE: Final = 0o160000
_RAW: Final = ("diff", "--no-color", "-z", "--relative", "--raw")
_DIFF: Final = (*_RAW, "-M", "--numstat")
_KINDS: Final[dict[str, ChangeKind]] = {"A": "created", "D": "deleted", "R": "renamed"}


class GitReview:
    """Compares the files of a folder with git's versions; see `ui.review.diff_source.GitSource`."""

    def __init__(self, comparer: Comparer) -> None:
        self._comparer = comparer

    async def look(self, folder: str) -> GitState:
        repository = await asyncio.to_thread(find_repository, Path(folder))
        if repository is None:
            return GitState("not_a_repository")
        listed = await read_git(
            repository, "for-each-ref", "--sort=-committerdate", "--format=%(HEAD)%(refname:short)", "refs/heads"
        )
        if isinstance(listed, NoStatus):
            return GitState(listed.reason)
        names = os.fsdecode(listed).splitlines()
        current = next((name[1:] for name in names if name.startswith("*")), "")
        return GitState("", current, tuple(name[1:] for name in names if not name.startswith("*")))

    async def changes(self, folder: str, branch: str) -> tuple[FileChange, ...]:
        root = Path(folder)
        repository = await asyncio.to_thread(find_repository, root)
        if repository is None:
            raise _error(NoStatus(reason="not_a_repository"))
        base = await self._base(repository, branch)
        differing = await _differing(repository, root, base)
        new = _required(await read_git(repository, "ls-files", "-z", "--others", "--exclude-standard", "--", "."))
        return await asyncio.to_thread(_changes, root, differing, new)

    async def diff(self, folder: str, change: FileChange) -> FileDiff:
        before, after = await self.versions(folder, change)
        return replace(await self._comparer.diff(change, before, after), moved_from=change.moved_from)

    async def versions(self, folder: str, change: FileChange) -> tuple[bytes | None, bytes | None]:
        return await asyncio.to_thread(_contents, Path(folder), change)

    async def is_unpushed_tip(self, folder: str, commit: str) -> bool:
        repository = await asyncio.to_thread(find_repository, Path(folder))
        if repository is None:
            return False
        head = await read_git(repository, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if isinstance(head, NoStatus) or os.fsdecode(head).strip() != commit:
            return False
        return await read_git(repository, "for-each-ref", "--count=1", f"--contains={commit}", "refs/remotes") == b""

    async def committed(self, folder: str, change: FileChange) -> CommittedFile:
        return await asyncio.to_thread(_committed, Path(folder), change)

    async def _base(self, repository: Repository, branch: str) -> str:
        head = await read_git(repository, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if isinstance(head, NoStatus):
            if head.reason != "failed":
                raise _error(head)
            return _EMPTY_TREE
        if not branch:
            return os.fsdecode(head).strip()
        name = branch if _COMMIT.fullmatch(branch) else f"refs/heads/{branch}"
        parted = await read_git(repository, "merge-base", "HEAD", name)
        if isinstance(parted, NoStatus):
            raise AgentError(f"{branch} has no common history with what is checked out.")
        return os.fsdecode(parted).strip()


async def _differing(repository: Repository, root: Path, base: str) -> bytes:
    """Return what git prints for `_DIFF`, without counts for pipes and unreadable files, for which it would give up."""
    answer = await read_git(repository, *_DIFF, base, "--", ".")
    if not isinstance(answer, NoStatus) or answer.reason != "failed":
        return _required(answer)
    entries, _ = _parse(_required(await read_git(repository, *_RAW, "--no-renames", base, "--", ".")))
    unread = await asyncio.to_thread(lambda: [entry.path for entry in entries if _is_unreadable(root / entry.path)])
    if not unread:
        return _required(answer)
    others = await read_git(repository, *_DIFF, base, "--", ".", *(f":(exclude,literal){path}" for path in unread))
    listed = await read_git(repository, *_RAW, "--no-renames", base, "--", *(f":(literal){path}" for path in unread))
    return _required(listed) + _required(others)


def _is_unreadable(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return not (stat.S_ISLNK(mode) or stat.S_ISDIR(mode) or (stat.S_ISREG(mode) and os.access(path, os.R_OK)))


class _Raw(NamedTuple):
    """An entry of `git diff --raw`."""

    old_mode: int
    new_mode: int
    object_id: str
    status: str
    origin: str
    path: str


def _changes(root: Path, differing: bytes, new: bytes) -> tuple[FileChange, ...]:
    entries, counts = _parse(differing)
    # A file can exist without being in the index: after `git rm --cached`, or after a reverted rename.
    still_there = {e.origin: e for e in entries if e.status in "DR" and _image_on_disk(root, e.origin) is not None}
    names = {os.fsdecode(name) for name in new.split(b"\0") if name and not name.endswith(b"/")}
    names |= {entry.path for entry in still_there.values() if entry.status == "R"}
    found = [
        _change(root, entry, counts.get(entry.path, (0, 0))) for entry in entries if entry.origin not in still_there
    ]
    found += [_forgotten(root, entry) for entry in still_there.values()]
    found += [_new_file(root, name) for name in sorted(names - still_there.keys())]
    return tuple(sorted((change for change in found if change is not None), key=lambda change: change.path))


def _parse(output: bytes) -> tuple[list[_Raw], dict[str, tuple[int, int] | None]]:
    """Return the entries, and added and removed lines by path; `None` for binary files."""
    entries: list[_Raw] = []
    counts: dict[str, tuple[int, int] | None] = {}
    fields: Iterator[str] = iter(os.fsdecode(output).split("\0"))
    for field in fields:
        if field.startswith(":"):
            old_mode, new_mode, object_id, _, status = field[1:].split(" ")
            first = next(fields)
            second = next(fields) if status[0] in "RC" else first
            entries.append(_Raw(int(old_mode, 8), int(new_mode, 8), object_id, status[0], first, second))
        elif field:
            added, removed, path = field.split("\t", 2)
            if not path:
                _, path = next(fields), next(fields)
            counts[path] = None if added == "-" else (int(added), int(removed))
    return entries, counts


def _change(root: Path, entry: _Raw, counts: tuple[int, int] | None) -> FileChange | None:
    if _SUBMODULE in (entry.old_mode, entry.new_mode):
        return None  # another repository, which has its own review
    after = _image_on_disk(root, entry.path)
    is_moved = entry.status == "R" and after is not None
    before = _image_in_git(entry) if entry.status not in "AC" else None
    kind: ChangeKind = "deleted" if after is None else _KINDS.get(entry.status, "modified")
    if before is None and after is None:
        return None
    added, removed = counts or (0, 0)
    change = _found(entry.path, kind, before, after)
    moved_from = entry.origin if is_moved else ""
    return replace(change, added=added, removed=removed, is_binary=counts is None, moved_from=moved_from)


def _found(path: str, kind: ChangeKind, before: FileImage | None, after: FileImage | None) -> FileChange:
    return FileChange(id=f"{GIT_ID}{path}", path=path, kind=kind, author="person", before=before, after=after)


def _forgotten(root: Path, entry: _Raw) -> FileChange | None:
    """Return the change of a file that is committed but not in the index; `None` if it has not changed."""
    change = _found(entry.origin, "modified", _image_in_git(entry), _image_on_disk(root, entry.origin))
    try:
        before, after = _contents(root, change)
    except AgentError:  # the review reports this when the file is shown
        return replace(change, is_binary=True)
    assert change.before is not None
    assert change.after is not None
    if (before, change.before.kind, change.before.mode) == (after, change.after.kind, change.after.mode):
        return None
    added, removed = count_lines(before, after)
    is_text = all(content is not None and not is_binary(content) for content in (before, after))
    return replace(change, added=added, removed=removed, is_binary=not is_text)


def _new_file(root: Path, path: str) -> FileChange | None:
    after = _image_on_disk(root, path)
    if after is None:
        return None
    is_unread = after.digest.startswith(GIT_ID)
    content = b"" if is_unread or after.kind != "file" else _content_on_disk(root, path)
    has_no_lines = is_unread or is_binary(content)
    lines = 0 if has_no_lines else line_count(content)
    return replace(_found(path, "created", None, after), added=lines, is_binary=has_no_lines)


def _image_in_git(entry: _Raw) -> FileImage:
    kind: FileKind = "symlink" if stat.S_ISLNK(entry.old_mode) else "file"
    mode = 0o777 if kind == "symlink" else stat.S_IMODE(entry.old_mode)
    return FileImage(digest=f"{GIT_ID}{entry.object_id}", size=0, mode=mode, kind=kind)


def _image_on_disk(root: Path, path: str) -> FileImage | None:
    """Return the image of the file. If it is too large, or cannot be read, the image only identifies its state."""
    if any((root / folder).is_symlink() for folder in folders_above(path)):
        return None  # a folder above is a symlink now: the file has another path
    try:
        status = (root / path).lstat()
        if _is_unreadable(root / path) or (stat.S_ISREG(status.st_mode) and status.st_size > _MAX_READ_BYTES):
            name = f"{GIT_ID}{status.st_size}:{status.st_mtime_ns}"
            return FileImage(digest=name, size=status.st_size, mode=stat.S_IMODE(status.st_mode))
        state = read_state(root / path)
    except OSError:
        return None
    if state is None:
        return None
    image = state.image()
    # git records a single mode bit: whether a file can be run.
    return image if image.kind == "symlink" else replace(image, mode=0o755 if image.mode & 0o100 else 0o644)


def _content_on_disk(root: Path, path: str) -> bytes:
    try:
        state = read_state(root / path)
    except OSError as error:
        raise AgentError(f"It cannot be read: {error.strerror or error}.") from error
    return state.content if state is not None else b""


def _contents(root: Path, change: FileChange) -> tuple[bytes | None, bytes | None]:
    before = _content_in_git(root, change) if change.before is not None else None
    _require_read(change.after)
    return before, _content_on_disk(root, change.path) if change.after is not None else None


def _require_read(image: FileImage | None) -> None:
    if image is not None and image.digest.startswith(GIT_ID):
        is_large = image.size > _MAX_READ_BYTES
        raise AgentError(
            "The file is too large to be compared." if is_large else "This is not a file that can be read."
        )


def _content_in_git(root: Path, change: FileChange) -> bytes:
    """Return the content as a checkout would write it here. Only git's built-in conversions run, no programs."""
    import pygit2  # 90 ms to import

    assert change.before is not None
    found = find_repository(root)
    if found is None:
        raise AgentError("The git repository is gone.")
    path = found.prefix + (change.moved_from or change.path)
    try:
        repository = pygit2.Repository(str(found.root), pygit2.enums.RepositoryOpenFlag.NO_SEARCH)
        blob = repository[change.before.digest.removeprefix(GIT_ID)]
        assert isinstance(blob, pygit2.Blob)
        if change.before.kind == "symlink":
            return blob.data
        if isinstance(repository.get_attr(os.fsencode(path), "filter"), str):
            raise AgentError("git keeps this file in another form (a filter such as LFS): it is compared by git only.")
        if blob.size > _MAX_READ_BYTES:
            raise AgentError("The file is too large to be compared.")
        # The library only takes UTF-8 names; the ending of another name still says how git converts the file.
        with pygit2.BlobIO(blob, as_path=path.encode("utf-8", "replace").decode()) as stream:
            return stream.read()
    except (pygit2.GitError, KeyError, ValueError) as error:
        raise AgentError("git's version of the file cannot be read.", detail=str(error)) from error


def _committed(root: Path, change: FileChange) -> CommittedFile:
    before, after = change.before, change.after
    _require_read(after)
    return CommittedFile(
        path=change.path,
        content=_content_in_git(root, change) if before is not None else None,
        seen=after.digest if after is not None else None,
        kind=before.kind if before is not None else "file",
        is_executable=before is not None and before.kind == "file" and bool(before.mode & 0o100),
        moved_from=change.moved_from,
    )


def _required(answer: bytes | NoStatus) -> bytes:
    if isinstance(answer, NoStatus):
        raise _error(answer)
    return answer


def _error(answer: NoStatus) -> AgentError:
    words = {
        "not_a_repository": "This folder is not in a git repository.",
        "git_missing": "git is not installed.",
        "too_slow": "git took too long to answer.",
        "replaced": "This folder's git repository was replaced by another one. Open the folder again to use it.",
    }
    return AgentError(words.get(answer.reason, "git could not compare the files."), detail=answer.detail)
