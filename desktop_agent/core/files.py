"""Exact bytes on disk: reading a file's whole state, and replacing it so that a crash leaves the old or the new.

`write_atomically` keeps everything about a file but its content: permission bits, owner, extended attributes (with
them ACLs), the symlink that led to it, and other hard links to it.
"""

import hashlib
import os
import secrets
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from desktop_agent.core.ids import Digest
from desktop_agent.core.model import FileImage, FileKind

TEMPORARY_MARK = ".desktop-agent-"
"""Part of every temporary name, so that left-overs of a killed process can be recognised and swept."""

DEFAULT_MODE = 0o644
"""The mode of a state that nobody gave one. A new file on disk gets `new_file_mode()`."""

_O_CLOEXEC = getattr(os, "O_CLOEXEC", 0)


@cache
def new_file_mode() -> int:
    """The permission bits that this process gives a new file: 0666 without what the umask takes away."""
    with tempfile.TemporaryDirectory() as folder:
        descriptor = os.open(f"{folder}/probe", os.O_WRONLY | os.O_CREAT, 0o666)
        try:
            return stat.S_IMODE(os.fstat(descriptor).st_mode)
        finally:
            os.close(descriptor)


def new_hasher() -> "hashlib.blake2b":
    """Return the hasher behind every digest, for content that comes in pieces."""
    return hashlib.blake2b(digest_size=32)


def digest_of(content: bytes) -> Digest:
    """Return the BLAKE2b-256 digest of `content`."""
    hasher = new_hasher()
    hasher.update(content)
    return hasher.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """A file in memory: its bytes (a symlink's target path), permission bits and kind."""

    content: bytes
    mode: int = DEFAULT_MODE
    kind: FileKind = "file"

    @property
    def digest(self) -> Digest:
        """The digest of the content."""
        return digest_of(self.content)

    def image(self) -> FileImage:
        """The same state by digest."""
        return FileImage(digest=self.digest, size=len(self.content), mode=self.mode, kind=self.kind)


@dataclass(frozen=True, slots=True)
class FileTransition:
    """A file as it was and as it is or will be. `None` means absent; `path` is relative to the workspace, with `/`."""

    path: str
    before: FileState | None
    after: FileState | None
    new_folders: tuple[str, ...] = ()
    """Folders that come into being with it, outermost first."""


def read_state(path: Path) -> FileState | None:
    """Return the state of `path` itself (a symlink is not followed), or None when nothing is there.

    Raises `IsADirectoryError` for folders and `OSError` for what cannot be read; special files count as unreadable.
    """
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(status.st_mode):
        return FileState(content=os.fsencode(path.readlink()), mode=0o777, kind="symlink")
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(f"{path} is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{path} is neither a file nor a symlink")
    return FileState(content=path.read_bytes(), mode=stat.S_IMODE(status.st_mode))


def write_state(path: Path, state: FileState | None) -> None:
    """Make `path` what `state` says: written, linked, or (None) removed. Missing parents are created."""
    if state is None:
        with suppress(FileNotFoundError):
            path.unlink()
            _sync_folder(path.parent)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if state.kind == "symlink":
        _replace_symlink(path, os.fsdecode(state.content))
    else:
        if path.is_symlink():
            path.unlink()
        write_atomically(path, state.content, mode=state.mode)


def write_atomically(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Replace the content of `path` with `content`, so that a reader or a crash sees the old or the new, never a mix.

    A symlink is followed. `mode` sets the permission bits; None keeps those of an existing file. A file with several
    hard links, or in a folder that takes no new files, is written in place instead: the links and the file matter more.
    """
    target = Path(os.path.realpath(path))
    try:
        old = target.stat()
    except FileNotFoundError:
        old = None
    if old is not None and mode is None:
        mode = stat.S_IMODE(old.st_mode)
    if old is not None and old.st_nlink > 1:
        _write_in_place(target, content, mode)
        return
    temporary = target.parent / f".{target.name[:200]}{TEMPORARY_MARK}{secrets.token_hex(6)}.tmp"
    try:
        # A replacement stays private until it has its final mode; a plain new file gets what the umask leaves of 0666.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o666 if mode is None else 0o600)
    except PermissionError:
        if old is None:
            raise
        _write_in_place(target, content, mode)
        return
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if old is not None:
                _copy_attributes(target, file.fileno(), old)
            if mode is not None:
                temporary.chmod(mode)  # after the ACL, because setting one may change the mode bits
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(target.parent)


def is_left_over(path: Path) -> bool:
    """Whether `path` is a temporary file that a killed process left behind."""
    return TEMPORARY_MARK in path.name and path.name.startswith(".") and path.name.endswith(".tmp")


def _write_in_place(target: Path, content: bytes, mode: int | None) -> None:
    with target.open("r+b") as file:
        file.write(content)
        file.truncate()
        file.flush()
        if mode is not None:
            target.chmod(mode)
        os.fsync(file.fileno())


def _copy_attributes(target: Path, descriptor: int, old: os.stat_result) -> None:
    """Give the new file the old one's owner and extended attributes, as far as we may."""
    if os.name == "nt":
        return
    if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
    if hasattr(os, "listxattr"):
        for name in os.listxattr(target):
            with suppress(OSError):
                os.setxattr(descriptor, name, os.getxattr(target, name))


def _replace_symlink(path: Path, target: str) -> None:
    temporary = path.parent / f".{path.name[:200]}{TEMPORARY_MARK}{secrets.token_hex(6)}.tmp"
    temporary.symlink_to(target)
    try:
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename or removal in `folder` durable, where the platform can."""
    if os.name == "nt":
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
