"""How long a server may give no sign while it works on a call."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager


class IdleTimeout:
    """Begins anew with each sign of the server, and with the answer to each of its questions.

    While a question waits for the user or for the model, the server waits, and nothing runs out.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._questions = 0
        self.limit = asyncio.timeout(timeout_s)
        """Enter it for the call; it raises `TimeoutError`."""

    def renew(self) -> None:
        """Begin to wait anew."""
        if not self.limit.expired():
            now = asyncio.get_running_loop().time()
            self.limit.reschedule(None if self._questions else now + self._timeout_s)

    @contextmanager
    def suspended(self) -> Generator[None]:
        """Wait for ever meanwhile: the server has asked something."""
        self._questions += 1
        self.renew()
        try:
            yield
        finally:
            self._questions -= 1
            self.renew()
