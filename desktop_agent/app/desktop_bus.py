"""Uses the desktop's session bus: follows accessibility settings, and shows notifications.

The settings portal of freedesktop.org reports reduced motion and high contrast on GNOME, KDE and others:
https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Settings.html. Qt asks the portal for the
contrast only on some desktops, and never for motion.
"""

# jeepney has no complete types; what it hands over is checked here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

import asyncio
import html
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from typing import Final

from jeepney import DBusAddress, HeaderFields, MatchRule, Message
from jeepney.io.asyncio import DBusRouter
from msgspec import Struct

from desktop_agent.core.system.session_bus import PORTAL, PORTAL_PATH, call, connect
from desktop_agent.ui.theme import Wishes

PATIENCE_S: Final = 5.0

_SETTINGS: Final = "org.freedesktop.portal.Settings"
_APPEARANCE: Final = "org.freedesktop.appearance"
_GNOME: Final = "org.gnome.desktop.interface"

NAME: Final = "org.freedesktop.Notifications"
PATH: Final = "/org/freedesktop/Notifications"

_log = logging.getLogger(__name__)


async def follow_desktop(wished: Callable[[Wishes], None]) -> None:
    """Pass the desktop's accessibility settings to `wished`, now and at each change. Return if there is no portal."""
    heard = MatchRule(type="signal", interface=_SETTINGS, path=PORTAL_PATH)
    wanted = MatchRule(type="signal", sender=PORTAL, interface=_SETTINGS, path=PORTAL_PATH, member="SettingChanged")
    told: asyncio.Queue[Message] = asyncio.Queue()
    address = DBusAddress(PORTAL_PATH, bus_name=PORTAL, interface=_SETTINGS)
    try:
        async with AsyncExitStack() as bus:
            async with asyncio.timeout(PATIENCE_S):
                router = await connect(bus, heard, wanted, told)
            async with asyncio.timeout(PATIENCE_S):
                reply = await call(router, address, "ReadAll", "as", ([_APPEARANCE, _GNOME],))
            values = {
                (namespace, key): value
                for namespace, keys in reply.body[0].items()
                for key, (_type, value) in keys.items()
            }
            while True:
                moves_on_gnome = values.get((_GNOME, "enable-animations"), True)
                wished(
                    Wishes(
                        less_motion=values.get((_APPEARANCE, "reduced-motion")) == 1 or moves_on_gnome is False,
                        high_contrast=values.get((_APPEARANCE, "contrast")) == 1,
                    )
                )
                namespace, key, (_type, value) = (await told.get()).body
                values[namespace, key] = value
    except Exception as error:  # noqa: BLE001 - another program on the bus may answer anything
        _log.info("The desktop's accessibility settings cannot be read: %s", type(error).__name__)


NotificationKey = tuple[str, str]
"""What a notification is about: a session, and the key of what waits in that session."""


class Notification(Struct, frozen=True, kw_only=True):
    """The text of a notification, which other people may read on the screen."""

    key: NotificationKey
    title: str
    body: str
    can_deny: bool = False
    show_words: str
    deny_words: str
    makes_sound: bool = False


class DesktopNotifications:
    """Shows notifications. `acted` is called with the key of a notification and `show` or `deny`."""

    def __init__(self, acted: Callable[[NotificationKey, str], None], *, patience_s: float = PATIENCE_S) -> None:
        self._acted = acted
        self._patience_s = patience_s
        self._lock = asyncio.Lock()
        self._router: DBusRouter | None = None
        self._stack = AsyncExitStack()
        self._owner = ""
        """The owner of the notification server's name on the bus. Only signals from this owner count."""
        self._shown: dict[NotificationKey, int] = {}
        self._can: frozenset[str] = frozenset()

    async def show(self, notification: Notification) -> bool:
        """Show a notification, replacing one with the same key. Return False if the desktop cannot show any."""
        async with self._lock:
            try:
                async with asyncio.timeout(self._patience_s):
                    if self._router is None:
                        await self._connect()
                    return await self._show(notification)
            except Exception as error:  # noqa: BLE001 - another program on the bus may answer anything
                _log.info("The desktop cannot show a notification: %s", type(error).__name__)
                await self.aclose()
                return False
            except asyncio.CancelledError:  # the window closes
                await self.aclose()
                raise

    async def withdraw(self, key: NotificationKey) -> None:
        async with self._lock:
            if (number := self._shown.pop(key, None)) is None:
                return
            try:
                async with asyncio.timeout(self._patience_s):
                    await self._call("CloseNotification", "u", (number,))
            except Exception:  # noqa: BLE001 - as above
                await self.aclose()

    async def aclose(self) -> None:
        stack, self._stack, self._router = self._stack, AsyncExitStack(), None
        self._shown.clear()
        with suppress(Exception):  # the bus may be gone
            await stack.aclose()

    async def _connect(self) -> None:
        """Connect to the notification server. Raises an `OSError`, a `KeyError` or the like if there is none."""
        heard = MatchRule(type="signal", interface=NAME, path=PATH)
        wanted = MatchRule(type="signal", sender=NAME, path=PATH)
        signals: asyncio.Queue[Message] = asyncio.Queue(64)
        self._router = await connect(self._stack, heard, wanted, signals)
        listening = asyncio.create_task(self._listen(signals), name="notifications")
        self._stack.push_async_callback(asyncio.wait, [listening])
        self._stack.callback(listening.cancel)
        (found,) = await self._call("GetCapabilities")
        self._can = frozenset(map(str, found)) if isinstance(found, list) else frozenset()

    async def _show(self, notification: Notification) -> bool:
        body = html.escape(notification.body, quote=False) if "body-markup" in self._can else notification.body
        actions = ["default", notification.show_words, "show", notification.show_words]
        actions += ["deny", notification.deny_words] if notification.can_deny else []
        hints: dict[str, tuple[str, object]] = {"urgency": ("y", 1), "desktop-entry": ("s", "desktop-agent")}
        hints |= {"sound-name": ("s", "message")} if notification.makes_sound else {"suppress-sound": ("b", True)}
        replaced = self._shown.get(notification.key, 0)
        actions = actions if "actions" in self._can else []
        arguments = ("Desktop Agent", replaced, "", notification.title, body, actions, hints, -1)
        (number,) = await self._call("Notify", "susssasa{sv}i", arguments)
        if not isinstance(number, int):
            return False
        self._shown[notification.key] = number
        return True

    async def _call(
        self, method: str, signature: str | None = None, body: tuple[object, ...] = ()
    ) -> tuple[object, ...]:
        assert self._router is not None
        reply = await call(self._router, DBusAddress(PATH, bus_name=NAME, interface=NAME), method, signature, body)
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
