"""Connections that do not wait for ever: the head of a request must arrive in time.

uvicorn limits how long a connection rests between two requests, and nothing else.
"""

import asyncio
from typing import Any

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState


def patient_for(head_s: float) -> type[H11Protocol]:
    """Return the protocol that ends connections whose request line and headers take longer than `head_s`."""

    class PatientProtocol(H11Protocol):
        """HTTP/1.1 by uvicorn, with that limit."""

        def __init__(
            self,
            config: Config,
            server_state: ServerState,
            app_state: dict[str, Any],
            _loop: asyncio.AbstractEventLoop | None = None,
        ) -> None:
            super().__init__(config, server_state, app_state, _loop)
            self._patience: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
            super().connection_made(transport)
            self._wait_for_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._stop_waiting()
            elif self._patience is None:
                self._wait_for_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _wait_for_head(self) -> None:
            self._patience = self.loop.call_later(head_s, self.transport.abort)

        def _stop_waiting(self) -> None:
            if self._patience is not None:
                self._patience.cancel()
                self._patience = None

    return PatientProtocol
