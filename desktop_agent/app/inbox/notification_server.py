"""The server of notifications on the session bus, as the specification of freedesktop.org has it.

GNOME, KDE and others serve it: https://specifications.freedesktop.org/notification-spec/latest/. Qt's own D-Bus cannot
be used for it from Python: a call needs an unsigned number, and every number of Python becomes a signed one there.
"""

# jeepney has no complete types; what it hands over is checked here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

import asyncio
import html
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress

from jeepney import DBusAddress, HeaderFields, MatchRule, Message, MessageType, new_method_call
from jeepney.bus_messages import message_bus
from jeepney.io.asyncio import DBusRouter, open_dbus_connection

from desktop_agent.app.inbox.notification import Notification, NotificationKey

NAME = "org.freedesktop.Notifications"
PATH = "/org/freedesktop/Notifications"


class NotificationServer:
    """The connection with the server of notifications."""

    def __init__(
        self,
        router: DBusRouter,
        stack: AsyncExitStack,
        acted: Callable[[NotificationKey, str], None],
        signals: asyncio.Queue[Message],
    ) -> None:
        self._router = router
        self._stack = stack
        self._acted = acted
        self._owner = ""
        """Who answers for the name: only its signals count."""
        self._shown: dict[NotificationKey, int] = {}
        self._can: frozenset[str] = frozenset()
        self._listening = asyncio.create_task(self._listen(signals), name="notifications")

    async def ask_what_it_can(self) -> None:
        """Find out about buttons and markup."""
        (found,) = await self._call("GetCapabilities")
        self._can = frozenset(map(str, found)) if isinstance(found, list) else frozenset()

    async def show(self, notification: Notification) -> bool:
        """Show a notification in the place of the one with the same key. Whether the server says that it does."""
        body = html.escape(notification.body, quote=False) if "body-markup" in self._can else notification.body
        actions = ["default", notification.show_words, "show", notification.show_words]
        actions += ["deny", notification.deny_words] if notification.can_deny else []
        hints: dict[str, tuple[str, object]] = {"urgency": ("y", 1), "desktop-entry": ("s", "desktop-agent")}
        hints |= {"sound-name": ("s", "message")} if notification.makes_sound else {"suppress-sound": ("b", True)}
        (number,) = await self._call(
            "Notify",
            "susssasa{sv}i",
            (
                "Desktop Agent",
                self._shown.get(notification.key, 0),
                "",
                notification.title,
                body,
                actions if "actions" in self._can else [],
                hints,
                -1,
            ),
        )
        if not isinstance(number, int):
            return False
        self._shown[notification.key] = number
        return True

    async def withdraw(self, key: NotificationKey) -> None:
        """Take a notification back, if it is shown."""
        if (number := self._shown.pop(key, None)) is not None:
            await self._call("CloseNotification", "u", (number,))

    async def aclose(self) -> None:
        """Leave the bus."""
        self._listening.cancel()
        await asyncio.wait([self._listening])
        with suppress(Exception):  # the bus may be gone
            await self._stack.aclose()

    async def _call(
        self, method: str, signature: str | None = None, body: tuple[object, ...] = ()
    ) -> tuple[object, ...]:
        """Return the body of the answer. Raises `ConnectionError` when it is an error."""
        address = DBusAddress(PATH, bus_name=NAME, interface=NAME)
        reply = await self._router.send_and_get_reply(new_method_call(address, method, signature, body))
        if reply.header.message_type is not MessageType.method_return:
            raise ConnectionError(method)
        self._owner = str(reply.header.fields.get(HeaderFields.sender, ""))
        return tuple(reply.body)

    async def _listen(self, signals: asyncio.Queue[Message]) -> None:
        while True:
            signal = await signals.get()
            if signal.header.fields.get(HeaderFields.sender) != self._owner or not signal.body:
                continue
            key = next((key for key, number in self._shown.items() if number == signal.body[0]), None)
            if key is None:
                continue
            match signal.header.fields.get(HeaderFields.member):
                case "ActionInvoked":
                    self._acted(key, "deny" if signal.body[1:] == ("deny",) else "show")
                case "NotificationClosed":
                    self._shown.pop(key, None)
                case _:
                    pass


async def connect(acted: Callable[[NotificationKey, str], None]) -> NotificationServer:
    """Return the server that owns the name. Raises an `OSError`, a `KeyError` or the like where there is none."""
    stack = AsyncExitStack()
    try:
        connection = await open_dbus_connection()
        stack.push_async_callback(connection.close)
        router = await stack.enter_async_context(DBusRouter(connection))
        rule = MatchRule(type="signal", interface=NAME, path=PATH)
        signals = stack.enter_context(router.filter(rule, bufsize=64))
        await router.send_and_get_reply(message_bus.AddMatch(MatchRule(type="signal", sender=NAME, path=PATH)))
    except BaseException:
        await stack.aclose()
        raise
    server = NotificationServer(router, stack, acted, signals)
    try:
        await server.ask_what_it_can()
    except BaseException:
        await server.aclose()
        raise
    return server
