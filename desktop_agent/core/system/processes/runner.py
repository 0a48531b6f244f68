"""Runs child processes, and ends them on request with all their descendants, even detached ones.

A command is over when its first process has exited and its output has ended or was silent for 0.2 s.
"""

import asyncio
import errno
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.mount_stand_ins import holding
from desktop_agent.core.system.processes.cgroup import CommandGroup, CommandGroups, CommandLimits, limited
from desktop_agent.core.system.processes.child import ChildPipes, ChildProcess, ProcessEnd, end_all, started, unhurried
from desktop_agent.core.system.processes.command_streams import (
    OutputReader,
    Terminal,
    ThreadSink,
    open_pipe,
    typed_lines,
)
from desktop_agent.core.system.processes.output import CapturedOutput, OutputCapture, Sink
from desktop_agent.core.system.processes.process_table import (
    ProcessEntry,
    lower_priority,
    raise_thread_priority,
    started_now,
    task_count,
    unshared_bytes,
)
from desktop_agent.core.system.processes.process_tree import (
    MARK_VARIABLE,
    Activity,
    Guard,
    ProcessTree,
    marked_limit,
    put_mark,
)

if sys.platform == "win32":
    from desktop_agent.core.system.processes.process_tree import Job

GRACE_S = 0.5
"""The time from TERM to KILL. A command that ends when asked needs less; one that does not must not delay a stop."""


class Command(Struct, frozen=True, kw_only=True):
    """A program to run, with its exact arguments, folder, whole environment and input. No shell is added."""

    argv: tuple[str, ...]
    cwd: Path
    environ: Mapping[str, str]
    stdin: str | None = None
    takes_input: bool = False
    """Whether the program is sent input while it runs (`ChildProcess.send`). Only for programs that `start` starts."""
    tty: bool = False
    stand_ins: tuple[Path, ...] = ()


class ProcessOutcome(Struct, frozen=True, kw_only=True):
    """Standard output and error are together, in the order they were written."""

    end: ProcessEnd
    output: CapturedOutput
    duration_s: float
    timed_out: bool


_OWN_SESSION: dict[str, Any] = (
    {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    if sys.platform == "win32"
    else {"start_new_session": True}
)
_Spawned = tuple[ChildPipes, asyncio.SubprocessTransport]
_Spawn = Callable[[str], Awaitable[_Spawned]]


class ProcessRunner:
    def __init__(
        self,
        clock: Clock,
        *,
        grace_s: float = GRACE_S,
        limits: Callable[[], CommandLimits] = CommandLimits,
        open_groups: Callable[[str], CommandGroups | None] = CommandGroups.open,
        end: Path | None = None,
    ) -> None:
        """`limits` is called for each command, but not for programs that `start` starts without limits.

        `open_groups` is called once, in a thread, with this application's mark. If the application is killed, `end`
        is created after all its processes have ended.
        """
        self._end = end
        self._clock = clock
        self._limits = limits
        self._open_groups = open_groups
        self._watch_over = LimitWatch()
        self._grace_s = grace_s
        self._mark = secrets.token_hex(8)
        self._started = 0
        self._children: set[ChildProcess] = set()
        if sys.platform == "win32":
            self._job = Job()
        self._last_resort: asyncio.Task[_LastResort] | None = None
        self._is_closed = False

    async def run(
        self,
        command: Command,
        *,
        timeout_s: float | None = None,
        spool_folder: Path | None = None,
        on_text: Callable[[str], None] | None = None,
        on_cancelled: Callable[[ProcessOutcome], None] | None = None,
        on_start: Callable[[ChildProcess, OutputCapture], None] | None = None,
    ) -> ProcessOutcome:
        """A timeout ends the command; its output is returned. Raises `OSError` when the command cannot be started.

        `on_text` is called on the loop's thread, about 30 times a second. After a cancellation, `on_cancelled` gets the
        partial outcome once all processes have ended. `on_start` gets the process, which it may only ask to end.
        """
        capture = OutputCapture(spool_folder=spool_folder, on_text=on_text)
        # A command can print before we see that it started. That output belongs to the outcome of a cancelled run, too.
        starting = asyncio.create_task(self.read(command, capture.feed))
        work = asyncio.create_task(self._see_through(starting, capture, timeout_s, on_start))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            starting.add_done_callback(_ask_to_end)
            with suppress(asyncio.CancelledError, OSError):
                await unhurried(work)
            if isinstance(work.exception(), OSError):
                raise  # it never started
            outcome = work.result()
            if on_cancelled is not None:
                on_cancelled(outcome)
            elif outcome.output.spool_path is not None:
                await unhurried(asyncio.to_thread(outcome.output.spool_path.unlink))
            raise

    async def read(self, command: Command, output: ThreadSink, *, types_end: bool = True) -> ChildProcess:
        """Start a command. `output` is called in a thread. The caller must `end` the child. Raises `OSError`.

        On a terminal, `types_end` also types the end of the input.
        """
        return await self._start_limited(
            command, lambda bounded, mark: _spawn_read(bounded, mark, output, types_end=types_end)
        )

    async def start(self, command: Command, output: Sink, errors: Sink, *, is_limited: bool = False) -> ChildProcess:
        """Start a command. The sinks are called on the loop. The caller must `end` the child. Raises `OSError`."""
        if is_limited:
            return await self._start_limited(command, lambda bounded, mark: _spawn_piped(bounded, mark, output, errors))
        return await self._start(lambda mark: _spawn_piped(command, mark, output, errors), stand_ins=command.stand_ins)

    async def interact(self, command: Command, terminal: Terminal, output: ThreadSink) -> ChildProcess:
        """Start a program of the user's, with the user's rights and no limits. `output` is called in a thread.

        This call owns both ends of `terminal`. The caller must `end` the child. Raises `OSError`.
        """
        return await self._start(
            lambda mark: _spawn_read(command, mark, output, terminal=terminal), keeps_detached=True
        )

    def activity(self, pid: int) -> Activity | None:
        return next((child.activity for child in self._children if child.pid == pid), None)

    async def aclose(self) -> None:
        """End all commands, and everything that they left running. Nothing can be started afterwards."""
        self._is_closed = True
        await unhurried(self._close())

    async def _see_through(
        self,
        starting: "asyncio.Task[ChildProcess]",
        capture: OutputCapture,
        timeout_s: float | None,
        on_start: Callable[[ChildProcess, OutputCapture], None] | None,
    ) -> ProcessOutcome:
        child = await starting
        if on_start is not None:
            on_start(child, capture)
        begun = self._clock.monotonic()
        timed_out = not (await child.wait(timeout_s) or child.has_exited)
        end = await child.end()
        output = await capture.finish()
        duration_s = self._clock.monotonic() - begun
        return ProcessOutcome(end=end, output=output, duration_s=duration_s, timed_out=timed_out)

    async def _start_limited(
        self, command: Command, spawn: Callable[[Command, str], Awaitable[_Spawned]]
    ) -> ChildProcess:
        limits = self._limits()
        groups = (await self.prepare()).groups
        name = secrets.token_hex(4)
        group = None if groups is None else await asyncio.to_thread(groups.make, name, limits)

        async def spawn_bounded(mark: str) -> _Spawned:
            argv = await asyncio.to_thread(_limited, command, limits, group, mark)
            return await spawn(replace(command, argv=argv), mark)

        try:
            child = await self._start(spawn_bounded, group, command.stand_ins)
        except BaseException:
            if group is not None:
                group.leave()
            raise
        self._limit(child, limits)
        return child

    def _limit(self, child: ChildProcess, limits: CommandLimits) -> None:
        loop = asyncio.get_running_loop()

        def ended(excess: str) -> None:
            with suppress(RuntimeError):  # the event loop is closed, so no task waits for the reason
                loop.call_soon_threadsafe(child.end_for_excess, excess)

        self._watch_over.add(child.pid, child.new_tree(), limits, ended)
        child.when_gone(lambda gone: self._watch_over.remove(gone.pid))

    async def _start(
        self,
        spawn: _Spawn,
        group: CommandGroup | None = None,
        stand_ins: Sequence[Path] = (),
        *,
        keeps_detached: bool = False,
    ) -> ChildProcess:
        return await started(self._watch(spawn, group, stand_ins, keeps_detached=keeps_detached), ChildProcess.end)

    async def _watch(
        self, spawn: _Spawn, group: CommandGroup | None, stand_ins: Sequence[Path], *, keeps_detached: bool
    ) -> ChildProcess:
        await self.prepare()
        self._started += 1
        mark = f"{self._mark}.{self._started}"
        held, since, started_ns = ExitStack(), started_now(), time.time_ns()
        try:
            if stand_ins:
                await asyncio.to_thread(held.enter_context, holding(stand_ins))
            pipes, transport = await spawn(mark)
        except BaseException:
            held.close()
            raise
        if sys.platform == "win32":
            self._job.take(transport.get_pid() or 0)
        child = ChildProcess(
            self._clock,
            grace_s=self._grace_s,
            mark=mark,
            group=group,
            pipes=pipes,
            transport=transport,
            since=since,
            started_ns=started_ns,
            let_go=held.close if stand_ins else None,
            keeps_detached=keeps_detached,
        )
        self._children.add(child)
        child.when_gone(self._children.discard)
        return child

    async def prepare(self) -> "_LastResort":
        """Prepare to run commands, once. Raises `OSError` after `aclose`."""
        if self._last_resort is None and not self._is_closed:
            self._last_resort = asyncio.create_task(
                asyncio.to_thread(_LastResort.start, self._open_groups, self._mark, self._end)
            )
        last_resort = await asyncio.shield(self._last_resort) if self._last_resort is not None else None
        if last_resort is None or self._is_closed:
            raise OSError(errno.ESHUTDOWN, "Desktop Agent is closing, and starts nothing more")
        return last_resort

    async def _close(self) -> None:
        await asyncio.gather(*(child.end() for child in self._children))
        if self._started:
            await end_all(ProcessTree(self._mark), "tree", clock=self._clock, grace_s=self._grace_s)
        await asyncio.to_thread(self._watch_over.join)
        if self._last_resort is not None:
            last_resort = await self._last_resort
            self._last_resort = None
            await asyncio.to_thread(last_resort.close)
        if sys.platform == "win32":
            self._job.close()


class _LastResort(Struct, frozen=True):
    groups: CommandGroups | None
    guard: Guard | None

    @classmethod
    def start(cls, open_groups: Callable[[str], CommandGroups | None], mark: str, end: Path | None) -> "_LastResort":
        groups = open_groups(mark)
        return cls(groups, Guard.start(mark, groups and groups.folder, end))

    def close(self) -> None:
        if self.groups is not None:
            self.groups.close()
        if self.guard is not None:
            self.guard.close()


def _limited(command: Command, limits: CommandLimits, group: CommandGroup | None, mark: str) -> tuple[str, ...]:
    lines = [] if group is None else [group.entering]
    if sys.platform == "linux":  # before it can start a process
        lines.append(f"ulimit -m {marked_limit(mark) // 1024}")
    return limited(command.argv, command.cwd, command.environ, limits, beginning="\n".join(lines) or ":")


def _ask_to_end(started: "asyncio.Task[ChildProcess]") -> None:
    if not started.cancelled() and started.exception() is None:
        started.result().ask_to_end()


async def _spawn_read(
    command: Command, mark: str, output: ThreadSink, *, terminal: Terminal | None = None, types_end: bool = False
) -> _Spawned:
    with ExitStack() as ours:
        if terminal is None and command.tty:
            terminal = await asyncio.to_thread(Terminal.open)
        if terminal is not None:
            stdin = theirs = terminal.theirs
            ours.callback(os.close, theirs)
            typed = typed_lines(command.stdin) if types_end else None
            reader = OutputReader(terminal.ours, output, typed=typed, unread_bytes=terminal.unread_bytes)
            argv = terminal.launching(command.argv)
        else:
            stdin, argv = await _stdin(command, ours), command.argv
            reading, theirs = open_pipe()
            ours.callback(os.close, theirs)
            reader = OutputReader(reading, output)
        try:
            pipes = ChildPipes({}, reader)
            transport = await _spawn(command, argv, mark, pipes, stdin=stdin, stdout=theirs, stderr=theirs)
        except BaseException:
            reader.close()
            raise
        lower_priority(transport)
        reader.start()
    return pipes, transport


async def _spawn_piped(command: Command, mark: str, output: Sink, errors: Sink) -> _Spawned:
    pipes = ChildPipes({1: output, 2: errors})
    with ExitStack() as ours:
        pipe = subprocess.PIPE
        stdin = pipe if command.takes_input else await _stdin(command, ours)
        transport = await _spawn(command, command.argv, mark, pipes, stdin=stdin, stdout=pipe, stderr=pipe)
    put_mark(transport.get_pid() or 0, mark)
    return pipes, transport


async def _spawn(
    command: Command, argv: tuple[str, ...], mark: str, pipes: ChildPipes, *, stdin: int, stdout: int, stderr: int
) -> asyncio.SubprocessTransport:
    loop = asyncio.get_running_loop()
    environ = {**command.environ, "PWD": str(command.cwd), MARK_VARIABLE: mark}
    given: dict[str, Any] = {
        "stdin": stdin,
        "stdout": stdout,
        "stderr": stderr,
        "cwd": command.cwd,
        "env": environ,
        **_OWN_SESSION,
    }
    if os.name == "nt" and argv[1:4] == ("/d", "/s", "/c"):
        # cmd.exe reads its line by rules of its own, for which Python has no quotes.
        transport, _ = await loop.subprocess_shell(lambda: pipes, argv[4], **given)
    else:
        transport, _ = await loop.subprocess_exec(lambda: pipes, *argv, **given)
    return transport


async def _stdin(command: Command, ours: ExitStack) -> int:
    if command.stdin is None:
        return subprocess.DEVNULL
    return ours.enter_context(await asyncio.to_thread(_stdin_file, command.stdin)).fileno()


def _stdin_file(text: str) -> IO[bytes]:
    """Return an unnamed file with the input. Unlike a pipe, it needs no writer while the command runs."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 -- the caller closes it once the child has its own descriptor
    file.write(text.encode("utf-8", "replace"))
    file.seek(0)
    return file


LOOK_EVERY_S = 0.05
_FULL_LOOK_EVERY_S = 0.25
_MANY_TASKS = 64
_SHARED_AGAIN_S = 2.0
"""How long a tree's memory is not measured again if it seemed too large only because its processes share memory."""

Ended = Callable[[str], None]


class _Watched(Struct):
    tree: ProcessTree
    limits: CommandLimits
    ended: Ended
    memory_from_s: float = field(default=0.0)


class LimitWatch:
    """Ends a running command that exceeds its limits, and reports the reason.

    A thread does that even while the event loop is busy. It reads the machine's number of tasks every 50 ms,
    and the process table only if that rose or enough time has passed.
    """

    def __init__(self) -> None:
        self._watched: dict[int, _Watched] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, root: int, tree: ProcessTree, limits: CommandLimits, ended: Ended) -> None:
        """No other code may use `tree`. `ended` is called once, in our thread, with the reason."""
        with self._lock:
            self._watched[root] = _Watched(tree, limits, ended)
            if self._thread is None:
                self._wake.clear()
                self._thread = threading.Thread(target=self._look, name="command limits", daemon=True)
                self._thread.start()

    def remove(self, root: int) -> None:
        with self._lock:
            self._watched.pop(root, None)
            if not self._watched:
                self._wake.set()

    def join(self) -> None:
        """The thread ends when the last command is removed. Blocks."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _look(self) -> None:
        raise_thread_priority()
        last_look_s, last_tasks = 0.0, 0
        while True:
            self._wake.wait(LOOK_EVERY_S)
            with self._lock:
                watched = dict(self._watched)
                if not watched:
                    self._thread = None
                    return
                self._wake.clear()  # a command may have been removed and another added meanwhile
            now_s, tasks = time.monotonic(), task_count()
            if tasks < last_tasks + _MANY_TASKS and now_s < last_look_s + _FULL_LOOK_EVERY_S:
                continue
            last_look_s, last_tasks = now_s, tasks
            for root, one in watched.items():
                if reason := _excess_of(one):
                    one.ended(reason)  # before the kill, so that the end is attributed to the limit
                    one.tree.signal("tree", forceful=True)
                    self.remove(root)


def _excess_of(watched: _Watched) -> str:
    members, limits = watched.tree.members(), watched.limits
    if len(members) > limits.max_processes:
        return f"it ran more than {limits.max_processes:,} processes at once"
    if sum(member.threads for member in members) > limits.max_tasks:
        return f"its processes had more than {limits.max_tasks:,} threads at once"
    if _holds_too_much(watched, members):
        return limits.memory_excess
    return ""


def _holds_too_much(watched: _Watched, members: list[ProcessEntry]) -> bool:
    most = watched.limits.memory_bytes
    if sum(member.resident_bytes for member in members) <= most or time.monotonic() < watched.memory_from_s:
        return False
    # Shared memory was counted once for each process. Reading exact shares is slow, so it is done only now.
    held = 0
    for member in members:
        part = unshared_bytes(member.pid)
        held += member.resident_bytes if part is None else part
    if held <= most:
        watched.memory_from_s = time.monotonic() + _SHARED_AGAIN_S
    return held > most
