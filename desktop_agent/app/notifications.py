"""Tells the user that something waits while they are not looking: by a desktop notification, else at the tray."""

import asyncio
import html
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack, suppress

from jeepney import DBusAddress, HeaderFields, MatchRule, Message, MessageType, new_method_call
from jeepney.bus_messages import message_bus
from jeepney.io.asyncio import DBusRouter, open_dbus_connection
from msgspec import Struct
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QStyle, QSystemTrayIcon, QWidget

from desktop_agent.app.controller import Controller, WindowContext
from desktop_agent.app.inbox import Inbox
from desktop_agent.ui.inbox import inbox_items
from desktop_agent.ui.inbox.inbox_items import InboxItem

NotificationKey = tuple[str, str]
"""What a notification is about: a session, and what waits in it."""


class Notification(Struct, frozen=True, kw_only=True):
    """The text of a notification, which other people may read on the screen."""

    key: NotificationKey
    title: str
    body: str
    can_deny: bool = False
    show_words: str
    deny_words: str
    makes_sound: bool = False


# jeepney has no complete types; what it hands over is checked here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false


NAME = "org.freedesktop.Notifications"
PATH = "/org/freedesktop/Notifications"


PATIENCE_S = 5.0
"""The timeout for one answer of a bus and a notification server."""

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
        self._router: DBusRouter | None = None
        self._stack = AsyncExitStack()
        self._owner = ""
        """The owner of the service's name on the bus: only its signals count."""
        self._shown: dict[NotificationKey, int] = {}
        self._can: frozenset[str] = frozenset()

    async def show(self, notification: Notification) -> bool:
        """Show a notification in place of the one with the same key. Returns False when the desktop cannot show any."""
        async with self._lock:
            try:
                async with asyncio.timeout(self._patience_s):
                    if self._router is None:
                        await self._connect()
                    return await self._show(notification)
            except Exception as error:  # noqa: BLE001 - whatever else is on the bus answers as it likes
                _log.info("The desktop shows no notification: %s", type(error).__name__)
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
        """Raises an `OSError`, a `KeyError` or the like where there is no notification server."""
        connection = await open_dbus_connection()
        self._stack.push_async_callback(connection.close)
        self._router = router = await self._stack.enter_async_context(DBusRouter(connection))
        rule = MatchRule(type="signal", interface=NAME, path=PATH)
        signals = self._stack.enter_context(router.filter(rule, bufsize=64))
        await router.send_and_get_reply(message_bus.AddMatch(MatchRule(type="signal", sender=NAME, path=PATH)))
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
        """Return the body of the answer. Raises `ConnectionError` when it is an error."""
        assert self._router is not None
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


class TrayMessages(QObject):
    """Shows notifications at a tray icon, which is there as long as a notification can be visible.

    `acted` gets the key of a notification and `show`.
    """

    def __init__(self, window: QWidget, acted: Callable[[NotificationKey, str], None]) -> None:
        super().__init__(window)
        self._acted = acted
        self._icon: QSystemTrayIcon | None = None
        self._key: NotificationKey | None = None
        """The key of the notification shown last: Qt does not say which one is clicked."""

    def show(self, notification: Notification) -> bool:
        """Show a notification. False when there is no tray."""
        if not QSystemTrayIcon.isSystemTrayAvailable() or not QSystemTrayIcon.supportsMessages():
            return False
        icon = QApplication.windowIcon()
        if icon.isNull():
            icon = QApplication.style().standardIcon(QStyle.StandardPixmap.SP_MessageBoxInformation)
        if self._icon is None:
            self._icon = QSystemTrayIcon(icon, self)
            self._icon.messageClicked.connect(self._on_clicked)
            self._icon.activated.connect(self._on_clicked)
        self._key = notification.key
        self._icon.setToolTip(notification.title)
        self._icon.show()
        self._icon.showMessage(notification.title, notification.body, icon)
        return True

    def hide(self) -> None:
        if self._icon is not None:
            self._icon.hide()

    def _on_clicked(self) -> None:
        if self._key is not None:
            self._acted(self._key, "show")


class InboxNotifier(Controller):
    """Shows a notification of the desktop, else at the tray, else only the number at the top of the window.

    A notification says only what kind of thing waits and in which session, because others may see the screen. Calls
    cannot be allowed from there, because the user cannot see what they would allow; they can be denied.
    """

    def __init__(self, context: WindowContext, inbox: Inbox) -> None:
        super().__init__(context)
        self._inbox = inbox
        self._window = self._panels.window
        self._desktop = DesktopNotifications(self._on_acted)
        self._tray = TrayMessages(self._window, self._on_acted)
        self._told: dict[NotificationKey, InboxItem] = {}
        inbox.came.connect(self._on_came)
        inbox.changed.connect(self._on_changed)
        app = QGuiApplication.instance()
        assert isinstance(app, QGuiApplication)
        app.applicationStateChanged.connect(self._on_state)

    @property
    def is_in_front(self) -> bool:
        is_active = QGuiApplication.applicationState() == Qt.ApplicationState.ApplicationActive
        return is_active and not self._window.isMinimized() and self._window.isVisible()

    async def aclose(self) -> None:
        self._inbox.came.disconnect(self._on_came)
        self._tray.hide()
        await self._desktop.aclose()

    def _on_came(self, item: InboxItem) -> None:
        if self.is_in_front or not self._bench.settings.ui.notifications:
            return
        QApplication.alert(self._window)
        self._told[item.key] = item
        self._launch(self._tell(item))

    async def _tell(self, item: InboxItem) -> None:
        notification = Notification(
            key=item.key,
            title=inbox_items.kind(item),
            body=inbox_items.title(item),
            can_deny=item.can_deny,
            show_words=self.tr("Show"),
            deny_words=self.tr("Deny"),
            makes_sound=self._bench.settings.ui.notification_sound,
        )
        if not await self._desktop.show(notification):
            self._tray.show(notification)

    def _on_changed(self, items: Sequence[InboxItem]) -> None:
        waiting = {item.key for item in items}
        self._take_back(key for key, item in self._told.items() if item.waits and key not in waiting)

    def _on_state(self, _state: Qt.ApplicationState) -> None:
        """Withdraw the notifications of what has ended: the user is there."""
        if self.is_in_front:
            self._tray.hide()
            self._take_back(key for key, item in self._told.items() if not item.waits)

    def _take_back(self, keys: Iterable[NotificationKey]) -> None:
        for key in list(keys):
            del self._told[key]
            self._launch(self._desktop.withdraw(key))

    def _on_acted(self, key: NotificationKey, action: str) -> None:
        item = self._told.get(key)
        if item is None:
            return
        if action == "deny":
            self._inbox.answer(item, is_yes=False)
            return
        if self._window.isMinimized():
            self._window.showNormal()
        self._window.raise_()
        self._window.activateWindow()
        self._inbox.show(item)
