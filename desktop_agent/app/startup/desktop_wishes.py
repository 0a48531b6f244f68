"""The accessibility settings of the desktop that every program should follow: less movement, more contrast.

The settings portal of freedesktop.org reports them on GNOME, KDE and others, also when they change:
https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Settings.html. Qt asks the portal for the
contrast only on some desktops, and never for movement.
"""

# jeepney has no complete types; what it hands over is checked here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from jeepney import DBusAddress, MatchRule, Message, MessageType, new_method_call
from jeepney.bus_messages import message_bus
from jeepney.io.asyncio import DBusRouter, open_dbus_connection

from desktop_agent.ui.theme import Wishes

PATIENCE_S: Final = 5.0
"""The timeout for one answer of a bus and a portal."""

_NAME: Final = "org.freedesktop.portal.Desktop"
_PATH: Final = "/org/freedesktop/portal/desktop"
_INTERFACE: Final = "org.freedesktop.portal.Settings"
_APPEARANCE: Final = "org.freedesktop.appearance"
_GNOME: Final = "org.gnome.desktop.interface"

_log = logging.getLogger(__name__)


async def follow_desktop(wished: Callable[[Wishes], None], *, patience_s: float = PATIENCE_S) -> None:
    """Pass on the desktop's wishes, now and whenever they change, until cancelled or without a portal."""
    try:
        async with asyncio.timeout(patience_s):
            bus = AsyncExitStack()
            portal = await bus.enter_async_context(_portal())
        async with bus:
            await _follow(*portal, wished, patience_s)
    except Exception as error:  # noqa: BLE001 - whatever else is on the bus answers as it likes
        _log.info("The desktop tells no wishes: %s", type(error).__name__)


@asynccontextmanager
async def _portal() -> AsyncGenerator[tuple[DBusRouter, asyncio.Queue[Message]]]:
    async with AsyncExitStack() as stack:
        connection = await open_dbus_connection()
        stack.push_async_callback(connection.close)
        router = await stack.enter_async_context(DBusRouter(connection))
        told = stack.enter_context(
            router.filter(MatchRule(type="signal", interface=_INTERFACE, path=_PATH), queue=asyncio.Queue())
        )
        rule = MatchRule(type="signal", sender=_NAME, interface=_INTERFACE, path=_PATH, member="SettingChanged")
        await router.send_and_get_reply(message_bus.AddMatch(rule))
        yield router, told


async def _follow(
    router: DBusRouter, told: asyncio.Queue[Message], wished: Callable[[Wishes], None], patience_s: float
) -> None:
    address = DBusAddress(_PATH, bus_name=_NAME, interface=_INTERFACE)
    call = new_method_call(address, "ReadAll", "as", ([_APPEARANCE, _GNOME],))
    async with asyncio.timeout(patience_s):
        reply = await router.send_and_get_reply(call)
    if reply.header.message_type is not MessageType.method_return:
        raise ConnectionError("ReadAll")
    values = {
        (namespace, key): value for namespace, keys in reply.body[0].items() for key, (_type, value) in keys.items()
    }
    while True:
        wished(_wishes(values))
        namespace, key, (_type, value) = (await told.get()).body
        values[namespace, key] = value


def _wishes(values: dict[tuple[str, str], object]) -> Wishes:
    moves_on_gnome = values.get((_GNOME, "enable-animations"), True)
    return Wishes(
        less_motion=values.get((_APPEARANCE, "reduced-motion")) == 1 or moves_on_gnome is False,
        high_contrast=values.get((_APPEARANCE, "contrast")) == 1,
    )
