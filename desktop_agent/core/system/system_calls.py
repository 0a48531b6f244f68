"""System calls carried through: again when a signal interrupts one, and to the end when it takes only a part."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

O_CLOEXEC: int = getattr(os, "O_CLOEXEC", 0)
O_BINARY: int = getattr(os, "O_BINARY", 0)
O_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
BLOCK_BYTES = 64 * 1024


def retried(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call the system again for as long as a signal interrupts it."""
    while True:
        with suppress(InterruptedError):
            return call(*args, **kwargs)


def write_all(descriptor: int, content: bytes) -> None:
    """Write everything, also where the system takes it in parts."""
    rest = memoryview(content)
    while rest:
        rest = rest[retried(os.write, descriptor, rest) :]


def read_all(descriptor: int) -> bytes:
    parts: list[bytes] = []
    while part := retried(os.read, descriptor, BLOCK_BYTES):
        parts.append(part)
    return b"".join(parts)


def close(descriptor: int) -> None:
    """Close it. What was to be durable is so already, and the descriptor is gone also where this fails."""
    with suppress(OSError):
        os.close(descriptor)
