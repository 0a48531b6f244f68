"""Runs asyncio on Qt's event loop. The only importer of qasync. Import this after the window was painted: 45 ms.

qasync's own `run` and `asyncClose` leave work unfinished. A dialog must never be `exec`'d from a coroutine: the nested
Qt loop loses every task that becomes ready meanwhile. Use `open()` and a future.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context
from functools import partial
from typing import Any, Final

from PySide6.QtCore import QAbstractEventDispatcher
from PySide6.QtWidgets import QApplication

from desktop_agent.core.base.errors import AgentError
from desktop_agent.ui.runtime.garbage import WindowThreadCollector

Work = Coroutine[object, object, object]
ShowError = Callable[[AgentError], None]

GRACE_S: Final = 10.0
"""How many seconds cancelled tasks may take to clean up. Enough to kill a process group and close a journal."""

SWITCH_INTERVAL_S: Final = 0.0001
"""Python's 5 ms is a third of a frame. A shorter time than this keeps two threads from making progress."""

_WORKER_THREADS: Final = 8
_ENDING: Final = ("SIGINT", "SIGTERM", "SIGHUP")

_log = logging.getLogger(__name__)


def run(
    app: QApplication,
    main: Callable[[], Coroutine[object, object, int]],
    *,
    on_signal: Callable[[signal.Signals], None] | None = None,
) -> int:
    """SIGINT, SIGTERM and SIGHUP call `on_signal`, which should end `main`. The same signal again cancels it.

    At log-out, systemd sends both SIGTERM and SIGHUP. A cancelled `main` returns 0. Closing the last window does not
    end the loop. Raises what `main` raises.
    """
    app.setQuitOnLastWindowClosed(False)
    loop = _new_loop(app)
    workers = ThreadPoolExecutor(_WORKER_THREADS, thread_name_prefix="worker")
    loop.set_default_executor(workers)  # qasync's own starts ten QThreads, which Python does not know
    collector = WindowThreadCollector()
    collector.start()
    switch_interval_s = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        return _run_main(loop, main, on_signal)
    finally:
        try:
            _run_to_end(loop, _cancel_leftovers())
            _run_to_end(loop, loop.shutdown_asyncgens())
            workers.shutdown(wait=True, cancel_futures=True)
        finally:
            collector.stop()
            sys.setswitchinterval(switch_interval_s)
            loop.close()


def _new_loop(app: QApplication) -> asyncio.AbstractEventLoop:
    os.environ["QT_API"] = "pyside6"  # qasync would prefer any other binding that happens to be installed
    import qasync

    class Loop(qasync.QEventLoop):
        """Adds hooks that close abandoned asynchronous generators. qasync lacks these hooks."""

        def run_forever(self) -> None:
            hooks: Any = self  # asyncio's own, and private: type checkers do not know them
            before = sys.get_asyncgen_hooks()
            sys.set_asyncgen_hooks(firstiter=hooks._asyncgen_firstiter_hook, finalizer=hooks._asyncgen_finalizer_hook)
            try:
                super().run_forever()
            finally:
                sys.set_asyncgen_hooks(*before)

        def call_later(
            self, delay: float, callback: Callable[..., object], *args: object, context: Context | None = None
        ) -> asyncio.TimerHandle:
            """Replaces qasync's own, whose check for coroutines makes Python 3.14 warn, and takes 10 µs."""
            inherited: Any = self
            return inherited._add_callback(asyncio.Handle(callback, args, self, context=context), delay)

    return Loop(app)


def _run_main(
    loop: asyncio.AbstractEventLoop,
    main: Callable[[], Coroutine[object, object, int]],
    on_signal: Callable[[signal.Signals], None] | None,
) -> int:
    task = loop.create_task(main(), name="main")
    task.add_done_callback(lambda _: loop.stop())
    with _ending_by_signals(loop, task, on_signal):
        loop.run_forever()
        if not task.done():  # something else ended Qt's loop: the session manager, or Quit in a system menu
            task.cancel()
            loop.run_forever()
    try:
        return task.result()
    except asyncio.CancelledError:
        return 0


def _run_to_end(loop: asyncio.AbstractEventLoop, work: Work) -> None:
    task = loop.create_task(work)
    task.add_done_callback(lambda _: loop.stop())
    while not task.done():
        loop.run_forever()
    task.result()


async def _cancel_leftovers() -> None:
    leftovers = asyncio.all_tasks() - {asyncio.current_task()}
    for task in leftovers:
        task.cancel()
    if not leftovers:
        return
    done, stuck = await asyncio.wait(leftovers, timeout=GRACE_S)
    for task in stuck:
        _log.error("%s did not end within %.0f s of being cancelled", task.get_name(), GRACE_S)
    for task in done:
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("%s failed while ending", task.get_name(), exc_info=error)


async def idle() -> None:
    """Wait until the loop has nothing to do, so that all earlier changes are painted. Works only in `run`'s loop."""
    is_idle = asyncio.Event()
    dispatcher = QAbstractEventDispatcher.instance()
    dispatcher.aboutToBlock.connect(is_idle.set)
    try:
        await is_idle.wait()
    finally:
        dispatcher.aboutToBlock.disconnect(is_idle.set)


@contextmanager
def _ending_by_signals(
    loop: asyncio.AbstractEventLoop, task: asyncio.Task[int], on_signal: Callable[[signal.Signals], None] | None
) -> Generator[None]:
    """Within this context, signals ask the application to quit instead of ending the process."""
    asked: set[signal.Signals] = set()

    def ask(number: signal.Signals) -> None:
        if on_signal is None or number in asked:
            task.cancel()
        else:
            asked.add(number)
            on_signal(number)

    def from_interpreter(number: int, _: object) -> None:
        loop.call_soon_threadsafe(ask, signal.Signals(number))

    known = [signal.Signals[name] for name in _ENDING if hasattr(signal, name)]
    heeded = [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]  # `nohup` ignores SIGHUP
    for number in heeded:
        if sys.platform == "win32":
            signal.signal(number, from_interpreter)
        else:
            loop.add_signal_handler(number, ask, number)
    try:
        yield
    finally:
        for number in heeded:
            if sys.platform == "win32":
                signal.signal(number, signal.SIG_DFL)
            else:
                loop.remove_signal_handler(number)


class TaskSpawner:
    """Keeps tasks referenced. Work that is spawned before `start` begins then. Exceptions go to `on_error`."""

    def __init__(self, on_error: Callable[[BaseException], None]) -> None:
        self._on_error = on_error
        self._waiting: list[tuple[Work, ShowError | None]] = []
        self._tasks: set[asyncio.Task[object]] = set()
        self._is_started = False
        self.is_closed = False

    def __len__(self) -> int:
        return len(self._waiting) + len(self._tasks)

    def start(self) -> None:
        """Call this while the loop is running."""
        self._is_started = True
        waiting, self._waiting = self._waiting, []
        for work, show_error in waiting:
            self._start(work, show_error)

    def spawn(self, work: Work, show_error: ShowError | None = None) -> None:
        """Run `work` in the background; `show_error` gets its `AgentError`. After `aclose`, nothing is started."""
        if self.is_closed:
            work.close()
        elif self._is_started:
            self._start(work, show_error)
        else:
            self._waiting.append((work, show_error))

    def cancel_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        for work, _ in waiting:
            work.close()
        for task in self._tasks:
            task.cancel()

    async def aclose(self) -> None:
        """Refuse new work, cancel running tasks, and return when they have ended."""
        self.is_closed = True
        self.cancel_all()
        if self._tasks:
            await asyncio.wait(set(self._tasks))

    def _start(self, work: Work, show_error: ShowError | None) -> None:
        task = asyncio.get_running_loop().create_task(work, name=getattr(work, "__qualname__", None))
        self._tasks.add(task)
        task.add_done_callback(partial(self._on_done, show_error))

    def _on_done(self, show_error: ShowError | None, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if show_error is not None and isinstance(error, AgentError):
            show_error(error)
        else:
            self._on_error(error)
