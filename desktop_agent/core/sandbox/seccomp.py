"""A system call filter for what mounts and Landlock leave open: sockets, other processes, mounts, modes, owners.

`build_filter` returns a program for the kernel's `struct sock_filter` machine (seccomp(2), bpf(4)). A forbidden call
fails with an error. Calls of foreign architectures end the process, because their numbers mean something else.

Unix sockets: a filter cannot see addresses, so no sockets can be created except connected pairs. Datagram pairs are
refused, too, because they can send to any address.

Modes that are set-user-ID, set-group-ID or writable for all are refused, for new files too. `openat2` has its mode
behind a pointer and is reported as missing; programs fall back to `openat`. A supervisor (`metadata_supervisor`) sets
access lists and answers `umask`, because they could grant the same rights. Without a supervisor, access lists and
attributes cannot be set, and masks are not checked.

A command without its own namespaces (`is_alone`) shares the machine's processes. For it, calls that change another
process are refused, and so are message queues, semaphores and shared memory. Calls that change file metadata go to the
supervisor. Without a supervisor, owners, attributes and modes for others than the owner are refused.
"""

import errno
import platform
import struct
import sys
from collections.abc import Mapping

from msgspec import Struct

assert sys.platform == "linux"

from desktop_agent.core.sandbox.metadata_supervisor import CALLS, UMASK

_LOAD, _EQUAL, _AT_LEAST, _HAS_BITS, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _ASK, _ERRNO, _KILL = 0x7FFF0000, 0x7FC00000, 0x00050000, 0x80000000
_NUMBER, _ARCH = 0, 4

_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_SOCK_STREAM, _SOCK_SEQPACKET = 1, 5
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_NEW_NAMESPACES = 0x7E020000
_SPECIAL_OR_FOR_ALL = 0o7002
"""Set-uid, set-gid, sticky, and writable by everybody: forbidden for files everywhere."""
_FOR_OTHERS = 0o7077
_SET_ID = 0o6000
_WRITABLE_FOR_ALL = 0o002
_CREATES = 0o100 | 0o20000000
"""`O_CREAT`, and the bit of `O_TMPFILE` that is not `O_DIRECTORY`: the mode argument matters only with these."""
_OPENAT2 = 437
# name: (x86_64, aarch64, which argument has the flags, which the mode)
_MAKING: Mapping[str, tuple[int | None, int | None, int | None, int]] = {
    "creat": (85, None, None, 1),
    "mknod": (133, None, None, 1),
    "mknodat": (259, 33, None, 2),
    "open": (2, None, 1, 2),
    "openat": (257, 56, 2, 3),
}

# name: (x86_64, aarch64); None: the architecture has no such call.
_NEVER: Mapping[str, tuple[int | None, int | None]] = {
    "acct": (163, 89), "add_key": (248, 217), "bpf": (321, 280), "chroot": (161, 51), "clock_settime": (227, 112),
    "delete_module": (176, 106), "file_setattr": (469, 469), "finit_module": (313, 273), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fsopen": (430, 430), "fspick": (433, 433), "init_module": (175, 105),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "io_uring_setup": (425, 425),
    "ioperm": (173, None), "iopl": (172, None), "kcmp": (312, 272), "kexec_file_load": (320, 294),
    "kexec_load": (246, 104), "keyctl": (250, 219), "mount": (165, 40), "mount_setattr": (442, 442),
    "move_mount": (429, 429), "open_by_handle_at": (304, 265), "open_tree": (428, 428), "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241), "pidfd_getfd": (438, 438), "pivot_root": (155, 41), "process_madvise": (440, 440),
    "process_mrelease": (448, 448), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "ptrace": (101, 117), "quotactl": (179, 60), "quotactl_fd": (443, 443), "reboot": (169, 142),
    "request_key": (249, 218), "setdomainname": (171, 162), "sethostname": (170, 161), "setns": (308, 268),
    "settimeofday": (164, 170), "swapoff": (168, 225), "swapon": (167, 224), "syslog": (103, 116),
    "umount2": (166, 39), "unshare": (272, 97), "userfaultfd": (323, 282), "vhangup": (153, 58),
}  # fmt: skip
_SHARED_OBJECTS: Mapping[str, tuple[int | None, int | None]] = {
    "mq_getsetattr": (245, 185), "mq_notify": (244, 184), "mq_open": (240, 180), "mq_timedreceive": (243, 183),
    "mq_timedsend": (242, 182), "mq_unlink": (241, 181), "msgctl": (71, 187), "msgget": (68, 186),
    "msgrcv": (70, 188), "msgsnd": (69, 189), "semctl": (66, 191), "semget": (64, 190), "semop": (65, 193),
    "semtimedop": (220, 192), "shmat": (30, 196), "shmctl": (31, 195), "shmdt": (67, 197), "shmget": (29, 194),
}  # fmt: skip
"""Calls for objects that all processes of a user share, because the machine identifies them by number."""
# name: (x86_64, aarch64, which argument names the process; 0 is the caller)
_OF_A_PROCESS: Mapping[str, tuple[int, int, int]] = {
    "ioprio_set": (251, 30, 1), "migrate_pages": (256, 238, 0), "move_pages": (279, 239, 0),
    "prlimit64": (302, 261, 0), "sched_setaffinity": (203, 122, 0), "sched_setattr": (314, 274, 0),
    "sched_setparam": (142, 118, 0), "sched_setscheduler": (144, 119, 0), "setpriority": (141, 140, 1),
}  # fmt: skip


class _Machine(Struct, frozen=True):
    column: int
    arch: int
    clone: int
    clone3: int
    ioctl: int
    seccomp: int
    socket: int
    socketpair: int


_MACHINES = {
    "x86_64": _Machine(
        column=0, arch=0xC000003E, clone=56, clone3=435, ioctl=16, seccomp=317, socket=41, socketpair=53
    ),
    "aarch64": _Machine(
        column=1, arch=0xC00000B7, clone=220, clone3=435, ioctl=29, seccomp=277, socket=198, socketpair=199
    ),
}


def build_filter(
    *, is_alone: bool, is_supervised: bool = False, is_read_only: bool = False, machine: str | None = None
) -> bytes | None:
    """Return the filter as the kernel reads it; None for a machine with unknown call numbers.

    `is_alone`: the command has no namespaces of its own. A listener then handles file metadata; without one, owners,
    attributes and modes for others are refused; with `is_read_only`, all modes.
    """
    known = _MACHINES.get(machine or platform.machine())
    if known is None:
        return None
    program = _Program()
    program.load(_ARCH)
    program.unless_equal(known.arch, _KILL)
    program.load(_NUMBER)
    if known.column == 0:
        program.if_at_least(0x40000000, _ERRNO | errno.EPERM)  # the x32 numbers
    program.refuse(_column(_NEVER, known), errno.EPERM)
    program.refuse([known.clone3], errno.ENOSYS)  # its flags are behind a pointer; the C library falls back to clone
    program.refuse([_OPENAT2], errno.ENOSYS)
    _guard_new_files(program, known, is_supervised=is_supervised)
    if is_alone:
        program.refuse(_column(_SHARED_OBJECTS, known), errno.EPERM)
        for *numbers, argument in _OF_A_PROCESS.values():  # only itself: 0 is the caller or its group
            program.when(numbers[known.column], argument, [(_EQUAL, 0, _ALLOW)], otherwise=_ERRNO | errno.EPERM)
        _guard_metadata(program, known, is_supervised=is_supervised, is_read_only=is_read_only)
    else:
        _guard_modes(program, known, is_supervised=is_supervised)
    program.when(known.clone, 0, [(_HAS_BITS, _NEW_NAMESPACES, _ERRNO | errno.EPERM)], otherwise=_ALLOW)
    program.when(
        known.ioctl, 1, [(_EQUAL, code, _ERRNO | errno.EPERM) for code in (_TIOCSTI, _TIOCLINUX)], otherwise=_ALLOW
    )
    pairs = [(_EQUAL, kind, _ALLOW) for kind in (_SOCK_STREAM, _SOCK_SEQPACKET)]
    program.when(known.socketpair, 1, pairs, otherwise=_ERRNO | errno.EPERM, mask=0xF)
    families = [_AF_NETLINK, *(() if is_alone else (_AF_INET, _AF_INET6))]
    program.when(known.socket, 0, [(_EQUAL, family, _ALLOW) for family in families], otherwise=_ERRNO | errno.EPERM)
    program.finish(_ALLOW)
    return program.code()


def listener_call() -> int:
    return _MACHINES[platform.machine()].seccomp


def _guard_new_files(program: "_Program", machine: _Machine, *, is_supervised: bool) -> None:
    for x86_64, aarch64, flags, mode in _MAKING.values():
        number = (x86_64, aarch64)[machine.column]
        if number is not None:
            program.when_creating(number, flags, mode, _SET_ID, _ERRNO | errno.EPERM)
    if is_supervised:
        program.when(UMASK[machine.column], 0, [(_HAS_BITS, _WRITABLE_FOR_ALL, _ALLOW)], otherwise=_ASK)


def _guard_modes(program: "_Program", machine: _Machine, *, is_supervised: bool) -> None:
    """Refuse dangerous modes. Mounts decide which files can be changed."""
    dangerous = [(_HAS_BITS, _SPECIAL_OR_FOR_ALL, _ERRNO | errno.EPERM)]
    for call in CALLS.values():
        number = call.numbers[machine.column]
        if number is not None and call.mode is not None:
            program.when(number, call.mode, dangerous, otherwise=_ALLOW)
        elif number is not None and call.sets_attributes:
            # As on a file system without access lists: programs that copy files then continue with modes.
            program.answer(number, _ASK if is_supervised else _ERRNO | errno.EOPNOTSUPP)


def _guard_metadata(program: "_Program", machine: _Machine, *, is_supervised: bool, is_read_only: bool) -> None:
    refused = _ERRNO | errno.EPERM
    for call in CALLS.values():
        number = call.numbers[machine.column]
        if number is None:
            continue
        if call.mode is not None and (is_supervised or not is_read_only):
            forbidden, otherwise = (_SPECIAL_OR_FOR_ALL, _ASK) if is_supervised else (_FOR_OTHERS, _ALLOW)
            program.when(number, call.mode, [(_HAS_BITS, forbidden, refused)], otherwise=otherwise)
        elif is_supervised:
            program.answer(number, _ASK)
        elif not call.is_of_times:
            program.answer(number, refused)


def _column(calls: Mapping[str, tuple[int | None, int | None]], machine: _Machine) -> list[int]:
    return [number for numbers in calls.values() if (number := numbers[machine.column]) is not None]


class _Program:
    def __init__(self) -> None:
        self._instructions: list[tuple[int, int, int, int]] = []

    def load(self, offset: int) -> None:
        self._instructions.append((_LOAD, 0, 0, offset))

    def finish(self, verdict: int) -> None:
        self._instructions.append((_RETURN, 0, 0, verdict))

    def unless_equal(self, value: int, verdict: int) -> None:
        self._instructions.append((_EQUAL, 1, 0, value))
        self.finish(verdict)

    def if_at_least(self, value: int, verdict: int) -> None:
        self._instructions.append((_AT_LEAST, 0, 1, value))
        self.finish(verdict)

    def answer(self, number: int, verdict: int) -> None:
        self._instructions.append((_EQUAL, 0, 1, number))
        self.finish(verdict)

    def refuse(self, numbers: list[int], error: int) -> None:
        for number in numbers:
            self.answer(number, _ERRNO | error)

    def when(
        self, number: int, argument: int, tests: list[tuple[int, int, int]], *, otherwise: int, mask: int | None = None
    ) -> None:
        body = [(_LOAD, 0, 0, 16 + 8 * argument)]
        if mask is not None:
            body.append((_AND, 0, 0, mask))
        for test, value, verdict in tests:
            body += [(test, 0, 1, value), (_RETURN, 0, 0, verdict)]
        body.append((_RETURN, 0, 0, otherwise))
        self._instructions += [(_EQUAL, 0, len(body), number), *body]

    def when_creating(self, number: int, flags: int | None, mode: int, bits: int, verdict: int) -> None:
        body = [(_LOAD, 0, 0, 16 + 8 * mode), (_HAS_BITS, 0, 1, bits), (_RETURN, 0, 0, verdict)]
        if flags is not None:
            body = [(_LOAD, 0, 0, 16 + 8 * flags), (_HAS_BITS, 0, len(body), _CREATES), *body]
        body.append((_RETURN, 0, 0, _ALLOW))
        self._instructions += [(_EQUAL, 0, len(body), number), *body]

    def code(self) -> bytes:
        return b"".join(struct.pack("<HBBI", *instruction) for instruction in self._instructions)
