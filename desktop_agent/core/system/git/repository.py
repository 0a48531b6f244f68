"""Finds the repository of a folder without starting git. Also has the types of git's answers."""

import errno
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct, field

from desktop_agent.core.base.regex import regex

FileState = Literal["modified", "added", "deleted", "renamed", "untracked", "conflicted", "ignored"]


class FileStatus(Struct, frozen=True, kw_only=True):
    state: FileState
    renamed_from: str = ""
    is_folder: bool = False
    """Whether the state applies to everything below: a folder that is untracked or ignored as a whole."""


class RepoStatus(Struct, frozen=True, kw_only=True):
    """Branch and changed files at one moment. Paths are relative, with `/`, and may have surrogate escapes."""

    branch: str = ""
    """Empty while detached."""
    commit: str = ""
    """Empty before the first commit."""
    upstream: str = ""
    ahead: int = 0
    """How many commits the upstream does not have."""
    behind: int = 0
    files: Mapping[str, FileStatus] = field(default_factory=dict[str, FileStatus])
    is_complete: bool = True
    """False when there were more changed files than fit into `STATUS_LIMIT_BYTES`."""


class Push(Struct, frozen=True, kw_only=True):
    """What a push sends. `commit` is the tip that the user was asked about."""

    remote: str
    branch: str
    commit: str
    is_new: bool
    """Whether the remote does not have the branch, as far as is known here."""
    has_upstream: bool
    count: int
    """How many commits the remote does not have."""
    subjects: tuple[str, ...]
    """Those of the newest commits."""


class NoStatus(Struct, frozen=True, kw_only=True):
    """Why git gave no answer. `detail` is the first line of git's own message, for users."""

    reason: Literal["not_a_repository", "git_missing", "too_slow", "failed", "replaced"]
    detail: str = ""


# ruff: noqa: PTH116, PTH120 -- plain strings, because this is asked several times around every command


Identity = tuple[tuple[int, int, int], ...]
"""Kind, device and inode of `.git`, of the folder it leads to, and of the folder with the objects."""

_OPENED_FIRST = ("HEAD", "config", "config.worktree", "index", "packed-refs", "info/exclude")
_NOTHING_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)

_LONGEST_POINTER_BYTES = 8 * 1024
_READING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Repository(Struct, frozen=True, kw_only=True):
    """A repository that contains a folder. `prefix` is the path from `root` to the folder: empty, or ending in `/`."""

    root: Path
    git_dir: Path
    prefix: str = ""
    identity: Identity = ()


def find_repository(folder: Path) -> Repository | None:
    """Find the repository from a few directory entries, without git. Blocks."""
    try:
        resolved = os.path.realpath(folder)
        for top in _upwards(resolved):
            dot_git = f"{top}/.git"
            git_dir = _git_dir(dot_git)
            if git_dir is not None:
                inside = resolved[len(top) :].strip(os.sep).replace(os.sep, "/")
                return Repository(
                    root=Path(top),
                    git_dir=Path(git_dir),
                    prefix=f"{inside}/" if inside else "",
                    identity=_identity(dot_git, git_dir),
                )
    except OSError:
        return None
    return None


def _upwards(folder: str) -> Iterator[str]:
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        yield above
        folder = above


def common_folder(git_dir: Path) -> Path:
    """The folder with the objects and refs. A worktree shares the folder of its repository. Blocks."""
    return Path(_common_folder(os.fspath(git_dir)))


def is_still_there(repository: Repository) -> bool:
    try:
        dot_git = f"{repository.root}/.git"
        git_dir = _git_dir(dot_git)
        return (
            git_dir is not None
            and Path(git_dir) == repository.git_dir
            and _identity(dot_git, git_dir) == repository.identity
        )
    except OSError:
        return False


def read_regular(path: Path, limit_bytes: int) -> bytes:
    return _read_regular(os.fspath(path), limit_bytes)


def stranger_of(repository: Repository) -> Path | None:
    """The first folder of the repository that another user owns. Blocks. With `--git-dir`, git does not check this."""
    if sys.platform == "win32":
        return None
    own = {os.geteuid()}
    if 0 in own and os.environ.get("SUDO_UID", "").isdecimal():
        own.add(int(os.environ["SUDO_UID"]))
    places = (repository.root / ".git", repository.root, repository.git_dir)
    return next((place for place in places if place.lstat().st_uid not in own), None)


def _identity(dot_git: str, git_dir: str) -> Identity:
    looks = (os.lstat(dot_git), os.stat(git_dir), os.stat(_common_folder(git_dir)))
    return tuple((stat.S_IFMT(look.st_mode), look.st_dev, look.st_ino) for look in looks)


def _common_folder(git_dir: str) -> str:
    named = os.fsdecode(_read_regular(f"{git_dir}/commondir", _LONGEST_POINTER_BYTES)).strip()
    return str((Path(git_dir) / named).resolve()) if named and "\0" not in named else git_dir


def _git_dir(dot_git: str) -> str | None:
    mode = _mode_at(dot_git)
    if mode is None:
        return None
    if stat.S_ISDIR(mode):
        return dot_git if _mode_at(f"{dot_git}/HEAD") is not None and not _would_wait(dot_git) else None
    # In a worktree or a submodule, `.git` is a file that points to the real folder.
    key, _, target = os.fsdecode(_read_regular(dot_git, _LONGEST_POINTER_BYTES)).strip().partition(": ")
    is_pointer = key == "gitdir" and target and "\0" not in target
    folder = str((Path(dot_git).parent / target).resolve()) if is_pointer else None
    return None if folder is not None and _would_wait(folder) else folder


def _would_wait(git_dir: str) -> bool:
    for name in _OPENED_FIRST:
        try:
            mode = _mode_at(f"{git_dir}/{name}")
        except OSError:
            continue
        if mode is not None and not stat.S_ISREG(mode):
            return True
    return False


def _mode_at(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except OSError as error:
        if error.errno in _NOTHING_THERE:
            return None
        raise


def _read_regular(path: str, limit_bytes: int) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | _READING)
    except OSError:
        return b""
    try:
        return os.read(handle, limit_bytes) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
    finally:
        os.close(handle)


_LARGEST_BYTES: Final = 256 * 1024
_HEAD: Final = regex(rb'\[([A-Za-z0-9-]+)(?:[ \t]+"([^"\\\0\r]+)")?\]')
_KEY: Final = regex(rb"[A-Za-z][A-Za-z0-9-]*")
_VALUE: Final = regex(rb'[^\x00-\x1f\x7f"\\#;]*')


def plain_settings(content: bytes) -> bytes | None:
    """What `git config --null --list` would print for a file; None if only git can parse it."""
    listed: list[bytes] = []
    section = b""
    for line in (raw.strip(b" \t") for raw in content.split(b"\n")):
        if not line or line.startswith((b"#", b";")):
            continue
        if head := _HEAD.fullmatch(line):
            section = head[1].lower() + (b"." + head[2] if head[2] else b"")
            continue
        name, separator, value = line.partition(b"=")
        key, text = name.rstrip(b" \t"), value.lstrip(b" \t")
        if not (section and _KEY.fullmatch(key) and _VALUE.fullmatch(text)):
            return None
        listed.append(section + b"." + key.lower() + (b"\n" + text if separator else b"") + b"\0")
    return b"".join(listed)


def read_plain_settings(path: Path) -> bytes | None:
    content = read_regular(path, _LARGEST_BYTES)
    return plain_settings(content) if 0 < len(content) < _LARGEST_BYTES else None
