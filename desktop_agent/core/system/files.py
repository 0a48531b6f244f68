"""Exact bytes on disk: reading a file's whole state, and replacing it so that a crash leaves the old or the new.

`write_atomically` keeps everything about a file but its content: permission bits, owner, extended attributes (with
them ACLs), the symlink that led to it, and other hard links to it. `write_state` keeps hard links only where its caller
says that no other name lies where it must not write.
"""

import errno
import hashlib
import os
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from enum import Enum
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Final, ParamSpec, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.exchange import ExchangeUnsupportedError, exchange, rename_to_free
from desktop_agent.core.base.ids import Digest
from desktop_agent.core.protocol.model import FileExtras, FileImage, FileKind
from desktop_agent.core.system.file_extras import give_extras, read_extras

TEMPORARY_MARK = ".desktop-agent-"
"""Part of every temporary name, so that left-overs of a killed process can be recognised and swept."""

_TEMPORARY_SUFFIX = ".tmp"

DEFAULT_MODE = 0o644
"""The mode of a state that has none of its own. A new file on disk gets `new_file_mode()`."""

Check = Callable[[], None]

KeepsNames = Callable[[os.stat_result], bool]
"""Whether a write may change this file under all its names (hard links). Asked only where there are several."""

MEANWHILE = "it was changed at this very moment"

P = ParamSpec("P")
T = TypeVar("T")

_O_CLOEXEC: int = getattr(os, "O_CLOEXEC", 0)
_O_BINARY: int = getattr(os, "O_BINARY", 0)
_O_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
_BLOCK_BYTES = 64 * 1024
_OWN_ATTRIBUTES = ("user.", "system.posix_acl_")
"""Attributes that people give a file. Others are labels that the system gives, and not everybody may set."""


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


class FileState(Struct, frozen=True, kw_only=True):
    """A file in memory: its bytes (a symlink's target path, nothing for what has none), permission bits and kind."""

    content: bytes
    mode: int = DEFAULT_MODE
    kind: FileKind = "file"
    extras: FileExtras | None = None
    """None where they were not looked at, and where a write leaves those alone that are there. They do not distinguish
    two states."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileState) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def _compared(self) -> tuple[bytes, int, FileKind]:
        return self.content, self.mode, self.kind

    @property
    def digest(self) -> Digest:
        """The digest of the content."""
        return digest_of(self.content)

    def with_content(self, content: bytes) -> "FileState":
        """The same file with other content."""
        return replace(self, content=content)

    def image(self) -> FileImage:
        """The same state by digest."""
        return FileImage(digest=self.digest, size=len(self.content), mode=self.mode, kind=self.kind, extras=self.extras)


class FileTransition(Struct, frozen=True):
    """A file as it was and as it is or will be. `None` means absent; `path` is relative to the workspace, with `/`."""

    path: str
    before: FileState | None
    after: FileState | None
    new_folders: tuple[str, ...] = ()
    """Folders that come into being with it, outermost first."""
    moved_from: str = ""
    """The path this file had before, when it was renamed."""
    moved_to: str = ""
    """The path this file has now, when it was renamed."""
    is_shared: bool = False
    """Whether it may be the work of another session's command, which ran at the same time."""
    is_new_name: bool = False
    """Whether the path became another name (a hard link) of a file that was there."""


def read_state(path: Path, *, with_special: bool = False, with_extras: bool = True) -> FileState | None:
    """Return the state of `path` itself (a symlink is not followed), or None when nothing is there.

    Raises `OSError` for what cannot be read. Folders (an `IsADirectoryError`), named pipes and sockets count as that,
    because an edit must never replace one, unless the caller knows what to do `with_special`; devices always do.
    Owner and attributes are part of it unless it is asked for without.
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
    with suppress(OSError):  # it went, or its attributes may not be looked at
        return replace(state, extras=read_extras(path, (status.st_uid, status.st_gid)))
    return state


_WITHOUT_CONTENT: dict[int, FileKind] = {stat.S_IFDIR: "folder", stat.S_IFIFO: "fifo", stat.S_IFSOCK: "socket"}


class ChangedError(OSError):
    """Another program wrote the file between the look at it and the write."""


class Anything(Enum):
    """That a write may displace whatever is there."""

    ANYTHING = "anything"


ANYTHING: Final = Anything.ANYTHING
Expected = FileState | Anything | None
"""What a write may displace; None: nothing may be there."""


def _never(_status: os.stat_result) -> bool:
    return False


def _always(_status: os.stat_result) -> bool:
    return True


def write_state(
    path: Path,
    state: FileState | None,
    *,
    check: Check = lambda: None,
    keeps_names: KeepsNames = _never,
    before: Expected = ANYTHING,
) -> None:
    """Make `path` what `state` says: written, linked, a folder, a pipe, or (None) removed. Missing parents are created.

    `check` is called at the last moment at which everything can still stay as it is; what it raises stops the write.
    What another program writes after that is seen by what the write displaces: if it is not `before`, it is put back
    and this raises `ChangedError`. Where the system cannot exchange two names, the check is all there is.

    A file with other names is written under all of them if `keeps_names` allows it. Otherwise only `path` gets the new
    content, as a file of its own.

    A folder is removed, or gives way to a file, only when it is empty; otherwise this raises `OSError`.
    """
    is_folder = path.is_dir() and not path.is_symlink()
    if state is None:
        with suppress(FileNotFoundError):
            check()
            if is_folder:
                _retried(os.rmdir, path)
            else:
                _remove(path, before)
            _sync_folder(path.parent)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if state.kind == "folder":
        check()
        _make_folder(path, state.mode, is_there=is_folder)
        return
    if is_folder:
        _retried(os.rmdir, path)
        before = ANYTHING if before is ANYTHING else None
    if state.kind == "symlink":
        _replace_symlink(path, os.fsdecode(state.content), check, before)
    elif state.kind != "file":
        _replace_special(path, state.kind, state.mode, check, before)
    elif _is_special(path):
        # It takes the link's place, not its target's.
        _write_by_rename(path, state.content, state.mode, None, check, before)
    else:
        _write(path, state.content, state.mode, check, keeps_names, before)


def give_state_extras(path: Path, state: FileState) -> str:
    """Give a file that was just written what `state` says it has beside its content; return what it could not get."""
    if state.extras is None or os.name == "nt":
        return ""
    missing = give_extras(path, state.extras)
    if state.kind != "symlink" and stat.S_IMODE(_retried(os.lstat, path).st_mode) != state.mode:
        _change_mode_of(path, state.mode)
    return missing


def write_atomically(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Replace the content of `path` with `content`, so that a reader or a crash sees the old or the new, never a mix.

    A symlink is followed. `mode` sets the permission bits; None keeps those of an existing file. When it raises
    `OSError`, the file is as it was and nothing else is left.

    A file with several hard links, in a folder that takes no new files, or of an owner that a new file cannot be given,
    is written in place instead, because those links and that owner belong to the file. A failure then puts the old
    content back. Only a crash in the middle can leave a mix of both, which `is_torn` recognises: who wrote both states
    down before, as the ledger does, repairs it.
    """
    _write(Path(os.path.realpath(path)), content, mode, lambda: None, _always)


def _write(
    target: Path,
    content: bytes,
    mode: int | None,
    check: Check,
    keeps_names: KeepsNames,
    before: Expected = ANYTHING,
) -> None:
    """Do as `write_atomically`, but never through a symlink, also where one takes the file's place meanwhile."""
    try:
        old = _retried(os.lstat, target)
    except FileNotFoundError:
        old = None
    if old is not None and mode is None:
        mode = stat.S_IMODE(old.st_mode)
    has_names = old is not None and old.st_nlink > 1
    if old is not None and has_names and keeps_names(old):
        check()
        _write_in_place(target, content, mode, old, before)
        return
    try:
        _write_by_rename(target, content, mode, old, check, before)
    except PermissionError as error:
        if old is None:
            raise
        if has_names:
            raise PermissionError(error.errno, _NAMES_ELSEWHERE) from error
        check()
        _write_in_place(target, content, mode, old, before)


class StagedFile:
    """A new private file without its name yet: written, synced, then placed. Nothing is left of one that never was.

    Several drafts that are all synced before the first is placed become visible together, as nearly as a disk can, and
    `sync_folders` then makes all their names durable with one wait for each folder. Where that is one wait too many,
    the folder is synced together with the drafts, before they are placed: what a power failure undoes of the placing
    is then a whole draft, whose `intended_name` says what it is.
    """

    def __init__(self, folder: Path, name: str = "") -> None:
        """Begin one in `folder`, which must exist; its temporary name ends with `name`.

        Raises `OSError`, as all of it does.
        """
        self.path = _temporary_beside(folder / "draft", name)
        self.size = 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _O_CLOEXEC | _O_BINARY
        self._descriptor = _retried(os.open, self.path, flags, 0o600)
        self._is_placed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        if not self._is_placed:
            with suppress(OSError):
                _retried(os.unlink, self.path)

    def write(self, content: bytes) -> None:
        """Append `content`."""
        _write_all(self._descriptor, content)
        self.size += len(content)

    def sync(self) -> None:
        """Wait until all of it is on the disk. Nothing can be written afterwards."""
        _retried(os.fsync, self._descriptor)
        self._close()

    def place(self, path: Path) -> None:
        """Give it its name, in place of whatever has it."""
        _retried(os.replace, self.path, path)
        self._is_placed = True

    def _close(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            _close(descriptor)


def sync_folders(folders: Iterable[Path]) -> None:
    """Make the names in these folders durable. Raises `OSError` when the disk fails or is full.

    A file system that knows no such thing keeps its promises in its own way.
    """
    if os.name == "nt":
        return
    for folder in folders:
        descriptor = _retried(os.open, folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _retried(os.fsync, descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
                raise
        finally:
            _close(descriptor)


def is_torn(current: bytes, before: bytes, after: bytes) -> bool:
    """Whether `current` is what a crash makes of writing `after` over `before` in place: a mix of the two."""
    if not min(len(before), len(after)) <= len(current) <= max(len(before), len(after)):
        return False
    for start in range(0, len(current), _BLOCK_BYTES):
        block, old, new = (text[start : start + _BLOCK_BYTES] for text in (current, before, after))
        if block in (old, new):
            continue
        if any(byte not in (old[at : at + 1], new[at : at + 1]) for at, byte in enumerate(_each_byte(block))):
            return False
    return True


def _each_byte(block: bytes) -> Iterator[bytes]:
    return (block[at : at + 1] for at in range(len(block)))


def is_left_over(path: Path) -> bool:
    """Whether `path` is a temporary file that a killed process left behind."""
    return TEMPORARY_MARK in path.name and path.name.startswith(".") and path.name.endswith(_TEMPORARY_SUFFIX)


def intended_name(name: str) -> str:
    """The name that a draft's temporary `name` says it was to get; empty when it says none, or is no draft's."""
    if not (name.startswith(TEMPORARY_MARK) and name.endswith(_TEMPORARY_SUFFIX)):
        return ""
    return name.removeprefix(TEMPORARY_MARK).removesuffix(_TEMPORARY_SUFFIX).partition(".")[2]


def _write_by_rename(
    target: Path,
    content: bytes,
    mode: int | None,
    old: os.stat_result | None,
    check: Check,
    before: Expected = ANYTHING,
) -> None:
    """Write a new file beside `target`, give it all that the old one has, and put it in its place."""
    temporary = _temporary_beside(target)
    # A replacement stays private until it has its final mode; a plain new file gets what the umask leaves of 0666.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _O_CLOEXEC | _O_BINARY
    descriptor = _retried(os.open, temporary, flags, 0o666 if mode is None else 0o600)
    try:
        try:
            _write_all(descriptor, content)
            if old is not None:
                _copy_attributes(target, descriptor, old)
            if mode is not None:
                _change_mode(temporary, descriptor, mode)  # after the ACL, because setting one may change the mode bits
            _retried(os.fsync, descriptor)
        finally:
            _close(descriptor)
        check()
        _place(temporary, target, before)
    except BaseException:
        with suppress(OSError):
            _retried(os.unlink, temporary)
        raise
    _sync_folder(target.parent)


def _place(temporary: Path, target: Path, before: Expected) -> None:
    """Give what is at `temporary` the name `target`, in place of `before` and of nothing else.

    Raises `ChangedError` when something else was there: it has its name again then, and ours is at `temporary`.
    """
    if before is ANYTHING:
        _retried(os.replace, temporary, target)
        return
    try:
        if before is None:
            rename_to_free(temporary, target)
            return
        exchange(temporary, target)
    except ExchangeUnsupportedError:
        _retried(os.replace, temporary, target)
        return
    except (FileExistsError, FileNotFoundError) as error:
        raise ChangedError(errno.EBUSY, MEANWHILE) from error
    if _is_still(temporary, before):
        with suppress(OSError):  # ours is in its place, and a left-over is swept
            _retried(os.unlink, temporary)
        return
    try:
        exchange(temporary, target)
    except FileNotFoundError:  # another program has removed ours already
        rename_to_free(temporary, target)
    except OSError:  # theirs is not ours to remove
        _retried(os.rename, temporary, _kept_beside(target))
        raise
    raise ChangedError(errno.EBUSY, MEANWHILE)


def _remove(path: Path, before: Expected) -> None:
    """Remove the file or symlink at `path` if it is `before`; otherwise leave it, and raise `ChangedError`."""
    if before is ANYTHING:
        _retried(os.unlink, path)
        return
    aside = _temporary_beside(path)
    try:
        rename_to_free(path, aside)
    except ExchangeUnsupportedError:
        _retried(os.unlink, path)
        return
    if _is_still(aside, before):
        try:
            _retried(os.unlink, aside)
        except OSError:
            rename_to_free(aside, path)
            raise
        return
    try:
        rename_to_free(aside, path)
    except FileExistsError as error:  # two of them at once: the later one has the name, the other keeps its content
        kept = _kept_beside(path)
        rename_to_free(aside, kept)
        raise ChangedError(errno.EBUSY, f"{MEANWHILE}, twice; the first version is {kept.name}") from error
    raise ChangedError(errno.EBUSY, MEANWHILE)


def _kept_beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.kept-{secrets.token_hex(4)}")


def _is_still(path: Path, before: Expected) -> bool:
    try:
        return read_state(path, with_special=True, with_extras=False) == before
    except OSError:  # it cannot be read
        return False


_NAMES_ELSEWHERE = "it has other names (hard links) that must keep their content, and its folder takes no new file"


def _write_in_place(
    target: Path, content: bytes, mode: int | None, old: os.stat_result, expected: Expected = ANYTHING
) -> None:
    """Write over the content of `target`, and put the old content back when that fails.

    Raises `OSError` when it is not the file of `old` any more, or has got another name meanwhile.
    """
    descriptor = _retried(os.open, target, os.O_RDWR | _O_CLOEXEC | _O_BINARY | _O_NOFOLLOW)
    try:
        now = _retried(os.fstat, descriptor)
        if (now.st_dev, now.st_ino, now.st_nlink) != (old.st_dev, old.st_ino, old.st_nlink):
            raise OSError(errno.EBUSY, "it was exchanged at this very moment")
        old_mode = stat.S_IMODE(now.st_mode)
        before = _read_all(descriptor)
        if isinstance(expected, FileState) and before != expected.content:
            raise ChangedError(errno.EBUSY, MEANWHILE)
        is_overwritten = False
        try:
            # What is longer than the old content goes first: a full disk shows before anything old is overwritten.
            _write_at(descriptor, len(before), content[len(before) :])
            _retried(os.fsync, descriptor)
            is_overwritten = True
            _write_at(descriptor, 0, content[: len(before)])
            _retried(os.ftruncate, descriptor, len(content))
            _require_mode(target, descriptor, old_mode if mode is None else mode)
            _retried(os.fsync, descriptor)
        except BaseException:
            if is_overwritten:
                _write_at(descriptor, 0, before)
            _retried(os.ftruncate, descriptor, len(before))
            _require_mode(target, descriptor, old_mode)
            _retried(os.fsync, descriptor)
            raise
    finally:
        _close(descriptor)


def _temporary_beside(path: Path, intended: str = "") -> Path:
    middle = f".{intended}" if intended else ""
    return path.parent / f"{TEMPORARY_MARK}{secrets.token_hex(8)}{middle}{_TEMPORARY_SUFFIX}"


def _retried(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call the system again for as long as a signal interrupts it."""
    while True:
        with suppress(InterruptedError):
            return call(*args, **kwargs)


def _write_all(descriptor: int, content: bytes) -> None:
    """Write everything, also where the system takes it in parts."""
    rest = memoryview(content)
    while rest:
        rest = rest[_retried(os.write, descriptor, rest) :]


def _write_at(descriptor: int, offset: int, content: bytes) -> None:
    _retried(os.lseek, descriptor, offset, os.SEEK_SET)
    _write_all(descriptor, content)


def _read_all(descriptor: int) -> bytes:
    parts: list[bytes] = []
    while part := _retried(os.read, descriptor, _BLOCK_BYTES):
        parts.append(part)
    return b"".join(parts)


def _close(descriptor: int) -> None:
    """Close it. What was to be durable is so already, and the descriptor is gone also where this fails."""
    with suppress(OSError):
        os.close(descriptor)


def _change_mode(path: Path, descriptor: int, mode: int) -> None:
    if hasattr(os, "fchmod"):
        _retried(os.fchmod, descriptor, mode)
    else:
        _retried(os.chmod, path, mode)


def _change_mode_of(path: Path, mode: int) -> None:
    """Change the mode of what must not be opened, and never through a symlink that took its place meanwhile."""
    if not hasattr(os, "O_PATH"):
        _retried(os.chmod, path, mode, follow_symlinks=os.chmod not in os.supports_follow_symlinks)
        return
    descriptor = _retried(os.open, path, os.O_PATH | _O_NOFOLLOW | _O_CLOEXEC)
    try:
        if not stat.S_ISLNK(_retried(os.fstat, descriptor).st_mode):
            _retried(os.chmod, f"/proc/self/fd/{descriptor}", mode)
    finally:
        _close(descriptor)


def _require_mode(path: Path, descriptor: int, mode: int) -> None:
    """Set the mode unless it is so already: only a file's owner may, and writing can have cleared special bits."""
    if stat.S_IMODE(_retried(os.fstat, descriptor).st_mode) != mode:
        _change_mode(path, descriptor, mode)


def _copy_attributes(target: Path, descriptor: int, old: os.stat_result) -> None:
    """Give the new file the owner and the extended attributes (with them the ACL) of the old one.

    Raises `OSError` when it cannot have them; only what the system itself labels files with may stay behind.
    """
    if os.name == "nt":
        return
    new = _retried(os.fstat, descriptor)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        _retried(os.fchown, descriptor, old.st_uid, old.st_gid)
    if not hasattr(os, "listxattr"):
        return
    wanted = _attributes(target)
    for name in _attributes(descriptor):
        if name not in wanted and name.startswith(_OWN_ATTRIBUTES):  # an ACL that the folder gives to new files
            _retried(os.removexattr, descriptor, name)
    for name in wanted:
        try:
            _retried(os.setxattr, descriptor, name, _retried(os.getxattr, target, name))
        except OSError:
            if name.startswith(_OWN_ATTRIBUTES):
                raise


def _attributes(file: Path | int) -> list[str]:
    try:
        return _retried(os.listxattr, file)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return []
        raise


def _make_folder(path: Path, mode: int, *, is_there: bool) -> None:
    """Make `path` a folder with these permission bits, whatever file was there."""
    if not is_there:
        with suppress(FileNotFoundError):
            _retried(os.unlink, path)
        _retried(os.mkdir, path)
    if stat.S_IMODE(_retried(os.lstat, path).st_mode) != mode:
        _retried(os.chmod, path, mode)
    _sync_folder(path.parent)


def _replace_symlink(path: Path, target: str, check: Check, before: Expected = ANYTHING) -> None:
    def make(temporary: Path) -> None:
        _retried(os.symlink, target, temporary)

    _replace_with(make, path, check, before)


def _replace_with(make: Callable[[Path], None], path: Path, check: Check, before: Expected) -> None:
    """Put what `make` makes in the place of whatever has the name; nothing is left of it when it cannot stand there."""
    temporary = _temporary_beside(path)
    try:
        make(temporary)
        check()
        _place(temporary, path, before)
    except BaseException:
        with suppress(OSError):
            _retried(os.unlink, temporary)
        raise
    _sync_folder(path.parent)


def _is_special(path: Path) -> bool:
    """Whether a file that is written here takes the place of something that is none."""
    try:
        return not stat.S_ISREG(_retried(os.lstat, path).st_mode)
    except FileNotFoundError:
        return False


def _replace_special(path: Path, kind: FileKind, mode: int, check: Check, before: Expected) -> None:
    """Put a new pipe, or a socket at which no program listens, in the place of whatever has the name."""
    if not hasattr(os, "mkfifo"):
        raise OSError(errno.ENOTSUP, f"this system has no {kind}")

    def make(temporary: Path) -> None:
        if kind == "fifo":
            _retried(os.mkfifo, temporary, 0o600)
        else:
            _retried(os.mknod, temporary, stat.S_IFSOCK | 0o600)
        _change_mode_of(temporary, mode)

    _replace_with(make, path, check, before)


def _sync_folder(folder: Path) -> None:
    """Make a rename or removal in `folder` durable, where the platform can."""
    if os.name == "nt":
        return
    with suppress(OSError):
        descriptor = _retried(os.open, folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _retried(os.fsync, descriptor)
        finally:
            _close(descriptor)
