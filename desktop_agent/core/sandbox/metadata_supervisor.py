"""Changes modes, owners, attributes and times for a command that is confined by Landlock.

Landlock has no rules for these calls, and a system call filter sees no paths. So the filter (`seccomp`) passes each of
`CALLS` to this supervisor (seccomp_unotify(2)), a thread of `landlock_launcher`. The supervisor opens the file as the
caller would, and checks where the file is. If the command can write there, the supervisor makes the change through the
descriptor. Otherwise the caller gets EPERM. The caller's own call is never executed, because its path could lead
elsewhere after the check.

Magic links in `/proc` (`/proc/PID/root`, `cwd`) are not followed, because they could lead where the caller cannot go.
Names of the caller's own descriptors (`/proc/self/fd/3`) are resolved to those descriptors.

Behind bubblewrap, mounts decide what can be changed, and the supervisor only sets attributes, such as access lists.

A `umask` that would make new files writable for all is reported as set, but not set. Most callers only read the mask
and restore it.

This module imports as little as possible, and nothing of the application. Needs Linux 5.19.
"""

import ctypes
import errno
import os
import select
import struct
import sys
from _collections_abc import Callable  # `collections.abc` would load `collections`, too
from types import MappingProxyType

assert sys.platform == "linux"

_RECEIVE, _SEND, _IS_VALID, _SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082102, 0x40082104
_WAKE_ON_SAME_CPU = 1
_REQUEST, _ANSWER = struct.Struct("<QIIiIQ6Q"), struct.Struct("<QqiI")
_OPENAT2, _NO_MAGIC_LINKS = 437, 0x2
_HERE, _NO_FOLLOW, _EMPTY_PATH = -100, 0x100, 0x1000
_LONGEST_PATH, _LONGEST_NAME, _LONGEST_VALUE = 4096, 256, 65536
_UNTAGGED = (1 << 56) - 1
"""Arm ignores the highest byte of an address, and some programs store a tag there."""
_ACL_NAMES = (b"system.posix_acl_access", b"system.posix_acl_default")
_ACL_OTHER, _ACL_WRITE = 0x20, 2

_libc = ctypes.CDLL(None, use_errno=True)

_Change = Callable[[bytes], None]
_ReadChange = Callable[["_Caller", int], _Change]


def _mode(caller: "_Caller", first: int) -> _Change:
    mode = caller.arguments[first] & 0o7777
    return lambda path: os.chmod(path, mode)  # noqa: PTH101 - importing pathlib takes longer than all of this


def _owner(caller: "_Caller", first: int) -> _Change:
    user, group = (_signed(number) for number in caller.arguments[first : first + 2])
    return lambda path: os.chown(path, user, group)


def _attribute(caller: "_Caller", first: int) -> _Change:
    name, value, size, flags = caller.arguments[first : first + 4]
    return _new_attribute(caller, name, value, size, _signed(flags))


def _attribute_in_struct(caller: "_Caller", first: int) -> _Change:
    name, at, size = caller.arguments[first : first + 3]
    if size < 16:
        raise OSError(errno.EINVAL, "structure")
    value, length, flags = struct.unpack("<QII", caller.memory(at, 16))
    return _new_attribute(caller, name, value, length, flags)


def _new_attribute(caller: "_Caller", name_at: int, value_at: int, size: int, flags: int) -> _Change:
    if size > _LONGEST_VALUE:
        raise OSError(errno.E2BIG, "value")
    name = _attribute_name(caller, name_at)
    value = caller.memory(value_at, size) if size else b""
    if name in _ACL_NAMES and _lets_everybody_write(value):
        raise PermissionError(errno.EPERM, "writable by everybody")
    return lambda path: os.setxattr(path, name, value, flags)


def _no_attribute(caller: "_Caller", first: int) -> _Change:
    name = _attribute_name(caller, caller.arguments[first])
    return lambda path: os.removexattr(path, name)


def _times(caller: "_Caller", first: int) -> _Change:
    address = caller.arguments[first]
    return _new_times(caller.memory(address, 32) if address else None)


def _times_in_seconds(caller: "_Caller", first: int) -> _Change:
    if not (address := caller.arguments[first]):
        return _new_times(None)
    access, change = struct.unpack("<qq", caller.memory(address, 16))
    return _new_times(struct.pack("<qqqq", access, 0, change, 0))


def _times_in_microseconds(caller: "_Caller", first: int) -> _Change:
    if not (address := caller.arguments[first]):
        return _new_times(None)
    numbers = struct.unpack("<qqqq", caller.memory(address, 32))
    if not all(0 <= part < 1_000_000 for part in numbers[1::2]):
        raise OSError(errno.EINVAL, "microseconds")
    return _new_times(struct.pack("<qqqq", numbers[0], numbers[1] * 1000, numbers[2], numbers[3] * 1000))


def _new_times(times: bytes | None) -> _Change:
    def apply(path: bytes) -> None:
        if _libc.utimensat(_HERE, path, times, 0) != 0:
            raise OSError(ctypes.get_errno(), "utimensat")

    return apply


class SystemCall:
    """A system call that changes file metadata. `change` reads the arguments from `first` on."""

    def __init__(
        self,
        x86_64: int | None,
        aarch64: int | None,
        named: str,
        change: _ReadChange,
        first: int,
        *,
        flags: int | None = None,
    ) -> None:
        self.numbers = (x86_64, aarch64)
        self.named = named
        """By `path`, `link` (the last link is not followed), `descriptor`, or `at` (a folder's descriptor, a path)."""
        self.change = change
        self.mode = first if change is _mode else None
        self.sets_attributes = change in (_attribute, _attribute_in_struct)
        self.is_of_times = change in (_times, _times_in_seconds, _times_in_microseconds)
        self.first = first
        self.flags = flags


CALLS = MappingProxyType(
    {
        "chmod": SystemCall(90, None, "path", _mode, 1),
        "chown": SystemCall(92, None, "path", _owner, 1),
        "fchmod": SystemCall(91, 52, "descriptor", _mode, 1),
        "fchmodat": SystemCall(268, 53, "at", _mode, 2),
        "fchmodat2": SystemCall(452, 452, "at", _mode, 2, flags=3),
        "fchown": SystemCall(93, 55, "descriptor", _owner, 1),
        "fchownat": SystemCall(260, 54, "at", _owner, 2, flags=4),
        "fremovexattr": SystemCall(199, 16, "descriptor", _no_attribute, 1),
        "fsetxattr": SystemCall(190, 7, "descriptor", _attribute, 1),
        "futimesat": SystemCall(261, None, "at", _times_in_microseconds, 2),
        "lchown": SystemCall(94, None, "link", _owner, 1),
        "lremovexattr": SystemCall(198, 15, "link", _no_attribute, 1),
        "lsetxattr": SystemCall(189, 6, "link", _attribute, 1),
        "removexattr": SystemCall(197, 14, "path", _no_attribute, 1),
        "removexattrat": SystemCall(466, 466, "at", _no_attribute, 3, flags=2),
        "setxattr": SystemCall(188, 5, "path", _attribute, 1),
        "setxattrat": SystemCall(463, 463, "at", _attribute_in_struct, 3, flags=2),
        "utime": SystemCall(132, None, "path", _times_in_seconds, 1),
        "utimensat": SystemCall(280, 88, "at", _times, 2, flags=3),
        "utimes": SystemCall(235, None, "path", _times_in_microseconds, 1),
    }
)

UMASK = (95, 166)


def serve(listener: int, writable: frozenset[bytes] | None) -> None:
    """Answer until all processes under the filter have ended. Blocks. Close the listener then, or callers hang.

    `writable`: files and folders, absolute, without symbolic links; None if mounts decide.
    """
    column = {"x86_64": 0, "aarch64": 1}[os.uname().machine]
    calls = {call.numbers[column]: call for call in CALLS.values()}
    request = ctypes.create_string_buffer(_REQUEST.size)
    _ioctl(listener, _SET_FLAGS, ctypes.c_ulong(_WAKE_ON_SAME_CPU))  # faster, since Linux 6.6
    while True:
        ctypes.memset(request, 0, len(request))
        if not _ioctl(listener, _RECEIVE, request):
            if ctypes.get_errno() in (errno.EINTR, errno.ENOENT) and not _is_deserted(listener):
                continue
            return
        identity, pid, _, number, _, _, *arguments = _REQUEST.unpack(request)
        caller = _Caller(listener, identity, pid, arguments)
        value = error = 0
        if number == UMASK[column]:
            value = caller.umask()
        else:
            error = _answer(calls[number], caller, writable)
        _ioctl(listener, _SEND, _ANSWER.pack(identity, value, -error, 0))  # fails if the caller has ended meanwhile


def _answer(call: SystemCall, caller: "_Caller", writable: frozenset[bytes] | None) -> int:
    try:
        file = caller.open(call)
        change = call.change(caller, call.first)
        if not caller.is_waiting() or not (writable is None or _is_within(file, writable)):
            return errno.EPERM
        change(b"/proc/self/fd/%d" % file)
    except OSError as error:
        return error.errno or errno.EPERM
    except Exception:  # noqa: BLE001 - whatever it is, the call is not made, and the next one is answered
        return errno.EPERM
    finally:
        caller.close()
    return 0


class _Caller:
    def __init__(self, listener: int, identity: int, pid: int, arguments: list[int]) -> None:
        self.arguments = arguments
        self._listener = listener
        self._identity = identity
        self._proc = f"/proc/{pid}"
        self._opened: list[int] = []
        self._memory = -1

    def is_waiting(self) -> bool:
        """Whether the call still waits. If not, the memory may be another thread's, because thread ids are reused."""
        return _ioctl(self._listener, _IS_VALID, ctypes.byref(ctypes.c_uint64(self._identity)))

    def close(self) -> None:
        for descriptor in self._opened:
            os.close(descriptor)

    def umask(self) -> int:
        try:
            with open(f"{self._proc}/status", "rb") as file:  # noqa: PTH123 - importing pathlib takes longer
                line = next(line for line in file if line.startswith(b"Umask:"))
            return int(line.split()[1], 8)
        except (OSError, StopIteration, ValueError, IndexError):
            return 0o022

    def memory(self, address: int, size: int) -> bytes:
        read = self._read(address, size)
        if len(read) != size:
            raise OSError(errno.EFAULT, "memory")
        return read

    def text(self, address: int, most: int, too_long: int) -> bytes:
        """Return the bytes up to a NUL. Raises `OSError` without one: `too_long` if there are at least `most` bytes."""
        read = self._read(address, most)
        text, end, _ = read.partition(b"\0")
        if not end:
            raise OSError(too_long if len(read) == most else errno.EFAULT, "text")
        return text

    def open(self, call: SystemCall) -> int:
        flags = 0 if call.flags is None else self.arguments[call.flags] & 0xFFFFFFFF
        if flags & ~(_NO_FOLLOW | _EMPTY_PATH):
            raise OSError(errno.EINVAL, "flags")
        is_followed = not flags & _NO_FOLLOW and call.named != "link"
        folder, *rest = self.arguments
        if call.named == "descriptor":
            return self._descriptor(_signed(folder))
        if call.named != "at":
            return self._path(_HERE, folder, is_followed=is_followed)
        folder, address = _signed(folder), rest[0]
        if not address and folder != _HERE and (flags & _EMPTY_PATH or call.is_of_times):
            return self._descriptor(folder)
        return self._path(folder, address, is_followed=is_followed, may_be_empty=bool(flags & _EMPTY_PATH))

    def _path(self, folder: int, address: int, *, is_followed: bool, may_be_empty: bool = False) -> int:
        path = self.text(address, _LONGEST_PATH, errno.ENAMETOOLONG)
        if not path and may_be_empty:
            return self._folder(folder)
        if is_followed and (descriptor := self._descriptor_named(path)) is not None:
            return self._descriptor(descriptor)
        flags = os.O_PATH | os.O_CLOEXEC | (0 if is_followed else os.O_NOFOLLOW)
        how = struct.pack("<QQQ", flags, 0, _NO_MAGIC_LINKS)
        base = _HERE if path.startswith(b"/") else self._folder(folder)
        opened = int(_libc.syscall(_OPENAT2, base, path, how, len(how)))
        if opened < 0:
            raise OSError(ctypes.get_errno(), "openat2")
        self._opened.append(opened)
        return opened

    def _descriptor_named(self, path: bytes) -> int | None:
        own = (b"/proc/self/fd/", b"/proc/thread-self/fd/", b"/dev/fd/", b"%s/fd/" % self._proc.encode())
        folder, slash, name = path.rpartition(b"/")
        return int(name) if folder + slash in own and name.isdigit() else None

    def _folder(self, descriptor: int) -> int:
        return self._open(f"{self._proc}/cwd", os.O_PATH) if descriptor == _HERE else self._descriptor(descriptor)

    def _descriptor(self, descriptor: int) -> int:
        try:
            return self._open(f"{self._proc}/fd/{descriptor}", os.O_PATH)
        except FileNotFoundError:
            raise OSError(errno.EBADF, "descriptor") from None

    def _open(self, path: str, kind: int) -> int:
        opened = os.open(path, kind | os.O_CLOEXEC)
        self._opened.append(opened)
        return opened

    def _read(self, address: int, size: int) -> bytes:
        if self._memory < 0:
            self._memory = self._open(f"{self._proc}/mem", os.O_RDONLY)
        try:
            return os.pread(self._memory, size, address & _UNTAGGED)
        except OSError:
            raise OSError(errno.EFAULT, "memory") from None


def _is_within(file: int, writable: frozenset[bytes]) -> bool:
    """Whether the open file is in a writable place. A pipe or another file without a path is the command's own."""
    place = os.readlink(b"/proc/self/fd/%d" % file)  # noqa: PTH115 - importing pathlib takes longer
    if not place.startswith(b"/"):
        return place.startswith((b"pipe:", b"socket:"))
    if place.startswith(b"/memfd:"):
        return os.fstat(file).st_nlink == 0
    while place:
        if place in writable:
            return True
        place = place.rpartition(b"/")[0]
    return False


def _attribute_name(caller: _Caller, address: int) -> bytes:
    name = caller.text(address, _LONGEST_NAME, errno.ERANGE)
    if name not in _ACL_NAMES and not name.startswith(b"user."):
        raise PermissionError(errno.EPERM, "attribute")
    return name


def _lets_everybody_write(acl: bytes) -> bool:
    entries = acl[4:]  # after the version: kind, permissions, who (linux/posix_acl_xattr.h)
    entries = entries[: len(entries) // 8 * 8]
    return any(kind == _ACL_OTHER and may & _ACL_WRITE for kind, may, _ in struct.iter_unpack("<HHI", entries))


def _is_deserted(listener: int) -> bool:
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    return any(event & (select.POLLHUP | select.POLLNVAL) for _, event in poll.poll(0))


def _ioctl(listener: int, operation: int, argument: object) -> bool:
    return bool(_libc.ioctl(listener, ctypes.c_ulong(operation), argument) == 0)


def _signed(number: int) -> int:
    number &= 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number
