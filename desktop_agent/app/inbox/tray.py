"""Notifications where the desktop has no service for them, and a tray."""

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QStyle, QSystemTrayIcon, QWidget

from desktop_agent.app.inbox.notification import Notification, NotificationKey


class TrayMessages(QObject):
    """Shows notifications at an icon in the tray, which is there as long as one may be in sight.

    `acted` gets the key of a notification and `show`.
    """

    def __init__(self, window: QWidget, acted: Callable[[NotificationKey, str], None]) -> None:
        super().__init__(window)
        self._acted = acted
        self._icon: QSystemTrayIcon | None = None
        self._key: NotificationKey | None = None
        """Of the notification that was shown last: Qt does not say which is clicked."""

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
        """Take the icon away."""
        if self._icon is not None:
            self._icon.hide()

    def _on_clicked(self) -> None:
        if self._key is not None:
            self._acted(self._key, "show")
