import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import TypeVar, cast

from msgspec import Struct, field

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.system.processes.cgroup import CommandGroup
from desktop_agent.core.system.processes.command_streams import OutputReader, waiting_bytes
from desktop_agent.core.system.processes.output import Sink
from desktop_agent.core.system.processes.process_tree import Activity, ProcessTree, Scope

QUIET_S = 0.2
"""How long there must be no output after the exit before we stop reading from processes left behind."""
_WALL = "bwrap"
"""The sandbox around a command may end a moment after the command, but does not count as left behind."""

QUIET_ROUNDS = 5

PATIENCE_S = 5.0
"""How long to wait after KILL for a process that the kernel, or another user's rights, keep alive."""

POLL_S = 0.02

CROWD = 32
"""A tree with more processes than this is killed without being asked to end."""

T = TypeVar("T")


class ProcessEnd(Struct, frozen=True, kw_only=True):
    exit_code: int
    """As shells report it: 128 + n for a process that signal n ended."""
    ended: Mapping[int, str] = field(default_factory=dict[int, str])
    """The processes that the command left running, and that were then ended: pid to name."""
    survivors: Mapping[int, str] = field(default_factory=dict[int, str])
    """The processes that could not be ended, such as another user's: pid to name."""
    excess: str = ""


class ChildPipes(asyncio.SubprocessProtocol):
    def __init__(self, sinks: Mapping[int, Sink], reader: OutputReader | None = None) -> None:
        loop = asyncio.get_running_loop()
        self._sinks: Mapping[int, Sink] = sinks
        self._open = set(sinks)
        self._reader = reader
        self._transport: asyncio.SubprocessTransport | None = None
        self._pauses: dict[int, asyncio.Future[None]] = {}
        self._input_taken: asyncio.Future[None] | None = None
        self._received_bytes = 0
        self.exited: asyncio.Future[None] = loop.create_future()
        self.drained: asyncio.Future[None] = reader.ended if reader is not None else loop.create_future()
        """Done when every stream has ended: no process holds a writing end any more."""
        self.closed: asyncio.Future[None] = loop.create_future()

    @property
    def received_bytes(self) -> int:
        return self._received_bytes if self._reader is None else self._reader.received_bytes

    @property
    def sent_bytes(self) -> int:
        """Return how many bytes the child has sent, including unread ones. Can be called in any thread."""
        if self._reader is not None:
            return self._reader.received_bytes + self._reader.waiting_bytes()
        waiting = 0
        for fd in self._sinks:
            pipe = None if self._transport is None else self._transport.get_pipe_transport(fd)
            file = None if pipe is None or pipe.is_closing() else pipe.get_extra_info("pipe")
            with suppress(OSError, ValueError):  # closed meanwhile
                waiting += waiting_bytes(file.fileno()) if file is not None else 0
        return self._received_bytes + waiting

    async def flowing(self) -> None:
        while self._pauses:
            await asyncio.wait(set(self._pauses.values()))
        while self._reader is not None and self._reader.is_taking:  # noqa: ASYNC110 -- an event per read would cost more
            await asyncio.sleep(POLL_S)

    @property
    def input(self) -> asyncio.WriteTransport | None:
        pipe = None if self._transport is None else self._transport.get_pipe_transport(0)
        return None if pipe is None or pipe.is_closing() else cast("asyncio.WriteTransport", pipe)

    async def input_taken(self) -> None:
        """Return when the child can be sent more."""
        while self._input_taken is not None:
            await asyncio.wait({self._input_taken})

    def stop_listening(self) -> None:
        self._sinks = {}
        if self._reader is not None:
            self._reader.stop()

    async def silenced(self) -> None:
        """Call after `stop_listening`. Return when no sink will be called any more."""
        if self._reader is not None:
            await self._reader.ended

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._received_bytes += len(data)
        sink = self._sinks.get(fd)
        pause = sink(data) if sink is not None else None
        if pause is not None and fd not in self._pauses:
            self._pauses[fd] = pause
            self._pipe(fd).pause_reading()
            pause.add_done_callback(lambda _: self._resume(fd))

    def pause_writing(self) -> None:
        if self._input_taken is None:
            self._input_taken = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        waiting, self._input_taken = self._input_taken, None
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 0:
            self.resume_writing()
        self._open.discard(fd)
        if not self._open and not self.drained.done():
            self.drained.set_result(None)

    def process_exited(self) -> None:
        self.exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set_result(None)

    def _resume(self, fd: int) -> None:
        del self._pauses[fd]
        if not self.closed.done():
            self._pipe(fd).resume_reading()

    def _pipe(self, fd: int) -> asyncio.ReadTransport:
        assert self._transport is not None
        return cast("asyncio.ReadTransport", self._transport.get_pipe_transport(fd))


class ChildProcess:
    """A running command. The code that starts a command must call `end` in any case."""

    def __init__(
        self,
        clock: Clock,
        *,
        grace_s: float,
        mark: str,
        group: CommandGroup | None,
        pipes: ChildPipes,
        transport: asyncio.SubprocessTransport,
        since: float | None = None,
        started_ns: int | None = None,
        let_go: Callable[[], None] | None = None,
        keeps_detached: bool = False,
    ) -> None:
        """The command started no earlier than `since` (on the process table's scale) and `started_ns` (wall clock).

        `let_go` is called in a thread once all processes have ended. `keeps_detached`: processes with their own session
        and output survive a command that exits by itself.
        """
        self._clock = clock
        self._let_go = let_go
        self._keeps_detached = keeps_detached
        self._grace_s = grace_s
        self._pipes = pipes
        self._transport = transport
        self.pid = transport.get_pid() or 0
        self._mark = mark
        self._group = group
        self._since = since
        self._tree = self.new_tree()
        self.activity = Activity(self.new_tree(), lambda: pipes.sent_bytes, started_ns=started_ns)
        self._end_asked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._excess = ""
        self._life = asyncio.create_task(self._live())
        self._life.add_done_callback(lambda _: self.activity.note_end())

    @property
    def has_exited(self) -> bool:
        """Whether the process itself has exited. Its children may still run."""
        return self._pipes.exited.done() and not self._end_asked.done()

    def new_tree(self) -> ProcessTree:
        return ProcessTree(self._mark, self.pid, self._group, since=self._since)

    async def send(self, content: bytes) -> bool:
        """Send the command input; False if it no longer reads. Cancelling ends the wait, not the transfer."""
        pipe = self._pipes.input
        if pipe is None:
            return False
        pipe.write(content)
        await self._pipes.input_taken()
        return self._pipes.input is not None

    def end_input(self) -> None:
        if (pipe := self._pipes.input) is not None:
            pipe.close()

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the command to end by itself; False after `timeout_s`. Cancelling only stops the waiting."""
        done, _ = await asyncio.wait({self._life}, timeout=timeout_s)
        return bool(done)

    async def end(self) -> ProcessEnd:
        """End the whole tree if it still runs. A cancellation is raised only afterwards."""
        self.ask_to_end()
        return await unhurried(self._life)

    def ask_to_end(self) -> None:
        if not self._end_asked.done():
            self._end_asked.set_result(None)

    def end_for_excess(self, excess: str) -> None:
        if not self._life.done():
            self._excess = self._excess or excess
            self.ask_to_end()

    def when_gone(self, callback: "Callable[[ChildProcess], None]") -> None:
        self._life.add_done_callback(lambda _: callback(self))

    async def _live(self) -> ProcessEnd:
        try:
            await asyncio.wait({self._pipes.exited, self._end_asked}, return_when=asyncio.FIRST_COMPLETED)
            await self._listen_until_quiet(self._end_asked)
            ended, survivors = await self._end_what_is_left()
            exit_code = self._transport.get_returncode()
        except asyncio.CancelledError:
            self._kill_at_once()
            if self._let_go is not None:
                self._let_go()
            raise
        finally:
            self._pipes.stop_listening()
            self._transport.close()
        await self._pipes.silenced()
        if exit_code is not None:
            await self._pipes.closed
        excess = "" if self._group is None else await asyncio.to_thread(self._group.close)
        if self._let_go is not None:
            await asyncio.to_thread(self._let_go)
        return ProcessEnd(
            exit_code=_as_shells_count(exit_code), ended=ended, survivors=survivors, excess=self._excess or excess
        )

    async def _listen_until_quiet(self, *wakers: "asyncio.Future[None]") -> None:
        for _ in range(QUIET_ROUNDS):
            if any(waker.done() for waker in (self._pipes.drained, *wakers)):
                return
            await self._pipes.flowing()
            seen = self._pipes.received_bytes
            await asyncio.wait({self._pipes.drained, *wakers}, timeout=QUIET_S, return_when=asyncio.FIRST_COMPLETED)
            if self._pipes.received_bytes == seen:
                return

    async def _end_what_is_left(self) -> tuple[dict[int, str], dict[int, str]]:
        scope: Scope = "tree"
        has_exited = self.has_exited  # otherwise only the command itself is reported
        if has_exited and self._pipes.drained.done() and self._keeps_detached:
            if not self._tree.has_group():
                return {}, {}
            scope = "group"
        grace_s = 0 if self._excess else self._grace_s
        met, survivors = await end_all(self._tree, scope, clock=self._clock, grace_s=grace_s)
        if self.pid not in survivors:
            await self._pipes.exited
            await self._listen_until_quiet()  # the last output of the ended processes
        if not has_exited:
            return {}, survivors
        own = (*survivors, self.pid)
        return {pid: name for pid, name in met.items() if pid not in own and name != _WALL}, survivors

    def _kill_at_once(self) -> None:
        """Send the kill signal: the event loop is closing, so there is time for nothing else."""
        if self._pipes.exited.done() or os.name == "nt":
            return
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return


async def end_all(
    tree: ProcessTree, scope: Scope, *, clock: Clock, grace_s: float
) -> tuple[dict[int, str], dict[int, str]]:
    """End with TERM, then KILL after `grace_s`. Return what was alive and what survived, each as pid to name."""
    begun = clock.monotonic()
    forced_at: float | None = None
    met: dict[int, str] = {}
    while True:
        now = clock.monotonic()
        # Large trees get no TERM: they may fork faster than they can be asked, one by one.
        if forced_at is None and (now - begun >= grace_s or len(met) > CROWD):
            forced_at = now
        alive = await asyncio.to_thread(tree.signal, scope, forceful=forced_at is not None)
        met |= alive
        if not alive or (forced_at is not None and now - forced_at > PATIENCE_S):
            return met, alive
        await clock.sleep(POLL_S)


async def first_of(*work: Coroutine[object, object, object]) -> None:
    """Return when one of these has ended. The others are cancelled, and have ended, too."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def unhurried(work: Awaitable[T]) -> T:
    """Await `work` to its end even when the caller is cancelled. Raise the cancellation afterwards."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # retrieved, because only the cancellation is raised
        raise cancelled
    return task.result()


async def started(start: Coroutine[object, object, T], end: Callable[[T], Awaitable[object]]) -> T:
    """Await the start of a child. If cancelled, let it start, `end` it, and raise the cancellation afterwards.

    Cancelled half-way, asyncio ends the child but not its group. If all tasks of the loop are cancelled, asyncio's own,
    too, Python 3.11 waits for ever for a child that it has only begun to start, unless it is cancelled once more.
    """
    starting = asyncio.ensure_future(start)
    cancelled: asyncio.CancelledError | None = None
    while not starting.done():
        try:
            if starting.cancelling():
                starting.cancel()
                await asyncio.sleep(0)
            else:
                await asyncio.wait({starting})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return starting.result()
    if not starting.cancelled() and starting.exception() is None:
        await unhurried(end(starting.result()))
    raise cancelled


def _as_shells_count(exit_code: int | None) -> int:
    if exit_code is None:  # it survived KILL
        return 128 + 9
    return exit_code if exit_code >= 0 or os.name == "nt" else 128 - exit_code
