"""Child processes that end when they are told to: whole trees, bounded memory, no call that hangs.

Every command gets its own session and process group, and a mark in its environment (`process_tree`), so that ending it
ends everything it started. A command is over when its first process has exited and its output has ended, or nothing
came for 0.2 s although something it left behind still holds the pipe. What it left behind is then ended too, except
what detached itself properly (own session, own output), such as a compiler daemon: that lives until `aclose`.

Cancelling `run` ends the tree (TERM, then KILL after a grace) and returns only when it is gone.
"""

import asyncio
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from desktop_agent.core.clock import Clock
from desktop_agent.core.process_child import ChildPipes, ChildProcess, end_all, unhurried
from desktop_agent.core.process_guard import Guard
from desktop_agent.core.process_output import OutputCapture, Sink
from desktop_agent.core.process_tree import MARK_VARIABLE, ProcessTree

GRACE_S = 2.0
"""From TERM to KILL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program to run: exact arguments (no shell of ours), folder, whole environment, and what it reads."""

    argv: tuple[str, ...]
    cwd: Path
    environ: Mapping[str, str]
    stdin: str | None = None
    """None: there is nothing to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOutcome:
    """How a command ended, and what it printed (standard output and error in the order they were written)."""

    exit_code: int
    """As shells count: 128 + n for a process that signal n ended."""
    duration_s: float
    timed_out: bool
    ended: Mapping[int, str]
    """What it had left running and was ended after it: pid to name."""
    survivors: Mapping[int, str]
    """What could not be ended, such as another user's process: pid to name."""
    head: str
    tail: str
    """Empty when `head` is all of the output; otherwise something between them is left out."""
    total_bytes: int
    total_lines: int
    spool_path: Path | None
    """The file with the whole output, when that was more than memory keeps. The caller owns it."""
    spooled_bytes: int
    """How much of the output the file has: all of it, unless a limit or `spool_error` cut it."""
    spool_error: str


class ProcessRunner:
    """All child processes of one application. `aclose` leaves none of them."""

    def __init__(self, clock: Clock, *, grace_s: float = GRACE_S) -> None:
        self._clock = clock
        self._grace_s = grace_s
        self._mark = secrets.token_hex(8)
        self._started = 0
        self._children: set[ChildProcess] = set()
        self._guard: asyncio.Task[Guard | None] | None = None

    async def run(
        self,
        command: Command,
        *,
        timeout_s: float | None = None,
        spool_folder: Path | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> ProcessOutcome:
        """Run `command` to its end and return how it went; a timeout ends it and keeps what it printed.

        `on_text` is called on the loop's thread, about 30 times a second. Raises `OSError` when it cannot be started.
        """
        capture = OutputCapture(spool_folder=spool_folder, on_text=on_text)
        begun = self._clock.monotonic()
        child = await self.start(command, capture.feed)
        try:
            timed_out = not (await child.wait(timeout_s) or child.has_exited)
            end = await child.end()
            output = await capture.finish()
        except BaseException:
            await unhurried(_abandon(child, capture))
            raise
        return ProcessOutcome(
            exit_code=end.exit_code,
            duration_s=self._clock.monotonic() - begun,
            timed_out=timed_out,
            ended=end.ended,
            survivors=end.survivors,
            head=output.head,
            tail=output.tail,
            total_bytes=output.total_bytes,
            total_lines=output.total_lines,
            spool_path=output.spool_path,
            spooled_bytes=output.spooled_bytes,
            spool_error=output.spool_error,
        )

    async def start(self, command: Command, output: Sink, errors: Sink | None = None) -> ChildProcess:
        """Start `command`. Without `errors`, both of its streams go to `output`, in the order they are written.

        The caller must `end` the child, whatever happens. Raises `OSError` when it cannot be started.
        """
        starting = asyncio.create_task(self._start(command, output, errors))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            await unhurried(_end_when_started(starting))
            raise

    async def aclose(self) -> None:
        """End every command, and everything any of them ever started that still lives."""
        await unhurried(self._close())

    async def _start(self, command: Command, output: Sink, errors: Sink | None) -> ChildProcess:
        self._guard = self._guard or asyncio.create_task(asyncio.to_thread(Guard.start, self._mark))
        await asyncio.shield(self._guard)
        self._started += 1
        mark = f"{self._mark}.{self._started}"
        pipes, transport = await _spawn(command, mark, output, errors)
        child = ChildProcess(self._clock, grace_s=self._grace_s, mark=mark, pipes=pipes, transport=transport)
        self._children.add(child)
        child.when_gone(self._children.discard)
        return child

    async def _close(self) -> None:
        await asyncio.gather(*(child.end() for child in self._children))
        if self._started:
            await end_all(ProcessTree(self._mark), "tree", clock=self._clock, grace_s=self._grace_s)
        if self._guard is not None:
            guard = await self._guard
            self._guard = None
            if guard is not None:
                await asyncio.to_thread(guard.close)


async def _end_when_started(starting: "asyncio.Task[ChildProcess]") -> None:
    with suppress(OSError):
        child = await starting
        await child.end()


async def _abandon(child: ChildProcess, capture: OutputCapture) -> None:
    await child.end()
    await capture.discard()


async def _spawn(
    command: Command, mark: str, output: Sink, errors: Sink | None
) -> tuple[ChildPipes, asyncio.SubprocessTransport]:
    stdin = await asyncio.to_thread(_stdin_file, command.stdin) if command.stdin is not None else None
    try:
        transport, pipes = await asyncio.get_running_loop().subprocess_exec(
            lambda: ChildPipes(output, errors),
            *command.argv,
            stdin=stdin if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if errors is None else subprocess.PIPE,
            cwd=command.cwd,
            env={**command.environ, MARK_VARIABLE: mark},
            **_own_session(),
        )
    finally:
        if stdin is not None:
            stdin.close()
    return pipes, transport


def _own_session() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return {"start_new_session": True}


def _stdin_file(text: str) -> IO[bytes]:
    """Return `text` as an unnamed file: unlike a pipe it needs nobody to feed it while the command runs."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 -- the caller closes it once the child has its own descriptor
    file.write(text.encode("utf-8", "replace"))
    file.seek(0)
    return file
