import asyncio
import ctypes
import sys
from contextlib import suppress


async def give_back_memory() -> None:
    """Return freed memory to the system: glibc keeps a whole arena for one used block. Other systems need no help."""
    if sys.platform == "linux":
        await asyncio.to_thread(_trim)


def _trim() -> None:
    with suppress(OSError, AttributeError):  # another C library, such as musl
        ctypes.CDLL(None).malloc_trim(0)
