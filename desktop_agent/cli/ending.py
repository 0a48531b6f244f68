"""Signals that ask a process for its end. Without asyncio, which most commands do without."""

import signal
from collections.abc import Generator
from contextlib import contextmanager

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
"""Ctrl+C, the usual request to end, and the end of the terminal."""


@contextmanager
def ending_by_signals() -> Generator[None]:
    """In a process of our own, have signals that ask for its end raise `KeyboardInterrupt` in the body, from the start.

    Behind it they are ignored: all is done then, and the interpreter would only complain on its way out.
    """
    heeded = heeded_signals()
    for number in heeded:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, signal.SIG_IGN)


def heeded_signals() -> list[signal.Signals]:
    """The signals that are not ignored, as they are behind `nohup` and in the background of a script."""
    known = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    return [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]
