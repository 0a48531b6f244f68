"""Replaces the content of files atomically, only if it is still as expected. Keeps mode, owner and links."""

import ctypes
import errno
import os
import secrets
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Final

from desktop_agent.core.protocol.model import FileKind
from desktop_agent.core.system.files import FileState, give_extras, read_state
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_folder
from desktop_agent.core.system.staged_file import (
    BLOCK_BYTES,
    O_BINARY,
    O_CLOEXEC,
    O_NOFOLLOW,
    close,
    read_all,
    retried,
    sync_folder,
    temporary_beside,
    write_all,
)

_AT_FDCWD = -100
_NOREPLACE = 1
_EXCHANGE = 2
_UNKNOWN = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})


class ExchangeUnsupportedError(Exception): ...


def exchange(one: Path, other: Path) -> None:
    """Swap two existing names in one step. Raises `OSError` or `ExchangeUnsupportedError`."""
    _rename(one, other, _EXCHANGE)


def rename_to_free(source: Path, target: Path) -> None:
    """Rename to a name that must be free. Raises `FileExistsError`, `OSError`, or `ExchangeUnsupportedError`."""
    _rename(source, target, _NOREPLACE)


def _rename(source: Path, target: Path, flags: int) -> None:
    libc = _libc()
    if libc is None:
        raise ExchangeUnsupportedError
    while libc.renameat2(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flags) != 0:
        code = ctypes.get_errno()
        if code in _UNKNOWN:
            raise ExchangeUnsupportedError
        if code != errno.EINTR:
            raise OSError(code, os.strerror(code), str(source), None, str(target))


@cache
def _libc() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    return libc if hasattr(libc, "renameat2") else None


MEANWHILE = "it was changed at this very moment"


class ChangedError(OSError): ...


class Anything(Enum):
    ANYTHING = "anything"


ANYTHING: Final = Anything.ANYTHING
Expected = FileState | Anything | None
"""What a write may displace; None: nothing may be there."""


def place(temporary: Path, target: Path, before: Expected) -> None:
    """Rename `temporary` to `target`. Raises `ChangedError`, without a change, unless the state there was `before`."""
    if before is ANYTHING:
        retried(os.replace, temporary, target)
        return
    try:
        if before is None:
            rename_to_free(temporary, target)
            return
        exchange(temporary, target)
    except ExchangeUnsupportedError:
        retried(os.replace, temporary, target)
        return
    except (FileExistsError, FileNotFoundError) as error:
        raise ChangedError(errno.EBUSY, MEANWHILE) from error
    if _is_still(temporary, before):
        with suppress(OSError):  # the new file is placed; a leftover is removed later
            retried(os.unlink, temporary)
        return
    try:
        exchange(temporary, target)
    except FileNotFoundError:  # another program has removed ours already
        rename_to_free(temporary, target)
    except OSError:  # the other program's file stays
        retried(os.rename, temporary, _kept_beside(target))
        raise
    raise ChangedError(errno.EBUSY, MEANWHILE)


def remove(path: Path, before: Expected) -> None:
    """Remove a file. Raises `ChangedError`, and removes nothing, unless the state was `before`."""
    if before is ANYTHING:
        retried(os.unlink, path)
        return
    aside = temporary_beside(path)
    try:
        rename_to_free(path, aside)
    except ExchangeUnsupportedError:
        retried(os.unlink, path)
        return
    if _is_still(aside, before):
        try:
            retried(os.unlink, aside)
        except OSError:
            rename_to_free(aside, path)
            raise
        return
    try:
        rename_to_free(aside, path)
    except FileExistsError as error:  # two other writes: the later one gets the name, the first is saved beside it
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


_OWN_ATTRIBUTES = ("user.", "system.posix_acl_")


def change_mode(path: Path, descriptor: int, mode: int) -> None:
    if sys.platform == "win32":
        retried(os.chmod, path, mode)
    else:
        retried(os.fchmod, descriptor, mode)


def change_mode_of(path: Path, mode: int) -> None:
    """Change a pipe's or socket's mode without opening it. Never follows a symlink that replaced the file."""
    if sys.platform != "linux":
        retried(os.chmod, path, mode, follow_symlinks=os.chmod not in os.supports_follow_symlinks)
        return
    descriptor = retried(os.open, path, os.O_PATH | O_NOFOLLOW | O_CLOEXEC)
    try:
        if not stat.S_ISLNK(retried(os.fstat, descriptor).st_mode):
            retried(os.chmod, f"/proc/self/fd/{descriptor}", mode)
    finally:
        close(descriptor)


def require_mode(path: Path, descriptor: int, mode: int) -> None:
    if stat.S_IMODE(retried(os.fstat, descriptor).st_mode) != mode:
        change_mode(path, descriptor, mode)


def take_over(target: Path, descriptor: int, old: os.stat_result) -> None:
    if os.name == "nt":
        return
    new = retried(os.fstat, descriptor)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        retried(os.fchown, descriptor, old.st_uid, old.st_gid)
    if sys.platform != "linux":
        return
    wanted = _attributes(target)
    for name in _attributes(descriptor):
        if name not in wanted and name.startswith(_OWN_ATTRIBUTES):  # an ACL that the folder gives to new files
            retried(os.removexattr, descriptor, name)
    for name in wanted:
        try:
            retried(os.setxattr, descriptor, name, retried(os.getxattr, target, name))
        except OSError:
            if name.startswith(_OWN_ATTRIBUTES):
                raise


def _attributes(file: Path | int) -> list[str]:
    if sys.platform != "linux":
        return []
    try:
        return retried(os.listxattr, file)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return []
        raise


Check = Callable[[], None]

KeepsNames = Callable[[os.stat_result], bool]
"""Whether a write may change this file under all its names (hard links). Called only for a file with several names."""

_NAMES_ELSEWHERE = "it has other names (hard links) that must keep their content, and its folder takes no new file"


def write_state(
    path: Path,
    state: FileState | None,
    *,
    check: Check = lambda: None,
    keeps_names: KeepsNames = lambda _: False,
    before: Expected = ANYTHING,
) -> None:
    """Bring `path` to `state`: a file, a link, an empty folder, a pipe, or (None) nothing. Creates missing parents.

    `check` is called just before the first change; its exception stops the write. If another program writes later, its
    version is restored and `ChangedError` raised; without `renameat2`, only `check` protects the file.

    Hard links are kept if `keeps_names` allows it; otherwise `path` becomes a new file. Raises `OSError`.
    """
    is_folder = path.is_dir() and not path.is_symlink()
    if state is None:
        with suppress(FileNotFoundError):
            check()
            if is_folder:
                retried(os.rmdir, path)
            else:
                remove(path, before)
            sync_folder(path.parent)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if state.kind == "folder":
        check()
        _make_folder(path, state.mode, is_there=is_folder)
        return
    if is_folder:
        retried(os.rmdir, path)
        before = ANYTHING if before is ANYTHING else None
    if state.kind == "symlink":
        target = os.fsdecode(state.content)
        _replace_with(lambda temporary: retried(os.symlink, target, temporary), path, check, before)
    elif state.kind != "file":
        _replace_special(path, state.kind, state.mode, check, before)
    elif _is_special(path):
        # The new link replaces the symlink itself, not the symlink's target.
        _write_by_rename(path, state.content, state.mode, None, check, before)
    else:
        _write(path, state.content, state.mode, check, keeps_names, before)


def give_state_extras(path: Path, state: FileState) -> str:
    if state.extras is None or os.name == "nt":
        return ""
    missing = give_extras(path, state.extras)
    if state.kind != "symlink" and stat.S_IMODE(retried(os.lstat, path).st_mode) != state.mode:
        change_mode_of(path, state.mode)
    return missing


def write_atomically(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Replace the content of `path`, following a symlink. A crash leaves the old or the new content, never a mix.

    `mode` None keeps the permission bits. After an `OSError`, the file is unchanged. Files with links, in read-only
    folders or of other owners are written in place: there, a crash can leave a mix, which `is_torn` recognises.
    """
    _write(Path(os.path.realpath(path)), content, mode, lambda: None, lambda _: True)


def write_private(path: Path, content: bytes) -> None:
    """Like `write_atomically`, with a file and a folder that only their owner can access."""
    make_private_folder(path.parent)
    write_atomically(path, content, mode=PRIVATE_FILE)


def _write(
    target: Path, content: bytes, mode: int | None, check: Check, keeps_names: KeepsNames, before: Expected = ANYTHING
) -> None:
    """Write a file, but never through a symlink, even if a symlink replaces the file meanwhile."""
    try:
        old = retried(os.lstat, target)
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


def _write_by_rename(
    target: Path, content: bytes, mode: int | None, old: os.stat_result | None, check: Check, before: Expected
) -> None:
    def make(temporary: Path) -> None:
        # A replacement stays private until it has its final mode; a plain new file gets what the umask leaves of 0666.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_CLOEXEC | O_BINARY
        descriptor = retried(os.open, temporary, flags, 0o666 if mode is None else 0o600)
        try:
            write_all(descriptor, content)
            if old is not None:
                take_over(target, descriptor, old)
            if mode is not None:
                change_mode(temporary, descriptor, mode)  # after the ACL, because setting one may change the mode bits
            retried(os.fsync, descriptor)
        finally:
            close(descriptor)

    _replace_with(make, target, check, before)


def _write_in_place(target: Path, content: bytes, mode: int | None, old: os.stat_result, expected: Expected) -> None:
    descriptor = retried(os.open, target, os.O_RDWR | O_CLOEXEC | O_BINARY | O_NOFOLLOW)
    try:
        now = retried(os.fstat, descriptor)
        if (now.st_dev, now.st_ino, now.st_nlink) != (old.st_dev, old.st_ino, old.st_nlink):
            raise OSError(errno.EBUSY, "it was exchanged at this very moment")
        old_mode = stat.S_IMODE(now.st_mode)
        before = read_all(descriptor)
        if isinstance(expected, FileState) and before != expected.content:
            raise ChangedError(errno.EBUSY, MEANWHILE)
        is_overwritten = False
        try:
            # The part beyond the old length is written first, so that a full disk shows before anything old is
            # overwritten.
            _write_at(descriptor, len(before), content[len(before) :])
            retried(os.fsync, descriptor)
            is_overwritten = True
            _write_at(descriptor, 0, content[: len(before)])
            retried(os.ftruncate, descriptor, len(content))
            require_mode(target, descriptor, old_mode if mode is None else mode)
            retried(os.fsync, descriptor)
        except BaseException:
            if is_overwritten:
                _write_at(descriptor, 0, before)
            retried(os.ftruncate, descriptor, len(before))
            require_mode(target, descriptor, old_mode)
            retried(os.fsync, descriptor)
            raise
    finally:
        close(descriptor)


def _write_at(descriptor: int, offset: int, content: bytes) -> None:
    retried(os.lseek, descriptor, offset, os.SEEK_SET)
    write_all(descriptor, content)


def is_torn(current: bytes, before: bytes, after: bytes) -> bool:
    if not min(len(before), len(after)) <= len(current) <= max(len(before), len(after)):
        return False
    for start in range(0, len(current), BLOCK_BYTES):
        block, old, new = (text[start : start + BLOCK_BYTES] for text in (current, before, after))
        if block in (old, new):
            continue
        if any(block[at : at + 1] not in (old[at : at + 1], new[at : at + 1]) for at in range(len(block))):
            return False
    return True


def _make_folder(path: Path, mode: int, *, is_there: bool) -> None:
    if not is_there:
        with suppress(FileNotFoundError):
            retried(os.unlink, path)
        retried(os.mkdir, path)
    if stat.S_IMODE(retried(os.lstat, path).st_mode) != mode:
        retried(os.chmod, path, mode)
    sync_folder(path.parent)


def _replace_with(make: Callable[[Path], None], path: Path, check: Check, before: Expected) -> None:
    temporary = temporary_beside(path)
    try:
        make(temporary)
        check()
        place(temporary, path, before)
    except BaseException:
        with suppress(OSError):
            retried(os.unlink, temporary)
        raise
    sync_folder(path.parent)


def _is_special(path: Path) -> bool:
    try:
        return not stat.S_ISREG(retried(os.lstat, path).st_mode)
    except FileNotFoundError:
        return False


def _replace_special(path: Path, kind: FileKind, mode: int, check: Check, before: Expected) -> None:
    def make(temporary: Path) -> None:
        if sys.platform == "win32":
            raise OSError(errno.ENOTSUP, f"this system has no {kind}")
        if kind == "fifo":
            retried(os.mkfifo, temporary, 0o600)
        else:
            retried(os.mknod, temporary, stat.S_IFSOCK | 0o600)
        change_mode_of(temporary, mode)

    _replace_with(make, path, check, before)
