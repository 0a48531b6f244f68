"""Notifications of the desktop, which come only where it has a service for them that answers in time."""

import asyncio
import logging
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from desktop_agent.app.inbox.notification import Notification, NotificationKey

if TYPE_CHECKING:
    from desktop_agent.app.inbox.notification_server import NotificationServer

PATIENCE_S = 5.0
"""How long a bus and a server of notifications may take for one answer."""

_MODULES = ("jeepney", "jeepney.bus_messages", "jeepney.io.asyncio")

_log = logging.getLogger(__name__)


class DesktopNotifications:
    """Shows notifications, and says what the user does with them.

    Connects when the first is shown, and waits without waking.
    `acted` gets the key of a notification and `show` or `deny`.
    """

    def __init__(self, acted: Callable[[NotificationKey, str], None], *, patience_s: float = PATIENCE_S) -> None:
        self._acted = acted
        self._patience_s = patience_s
        self._lock = asyncio.Lock()
        self._server: NotificationServer | None = None

    async def show(self, notification: Notification) -> bool:
        """Show a notification in the place of the one with the same key. False when the desktop has no way to."""
        async with self._lock:
            try:
                async with asyncio.timeout(self._patience_s):
                    if self._server is None:
                        self._server = await self._connect()
                    return await self._server.show(notification)
            except Exception as error:  # noqa: BLE001 - whatever else is on the bus answers as it likes
                _log.info("The desktop shows no notification: %s", type(error).__name__)
                await self._drop()
                return False
            except asyncio.CancelledError:  # the window closes
                await self._drop()
                raise

    async def withdraw(self, key: NotificationKey) -> None:
        """Take a notification back, if it is shown."""
        async with self._lock:
            if self._server is None:
                return
            try:
                async with asyncio.timeout(self._patience_s):
                    await self._server.withdraw(key)
            except Exception:  # noqa: BLE001 - as above
                await self._drop()

    async def aclose(self) -> None:
        """Leave the bus. Who waits for an answer of it gets none."""
        await self._drop()

    async def _connect(self) -> "NotificationServer":
        for module in _MODULES:  # together they take longer than a frame
            await asyncio.to_thread(import_module, module)
        from desktop_agent.app.inbox.notification_server import connect

        return await connect(self._acted)

    async def _drop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.aclose()
