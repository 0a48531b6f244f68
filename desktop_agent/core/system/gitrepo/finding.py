"""Which repository a folder is in: found by looking for `.git`, never by asking git, and recognised again later.

Git's own search also accepts a folder that only looks like the inside of a repository (`HEAD`, `objects`, `refs`), and
every process repeats it. Here a repository is a `.git` in the folder or above, and it carries the `identity` by which
a later look notices that another one stands in its place.
"""

import os
import stat
from pathlib import Path

from msgspec import Struct

Identity = tuple[tuple[int, int, int], ...]
"""Kind, device and inode of `.git`, of the folder it leads to, and of the folder with the objects."""

_OPENED_FIRST = ("HEAD", "config", "config.worktree", "index", "packed-refs", "info/exclude")

_LONGEST_POINTER_BYTES = 8 * 1024
_READING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Repository(Struct, frozen=True, kw_only=True):
    """Where the repository of a folder is: its top folder, and the folder with `HEAD` and `index`.

    `prefix` leads from the top to the folder that was asked about: empty, or ending in `/`.
    """

    root: Path
    git_dir: Path
    prefix: str = ""
    identity: Identity = ()


def find_repository(folder: Path) -> Repository | None:
    """Return the repository `folder` is in, without running git. Reads a few directory entries."""
    try:
        resolved = folder.resolve()
        for candidate in (resolved, *resolved.parents):
            git_dir = _git_dir(candidate / ".git")
            if git_dir is not None:
                inside = resolved.relative_to(candidate).as_posix()
                prefix = "" if inside == "." else f"{inside}/"
                identity = _identity(candidate / ".git", git_dir)
                return Repository(root=candidate, git_dir=git_dir, prefix=prefix, identity=identity)
    except OSError:
        return None
    return None


def common_folder(git_dir: Path) -> Path:
    """Return where the objects and refs are: a worktree shares those of its repository. Blocks."""
    named = os.fsdecode(read_regular(git_dir / "commondir", _LONGEST_POINTER_BYTES)).strip()
    return (git_dir / named).resolve() if named and "\0" not in named else git_dir


def is_still_there(repository: Repository) -> bool:
    """Whether `repository` is the one that was found, and no other in its place. Blocks."""
    try:
        dot_git = repository.root / ".git"
        git_dir = _git_dir(dot_git)
        return (
            git_dir is not None and git_dir == repository.git_dir and _identity(dot_git, git_dir) == repository.identity
        )
    except OSError:
        return False


def read_regular(path: Path, limit_bytes: int) -> bytes:
    """Return the beginning of a file; nothing where there is none, or a pipe on which a reader would wait. Blocks."""
    try:
        handle = os.open(path, os.O_RDONLY | _READING)
    except OSError:
        return b""
    with os.fdopen(handle, "rb") as file:
        return file.read(limit_bytes) if stat.S_ISREG(os.fstat(handle).st_mode) else b""


def stranger_of(repository: Repository) -> Path | None:
    """Return what of the repository belongs to another user, as git's own check of owners would find it. Blocks.

    Git leaves that check out where it is pointed to a repository, as we do.
    """
    if not hasattr(os, "geteuid"):
        return None
    own = {os.geteuid()}
    if 0 in own and os.environ.get("SUDO_UID", "").isdecimal():
        own.add(int(os.environ["SUDO_UID"]))
    places = (repository.root / ".git", repository.root, repository.git_dir)
    return next((place for place in places if place.lstat().st_uid not in own), None)


def _identity(dot_git: Path, git_dir: Path) -> Identity:
    looks = (dot_git.lstat(), git_dir.stat(), common_folder(git_dir).stat())
    return tuple((stat.S_IFMT(look.st_mode), look.st_dev, look.st_ino) for look in looks)


def _git_dir(dot_git: Path) -> Path | None:
    if dot_git.is_dir():
        return dot_git if (dot_git / "HEAD").exists() and not _would_wait(dot_git) else None
    # A worktree or a submodule: a file that points to the real folder.
    key, _, target = os.fsdecode(read_regular(dot_git, _LONGEST_POINTER_BYTES)).strip().partition(": ")
    is_pointer = key == "gitdir" and target and "\0" not in target
    folder = (dot_git.parent / target).resolve() if is_pointer else None
    return None if folder is not None and _would_wait(folder) else folder


def _would_wait(git_dir: Path) -> bool:
    """Whether git would wait for ever: what it opens first is a pipe or a device and no file."""
    for name in _OPENED_FIRST:
        try:
            mode = (git_dir / name).stat().st_mode
        except OSError:
            continue
        if not stat.S_ISREG(mode):
            return True
    return False
