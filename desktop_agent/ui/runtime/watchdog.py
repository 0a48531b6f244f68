"""Measures how long the event loop works without a pause, and logs what froze the window."""

import ctypes
import linecache
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Final, NamedTuple

from PySide6.QtCore import QAbstractEventDispatcher, QObject

from desktop_agent.core.base.package import PACKAGE_FOLDER

_GLIB: Final = "libglib-2.0.so.0"
_POLL: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, use_errno=True)
"""GLib's `GPollFunc`: descriptors, their number, and the longest wait in ms; returns how many are ready.

GLib reads `errno` after the function returns, because a signal may have set it. Our code in between must not change it.
"""

_MAIN_CONTEXT: Final = None
"""The default context, which Qt uses on the main thread."""

_given: Final[list[object]] = []
"""The callbacks given to GLib, kept because GLib holds no reference and calling a freed one crashes the process."""


def follow_loop(*, works: Callable[[], None], rests: Callable[[], None]) -> Callable[[], None]:
    """Return a function that ends this. Call this on the main thread. The callbacks run often and must not raise.

    Qt's loop without GLib (`QT_NO_GLIB=1`) does not report the work of timers.
    """
    dispatcher = QAbstractEventDispatcher.instance()
    if "Glib" in str(dispatcher.metaObject().className()) and (glib := _load_glib()) is not None:
        return _follow_glib(glib, works, rests)
    dispatcher.awake.connect(works)
    dispatcher.aboutToBlock.connect(rests)

    def stop() -> None:
        dispatcher.awake.disconnect(works)
        dispatcher.aboutToBlock.disconnect(rests)

    return stop


def _load_glib() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(_GLIB)
    except OSError:
        return None


def _follow_glib(glib: ctypes.CDLL, works: Callable[[], None], rests: Callable[[], None]) -> Callable[[], None]:
    glib.g_main_context_get_poll_func.argtypes = [ctypes.c_void_p]
    glib.g_main_context_get_poll_func.restype = _POLL
    glib.g_main_context_set_poll_func.argtypes = [ctypes.c_void_p, _POLL]
    glib.g_main_context_set_poll_func.restype = None
    wait = glib.g_main_context_get_poll_func(_MAIN_CONTEXT)

    def wait_between(descriptors: int, number: int, at_most_ms: int) -> int:
        rests()
        ready: int = wait(descriptors, number, at_most_ms)
        works()
        return ready

    replacement = _POLL(wait_between)
    _given.append(replacement)
    glib.g_main_context_set_poll_func(_MAIN_CONTEXT, replacement)

    def stop() -> None:
        glib.g_main_context_set_poll_func(_MAIN_CONTEXT, wait)

    return stop


LIMIT_MS: Final = 50
"""The longest work that is not a stall. Users notice longer ones; the aim is 16 ms, the rest is for busy machines."""

_QUIET_S: Final = 5.0
"""The shortest time between two warnings, because what blocks once often blocks again."""

_PACKAGE: Final = str(PACKAGE_FOLDER)

_log = logging.getLogger(__name__)


class Stalls(NamedTuple):
    number: int = 0
    worst_ms: float = 0.0


class Watchdog(QObject):
    """Watches the thread it is started on. `stalls` counts every stall; the log gets few warnings."""

    def __init__(
        self,
        parent: QObject | None = None,
        *,
        limit_ms: float = LIMIT_MS,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`clock` returns the time in seconds, in any thread."""
        super().__init__(parent)
        self._clock = clock
        self._limit_s = limit_ms / 1000
        self.stalls = Stalls()
        self._busy_since: float | None = None
        self._watched = 0
        self._over = threading.Event()
        self._is_asleep = False
        """Set before `_busy_since` is last checked, and read after it is set, so one thread sees what the other did."""
        self._stir = threading.Event()
        self._thread: threading.Thread | None = None
        self._unfollow: Callable[[], None] = lambda: None

    def start(self) -> None:
        if self._thread is not None:
            return
        self._watched = threading.get_ident()
        self._busy_since = self._clock()
        self._over.clear()
        self._is_asleep = False
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()
        self._unfollow = follow_loop(works=self._on_work, rests=self._on_rest)

    def stop(self) -> None:
        if self._thread is not None:
            self._unfollow()
            self._over.set()
            self._stir.set()
            self._thread.join()
            self._thread = None
            self._busy_since = None

    def _on_work(self) -> None:
        """Called some hundred times a second while the window works."""
        self._busy_since = self._end_of_work()
        if self._is_asleep:
            self._is_asleep = False
            self._stir.set()

    def _on_rest(self) -> None:
        self._end_of_work()
        self._busy_since = None

    def _end_of_work(self) -> float:
        """End the current stretch of work, count it if it was a stall, and return the present time."""
        now = self._clock()
        if self._busy_since is not None and (took_s := now - self._busy_since) > self._limit_s:
            self.stalls = Stalls(self.stalls.number + 1, max(self.stalls.worst_ms, took_s * 1000))
            _log.info("the window stood still for %.0f ms", took_s * 1000)
        return now

    def _watch(self) -> None:
        quiet_until = 0.0
        reported: float | None = None
        unsaid = 0
        while not self._over.is_set():
            since, now = self._busy_since, self._clock()
            if since is None:
                self._sleep()
                continue
            left_s = since + self._limit_s - now
            if left_s <= 0 and since != reported:
                reported = since  # one warning per stall
                if now < quiet_until:
                    unsaid += 1
                else:
                    self._warn(unsaid)
                    quiet_until, unsaid = now + _QUIET_S, 0
            self._over.wait(left_s if left_s > 0 else self._limit_s)

    def _sleep(self) -> None:
        """Wait for work, then for the length of the limit, so that short work wakes this thread only once."""
        self._stir.clear()
        self._is_asleep = True
        if self._busy_since is None and not self._over.is_set():
            self._stir.wait()
        self._is_asleep = False
        self._over.wait(self._limit_s)

    def _warn(self, unsaid: int) -> None:
        # Other frames, including this one, are not stored: a cycle would keep everything in them alive.
        frame = sys._current_frames().get(self._watched)  # pyright: ignore[reportPrivateUsage] - documented, no other way
        if frame is not None:
            _log.warning(
                "the window stands still for more than %.0f ms in %s%s\n%s",
                self._limit_s * 1000,
                _culprit(frame),
                f" ({unsaid} more since the last warning)" if unsaid else "",
                "".join(traceback.format_stack(frame)),
            )
            linecache.clearcache()  # otherwise all source files in the stack would stay in memory


def _culprit(frame: FrameType) -> str:
    walk: FrameType | None = frame
    while walk is not None and not walk.f_code.co_filename.startswith(_PACKAGE):
        walk = walk.f_back
    found = walk or frame
    return f"{found.f_code.co_filename}:{found.f_lineno} ({found.f_code.co_qualname})"
