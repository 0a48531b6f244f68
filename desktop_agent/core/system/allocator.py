"""Memory that was freed, given back to the system."""

import asyncio
import ctypes
import sys
from contextlib import suppress


async def give_back_memory() -> None:
    """Let the C library give back what it keeps for later, after much was freed at once. In a thread: it takes long.

    glibc otherwise keeps whole arenas in which one block is in use. Other systems do it by themselves.
    """
    if sys.platform == "linux":
        await asyncio.to_thread(_trim)


def _trim() -> None:
    with suppress(OSError, AttributeError):  # another C library, such as musl
        ctypes.CDLL(None).malloc_trim(0)
