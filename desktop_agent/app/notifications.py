"""Notifies users who are not looking at the window, by a desktop notification or at the tray."""

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QStyle, QSystemTrayIcon, QWidget

from desktop_agent.app.controller import Controller, WindowContext
from desktop_agent.app.desktop_bus import DesktopNotifications, Notification, NotificationKey
from desktop_agent.app.inbox import Inbox
from desktop_agent.ui.inbox import inbox_items
from desktop_agent.ui.inbox.inbox_items import InboxItem


class TrayMessages(QObject):
    """Shows notifications at a tray icon. `acted` is called with the key of a notification and `show`."""

    def __init__(self, window: QWidget, acted: Callable[[NotificationKey, str], None]) -> None:
        super().__init__(window)
        self._acted = acted
        self._icon: QSystemTrayIcon | None = None
        self._key: NotificationKey | None = None
        """The key of the notification shown last, because Qt does not say which one is clicked."""

    def show(self, notification: Notification) -> bool:
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
    """Announces items without contents, as others may see the screen: calls can be denied, but not allowed."""

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
            self._inbox.deny(item)
            return
        if self._window.isMinimized():
            self._window.showNormal()
        self._window.raise_()
        self._window.activateWindow()
        self._inbox.show(item)
