"""Waiting for what must be over before anything else happens."""

import asyncio
from typing import TypeVar

T = TypeVar("T")


async def to_its_end(future: "asyncio.Future[T]") -> T:
    """Wait until `future` is done, also where this is cancelled meanwhile, and then be cancelled."""
    is_cancelled = False
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            is_cancelled = True
    if is_cancelled:
        raise asyncio.CancelledError
    return future.result()
