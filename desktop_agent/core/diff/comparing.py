"""Compares files and counts their lines outside the event loop: small ones in a thread, big ones in a process."""

import asyncio
import time
from contextlib import suppress
from functools import partial

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.file_types import is_binary
from desktop_agent.core.diff.comparison_process import Answer, Comparison, ComparisonProcess, LineCounts
from desktop_agent.core.diff.diff import as_read, count_lines, diff_change, find_middle
from desktop_agent.core.diff.hunks import with_landmarks
from desktop_agent.core.diff.intraline import get_ready
from desktop_agent.core.diff.outline import DiffOutline, assemble
from desktop_agent.core.protocol.model import FileChange, FileDiff
from desktop_agent.core.system.processes.worker_process import WorkerDiedError

BIG_BYTES = 1_000_000
BIG_LINES = 20_000
"""If both contents together have more lines than this, a process compares them, too. Fewer take about 5 ms."""
TIME_LIMIT_S = 5.0
"""How long one comparison may take, as in VS Code. A slower one becomes a single edit."""
_COARSE_LIMIT_S = 60.0
"""A coarse comparison is never slow: this guards against a hanging process."""
_GRACE_S = 0.5
"""How long a comparison that no caller waits for may continue when another one is requested."""
_BREATH_S = 0.0001


class Comparer:
    def __init__(self, *, time_limit_s: float = TIME_LIMIT_S) -> None:
        self._time_limit_s = time_limit_s
        self._turn = asyncio.Lock()
        self._process: ComparisonProcess | None = None
        """Only the thread that uses the process starts and ends it; any thread may kill it."""
        self._running: asyncio.Task[Answer] | None = None
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def diff(self, change: FileChange, before: bytes | None, after: bytes | None) -> FileDiff:
        """Return the diff with landmarks, decoded by `as_read`; a single edit after a timeout. Raises `AgentError`."""
        if not is_big(before, after):
            return await asyncio.to_thread(_compare, change, before, after)
        try:
            async with self._turn:
                outline = await self._outline(Comparison(change, before, after))
        except OSError:  # no process can be started, so the window may wait
            return await asyncio.to_thread(_compare, change, before, after)
        await asyncio.to_thread(get_ready)
        breathe = partial(time.sleep, _BREATH_S)  # noqa: TID251 - hands the interpreter lock to the window's thread
        return await asyncio.to_thread(assemble, outline, before or b"", after or b"", breathe)

    async def aclose(self) -> None:
        """End the process. A running comparison fails."""
        self._is_closed = True
        await self._stop_running()
        if self._process:
            await asyncio.to_thread(self._end)

    async def _outline(self, comparison: Comparison) -> DiffOutline:
        try:
            answer = await self._ask_again_if_died(comparison)
        except (WorkerDiedError, TimeoutError):
            try:
                answer = await self._ask_again_if_died(comparison._replace(is_coarse=True))
            except (WorkerDiedError, TimeoutError) as error:
                raise _failed(f"{comparison.change.path if comparison.change else ''}: {error!r}") from error
        if isinstance(answer, DiffOutline):
            return answer
        raise _failed("\n".join(map(str, answer)))

    async def _ask_again_if_died(self, comparison: Comparison) -> Answer:
        """Retry once if the process died, because another program may have killed it."""
        with suppress(WorkerDiedError):
            return await self._ask(comparison)
        return await self._ask(comparison)

    async def _ask(self, comparison: Comparison) -> Answer:
        """Ask the process. Raises `WorkerDiedError`, or `TimeoutError` after the time limit.

        After a cancellation, the comparison continues: most take less time than starting a new process.
        """
        if self._running and not self._running.done():
            await asyncio.wait([self._running], timeout=_GRACE_S)
        await self._stop_running()
        self._running = asyncio.create_task(asyncio.to_thread(self._work, comparison))
        limit_s = _COARSE_LIMIT_S if comparison.is_coarse else self._time_limit_s
        done, _ = await asyncio.wait([self._running], timeout=limit_s)
        if not done:
            await self._stop_running()
            raise TimeoutError
        return self._running.result()

    async def _stop_running(self) -> None:
        while self._running and not self._running.done():
            if self._process:
                self._process.kill()
            await asyncio.wait([self._running], timeout=_GRACE_S)
        if self._running and not self._running.cancelled():
            self._running.exception()  # the caller that awaited it has seen it

    def _work(self, comparison: Comparison) -> Answer:
        if self._process is None:
            self._process = ComparisonProcess()
        try:
            if self._is_closed:  # `close` may have come before the process was started
                self._process.kill()
            return self._process.ask(comparison)
        except WorkerDiedError:
            self._end()
            raise

    def _end(self) -> None:
        process, self._process = self._process, None
        if process:
            process.end()


def is_big(before: bytes | None, after: bytes | None) -> bool:
    old, new = before or b"", after or b""
    return len(old) + len(new) > BIG_BYTES or old.count(b"\n") + new.count(b"\n") > BIG_LINES


def _compare(change: FileChange, before: bytes | None, after: bytes | None) -> FileDiff:
    get_ready()  # painting the diff compares words
    return as_read(with_landmarks(diff_change(change, before, after)), before, after)


def _failed(detail: str) -> AgentError:
    return AgentError(
        "The two versions of the file could not be compared.",
        hint="Nothing is lost: both are stored, and the change can be undone.",
        detail=detail,
    )


class LineCounter:
    """Counts the lines that `diff_change` would show. Uses a process for big files, until `close`."""

    def __init__(self, *, time_limit_s: float = TIME_LIMIT_S) -> None:
        self._time_limit_s = time_limit_s
        self._process: ComparisonProcess | None = None

    def count(self, before: bytes | None, after: bytes | None) -> tuple[int, int]:
        """Count added and removed lines. Blocks. If matching takes too long, the lines count as one edit."""
        if not (before and after) or before == after or not is_big(before, after):
            return count_lines(before, after)
        if is_binary(before) or is_binary(after):
            return 0, 0
        try:
            self._process = self._process or ComparisonProcess()
            with self._process.limited(self._time_limit_s):
                answer = self._process.ask(Comparison(None, before, after))
        except OSError:  # no process can be started, so the window may wait
            return count_lines(before, after)
        except WorkerDiedError:
            answer = None
        if isinstance(answer, LineCounts):
            return answer
        self.close()
        return count_lines(before, after, match=find_middle)

    def close(self) -> None:
        process, self._process = self._process, None
        if process:
            process.end()
