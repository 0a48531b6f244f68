"""Names whatever makes the window stand still.

A timer on the window's thread beats; a thread looks whether it still does. If not, the thread writes down where the
window's thread is, while it is there. A call that holds the interpreter lock for long delays the look itself, but the
window's thread is then seen in the line that made it.
"""

import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Final, NamedTuple

from PySide6.QtCore import QObject, Qt, QTimer

from desktop_agent.core.base.package import PACKAGE_FOLDER

LIMIT_MS: Final = 50
"""What a user notices, with room for a busy machine. Work in the window is to stay under 16 ms."""

BEAT_MS: Final = 20
"""A stall is seen as up to this much shorter than it is; more beats would wake an idle machine more often."""

_QUIET_S: Final = 5.0
"""At most one warning in this time: what blocks once often blocks again."""

_PACKAGE: Final = str(PACKAGE_FOLDER)

_log = logging.getLogger(__name__)


class Stalls(NamedTuple):
    """How often the window stood still for longer than the limit, and for how long at worst."""

    number: int = 0
    worst_ms: float = 0.0


class Watchdog(QObject):
    """Watches the thread it is started on. Wakes the processor some 70 times a second, and does next to nothing then.

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
        self._last_beat = 0.0
        self._watched = 0
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(BEAT_MS)
        self._timer.timeout.connect(self._beat)

    @property
    def stalls(self) -> Stalls:
        """What was seen so far."""
        return self._stalls

    def start(self) -> None:
        """Watch this thread from now on."""
        if self._thread is not None:
            return
        self._watched = threading.get_ident()
        self._last_beat = self._clock()
        self._over.clear()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()
        self._timer.start()

    def stop(self) -> None:
        """Stop watching; no thread is left."""
        self._timer.stop()
        if self._thread is not None:
            self._over.set()
            self._thread.join()
            self._thread = None

    def _beat(self) -> None:
        now = self._clock()
        late_s = now - self._last_beat - BEAT_MS / 1000
        self._last_beat = now
        if late_s > self._limit_s:
            self._stalls = Stalls(self._stalls.number + 1, max(self._stalls.worst_ms, late_s * 1000))
            _log.info("the window stood still for %.0f ms", late_s * 1000)

    def _watch(self) -> None:
        patience_s = self._limit_s + BEAT_MS / 1000
        quiet_until = 0.0
        reported = 0.0
        unsaid = 0
        while True:
            beat, now = self._last_beat, self._clock()
            left_s = beat + patience_s - now
            if left_s <= 0 and beat != reported:
                reported = beat  # one warning per stall
                if now < quiet_until:
                    unsaid += 1
                else:
                    self._warn(unsaid)
                    quiet_until, unsaid = now + _QUIET_S, 0
            if self._over.wait(left_s if left_s > 0 else patience_s):
                return

    def _warn(self, unsaid: int) -> None:
        frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage] - documented, and there is no other way
        frame = frames.get(self._watched)
        if frame is not None:
            _log.warning(
                "the window stands still for more than %.0f ms in %s%s\n%s",
                self._limit_s * 1000,
                _culprit(frame),
                f" ({unsaid} more since the last warning)" if unsaid else "",
                "".join(traceback.format_stack(frame)),
            )


def _culprit(frame: FrameType) -> str:
    """Return the innermost line of our own code, else the innermost line."""
    walk: FrameType | None = frame
    while walk is not None and not walk.f_code.co_filename.startswith(_PACKAGE):
        walk = walk.f_back
    found = walk or frame
    return f"{found.f_code.co_filename}:{found.f_lineno} ({found.f_code.co_qualname})"
