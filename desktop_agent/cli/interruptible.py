"""Commands that a signal stops in an orderly way: what runs is ended, what is pending is written, then the end."""

import asyncio
import signal
from contextlib import suppress
from typing import Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)


class Interruptible(Protocol[T_co]):
    """Something that runs to an end, also when it is interrupted."""

    def interrupt(self) -> None: ...

    async def run(self) -> T_co: ...


async def run_to_end(work: Interruptible[T_co]) -> T_co:
    """Run `work` and return what it came to; Ctrl+C, TERM and the end of the terminal interrupt it."""
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):  # Windows: Ctrl+C raises KeyboardInterrupt there instead
        loop.add_signal_handler(signal.SIGINT, work.interrupt)
        loop.add_signal_handler(signal.SIGTERM, work.interrupt)
        loop.add_signal_handler(signal.SIGHUP, work.interrupt)  # the terminal was closed
    return await work.run()
