"""Runs work until a signal asks it to end. Commands that only read need neither this nor asyncio."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from typing import Protocol, TypeVar

from desktop_agent.cli import heeded_signals

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Interruptible(Protocol[T_co]):
    def interrupt(self) -> None: ...

    async def run(self) -> T_co: ...


async def run_to_end(work: Interruptible[T_co]) -> T_co:
    """Run `work` and return its result. Signals that ask the process to end interrupt the work."""
    with _calling(work.interrupt):
        return await work.run()


async def run_cancellable(work: Coroutine[object, object, T]) -> T:
    """Run `work` and return its result. If a signal asks for the end, cancel it and raise `KeyboardInterrupt`."""
    task = asyncio.ensure_future(work)
    with _calling(lambda: task.cancelling() or task.cancel()):
        try:
            return await task
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


@contextmanager
def _calling(interrupt: Callable[[], object]) -> Generator[None]:
    """Call `interrupt` for each signal that asks the process to end while the block runs."""
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
