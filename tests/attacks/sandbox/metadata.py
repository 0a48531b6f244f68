"""Runs inside a sandbox and tries to change modes, owners, attributes and times: `python -I metadata.py SCENE_JSON`.

Like `probes.py`, it imports nothing of the application, and prints one line of JSON. Calls on others' files must be
refused in every way (`WAYS`), also while another process replaces the file (`RACES`); calls on writable files must
work (`WORK`).
"""

# It calls `os` directly, and imports as little as possible.
# ruff: noqa: PTH101, PTH102, PTH104, PTH108, PTH116, PTH123, PTH211

import _thread
import ctypes
import errno
import json
import mmap
import os
import platform
import signal
import struct
import sys
from collections.abc import Callable

libc = ctypes.CDLL(None, use_errno=True)
Scene = dict[str, str]
COLUMN = {"x86_64": 0, "aarch64": 1}.get(platform.machine(), 0)
HERE, EMPTY, NO_FOLLOW = -100, 0x1000, 0x100
LOOSE = 0o755
SWAPS = 400
ACL = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", tag, permissions, 0xFFFFFFFF) for tag, permissions in ((1, 6), (4, 4), (0x20, 4))
)
ACL_FOR_ALL = ACL[:-8] + struct.pack("<HHI", 0x20, 6, 0xFFFFFFFF)
WAYS: dict[str, Callable[[str], object]] = {}
WORK: dict[str, Callable[[str], object]] = {}
RACES: dict[str, Callable[[str, str], object]] = {}


def way(function: Callable[[str], object]) -> Callable[[str], object]:
    WAYS[function.__name__] = function
    return function


def work(function: Callable[[str], object]) -> Callable[[str], object]:
    WORK[function.__name__] = function
    return function


def race(function: Callable[[str, str], object]) -> Callable[[str, str], object]:
    RACES[function.__name__] = function
    return function


def syscall(numbers: tuple[int, int | None], *arguments: object) -> int:
    number = numbers[COLUMN]
    if number is None:
        raise OSError(errno.ENOSYS, "no such call")
    result = int(libc.syscall(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


CHMOD, FCHMOD, FCHMODAT, FCHMODAT2 = (90, None), (91, 52), (268, 53), (452, 452)
CHOWN, FCHOWN, LCHOWN, FCHOWNAT = (92, None), (93, 55), (94, None), (260, 54)
SETXATTRAT, REMOVEXATTRAT = (463, 463), (466, 466)
UTIME, UTIMES, FUTIMESAT, UTIMENSAT = (132, None), (235, None), (261, None), (280, 88)
TIMES = struct.pack("qqqq", 1, 0, 1, 0)


def held(path: str) -> int:
    """A descriptor that only names the file; hidden files allow that, too."""
    return os.open(path, os.O_PATH)


def parts(path: str) -> tuple[int, bytes]:
    folder, _, name = path.rpartition("/")
    return os.open(folder, os.O_PATH), name.encode()


# Modes.


WAYS.update(
    {
        "chmod": lambda path: os.chmod(path, LOOSE),
        "chmod_by_number": lambda path: syscall(CHMOD, path.encode(), LOOSE),
        "chmod_by_descriptor_name": lambda path: os.chmod(f"/proc/self/fd/{held(path)}", LOOSE),
        "chmod_by_own_number": lambda path: os.chmod(f"/proc/{os.getpid()}/fd/{held(path)}", LOOSE),
        "chmod_by_dev": lambda path: os.chmod(f"/dev/fd/{held(path)}", LOOSE),
        "chmod_through_root": lambda path: os.chmod(f"/proc/self/root{path}", LOOSE),
        "chmod_through_root_of_the_parent": lambda path: os.chmod(f"/proc/{os.getppid()}/root{path}", LOOSE),
        "fchmod": lambda path: os.fchmod(os.open(path, os.O_RDONLY), LOOSE),
        "fchmod_of_a_name": lambda path: os.fchmod(held(path), LOOSE),
        "fchmodat": lambda path: syscall(FCHMODAT, *parts(path), LOOSE),
        "fchmodat2": lambda path: syscall(FCHMODAT2, *parts(path), LOOSE, NO_FOLLOW),
        "fchmodat2_of_a_descriptor": lambda path: syscall(FCHMODAT2, held(path), b"", LOOSE, EMPTY),
    }
)


@way
def chmod_relative(path: str) -> None:
    folder, name = path.rsplit("/", 1)
    os.chdir(folder)
    os.chmod(f".//../{os.path.basename(folder)}/{name}", LOOSE)  # noqa: PTH119


@way
def chmod_by_link(path: str) -> None:
    link = f"{os.environ['TMPDIR']}/link-{os.getpid()}"
    os.symlink(path, link)
    os.chmod(link, LOOSE)


@way
def chmod_through_folder(path: str) -> None:
    folder, name = path.rsplit("/", 1)
    os.chdir(folder)
    os.chmod(f"/proc/self/cwd/{name}", LOOSE)


@way
def chmod_in_a_thread(path: str) -> None:
    done = _thread.allocate_lock()
    done.acquire()
    failed: list[OSError] = []

    def change() -> None:
        try:
            os.chmod(path, LOOSE)
        except OSError as error:
            failed.append(error)
        done.release()

    _thread.start_new_thread(change, ())
    done.acquire()
    if failed:
        raise failed[0]


@way
def chmod_in_a_child(path: str) -> None:
    child = os.fork()
    if child == 0:
        os.execv("/bin/chmod", ["chmod", f"{LOOSE:o}", path])
    if os.waitpid(child, 0)[1]:
        raise OSError(errno.EPERM, "refused")


# Owners.


WAYS.update(
    {
        "chown": lambda path: os.chown(path, os.getuid(), os.getgid()),
        "chown_by_number": lambda path: syscall(CHOWN, path.encode(), os.getuid(), -1),
        "lchown": lambda path: syscall(LCHOWN, path.encode(), -1, os.getgid()),
        "fchown": lambda path: os.fchown(os.open(path, os.O_RDONLY), os.getuid(), os.getgid()),
        "fchownat": lambda path: syscall(FCHOWNAT, *parts(path), os.getuid(), os.getgid(), NO_FOLLOW),
        "fchownat_of_a_descriptor": lambda path: syscall(FCHOWNAT, held(path), b"", os.getuid(), os.getgid(), EMPTY),
    }
)


# Attributes, and access control lists, which are attributes.


WAYS.update(
    {
        "setxattr": lambda path: os.setxattr(path, "user.evil", b"1"),
        "setxattr_by_descriptor": lambda path: os.setxattr(os.open(path, os.O_RDONLY), "user.evil", b"1"),
        "acl": lambda path: os.setxattr(path, "system.posix_acl_access", ACL),
        "acl_without_following": lambda path: os.setxattr(path, "system.posix_acl_access", ACL, follow_symlinks=False),
        "removexattr": lambda path: os.removexattr(path, "user.theirs"),
        "removexattr_the_new_way": lambda path: syscall(REMOVEXATTRAT, held(path), b"", EMPTY, b"user.theirs"),
    }
)


@way
def acl_the_new_way(path: str) -> None:
    value = ctypes.create_string_buffer(ACL, len(ACL))
    arguments = struct.pack("QII", ctypes.addressof(value), len(ACL), 0)
    syscall(SETXATTRAT, *parts(path), 0, b"system.posix_acl_access", arguments, len(arguments))


# Times.


WAYS.update(
    {
        "utime": lambda path: syscall(UTIME, path.encode(), struct.pack("qq", 1, 1)),
        "utimes": lambda path: syscall(UTIMES, path.encode(), TIMES),
        "futimesat": lambda path: syscall(FUTIMESAT, *parts(path), TIMES),
        "utimensat": lambda path: os.utime(path, ns=(1, 1)),
        "utimensat_now": lambda path: os.utime(path, follow_symlinks=False),
        "futimens": lambda path: os.utime(os.open(path, os.O_RDONLY), ns=(1, 1)),
        "futimens_of_a_name": lambda path: syscall(UTIMENSAT, held(path), b"", TIMES, EMPTY),
    }
)


# The process that judges these calls, by its number.


def killed(supervisor: str) -> None:
    os.kill(int(supervisor), 0)


def rewritten(supervisor: str) -> None:
    with open(f"/proc/{supervisor}/mem", "r+b", buffering=0):
        pass


def listener_taken(supervisor: str) -> None:
    for name in os.listdir(f"/proc/{supervisor}/fd"):  # noqa: PTH208
        os.open(f"/proc/{supervisor}/fd/{name}", os.O_RDWR)


# The same in the command's own folder.


def expect(was: object, wanted: object) -> None:
    if was != wanted:
        raise AssertionError(f"({was!r} instead of {wanted!r})")


@work
def own_modes(path: str) -> None:
    folder, name = parts(path)
    with open(path) as file:
        ways: list[Callable[[int], object]] = [
            lambda mode: os.chmod(path, mode),
            lambda mode: os.chmod(name, mode, dir_fd=folder),
            lambda mode: os.fchmod(file.fileno(), mode),
            lambda mode: os.chmod(f"/proc/self/fd/{held(path)}", mode),
            lambda mode: os.chmod(f"/proc/{os.getpid()}/fd/{file.fileno()}", mode),
            lambda mode: os.chmod(f"/dev/fd/{file.fileno()}", mode),
        ]
        if COLUMN == 0:
            ways.append(lambda mode: syscall(CHMOD, path.encode(), mode))
        for number, change in enumerate(ways):
            mode = 0o755 - number % 2
            change(mode)
            expect((number, os.stat(path).st_mode & 0o7777), (number, mode))


@work
def own_modes_the_new_way(path: str) -> None:
    try:
        syscall(FCHMODAT2, *parts(path), 0o711, NO_FOLLOW)
        expect(os.stat(path).st_mode & 0o777, 0o711)
        syscall(FCHMODAT2, held(path), b"", 0o700, EMPTY)
        expect(os.stat(path).st_mode & 0o777, 0o700)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM):  # before Linux 6.6; a filter of a container around us
            raise


@work
def own_owners(path: str) -> None:
    os.chown(path, os.getuid(), os.getgid())
    os.chown(path, -1, -1)
    os.lchown(path, os.getuid(), -1)
    link = f"{path}-link"
    os.symlink("nowhere", link)
    os.lchown(link, os.getuid(), os.getgid())
    with open(path) as file:
        os.fchown(file.fileno(), -1, os.getgid())
        syscall(FCHOWNAT, file.fileno(), b"", os.getuid(), -1, EMPTY)


@work
def own_attributes(path: str) -> None:
    os.setxattr(path, "user.mine", b"\0value" * 100)
    expect(os.getxattr(path, "user.mine"), b"\0value" * 100)
    os.setxattr(path, "user.empty", b"")
    with open(path) as file:
        os.setxattr(file.fileno(), "user.mine", b"2", os.XATTR_REPLACE)
        expect(os.getxattr(path, "user.mine"), b"2")
        os.removexattr(file.fileno(), "user.mine")
    os.removexattr(path, "user.empty", follow_symlinks=False)
    expect(os.listxattr(path), [])
    os.setxattr(path, "system.posix_acl_access", ACL)
    expect(os.stat(path).st_mode & 0o777, 0o644)


@work
def own_times(path: str) -> None:
    os.utime(path, ns=(1_000_000_001, 2_000_000_002))
    expect(os.stat(path).st_mtime_ns, 2_000_000_002)
    if COLUMN == 0:
        syscall(UTIME, path.encode(), struct.pack("qq", 5, 6))
        expect((os.stat(path).st_atime_ns, os.stat(path).st_mtime_ns), (5_000_000_000, 6_000_000_000))
        syscall(UTIMES, path.encode(), struct.pack("qqqq", 5, 0, 7, 8))
        expect(os.stat(path).st_mtime_ns, 7_000_008_000)
    with open(path) as file:
        os.utime(file.fileno(), ns=(1, 9))
    expect(os.stat(path).st_mtime_ns, 9)
    link = f"{path}-link"
    os.symlink("nowhere", link)
    os.utime(link, ns=(3, 3), follow_symlinks=False)
    expect(os.lstat(link).st_mtime_ns, 3)
    os.utime(path)
    if os.stat(path).st_mtime_ns == 9:
        raise AssertionError("(not now)")


@work
def what_has_no_place(path: str) -> None:
    os.fchmod(os.pipe()[0], 0o600)
    os.fchmod(os.memfd_create("x"), 0o700)
    with open(path) as file:
        os.unlink(path)
        os.fchmod(file.fileno(), 0o640)
        expect(os.fstat(file.fileno()).st_mode & 0o777, 0o640)


@work
def errors_as_without_walls(path: str) -> None:
    refused: list[tuple[Callable[[], object], int]] = [
        (lambda: os.chmod(f"{path}-gone", 0o600), errno.ENOENT),
        (lambda: os.chmod(f"{path}/below", 0o600), errno.ENOTDIR),
        (lambda: os.chmod("", 0o600), errno.ENOENT),
        (lambda: os.chmod("x" * 5000, 0o600), errno.ENAMETOOLONG),
        (lambda: os.fchmod(999, 0o600), errno.EBADF),
        (lambda: os.chmod("x", 0o600, dir_fd=999), errno.EBADF),
        (lambda: syscall(FCHMODAT, HERE, 1, 0o600), errno.EFAULT),
        (lambda: os.removexattr(path, "user.gone"), errno.ENODATA),
        (lambda: syscall(FCHOWNAT, HERE, path.encode(), -1, -1, 0x4000), errno.EINVAL),
    ]
    for number, (change, expected) in enumerate(refused):
        try:
            change()
        except OSError as error:
            expect((number, error.errno), (number, expected))
        else:
            raise AssertionError(f"({number} worked)")


@work
def many_processes(path: str) -> None:
    children: list[int] = []
    for number in range(8):
        child = os.fork()
        if child == 0:
            for turn in range(10):
                with open(f"{path}-{number}-{turn}", "w") as file:
                    os.fchmod(file.fileno(), 0o711)
                expect(os.stat(f"{path}-{number}-{turn}").st_mode & 0o777, 0o711)
            os._exit(0)
        children.append(child)
    expect([os.waitpid(child, 0)[1] for child in children], [0] * 8)


# The same call while another process replaces the file.


def swapping(change: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        while True:
            change()
    return child


def attempt(change: Callable[[], object]) -> None:
    for _ in range(SWAPS):
        try:
            change()
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOENT, errno.EACCES, errno.EROFS):
                raise


@race
def path_that_changes(ours: str, theirs: str) -> None:
    with mmap.mmap(-1, 4096) as shared:
        size = max(len(ours), len(theirs)) + 1
        texts = [path.encode().ljust(size, b"\0") for path in (ours, theirs)]
        shared[:size] = texts[0]

        def change() -> None:
            shared[:size] = texts[1]
            shared[:size] = texts[0]

        child = swapping(change)
        address = ctypes.addressof(ctypes.c_char.from_buffer(shared))
        attempt(lambda: syscall(FCHMODAT, HERE, ctypes.c_void_p(address), LOOSE))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def by_links(named: str, first: str, second: str, call: Callable[[], object]) -> None:
    for name, target in ((f"{named}-1", first), (f"{named}-2", second), (named, first)):
        os.symlink(target, name)

    def change() -> None:
        for name in (f"{named}-2", f"{named}-1"):
            os.link(name, f"{named}-next", follow_symlinks=False)
            os.rename(f"{named}-next", named)

    child = swapping(change)
    attempt(call)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


@race
def link_that_changes(ours: str, theirs: str) -> None:
    link = f"{ours}-swapped"
    by_links(link, ours, theirs, lambda: os.chmod(link, LOOSE))


@race
def folder_that_changes(ours: str, theirs: str) -> None:
    folder, name = theirs.rsplit("/", 1)
    own = f"{ours}-folder"
    os.mkdir(own)
    with open(f"{own}/{name}", "w"):
        pass
    by_links(f"{own}-swapped", own, folder, lambda: os.chmod(f"{own}-swapped/{name}", LOOSE))


@race
def descriptor_that_changes(ours: str, theirs: str) -> None:
    first, second, used = held(ours), held(theirs), held(ours)
    over: list[bool] = []

    def change() -> None:
        while not over:
            os.dup2(second, used)
            os.dup2(first, used)

    _thread.start_new_thread(change, ())
    attempt(lambda: os.chmod(f"/proc/self/fd/{used}", LOOSE))
    over.append(True)


def tried(attack: Callable[[], object]) -> str:
    """Each attempt runs in its own process, so that it cannot affect the next."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            attack()
            said = "REACHED"
        except OSError as error:
            said = errno.errorcode.get(error.errno or 0, type(error).__name__)
        except BaseException as error:  # noqa: BLE001 - what was found matters, not how it ended
            said = repr(error)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    said = os.read(reading, 1000).decode() or "(died)"
    os.close(reading)
    os.waitpid(child, 0)
    return said


def own_file(name: str) -> str:
    path = f"{os.environ['TMPDIR']}/own-{name}"
    with open(path, "w"):
        pass
    os.chmod(path, 0o600)
    return path


def worked(said: str) -> str:
    return "worked" if said == "REACHED" else f"({said})"


def main() -> None:
    scene: Scene = json.loads(sys.argv[1])
    print("ready", flush=True)
    sys.stdin.readline()
    sees_key = os.access(scene["key"], os.F_OK)  # not behind bubblewrap
    key, file = scene["key"], f"{scene['outside']}/file"
    folder = os.path.dirname(key)  # noqa: PTH120
    attacks = [(name, attack, path) for name, attack in WAYS.items() for path in (key, file)]
    attacks += [(name, WAYS[name], folder) for name in ("chmod", "fchmod", "fchmodat")]
    if sees_key:
        attacks += [(attack.__name__, attack, str(os.getppid())) for attack in (killed, rewritten, listener_taken)]
    said = {f"{name} of {path}": tried(lambda attack=attack, path=path: attack(path)) for name, attack, path in attacks}
    for name, attempted in RACES.items():
        said[name] = worked(tried(lambda a=attempted, name=name: a(own_file(name), key if sees_key else file)))
    for name, change in WORK.items():
        said[name] = worked(tried(lambda change=change, name=name: change(own_file(name))))
    print(json.dumps(said))


if __name__ == "__main__":
    main()
