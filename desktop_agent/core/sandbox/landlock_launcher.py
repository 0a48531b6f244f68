"""A separate program that confines itself by Landlock and a system call filter, then becomes a command.

    python -I -S landlock_launcher.py OPTION... -- COMMAND...

It imports as little as possible, because every command waits for it. `landlock` computes its arguments. If anything
fails, the command is not started (exit code 125).

`watch`: the launcher stays outside the sandbox as the command's parent, and ends the processes that the command leaves.
Without it, the command replaces the launcher. `way_out`: a socket that listens in the command's network is passed to
the proxy outside (`host_proxy`). `listener`: a thread of the launcher answers system calls for the command, because
some systems let only an ancestor read a process (Yama). `mounted`: the launcher is in the command's namespaces, where
the command can kill it, and thereby itself, but not read its memory.
"""

import _socket
import _thread
import ctypes
import os
import stat
import sys

assert sys.platform == "linux"

FAILED = 125
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_SET_PDEATHSIG, _SET_DUMPABLE, _SET_SECCOMP, _CAPBSET_DROP, _SET_CHILD_SUBREAPER = 1, 4, 22, 24, 36
_SET_NO_NEW_PRIVS = 38
_SIGKILL, _SIGPIPE, _SIGXFSZ = 9, 13, 25
_DEFAULT, _IGNORE = 0, 1
_SET_MODE_FILTER, _LISTENER_FLAGS = 1, 0x8 | 0x20
"""Flags of seccomp(2). Once the listener took a call, no signal interrupts the caller."""
_MAKE_FILE = 0x100
"""The right to create files, which is granted in everything writable and nowhere else."""
_FOR_FILES = 0x1 | 0x2 | 0x4 | 0x4000 | 0x8000
"""The rights to execute, write, read, truncate and ioctl. The other rights apply only to folders."""

_libc = ctypes.CDLL(None, use_errno=True)


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def main(arguments: list[str]) -> int:
    """Return the command's exit code; without `watch`, never return."""
    options: dict[str, str] = {}
    rules: list[tuple[int, str]] = []
    variables: list[tuple[str, str]] = []
    while (argument := arguments.pop(0)) != "--":
        name, _, value = argument.partition("=")
        if name == "rule":
            rights, _, path = value.partition(":")
            rules.append((int(rights), path))
        elif name == "env":
            variable, _, text = value.partition("=")
            variables.append((variable, text))
        else:
            options[name] = value
    parent = os.getppid()
    _prctl(_SET_PDEATHSIG, _SIGKILL)
    _prctl(_SET_NO_NEW_PRIVS, 1)
    _drop_capabilities()
    os.umask(os.umask(0) | 0o002)  # for any inherited mask, nothing new is writable for all
    if os.getppid() != parent:
        return FAILED  # the parent died before the death signal was set
    if "way_out" in options:
        _hand_out_listener(options["way_out"])
    if "watch" in options:
        return _watch(options, rules, variables, arguments)
    _confine(options, rules)
    os.environ.update(variables)
    return _become(arguments)


def _hand_out_listener(way_out: str) -> None:
    port, _, path = way_out.partition(":")
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", int(port)))
    listener.listen(64)
    door = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    door.connect(path)
    passed = listener.fileno().to_bytes(4, sys.byteorder)
    door.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, passed)])
    if not door.recv(1):
        raise OSError("no process took the descriptor")
    listener.close()
    door.close()


def _confine(options: dict[str, str], rules: list[tuple[int, str]]) -> int:
    if "handled" in options:
        _restrict_files(options, rules)
    code = bytes.fromhex(options["filter"])
    program = ctypes.byref(_Filter(len(code) // 8, code))
    if "listener" in options:
        try:
            return _syscall(int(options["listener"]), _SET_MODE_FILTER, _LISTENER_FLAGS, program)
        except OSError as error:
            raise OSError(error.errno, f"no listener for system calls: {error.strerror}") from None
    _prctl(_SET_SECCOMP, 2, program)
    return -1


def _restrict_files(options: dict[str, str], rules: list[tuple[int, str]]) -> None:
    attributes = b"".join(int(number).to_bytes(8, "little") for number in options["handled"].split(","))
    ruleset = _syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    for rights, path in rules:
        try:
            # Symbolic links are not followed: a program that could place one must not choose what is opened.
            folder = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # gone meanwhile: then it is not allowed
        mode = os.fstat(folder).st_mode
        allowed = rights if stat.S_ISDIR(mode) else rights & _FOR_FILES
        if allowed and not stat.S_ISLNK(mode):
            _syscall(_ADD_RULE, ruleset, 1, allowed.to_bytes(8, "little") + folder.to_bytes(4, "little"), 0)
        os.close(folder)
    _syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _drop_capabilities() -> None:
    if os.geteuid() != 0:
        return
    capability = 0
    while _libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    header = (0x20080522).to_bytes(4, "little") + bytes(4)
    if _libc.capset(header, bytes(24)) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def _become(command: list[str]) -> int:
    # Python ignores these signals, and ignored signals stay ignored in the command.
    _libc.signal(_SIGPIPE, _DEFAULT)
    _libc.signal(_SIGXFSZ, _DEFAULT)
    try:
        os.execvp(command[0], command)  # noqa: S606 - that is the whole point
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        return 127 if isinstance(error, FileNotFoundError) else 126


def _watch(
    options: dict[str, str], rules: list[tuple[int, str]], variables: list[tuple[str, str]], command: list[str]
) -> int:
    _prctl(_SET_CHILD_SUBREAPER, 1)
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
    me = os.getpid()
    child = os.fork()
    if child == 0:
        _prctl(_SET_PDEATHSIG, _SIGKILL)
        if os.getppid() != me:
            os._exit(FAILED)
        listener = _confine(options, rules)
        if listener >= 0:
            passed = listener.to_bytes(4, sys.byteorder)
            theirs.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, passed)])
            os.close(listener)
            if not theirs.recv(1):  # wait for the supervisor: a fork bomb could prevent its start
                os._exit(FAILED)
        os.environ.update(variables)
        os._exit(_become(command))
    theirs.close()
    if "mounted" in options:
        _prctl(_SET_DUMPABLE, 0)  # this process has no filter, so the command must not see its memory
    if "listener" in options:
        _supervise(ours, None if "mounted" in options else rules)
    ours.close()
    for signal in (1, 2, 3, 15):  # the command gets these signals, too, and decides
        _libc.signal(signal, _IGNORE)
    os.closerange(0, 3)  # the reader of the output must only wait for the command
    code = 0
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            break
    _end_what_is_left()
    return code if code >= 0 else 128 - code


def _supervise(connection: _socket.socket, rules: list[tuple[int, str]] | None) -> None:
    """Start the supervisor, before the child becomes the command. Without `rules`, mounts decide what is writable."""
    _, messages, _, _ = connection.recvmsg(1, _socket.CMSG_SPACE(4))
    if not messages:
        return  # the child failed, and says why
    listener = int.from_bytes(messages[0][2], sys.byteorder)
    writable = None if rules is None else frozenset(os.fsencode(path) for may, path in rules if may & _MAKE_FILE)
    _thread.start_new_thread(_serve, (listener, writable))
    connection.send(b".")


def _serve(listener: int, writable: frozenset[bytes] | None) -> None:
    """Run the supervisor. The import happens in this thread, because short commands end before it is done."""
    try:
        folder = os.path.dirname
        sys.path.append(folder(folder(folder(folder(os.path.abspath(__file__))))))  # noqa: PTH100
        from desktop_agent.core.sandbox.metadata_supervisor import serve

        serve(listener, writable)
    finally:
        os.close(listener)  # without a supervisor to ask, the calls fail (ENOSYS)


def _end_what_is_left() -> None:
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            for orphan in _children():
                _libc.kill(orphan, _SIGKILL)
            os.waitpid(-1, 0)


def _children() -> list[int]:
    me = str(os.getpid())
    found: list[int] = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - importing pathlib takes longer than all of this
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - fast
                    parent = file.read().rpartition(")")[2].split()[1]
            except OSError:
                continue
            if parent == me:
                found.append(int(name))
    return found


def _prctl(operation: int, *arguments: object) -> None:
    padded = [*arguments, *([0] * (4 - len(arguments)))]
    if _libc.prctl(operation, *padded) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {operation}")


def _syscall(number: int, *arguments: object) -> int:
    result = _libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), f"system call {number}")
    return result


if __name__ == "__main__":
    try:
        code = main(sys.argv[1:])
    except Exception as error:  # noqa: BLE001 - whatever it is, the command must not start
        os.write(2, f"The sandbox could not be set up: {error}\n".encode())
        code = FAILED
    os._exit(code)
