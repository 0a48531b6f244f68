"""A call that a thread makes while the window goes on."""

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtCore import QRunnable, QThreadPool

_T = TypeVar("_T")


class BackgroundCall(Generic[_T]):
    """Calls once. Who started it asks again instead of getting a signal: it may be gone before the thread is done."""

    def __init__(self, call: Callable[[], _T], default: _T) -> None:
        self._call = call
        self.is_started = False
        self.is_done = False
        self.result = default
        """What was returned; the default until then, and when the call raised."""

    def start(self) -> None:
        """Call in a thread, unless it was started."""
        if not self.is_started:
            self.is_started = True
            QThreadPool.globalInstance().start(QRunnable.create(self._run))

    def run(self) -> None:
        """Call now."""
        self.is_started = True
        self._run()

    def _run(self) -> None:
        try:
            self.result = self._call()
        finally:
            self.is_done = True
