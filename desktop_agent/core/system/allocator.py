"""Returns freed memory to the system."""

import asyncio
import ctypes
import sys
from contextlib import suppress


async def give_back_memory() -> None:
    """Make the C library return the memory it retains after much was freed at once. Runs in a thread: it takes long.

    glibc otherwise keeps whole arenas in which a single block is in use. Other systems need no help.
    """
    if sys.platform == "linux":
        await asyncio.to_thread(_trim)


def _trim() -> None:
    with suppress(OSError, AttributeError):  # another C library, such as musl
        ctypes.CDLL(None).malloc_trim(0)
