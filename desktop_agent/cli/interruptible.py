"""Commands that a signal stops in an orderly way: what runs is ended, what is pending is written, then the end."""

import asyncio
import signal
from contextlib import suppress
from typing import Protocol, TypeVar

from desktop_agent.cli.ending import heeded_signals

T_co = TypeVar("T_co", covariant=True)


class Interruptible(Protocol[T_co]):
    """Something that runs to an end, also when it is interrupted."""

    def interrupt(self) -> None: ...

    async def run(self) -> T_co: ...


async def run_to_end(work: Interruptible[T_co]) -> T_co:
    """Run `work` and return what it came to; signals that ask for the end interrupt it meanwhile."""
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in heeded_signals()}
    with suppress(NotImplementedError):  # Windows: Ctrl+C raises KeyboardInterrupt there instead
        for number in before:
            loop.add_signal_handler(number, work.interrupt)
    try:
        return await work.run()
    finally:
        with suppress(NotImplementedError):
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)
