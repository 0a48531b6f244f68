"""Finds the sandbox of this machine by running a trial command in each."""

import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import SandboxError
from desktop_agent.core.base.package import __version__
from desktop_agent.core.sandbox.confinement import ConfinementSpec
from desktop_agent.core.sandbox.guarded import Guards
from desktop_agent.core.sandbox.seatbelt import PROGRAM, Seatbelt
from desktop_agent.core.system.file_writes import write_atomically
from desktop_agent.core.system.processes.runner import Command
from desktop_agent.core.system.processes.shell import find_program

if sys.platform == "linux":
    from desktop_agent.core.sandbox.bubblewrap import Bubblewrap
    from desktop_agent.core.sandbox.landlock import LEAST_ABI, Landlock

TRIED_NAME = "sandboxes-tried"
_PROBE_TIMEOUT_S = 10.0
_MOST_MARKS = 8
_SETTINGS = (
    "user/max_user_namespaces",
    "kernel/unprivileged_userns_clone",
    "kernel/apparmor_restrict_unprivileged_userns",
)
_INSTALL = "Install it: `apt install bubblewrap`, `dnf install bubblewrap` or `pacman -S bubblewrap`."
_TRIAL = 'touch "$TMPDIR/mine" && ! touch ./ours 2>/dev/null && ! touch "$OUTSIDE/theirs" 2>/dev/null && echo confined'


class Sandbox(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def guards(self) -> Guards: ...

    def wrap(self, command: Command, confinement: ConfinementSpec) -> Command:
        """Return the command, confined. Raises `SandboxError` if it cannot be confined. Blocks."""
        ...


class SandboxReport(Struct, frozen=True, kw_only=True):
    name: str
    is_available: bool
    reason: str = ""
    hint: str = ""


class SandboxSearch(Struct, frozen=True, kw_only=True):
    sandbox: Sandbox | None
    reports: tuple[SandboxReport, ...]
    """The preferred one first; empty where no sandbox exists for the system, as on Windows."""

    @property
    def verdict(self) -> str:
        if self.sandbox is None:
            where = "here" if self.reports else "on this system"
            return f"Commands cannot be confined {where}, so each of them asks before it runs."
        return f"Commands are confined by {self.sandbox.name}."

    @property
    def shortcoming(self) -> str:
        if not self.reports:
            return self.verdict
        best = self.reports[0]
        if best.is_available:
            return ""
        return f"{self.verdict} {best.name} does not work: {best.reason.rstrip('.')}. {best.hint}".rstrip()


_Tried = tuple[Sandbox | None, SandboxReport]


def landlock_abi() -> int:
    if sys.platform != "linux":
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(444, None, 0, 1)))


def find_sandbox(environ: Mapping[str, str], *, abi: Callable[[], int] = landlock_abi) -> SandboxSearch:
    """Find the sandbox of this machine, and say why others are not available. Blocks for some 100 ms.

    `environ` is the application's own.
    """
    return _found(list(_candidates(environ, abi, _problem_with)))


def find_tried_sandbox(environ: Mapping[str, str], tried: Path) -> SandboxSearch:
    """Find the sandbox of this machine, and try none after one that works. Blocks.

    A trial that succeeds is noted in the file `tried`, and is not repeated while nothing changes that it depends on:
    the machine runs, the process has the same rights, and the program is the same. A sandbox that stops working all
    the same runs no command unconfined: the command fails.
    """

    def problem_with(sandbox: Sandbox) -> str:
        mark = _mark_of(sandbox)
        try:
            known = tried.read_text("ascii").split()
        except (OSError, ValueError):
            known = []
        if mark in known:
            return ""
        problem = _problem_with(sandbox)
        if mark is not None and not problem:
            with suppress(OSError):  # the next start tries again
                write_atomically(tried, "\n".join([*known[1 - _MOST_MARKS :], mark]).encode(), mode=0o600)
        return problem

    searches: list[_Tried] = []
    for search in _candidates(environ, landlock_abi, problem_with):
        searches.append(search)
        if search[0] is not None:
            break
    return _found(searches)


def _mark_of(sandbox: Sandbox) -> str | None:
    """Return a digest of everything that a trial's success depends on; `None` if that is not known."""
    if sys.platform != "linux":
        return None
    own, rights = Path("/proc/self"), ("Uid:", "Cap", "NoNewPrivs:", "Seccomp")
    try:
        program = Path(sandbox.program).stat() if isinstance(sandbox, Bubblewrap) else None
        circumstances = [
            *(sandbox, __version__, sys.executable),
            *(Path("/proc/sys/kernel/random/boot_id").read_text(), *map(_kernel_setting, _SETTINGS)),
            *((own / "ns" / name).readlink() for name in ("user", "mnt", "pid", "net")),
            *(line for line in (own / "status").read_text().splitlines() if line.startswith(rights)),
            _read("/proc/self/attr/current"),
            program and (program.st_dev, program.st_ino, program.st_size, program.st_mtime_ns),
        ]
    except OSError:
        return None
    return blake2b(repr(circumstances).encode()).hexdigest()


def _found(searches: Sequence[_Tried]) -> SandboxSearch:
    sandbox = next((sandbox for sandbox, _ in searches if sandbox is not None), None)
    return SandboxSearch(sandbox=sandbox, reports=tuple(report for _, report in searches))


def every_sandbox(environ: Mapping[str, str]) -> tuple[Sandbox, ...]:
    found = [sandbox for sandbox, _ in _candidates(environ, landlock_abi, _problem_with)]
    return tuple(sandbox for sandbox in found if sandbox is not None)


def _candidates(
    environ: Mapping[str, str], abi: Callable[[], int], problem_with: Callable[[Sandbox], str]
) -> Iterator[_Tried]:
    """Try each sandbox of the system when it is asked for, the preferred one first."""
    if sys.platform == "darwin":
        if not Path(PROGRAM).exists():
            yield _unavailable("seatbelt", f"{PROGRAM} is not there.")
        else:
            yield _tried(Seatbelt(Guards.of(environ)), "It cannot confine", lambda _: "", problem_with)
    elif sys.platform == "linux":
        if (program := find_program("bwrap", environ)) is None:
            yield _unavailable("bubblewrap", "The program bwrap is not installed.", _INSTALL)
        else:
            yield _tried(Bubblewrap(program, Guards.of(environ)), "bwrap cannot confine", _hint_for, problem_with)
        if (version := abi()) == 0:
            hint = "Add `landlock` to the kernel's `lsm=` boot parameter (Linux 6.2 or later), or use bubblewrap."
            yield _unavailable("landlock", "The kernel has no Landlock, or it is switched off.", hint)
        elif version < LEAST_ABI:
            reason = f"The kernel's Landlock (version {version}) cannot keep files from being truncated."
            yield _unavailable("landlock", reason, "Use Linux 6.2 or later, or bubblewrap.")
        else:
            sandbox = Landlock(version, Guards.of(environ))
            yield _tried(sandbox, "Landlock cannot confine", lambda _: "Use bubblewrap.", problem_with)


def _tried(
    sandbox: Sandbox, what: str, hint_for: Callable[[str], str], problem_with: Callable[[Sandbox], str]
) -> _Tried:
    """Try a sandbox, and then with the powers that this machine has."""
    problem, limits = problem_with(sandbox), ""
    if sys.platform == "linux":
        if isinstance(sandbox, Bubblewrap) and "disable-userns" in problem:
            sandbox = replace(sandbox, can_forbid_namespaces=False)
            problem = problem_with(sandbox)
        if isinstance(sandbox, Bubblewrap | Landlock) and "no listener" in problem:
            sandbox = replace(sandbox, is_supervised=False)
            problem = problem_with(sandbox)
        if isinstance(sandbox, Landlock):
            limits = _LIMITS if sandbox.is_supervised else f"{_LIMITS} {_UNSUPERVISED}"
    if problem:
        return _unavailable(sandbox.name, f"{what}: {problem}", hint_for(problem))
    return sandbox, SandboxReport(name=sandbox.name, is_available=True, reason=limits)


_LIMITS = (
    "A command can change files and folders in the workspace but add none directly in its top folder, has no loopback "
    "network, and cannot commit."
)
_UNSUPERVISED = (
    "Another program, such as a container's, listens to system calls here, so it cannot open files to others than "
    "their owner: `chmod +x` and copies that keep permissions fail."
)


def _unavailable(name: str, reason: str, hint: str = "") -> tuple[None, SandboxReport]:
    return None, SandboxReport(name=name, is_available=False, reason=reason, hint=hint)


def _problem_with(sandbox: Sandbox) -> str:
    # Outside `/tmp` where possible: bubblewrap has its own `/tmp`, and the trial must meet a refusal, not absence.
    folder_of_trials = "/var/tmp" if os.access("/var/tmp", os.W_OK) else None  # noqa: S108
    try:
        with tempfile.TemporaryDirectory(prefix="desktop-agent-sandbox-", dir=folder_of_trials) as folder:
            workspace, temp, outside = (Path(folder) / name for name in ("workspace", "temp", "outside"))
            for path in (workspace, temp, outside):
                path.mkdir()
            trial = Command(
                argv=("/bin/sh", "-c", _TRIAL), cwd=workspace, environ={"PATH": os.defpath, "OUTSIDE": str(outside)}
            )
            confinement = ConfinementSpec(workspace=workspace, is_workspace_writable=False, temp=temp)
            problem = _run(sandbox.wrap(trial, confinement))
            escaped = [path for path in (workspace / "ours", outside / "theirs") if path.exists()]
            if not problem and (escaped or not (temp / "mine").exists()):
                return "it ran a command without confining it"
            return problem
    except (OSError, ValueError, SandboxError) as error:
        return str(error) or type(error).__name__


def _run(command: Command) -> str:
    process = subprocess.Popen(  # noqa: S603 - our own trial
        command.argv,
        cwd=command.cwd,
        env=dict(command.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    with process:
        try:
            output, _ = process.communicate(timeout=_PROBE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            return "it did not end in time"
    text = output.decode(errors="replace").strip()
    if process.returncode == 0 and text.endswith("confined"):
        return ""
    return text.splitlines()[-1] if text else f"exit code {process.returncode}"


def _hint_for(problem: str) -> str:
    if _kernel_setting("user/max_user_namespaces") == "0":
        return "User namespaces are switched off: set the sysctl user.max_user_namespaces to 15000 or more."
    if _kernel_setting("kernel/unprivileged_userns_clone") == "0":
        return "User namespaces are switched off: set the sysctl kernel.unprivileged_userns_clone to 1."
    if _kernel_setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return (
            "AppArmor restricts user namespaces: install an AppArmor profile for bwrap (Ubuntu: package "
            "apparmor-profiles, profile bwrap-userns-restrict), or set the sysctl "
            "kernel.apparmor_restrict_unprivileged_userns to 0."
        )
    if "mount proc" in problem:
        return (
            "Start the container with an open /proc: --security-opt unmask=ALL for Podman, and for Docker "
            "--security-opt systempaths=unconfined and --security-opt seccomp=unconfined."
        )
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return "In a container, namespaces need more rights: for Docker, --security-opt seccomp=unconfined."
    return "A chroot or a security policy may forbid user namespaces; `bwrap --ro-bind / / true` shows the same."


def _kernel_setting(name: str) -> str | None:
    return _read(f"/proc/sys/{name}")


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None
