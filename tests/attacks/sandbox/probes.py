"""Runs inside a sandbox and tries to get out by system calls: `python -I probes.py SCENE_JSON`.

It imports nothing of the application. A probe of `PROBES` returns when the attack worked, and raises `OSError` when it
was refused; one of `WORK` is ordinary work, and must succeed. All sandboxes, folders and users share these tables. The
result is one line of JSON: probe to `REACHED` or the error's name, and for work `worked` or the error in parentheses.
`scene.py` sets the targets up, and checks for harm afterwards.
"""

# It calls `os` directly, and imports as little as possible.
# ruff: noqa: PTH101, PTH102, PTH103, PTH104, PTH116, PTH123, PTH208, PTH211

import ctypes
import errno
import fcntl
import json
import os
import platform
import resource
import signal
import socket
import struct
import sys
import termios
from collections.abc import Callable

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.shmat.restype = ctypes.c_void_p
Scene = dict[str, str]
PROBES: dict[str, Callable[[Scene], object]] = {}
WORK: dict[str, Callable[[Scene], object]] = {}
LAUNCHER = os.getppid()
"""The process that confines this one and waits for it."""
COLUMN = {"x86_64": 0, "aarch64": 1}.get(platform.machine())


def probe(function: Callable[[Scene], object]) -> Callable[[Scene], object]:
    PROBES[function.__name__] = function
    return function


def work(function: Callable[[Scene], object]) -> Callable[[Scene], object]:
    WORK[function.__name__] = function
    return function


def called(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def syscall(numbers: tuple[int, int], *arguments: object) -> int:
    assert COLUMN is not None
    return called(libc.syscall(numbers[COLUMN], *arguments))


def write(path: str, text: str, mode: str) -> None:
    with open(path, mode) as file:
        file.write(text)


# Sockets of programs outside: by a path, a relative path, a name with a newline; there before, or made later.


def connects(path: str, folder: str | None = None, kind: int = socket.SOCK_STREAM) -> None:
    if folder is not None:
        os.chdir(folder)
    with socket.socket(socket.AF_UNIX, kind) as ours:
        ours.settimeout(5)
        ours.connect(path)
        ours.send(b"out")


for place in ("workspace", "outside"):
    for when in ("early", "late"):
        for name in ("plain", "relative", "new\nline"):

            def attempt(scene: Scene, place: str = place, name: str = f"{when}-{name}") -> None:
                connects(name, scene[place])

            PROBES[f"socket_{place}_{when}_{name.replace(chr(10), '_')}"] = attempt


@probe
def socket_by_descriptor(scene: Scene) -> None:
    folder = os.open(scene["workspace"], os.O_PATH)
    connects(f"/proc/self/fd/{folder}/late-relative")


@probe
def socket_through_link(scene: Scene) -> None:
    link = f"{scene['temp']}/link"
    os.symlink(f"{scene['workspace']}/late-relative", link)
    connects(link)


@probe
def socket_moved_to_a_name_of_ours(scene: Scene) -> None:
    """A listener of ours has the same name, so that a list of names would let the probe through."""
    os.chdir(scene["temp"])
    with socket.socket(socket.AF_UNIX) as ours:
        ours.bind("late-relative")
        ours.listen()
        connects("late-relative", scene["workspace"])


PROBES.update(
    {
        "socket_datagram": lambda scene: connects("datagram", scene["workspace"], socket.SOCK_DGRAM),
        "socket_raw": lambda scene: connects("datagram", scene["workspace"], socket.SOCK_RAW),
        "socket_abstract": lambda scene: connects("\0" + scene["abstract"]),
        "tcp_of_the_machine": lambda scene: socket.create_connection(("127.0.0.1", int(scene["port"])), 5).close(),
        "tcp_of_the_machine_by_ipv6": lambda scene: socket.create_connection(
            ("::ffff:127.0.0.1", int(scene["port"])), 5
        ).close(),
        "raw_packets": lambda _: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
        "vsock": lambda _: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).connect((2, 9)),
        "packets": lambda _: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
    }
)


@probe
def socket_datagram_of_a_pair(scene: Scene) -> None:
    os.chdir(scene["workspace"])
    ours, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    ours.sendto(b"out", "datagram")


@probe
def socket_raw_of_a_pair(scene: Scene) -> None:
    """The kernel turns a requested raw socket into a datagram socket."""
    os.chdir(scene["workspace"])
    ours, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)
    ours.sendto(b"out", "datagram")


@probe
def socket_passed_to_a_child(scene: Scene) -> None:
    child = os.fork()
    if child == 0:
        try:
            connects("late-relative", scene["workspace"])
        except OSError:
            os._exit(1)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise PermissionError(errno.EPERM, "refused")


@probe
def udp_of_the_machine(_: Scene) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        ours.sendto(b"out", ("192.0.2.1", 9))


@probe
def udp_by_ipv6(_: Scene) -> None:
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as ours:
        ours.sendto(b"out", ("2001:db8::1", 9))


# Processes outside: the scene's victim, by its number.


PROBES.update(
    {
        "kill": lambda scene: os.kill(int(scene["victim"]), 0),
        "kill_by_pidfd": lambda scene: signal.pidfd_send_signal(os.pidfd_open(int(scene["victim"])), 0),
        "limit_of_another": lambda scene: resource.prlimit(int(scene["victim"]), resource.RLIMIT_CORE, (0, 0)),
        "priority_of_another": lambda scene: os.setpriority(os.PRIO_PROCESS, int(scene["victim"]), 19),
        "priority_of_a_group": lambda scene: os.setpriority(os.PRIO_PGRP, int(scene["victim"]), 19),
        "processors_of_another": lambda scene: os.sched_setaffinity(int(scene["victim"]), [0]),
        "scheduler_of_another": lambda scene: os.sched_setscheduler(
            int(scene["victim"]), os.SCHED_BATCH, os.sched_param(0)
        ),
        "parameters_of_another": lambda scene: os.sched_setparam(int(scene["victim"]), os.sched_param(0)),
        "disk_priority_of_another": lambda scene: syscall((251, 30), 1, int(scene["victim"]), 3 << 13),
        "pages_of_another": lambda scene: syscall((279, 239), int(scene["victim"]), 0, 0, 0, 0, 0),
        "trace": lambda scene: called(libc.ptrace(16, int(scene["victim"]), 0, 0)),
        "memory_of_another": lambda scene: os.open(f"/proc/{scene['victim']}/mem", os.O_RDONLY),
        "descriptor_of_another": lambda scene: syscall((438, 438), os.pidfd_open(int(scene["victim"])), 0, 0),
        "advice_to_another": lambda scene: syscall((440, 440), os.pidfd_open(int(scene["victim"])), 0, 0, 20, 0),
        "memory_release_of_another": lambda scene: syscall((448, 448), os.pidfd_open(int(scene["victim"])), 0),
        "comparison_of_processes": lambda scene: syscall((312, 272), os.getpid(), int(scene["victim"]), 0, 0, 0),
        "out_of_memory_score": lambda scene: write(f"/proc/{scene['victim']}/oom_score_adj", "1000", "w"),
    }
)


@probe
def attributes_of_another(scene: Scene) -> None:
    attributes = struct.pack("IIQiIQQQ", 48, 3, 0, 0, 0, 0, 0, 0)
    syscall((314, 274), int(scene["victim"]), attributes, 0)


@probe
def nodes_of_another(scene: Scene) -> None:
    mask = ctypes.c_ulong(1)
    syscall((256, 238), int(scene["victim"]), 64, ctypes.byref(mask), ctypes.byref(mask))


@probe
def environment_of_another(scene: Scene) -> None:
    with open(f"/proc/{scene['victim']}/environ", "rb") as file:
        if b"SECRET" not in file.read():
            raise PermissionError(errno.EPERM, "not this one")


@probe
def read_memory_of_another(scene: Scene) -> None:
    ours = ctypes.create_string_buffer(8)
    here, there = struct.pack("QQ", ctypes.addressof(ours), 8), struct.pack("QQ", 0x1000, 8)
    try:
        called(libc.process_vm_readv(int(scene["victim"]), here, 1, there, 1, 0))
    except OSError as error:
        if error.errno != errno.EFAULT:  # it was looked at, but nothing is there
            raise


# The process that confines this one. If it is invisible, there is nothing to reach.


PROBES.update(
    {
        "memory_of_the_launcher": lambda _: os.open(f"/proc/{LAUNCHER}/mem", os.O_RDWR),
        "root_of_the_launcher": lambda scene: write(f"/proc/{LAUNCHER}/root{scene['outside']}/file", "evil", "a"),
    }
)


@probe
def descriptors_of_the_launcher(_: Scene) -> None:
    for name in os.listdir(f"/proc/{LAUNCHER}/fd"):
        os.open(f"/proc/{LAUNCHER}/fd/{name}", os.O_RDONLY)


# Objects of the machine that have no path.


@probe
def shared_memory(scene: Scene) -> None:
    at = libc.shmat(int(scene["shm"]), None, 0)
    if at in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "shmat")
    ctypes.memmove(at, b"OVERWRITTEN", 11)


PROBES.update(
    {
        "shared_memory_removed": lambda scene: called(libc.shmctl(int(scene["shm"]), 0, None)),
        "semaphores": lambda scene: called(libc.semctl(int(scene["sem"]), 0, 16, 7)),
        "messages": lambda scene: called(libc.msgsnd(int(scene["msg"]), struct.pack("q8s", 1, b"out"), 8, 0o4000)),
        "posix_messages": lambda scene: called(syscall((240, 180), scene["mq"].encode(), os.O_RDWR, 0, None)),
        "posix_messages_removed": lambda scene: syscall((241, 181), scene["mq"].encode()),
        "posix_shared_memory": lambda scene: write(f"/dev/shm/{scene['posix_shm']}", "OVERWRITTEN", "r+"),
        "keys": lambda _: syscall((250, 219), 0, -3, 0),
    }
)


# The kernel itself.


PROBES.update(
    {
        "rings": lambda _: syscall((425, 425), 4, ctypes.create_string_buffer(120)),
        "programs_in_the_kernel": lambda _: syscall((321, 280), 0, struct.pack("IIII", 2, 4, 4, 1) + bytes(100), 116),
        "counters": lambda _: syscall((298, 241), struct.pack("II", 0, 112) + bytes(104), 0, -1, -1, 0),
        "faults_in_user_space": lambda _: syscall((323, 282), 0),
        "module": lambda _: syscall((313, 273), 0, b"", 0),
        "mount": lambda scene: called(libc.mount(b"none", scene["workspace"].encode(), b"tmpfs", 0, None)),
        "mount_the_new_way": lambda _: syscall((430, 430), b"tmpfs", 0),
        "open_tree": lambda _: syscall((428, 428), -100, b"/", 1),
        "unmount": lambda _: called(libc.umount2(b"/proc", 2)),
        "root_of_ones_own": lambda scene: os.chroot(scene["workspace"]),
        "user_namespace": lambda _: called(libc.unshare(0x10000000)),
        "mount_namespace": lambda _: called(libc.unshare(0x00020000)),
        "namespace_of_another": lambda scene: called(
            libc.setns(os.open(f"/proc/{scene['victim']}/ns/mnt", os.O_RDONLY), 0)
        ),
        "clock": lambda _: called(libc.settimeofday(None, struct.pack("ii", 0, 0))),
        "kernel_log": lambda _: syscall((103, 116), 3, ctypes.create_string_buffer(100), 100),
        "handle": lambda scene: syscall((304, 265), -100, struct.pack("II", 8, 1) + bytes(8), 0),
        "selection_pasted": lambda _: fcntl.ioctl(0, 0x541C, b"\2"),
        "device": lambda scene: os.mknod(f"{scene['temp']}/disk", 0o60600, os.makedev(254, 0)),
    }
)


@probe
def namespace_by_clone(_: Scene) -> None:
    pid = syscall((56, 220), 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


@probe
def host_name(_: Scene) -> None:
    name = platform.node().encode()
    called(libc.sethostname(name, len(name)))


@probe
def keys_pressed(_: Scene) -> None:
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        terminal = 0
    fcntl.ioctl(terminal, termios.TIOCSTI, b"x")


@probe
def sysctl(_: Scene) -> None:
    with open("/proc/sys/kernel/hostname", "r+") as file:
        file.write(file.read())


# Files outside and in hidden places.


PROBES.update(
    {
        "owner_of_a_file_outside": lambda scene: os.chown(f"{scene['outside']}/file", os.getuid(), os.getgid()),
        "attribute_of_a_file_outside": lambda scene: os.setxattr(f"{scene['outside']}/file", "user.evil", b"1"),
        "key_read": lambda scene: os.open(scene["key"], os.O_RDONLY),
        "file_outside_written": lambda scene: write(f"{scene['outside']}/file", "evil", "a"),
        "file_outside_truncated": lambda scene: os.truncate(f"{scene['outside']}/file", 0),
        "repository_settings_written": lambda scene: write(scene["config"], "evil", "a"),
        "written_through_another_root": lambda scene: write(
            f"/proc/{scene['victim']}/root{scene['outside']}/file", "evil", "a"
        ),
        "hook_made": lambda scene: write(f"{scene['workspace']}/.git/hooks/post-checkout", "#!/bin/sh", "w"),
    }
)


@probe
def file_outside_linked(scene: Scene) -> None:
    name = f"{scene['temp']}/linked"
    os.link(f"{scene['outside']}/file", name)
    with open(name, "a") as file:
        file.write("evil")


@probe
def file_outside_written_by_a_link_that_changes(scene: Scene) -> None:
    """Another process makes the name a link to our file and to theirs in turns."""
    named, ours, theirs = f"{scene['temp']}/changing", f"{scene['temp']}/ours", f"{scene['outside']}/file"
    with open(ours, "w"):
        pass
    os.symlink(ours, named)
    child = os.fork()
    while child == 0:
        for target in (theirs, ours):
            os.symlink(target, f"{named}-next")
            os.rename(f"{named}-next", named)
    try:
        for _ in range(300):
            try:
                with open(named, "a") as file:
                    file.write("evil")
            except OSError as error:
                if error.errno not in (errno.EACCES, errno.EROFS, errno.ENOENT):
                    raise
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    raise PermissionError(errno.EPERM, "the file itself says whether it was written")


@probe
def repository_made(scene: Scene) -> None:
    folder = f"{scene['workspace']}/.git"
    try:
        os.mkdir(folder)
    except FileExistsError:
        os.rename(folder, f"{scene['workspace']}/src/git")


@probe
def settings_of_ours_made(scene: Scene) -> None:
    os.makedirs(f"{scene['workspace']}/.desktop-agent", exist_ok=True)
    with open(f"{scene['workspace']}/.desktop-agent/config.toml", "w") as file:
        file.write("approval = 'never'")


# Files that another user could write, or run as this one.


def own(scene: Scene, name: str) -> str:
    path = f"{scene['temp']}/{name}-{os.getpid()}"
    with open(path, "w"):
        pass
    return path


for letter, mode in (("user", 0o4755), ("group", 0o2755), ("everybody", 0o757)):

    def change(scene: Scene, mode: int = mode) -> None:
        os.chmod(own(scene, "file"), mode)

    def change_open(scene: Scene, mode: int = mode) -> None:
        os.fchmod(os.open(own(scene, "open"), os.O_RDWR), mode)

    def change_at(scene: Scene, mode: int = mode) -> None:
        syscall((268, 53), -100, own(scene, "at").encode(), mode)

    def change_with_flags(scene: Scene, mode: int = mode) -> None:
        syscall((452, 452), -100, own(scene, "flags").encode(), mode, 0x100)

    def change_folder(scene: Scene, mode: int = mode) -> None:
        folder = f"{scene['temp']}/folder-{mode:o}"
        os.mkdir(folder)
        os.chmod(folder, mode)

    for attempted in (change, change_open, change_at, change_with_flags, change_folder):
        PROBES[f"mode_{attempted.__name__}_for_{letter}"] = attempted

for bits in (0o4000, 0o2000):

    def made(scene: Scene, bits: int = bits) -> None:
        os.open(f"{scene['temp']}/made-{bits:o}", os.O_CREAT | os.O_WRONLY, bits | 0o755)

    def made_without_a_name(scene: Scene, bits: int = bits) -> None:
        nameless = os.open(scene["temp"], os.O_TMPFILE | os.O_WRONLY, bits | 0o755)
        named = f"{scene['temp']}/named-{bits:o}"
        called(libc.linkat(-100, f"/proc/self/fd/{nameless}".encode(), -100, named.encode(), 0x400))

    def made_as_a_node(scene: Scene, bits: int = bits) -> None:
        os.mknod(f"{scene['temp']}/node-{bits:o}", 0o100000 | bits | 0o755)

    def made_the_new_way(scene: Scene, bits: int = bits) -> None:
        how = struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, bits | 0o755, 0)
        syscall((437, 437), -100, f"{scene['temp']}/new-{bits:o}".encode(), how, 24)

    for attempted in (made, made_without_a_name, made_as_a_node, made_the_new_way):
        PROBES[f"{attempted.__name__}_with_{bits:o}"] = attempted


PROBES.update(
    {
        "capability_of_a_file": lambda scene: os.setxattr(
            own(scene, "capable"), "security.capability", struct.pack("<5I", 0x2000001, 0x80, 0, 0, 0)
        ),
        "mask_of_a_file": lambda scene: by_mask(scene, lambda path: os.open(path, os.O_CREAT | os.O_WRONLY, 0o666)),
        "mask_of_a_folder": lambda scene: by_mask(scene, os.mkdir),
        "mask_of_a_pipe": lambda scene: by_mask(scene, lambda path: os.mkfifo(path, 0o666)),
    }
)


@probe
def access_list_for_everybody(scene: Scene) -> None:
    entries = ((1, 6), (4, 4), (0x20, 6))
    everybody = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", who, may, 0xFFFFFFFF) for who, may in entries)
    os.setxattr(own(scene, "listed"), "system.posix_acl_access", everybody)


def by_mask(scene: Scene, make: Callable[[str], object], mode: int = 0o777) -> None:
    """Create files with a umask of 0, so that all users could write them."""
    os.umask(0)
    path = f"{scene['temp']}/masked-{os.getpid()}"
    make(path)
    if not os.lstat(path).st_mode & 0o002 & mode:
        raise PermissionError(errno.EPERM, "the mask is still there")


@probe
def mask_of_a_child(scene: Scene) -> None:
    def make(path: str) -> None:
        child = os.fork()
        if child == 0:
            os.execv("/bin/sh", ["sh", "-c", f"umask 0; mkdir -m 777 {path} || mkdir {path}"])
        os.waitpid(child, 0)

    by_mask(scene, make)


# Ordinary work.


@work
def modes_without_danger(scene: Scene) -> None:
    path = own(scene, "plain")
    for mode in (0o600, 0o755, 0o664, 0o775, 0o444):
        os.chmod(path, mode)
        if os.stat(path).st_mode & 0o7777 != mode:
            raise OSError(errno.EIO, f"{mode:o} is not what it is")


@work
def masks_without_danger(scene: Scene) -> None:
    for mask in (0o077, 0o027, 0o002, 0o022):
        os.umask(mask)
        path = own(scene, f"mask-{mask:o}")
        if os.stat(path).st_mode & 0o777 != 0o666 & ~mask:
            raise OSError(errno.EIO, f"{mask:o} is not masked")


@work
def mask_looked_at(_: Scene) -> None:
    """Read the umask as programs do: set it to 0, and back."""
    os.umask(0o027)
    found = os.umask(0)
    os.umask(found)
    if found != 0o027 or os.umask(0o027) != 0o027:
        raise OSError(errno.EIO, f"{found:o} is not the mask")


@work
def attributes_of_ones_own(scene: Scene) -> None:
    path = own(scene, "attributes")
    os.setxattr(path, "user.mine", b"1")
    if os.getxattr(path, "user.mine") != b"1":
        raise OSError(errno.EIO, "it is not there")


@work
def files_of_ones_own(scene: Scene) -> None:
    path = own(scene, "work")
    os.link(path, f"{path}-linked")
    os.rename(f"{path}-linked", f"{path}-renamed")
    os.symlink(path, f"{path}-link")
    os.truncate(path, 10)
    os.utime(path, (1, 1))
    os.mkfifo(f"{path}-pipe")


@work
def processes_of_ones_own(_: Scene) -> None:
    child = os.fork()
    if child == 0:
        signal.pause()
    os.kill(child, signal.SIGTERM)
    os.waitpid(child, 0)


@work
def pairs_of_sockets(_: Scene) -> None:
    for ours in socket.socketpair():
        ours.close()


def tried(attack: Callable[[Scene], object], scene: Scene) -> str:
    """Each probe runs in its own process, so that it cannot affect the next."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            attack(scene)
            said = "REACHED"
        except OSError as error:
            said = errno.errorcode.get(error.errno or 0, type(error).__name__)
        except BaseException as error:  # noqa: BLE001 - what the probe found matters, not how it ended
            said = repr(error)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    said = os.read(reading, 1000).decode() or "died"
    os.close(reading)
    os.waitpid(child, 0)
    return said


def main() -> None:
    scene: Scene = json.loads(sys.argv[1])
    scene["temp"] = os.environ["TMPDIR"]  # where it has another name in the sandbox
    print("ready", flush=True)
    sys.stdin.readline()  # until there are sockets newer than the command
    said = {name: tried(attack, scene) for name, attack in PROBES.items()}
    for name, attempted in WORK.items():
        answer = tried(attempted, scene)
        said[name] = "worked" if answer == "REACHED" else f"({answer})"
    print(json.dumps(said))


if __name__ == "__main__":
    main()
