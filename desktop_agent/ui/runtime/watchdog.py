"""Names whatever makes the window stand still.

The event loop says when it begins to work and when it begins to wait; a thread looks whether a piece of work takes
too long. If so, the thread writes down where the window's thread is, while it is there. A call that holds the
interpreter lock for long delays the look itself, but the window's thread is then seen in the line that made it.

Nothing wakes up while the window rests.
"""

import linecache
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Final, NamedTuple

from PySide6.QtCore import QObject

from desktop_agent.core.base.package import PACKAGE_FOLDER
from desktop_agent.ui.runtime.loop_turns import follow_loop

LIMIT_MS: Final = 50
"""What a user notices, with room for a busy machine. Work in the window is to stay under 16 ms."""

_QUIET_S: Final = 5.0
"""At most one warning in this time: what blocks once often blocks again."""

_PACKAGE: Final = str(PACKAGE_FOLDER)

_log = logging.getLogger(__name__)


class Stalls(NamedTuple):
    """How often the window stood still for longer than the limit, and for how long at worst."""

    number: int = 0
    worst_ms: float = 0.0


class Watchdog(QObject):
    """Watches the thread it is started on, which has an event loop of Qt.

    `stalls` counts every stall; the log gets one warning per stall, and few of them.
    """

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
        self._stalls = Stalls()
        self._busy_since: float | None = None
        self._watched = 0
        self._over = threading.Event()
        self._is_asleep = False
        """Whether the thread waits until there is work to watch. Set before it looks for the last time, and read after
        `_busy_since` was set: one of the two threads sees what the other did."""
        self._stir = threading.Event()
        self._thread: threading.Thread | None = None
        self._unfollow: Callable[[], None] = lambda: None

    @property
    def stalls(self) -> Stalls:
        """What was seen so far."""
        return self._stalls

    def busy_ms(self) -> float:
        """For how long the turn of the loop that is going on has taken; 0 while the loop waits, or is not watched."""
        since = self._busy_since
        return 0.0 if since is None else (self._clock() - since) * 1000

    def start(self) -> None:
        """Watch this thread from now on."""
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
        """Stop watching; no thread is left."""
        if self._thread is not None:
            self._unfollow()
            self._over.set()
            self._stir.set()
            self._thread.join()
            self._thread = None
            self._busy_since = None

    def _on_work(self) -> None:
        """Begin with what the loop does in one go. Called some hundred times a second while the window works."""
        self._busy_since = self._end_of_work()
        if self._is_asleep:
            self._is_asleep = False
            self._stir.set()

    def _on_rest(self) -> None:
        self._end_of_work()
        self._busy_since = None

    def _end_of_work(self) -> float:
        """Count what was done until now if it was a stall, and return the time."""
        now = self._clock()
        if self._busy_since is not None and (took_s := now - self._busy_since) > self._limit_s:
            self._stalls = Stalls(self._stalls.number + 1, max(self._stalls.worst_ms, took_s * 1000))
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
        """Return when there has been work for as long as it may take, so that short work wakes this thread once."""
        self._stir.clear()
        self._is_asleep = True
        if self._busy_since is None and not self._over.is_set():
            self._stir.wait()
        self._is_asleep = False
        self._over.wait(self._limit_s)

    def _warn(self, unsaid: int) -> None:
        # The other frames, among which is this one, are not kept: in a circle, they would hold all that is in them.
        frame = sys._current_frames().get(self._watched)  # pyright: ignore[reportPrivateUsage] - documented, no other way
        if frame is not None:
            _log.warning(
                "the window stands still for more than %.0f ms in %s%s\n%s",
                self._limit_s * 1000,
                _culprit(frame),
                f" ({unsaid} more since the last warning)" if unsaid else "",
                "".join(traceback.format_stack(frame)),
            )
            linecache.clearcache()  # or all of the source files in the stack would stay in memory


def _culprit(frame: FrameType) -> str:
    """Return the innermost line of our own code, else the innermost line."""
    walk: FrameType | None = frame
    while walk is not None and not walk.f_code.co_filename.startswith(_PACKAGE):
        walk = walk.f_back
    found = walk or frame
    return f"{found.f_code.co_filename}:{found.f_lineno} ({found.f_code.co_qualname})"
