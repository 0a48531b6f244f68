"""The kill test of undo: kills an undo or redo at a system call. `python -m tests.e2e.calls_kill_lab`

Every input line is a trial in JSON: a forked child opens a session and undoes or redoes, and is killed when it enters
or leaves a system call for the given time, over all threads. Output lines have the count and whether it was killed;
the first line says whether this machine allows tracing. It uses `ptrace(2)` since strace counts each thread alone.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Final

import msgspec

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.protocol.ops import decode_op
from tests.core.undo.real_history import Revert, opened, reverted
from tests.e2e.kill_lab import live
from tests.harness import Ground

_SYSCALL: Final = 24
_SEIZE: Final = 0x4206
_INTERRUPT: Final = 0x4207
_OPTIONS: Final = 0x1 | 0x8 | 0x100000
"""Mark stops at system calls, trace new threads, and kill the child when this process ends."""
_WALL: Final = 0x40000000
_AT_CALL: Final = signal.SIGTRAP | 0x80


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    place: str
    session_id: SessionId
    op: JsonObject
    """An undo or redo."""
    kill_at: int | None = None
    is_from_start: bool = False
    """Whether calls count from the session's opening, with its recovery, or from the undo on."""


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a life ended, and the number of system call entries and exits until then."""

    calls: int
    is_killed: bool


class Traced:
    """A child with its threads, stopped at each system call. All calls must come from one thread."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ptrace = ctypes.CDLL(None, use_errno=True).ptrace
        self._ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
        self._ptrace.restype = ctypes.c_long
        for thread in Path(f"/proc/{pid}/task").iterdir():
            if self._request(_SEIZE, int(thread.name), _OPTIONS) < 0:
                raise PermissionError(ctypes.get_errno(), "This machine lets no process trace another.")
            self._request(_INTERRUPT, int(thread.name))

    def run(self, kill_at: int | None) -> Ended:
        """Run the child until it ends, or until call `kill_at`, where it is killed."""
        calls = 0
        while True:
            thread, status = os.waitpid(-1, _WALL)
            if not os.WIFSTOPPED(status):
                if thread == self._pid:
                    return Ended(calls=calls, is_killed=os.WIFSIGNALED(status))
                continue
            stopped_by, is_event = os.WSTOPSIG(status), bool(status >> 16)
            if stopped_by == _AT_CALL:
                if calls == kill_at:
                    os.kill(self._pid, signal.SIGKILL)
                calls += 1
            self._request(_SYSCALL, thread, 0 if is_event or stopped_by == _AT_CALL else stopped_by)

    def _request(self, request: int, thread: int, data: int = 0) -> int:
        return int(self._ptrace(request, thread, None, data))


async def one_undo(trial: Trial, wait: Callable[[], object]) -> None:
    if trial.is_from_start:
        wait()
    op = decode_op(trial.op)
    assert isinstance(op, Revert)
    async with opened(Ground(Path(trial.place)), resume=trial.session_id) as s:
        if not trial.is_from_start:
            wait()
        await reverted(s, op)
        os._exit(0)  # closing the session is not under test


def carried_out(trial: Trial) -> Ended:
    (ready, say_ready), (go, say_go) = os.pipe(), os.pipe()

    def wait() -> None:
        os.write(say_ready, b".")
        os.read(go, 1)

    def life() -> Coroutine[object, object, None]:
        return one_undo(trial, wait)

    child = live(life)
    os.close(say_ready)
    try:
        assert os.read(ready, 1), "it ended before it was ready"
        traced = Traced(child)
        os.write(say_go, b".")
        return traced.run(trial.kill_at)
    finally:
        for end in (ready, go, say_go):
            os.close(end)


def can_trace() -> bool:
    child = os.fork()
    if not child:
        signal.pause()
    try:
        Traced(child)
    except PermissionError:
        return False
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return True


def main() -> None:
    tell(can_trace())
    for line in sys.stdin.buffer:
        tell(carried_out(msgspec.json.decode(line, type=Trial)))


def tell(what: object) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(what) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
