"""Signals that ask a process for its end. Without asyncio until something runs: most commands do without it."""

import signal
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from typing import Protocol, TypeVar

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


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Interruptible(Protocol[T_co]):
    """Something that runs to an end, also when it is interrupted."""

    def interrupt(self) -> None: ...

    async def run(self) -> T_co: ...


async def run_to_end(work: Interruptible[T_co]) -> T_co:
    """Run `work` and return what it came to; signals that ask for the end interrupt it meanwhile."""
    with _calling(work.interrupt):
        return await work.run()


async def run_cancellable(work: Coroutine[object, object, T]) -> T:
    """Run `work` and return its result. Signals that ask for the end cancel it; then raises `KeyboardInterrupt`."""
    import asyncio

    task = asyncio.ensure_future(work)
    with _calling(lambda: task.cancelling() or task.cancel()):
        try:
            return await task
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


@contextmanager
def _calling(interrupt: Callable[[], object]) -> Generator[None]:
    """Have signals that ask for the end call `interrupt` in the body."""
    import asyncio

    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in heeded_signals()}
    with suppress(NotImplementedError):  # Windows: Ctrl+C raises KeyboardInterrupt there instead
        for number in before:
            loop.add_signal_handler(number, interrupt)
    try:
        yield
    finally:
        with suppress(NotImplementedError):
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)
