"""Runs all probes in one sandbox: `python -m tests.attacks.sandbox.scene CASE_JSON`.

It prints the results of the probes and the harm found, as JSON. It is a program of its own because it can become
another user.
"""

import ctypes
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from desktop_agent.core.base.mount_stand_ins import holding
from desktop_agent.core.sandbox.confinement import confinement_for
from desktop_agent.core.sandbox.find import Sandbox, every_sandbox
from desktop_agent.core.system.processes.runner import Command

NOBODY = 65534
HERE = Path(__file__).parent
NO_SANDBOX = 77
"""The exit code when this sandbox does not work for this user."""

Folder = Literal["plain", "git", "submodule", "monorepo"]
User = Literal["root", "another"]


@dataclass(frozen=True, slots=True)
class Case:
    sandbox: str
    mode: Literal["strict", "restricted"]
    folder: Folder
    user: User
    program: str = "probes"

    @property
    def name(self) -> str:
        return f"{self.sandbox}-{self.mode}-{self.folder}-{self.user}"


IPC_CREATE = 0o1000 | 0o600
SECRET = b"SECRET-OF-ANOTHER"


class Targets:
    def __init__(self, base: Path, workspace: Path, home: Path, stack: ExitStack) -> None:
        self._stack = stack
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.shmat.restype = ctypes.c_void_p
        self._listening: list[socket.socket] = []
        self.workspace, self.outside, self.temp = workspace, base / "outside", base / "temp"
        self.key = home / ".ssh" / "id_test"
        self._places = [workspace, self.outside]
        for path in (self.outside / "file", self.key):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("SECRET")
            os.setxattr(path, "user.theirs", b"1")
            path.chmod(0o600)
        os.setxattr(self.key.parent, "user.theirs", b"1")
        self.key.parent.chmod(0o700)
        self.temp.mkdir()
        self.victim = subprocess.Popen(["sleep", "600"], env={"TOKEN": "SECRET"})
        stack.callback(self._end_victim)
        self._make_objects()
        self._tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self._tcp.settimeout(0)
        self._modes = self._looked()

    def scene(self) -> dict[str, str]:
        return {
            "workspace": str(self.workspace), "outside": str(self.outside), "temp": str(self.temp),
            "key": str(self.key), "config": str(self.workspace / ".git" / "config"),
            "victim": str(self.victim.pid), "port": str(self._tcp.getsockname()[1]), "abstract": self._abstract,
            "shm": str(self._shm), "sem": str(self._sem), "msg": str(self._msg), "mq": self._mq,
            "posix_shm": self._posix_shm.name,
        }  # fmt: skip

    def listen(self, when: str) -> None:
        """Bind sockets by relative names, as programs do: `/proc/net/unix` then has no absolute paths."""
        for place in self._places:
            for name in ("relative", "new\nline"):
                os.chdir(place)
                self._bind(f"{when}-{name}", socket.SOCK_STREAM)
            self._bind(str(place / f"{when}-plain"), socket.SOCK_STREAM)
        if when == "late":
            os.chdir(self.workspace)
            self._bind("datagram", socket.SOCK_DGRAM)
            self._bind("\0" + self._abstract, socket.SOCK_STREAM)
        os.chdir("/")

    def harmed(self) -> list[str]:
        found = [f"{ours.getsockname()!r} was reached" for ours in self._listening if _was_reached(ours)]
        found += ["TCP was reached"] * _was_reached(self._tcp)
        found += [f"{name}: {was} became {now}" for name, was, now in _differences(self._modes, self._looked())]
        content = ctypes.string_at(self._shm_at, len(SECRET))
        if content != SECRET or self._posix_shm.read_bytes() != SECRET:
            found.append("shared memory was overwritten")
        return found + [f"{path} was left with {mode:o}" for path, mode in self._left_for_others()]

    def _left_for_others(self) -> Iterator[tuple[Path, int]]:
        """Yield what another user could write, or run with this user's id."""
        for root in (self.workspace, self.temp):
            for path in root.rglob("*"):
                mode = path.lstat().st_mode
                if not stat.S_ISLNK(mode) and mode & 0o6002 and not stat.S_ISSOCK(mode):
                    yield path, mode

    def _make_objects(self) -> None:
        libc, name = self._libc, f"agent-test-{os.getpid()}"
        self._abstract, self._mq = name, f"/{name}"
        self._shm = int(libc.shmget(0, 4096, IPC_CREATE))
        self._sem, self._msg = int(libc.semget(0, 1, IPC_CREATE)), int(libc.msgget(0, IPC_CREATE))
        self._shm_at = cast("int", libc.shmat(self._shm, None, 0))
        ctypes.memmove(self._shm_at, SECRET, len(SECRET))
        self._stack.callback(libc.shmctl, self._shm, 0, None)
        self._stack.callback(libc.semctl, self._sem, 0, 0)
        self._stack.callback(libc.msgctl, self._msg, 0, None)
        libc.mq_open(self._mq.encode(), os.O_RDWR | os.O_CREAT, 0o600, None)
        self._stack.callback(libc.mq_unlink, self._mq.encode())
        self._posix_shm = Path("/dev/shm") / name
        self._posix_shm.write_bytes(SECRET)
        self._stack.callback(self._posix_shm.unlink)

    def _bind(self, address: str, kind: socket.SocketKind) -> None:
        ours = self._stack.enter_context(socket.socket(socket.AF_UNIX, kind))
        ours.bind(address)
        ours.settimeout(0)
        if kind == socket.SOCK_STREAM:
            ours.listen()
        self._listening.append(ours)

    def _looked(self) -> dict[str, str]:
        pid = self.victim.pid
        paths = [self.key, self.key.parent, self.outside / "file", self.workspace / ".git" / "config"]
        facts = {
            str(path): f"{_metadata(path)} {path.read_bytes() if path.is_file() else b''!r}"
            for path in paths
            if path.exists()
        }
        facts["limits"] = Path(f"/proc/{pid}/limits").read_text()
        facts["priority"] = str(os.getpriority(os.PRIO_PROCESS, pid))
        facts["scheduling"] = f"{os.sched_getscheduler(pid)} {os.sched_getaffinity(pid)}"
        facts["score"] = Path(f"/proc/{pid}/oom_score_adj").read_text()
        return facts

    def _end_victim(self) -> None:
        self.victim.kill()
        self.victim.wait()


def _metadata(path: Path) -> str:
    status = path.stat()
    return f"{status.st_mode:o} {status.st_uid}:{status.st_gid} {status.st_mtime_ns} {sorted(os.listxattr(path))}"


def _differences(before: dict[str, str], after: dict[str, str]) -> list[tuple[str, str, str]]:
    return [(name, was, after.get(name, "gone")) for name, was in before.items() if after.get(name) != was]


def _was_reached(ours: socket.socket) -> bool:
    with suppress(BlockingIOError):
        if ours.type == socket.SOCK_DGRAM:
            ours.recv(10)
        else:
            ours.accept()[0].close()
        return True
    return False


def _make_workspace(home: Path, folder: Folder) -> Path:
    """Return the folder to open: plain, a repository, a submodule, or deep below a repository's top."""
    top = home / "app"
    (top / "src").mkdir(parents=True)
    (top / "src" / "a.txt").write_text("a\n")
    if folder == "plain":
        return top
    _git(top, "init", "-q")
    _git(top, "add", ".")
    _git(top, "commit", "-qm", "first")
    if folder == "submodule":
        _git(top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(top), "libs/one")
        return top / "libs" / "one"
    if folder == "monorepo":
        inner = top / "packages" / "one"
        (inner / "src").mkdir(parents=True)
        return inner
    return top


def _git(folder: Path, *arguments: str) -> None:
    options = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "safe.directory=*")
    subprocess.check_call(["git", *options, "-C", str(folder), *arguments], stdout=subprocess.DEVNULL)


def become_nobody() -> None:
    """Become another user, in a mount namespace where that user reaches our interpreter."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x00020000) != 0 or libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None) != 0:
        sys.exit(NO_SANDBOX)
    for prefix in {Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()}:
        closed = [path for path in reversed(prefix.parents) if not path.stat().st_mode & 0o001]
        if not closed:
            continue
        with tempfile.TemporaryDirectory() as aside:
            _mount(libc, prefix, Path(aside), None, 0x1000)
            _mount(libc, Path("none"), closed[0], b"tmpfs", 0)
            closed[0].chmod(0o755)
            prefix.mkdir(parents=True)
            _mount(libc, Path(aside), prefix, None, 0x2000)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    libc.prctl(4, 1, 0, 0, 0)  # a change of users makes a process unreadable, and then it cannot map its user


def _mount(libc: ctypes.CDLL, source: Path, target: Path, kind: bytes | None, flags: int) -> None:
    if libc.mount(os.fsencode(source), os.fsencode(target), kind, flags, None) != 0:
        sys.exit(NO_SANDBOX)


def play(case: Case, base: Path, stack: ExitStack) -> dict[str, str]:
    """Run all probes in one sandbox. Return their words; `HARMED` marks damage found afterwards."""
    home = base / "home"
    home.mkdir()
    os.environ |= {"HOME": str(home), "DESKTOP_AGENT_HOME": str(base / "agent")}
    workspace = _make_workspace(home, case.folder)
    targets = Targets(base, workspace, home, stack)
    targets.listen("early")
    sandbox = next((one for one in every_sandbox(os.environ) if one.name == case.sandbox), None)
    if sandbox is None:
        sys.exit(NO_SANDBOX)
    said = _probed(sandbox, case, targets)
    return said | dict.fromkeys(targets.harmed(), "HARMED")


def _probed(sandbox: Sandbox, case: Case, targets: Targets) -> dict[str, str]:
    confinement = confinement_for(case.mode, targets.workspace, targets.temp, ())
    argv = (
        os.path.realpath(sys.executable),
        "-I",
        "-c",
        (HERE / f"{case.program}.py").read_text(),
        json.dumps(targets.scene()),
    )
    wrapped = sandbox.wrap(Command(argv=argv, cwd=targets.workspace, environ=dict(os.environ)), confinement)
    with holding(wrapped.stand_ins):
        probing = subprocess.Popen(
            wrapped.argv,
            cwd=wrapped.cwd,
            env=dict(wrapped.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        with probing:
            assert probing.stdin
            assert probing.stdout
            assert probing.stdout.readline() == "ready\n"
            targets.listen("late")
            probing.stdin.write("go\n")
            probing.stdin.flush()
            return cast("dict[str, str]", json.loads(probing.stdout.read()))


def main() -> None:
    case = Case(**json.loads(sys.argv[1]))
    signal.alarm(120)
    if case.user == "another":
        become_nobody()
    base = Path(tempfile.mkdtemp(prefix="attack-", dir="/var/tmp"))
    try:
        with ExitStack() as stack:
            print(json.dumps(play(case, base.resolve(), stack)))
    finally:
        os.chdir("/")
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
