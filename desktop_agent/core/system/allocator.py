"""Returns freed memory to the system."""

import asyncio
import ctypes
import sys
from contextlib import suppress


async def give_back_memory() -> None:
    """Make the C library return freed memory to the system. Runs in a thread, because it is slow.

    Without this, glibc retains a whole arena while a single block in the arena is in use. Other systems need no help.
    """
    if sys.platform == "linux":
        await asyncio.to_thread(_trim)


def _trim() -> None:
    with suppress(OSError, AttributeError):  # another C library, such as musl
        ctypes.CDLL(None).malloc_trim(0)
