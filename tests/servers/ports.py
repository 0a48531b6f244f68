"""Ports of this machine on which nothing listens."""

import secrets
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import cast


def free_port() -> int:
    """Return a port to listen on, below those that systems give to connections (of other tests, too)."""
    while True:
        port = 10_000 + secrets.randbelow(22_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@contextmanager
def closed_port() -> Generator[int]:
    """Yield a port that nobody can listen on meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield cast("int", bound.getsockname()[1])
