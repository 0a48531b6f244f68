"""The state of a file, read from disk into memory: its exact bytes, mode and kind. Also its `FileExtras`, restored."""

import base64
import errno
import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.protocol.model import FileExtras, FileImage, FileKind

_PREFIXES = ("user.", "system.posix_acl_", "security.", "trusted.")
_DERIVED = ("security.ima", "security.evm")
_ABSENT = (errno.ENOTSUP, errno.EPERM, errno.EACCES)


def read_extras(path: Path, owner: tuple[int, int]) -> FileExtras:
    """Read a file's extras, without following symlinks. Raises `OSError` when the file is missing."""
    return FileExtras(owner=owner, attributes=tuple(sorted(_attributes(path))))


def give_extras(path: Path, wanted: FileExtras) -> str:
    """Give a file these extras. Return in words what failed. This can change the file's permissions."""
    missing: list[str] = []
    status = path.lstat()
    if (status.st_uid, status.st_gid) != wanted.owner:
        missing += _give_owner(path, wanted.owner)
    then = dict(wanted.attributes)
    try:
        now = dict(_attributes(path))
    except OSError:  # the file itself is written, and stays
        missing.append("its attributes")
        now = then
    for name in sorted(now.keys() | then.keys()):
        if now.get(name) == then.get(name):
            continue
        try:
            _give_attribute(path, name, then.get(name))
        except (OSError, ValueError):
            missing.append(f"the attribute {name}" if name in then else f"to be without the attribute {name}")
    return f"It could not get back: {', '.join(missing)}." if missing else ""


def _give_attribute(path: Path, name: str, value: str | None) -> None:
    if sys.platform != "linux":
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    if value is None:
        os.removexattr(path, name, follow_symlinks=False)
    else:
        os.setxattr(path, name, base64.b64decode(value), follow_symlinks=False)


def _give_owner(path: Path, owner: tuple[int, int]) -> Iterator[str]:
    user, group = owner
    if sys.platform == "win32":
        yield f"its owner ({user}:{group})"
        return
    try:
        os.lchown(path, user, group)
    except OSError:
        try:  # every user may give their own file to one of their groups
            os.lchown(path, -1, group)
        except OSError:
            yield f"its owner ({user}:{group})"
            return
        if path.lstat().st_uid != user:
            yield f"its owner ({user})"


def _attributes(path: Path) -> Iterator[tuple[str, str]]:
    if sys.platform != "linux":
        return
    try:
        names = os.listxattr(path, follow_symlinks=False)
    except OSError as error:
        if error.errno in _ABSENT:
            return
        raise
    for name in names:
        if name.startswith(_PREFIXES) and name not in _DERIVED:
            try:
                value = os.getxattr(path, name, follow_symlinks=False)
            except OSError:  # an unreadable attribute can be neither lost nor restored
                continue
            yield name, base64.b64encode(value).decode("ascii")


DEFAULT_MODE = 0o644

_WITHOUT_CONTENT: dict[int, FileKind] = {stat.S_IFDIR: "folder", stat.S_IFIFO: "fifo", stat.S_IFSOCK: "socket"}


@cache
def new_file_mode() -> int:
    with tempfile.TemporaryDirectory() as folder:
        descriptor = os.open(f"{folder}/probe", os.O_WRONLY | os.O_CREAT, 0o666)
        try:
            return stat.S_IMODE(os.fstat(descriptor).st_mode)
        finally:
            os.close(descriptor)


def new_hasher() -> "hashlib.blake2b":
    return hashlib.blake2b(digest_size=32)


def digest_of(content: bytes) -> Digest:
    hasher = new_hasher()
    hasher.update(content)
    return hasher.hexdigest()


class FileState(Struct, frozen=True, kw_only=True):
    """The state of a file. `content` is a symlink's target path; it is empty for folders, pipes and sockets."""

    content: bytes
    mode: int = DEFAULT_MODE
    kind: FileKind = "file"
    extras: FileExtras | None = None
    """None if they were not read; a write then leaves the existing ones alone. Comparisons ignore them."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileState) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def _compared(self) -> tuple[bytes, int, FileKind]:
        return self.content, self.mode, self.kind

    @property
    def digest(self) -> Digest:
        return digest_of(self.content)

    def with_content(self, content: bytes) -> "FileState":
        return replace(self, content=content)

    def image(self) -> FileImage:
        return FileImage(digest=self.digest, size=len(self.content), mode=self.mode, kind=self.kind, extras=self.extras)


class FileTransition(Struct, frozen=True):
    """One path before and after a change. `None` means absent; `path` is relative to the workspace, with `/`."""

    path: str
    before: FileState | None
    after: FileState | None
    new_folders: tuple[str, ...] = ()
    moved_from: str = ""
    moved_to: str = ""
    is_shared: bool = False
    is_new_name: bool = False
    """Whether the path became another name (a hard link) of an existing file."""
    is_prior: bool = False
    """Whether the change happened before everything that is recorded for the path."""


def read_state(path: Path, *, with_special: bool = False, with_extras: bool = True) -> FileState | None:
    """Return the state without following a symlink; None if nothing is there. Raises `OSError` for unreadable files.

    Raises it for devices and, unless `with_special`, for folders (`IsADirectoryError`), pipes and sockets.
    """
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(status.st_mode):
        state = FileState(content=os.fsencode(path.readlink()), mode=0o777, kind="symlink")
    elif stat.S_ISDIR(status.st_mode) and not with_special:
        raise IsADirectoryError(f"{path} is a folder")
    elif with_special and (kind := _WITHOUT_CONTENT.get(stat.S_IFMT(status.st_mode))):
        state = FileState(content=b"", mode=stat.S_IMODE(status.st_mode), kind=kind)
    elif not stat.S_ISREG(status.st_mode):
        raise OSError(f"{path} is neither a file nor a symlink")
    else:
        state = FileState(content=path.read_bytes(), mode=stat.S_IMODE(status.st_mode))
    if not with_extras or os.name == "nt":
        return state
    with suppress(OSError):  # the file was removed, or its attributes are unreadable
        return replace(state, extras=read_extras(path, (status.st_uid, status.st_gid)))
    return state
