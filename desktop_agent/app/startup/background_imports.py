"""Imports that give way: a thread that loads modules rests whenever the window has something to do.

Two threads that run Python take turns, and each time the window lets go of the interpreter it waits for its turn again.
A conversation that is painted while a provider's SDK is imported so takes twice as long.
"""

import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

from desktop_agent.ui.runtime.work_share import WorkShare

_BUSY_SHARE: Final = 0.3
"""A thread that has to wait for the interpreter does not work all the time, even while it has much to do."""

_REST_S: Final = 0.004
"""Short against a frame: `importlib` holds its lock meanwhile, so a new import of the main thread waits as long."""
_PATIENCE_S: Final = 5.0
"""What is loaded is needed one day, also by a window that never rests."""


@contextmanager
def imports_give_way(
    clock: Callable[[], float] = time.monotonic,
    work_clock: Callable[[], float] | None = None,
    rest: Callable[[float], None] = time.sleep,  # noqa: TID251 - hands the interpreter to the main thread
) -> Generator[None]:
    """Let this thread rest before each module it imports, as long as the main thread works; five seconds in all.

    `clock` returns the time in seconds, `work_clock` how many of them the main thread has worked, and `rest` lets
    this thread rest for some. Where the system does not say how long a thread worked (macOS, Windows), nothing is
    waited for.
    """
    work_clock = work_clock or _clock_of_main_thread()
    if work_clock is None:
        yield
        return
    finder = _Resting(threading.get_ident(), WorkShare(clock, work_clock), rest)
    # Never changed in place: another thread may be going through the list, and would leave out a finder.
    sys.meta_path = [finder, *sys.meta_path]
    try:
        yield
    finally:
        sys.meta_path = [other for other in sys.meta_path if other is not finder]


class _Resting(MetaPathFinder):
    """Finds no module, but is asked for each before it is loaded."""

    def __init__(self, thread: int, main_thread: WorkShare, rest: Callable[[float], None]) -> None:
        self._thread = thread
        self._main_thread = main_thread
        self._rest = rest
        self._patience_s = _PATIENCE_S

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        if threading.get_ident() == self._thread:
            while self._patience_s > 0 and self._main_thread.since_last() > _BUSY_SHARE:
                self._patience_s -= _REST_S
                self._rest(_REST_S)
        return None


def _clock_of_main_thread() -> Callable[[], float] | None:
    """Return a clock of the seconds that the main thread has worked; None where the system does not say."""
    thread = threading.main_thread().ident
    if sys.platform != "linux" or thread is None:
        return None
    clock = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(clock)
