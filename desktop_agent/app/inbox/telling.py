"""Tells the user that something waits while they are not looking at the window."""

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.inbox.desktop import DesktopNotifications
from desktop_agent.app.inbox.inbox import Inbox
from desktop_agent.app.inbox.notification import Notification, NotificationKey
from desktop_agent.app.inbox.tray import TrayMessages
from desktop_agent.core.settings import UiSettings
from desktop_agent.ui.inbox import inbox_items
from desktop_agent.ui.inbox.inbox_items import InboxItem


class InboxTelling(QObject):
    """Shows a notification of the desktop, else at the tray, else only the number at the top of the window.

    A notification says what kind of thing waits and in which session: others may see the screen. So nothing can be
    allowed from there, because what a yes is for cannot be seen; a no can be given.
    """

    def __init__(self, inbox: Inbox, window: QWidget, settings: Callable[[], UiSettings], try_: Try) -> None:
        """`settings` are those in force."""
        super().__init__(window)
        self._inbox = inbox
        self._window = window
        self._settings = settings
        self._try = try_
        self._desktop = DesktopNotifications(self._on_acted)
        self._tray = TrayMessages(window, self._on_acted)
        self._told: dict[NotificationKey, InboxItem] = {}
        inbox.came.connect(self._on_came)
        inbox.changed.connect(self._on_changed)
        app = QGuiApplication.instance()
        assert isinstance(app, QGuiApplication)
        app.applicationStateChanged.connect(self._on_state)

    @property
    def is_in_front(self) -> bool:
        """Whether the user is looking at the window, as far as can be known."""
        is_active = QGuiApplication.applicationState() == Qt.ApplicationState.ApplicationActive
        return is_active and not self._window.isMinimized() and self._window.isVisible()

    async def aclose(self) -> None:
        """Tell nothing more, and leave the desktop's bus."""
        self._inbox.came.disconnect(self._on_came)
        self._tray.hide()
        await self._desktop.aclose()

    def _on_came(self, item: InboxItem) -> None:
        if self.is_in_front or not self._settings().notifications:
            return
        QApplication.alert(self._window)
        self._told[item.key] = item
        self._try(self._tell(item))

    async def _tell(self, item: InboxItem) -> None:
        notification = Notification(
            key=item.key,
            title=inbox_items.kind(item),
            body=inbox_items.title(item),
            can_deny=item.can_deny,
            show_words=self.tr("Show"),
            deny_words=self.tr("Deny"),
            makes_sound=self._settings().notification_sound,
        )
        if not await self._desktop.show(notification):
            self._tray.show(notification)

    def _on_changed(self, items: Sequence[InboxItem]) -> None:
        """Take back what was answered in the window."""
        waiting = {item.key for item in items}
        self._take_back(key for key, item in self._told.items() if item.waits and key not in waiting)

    def _on_state(self, _state: Qt.ApplicationState) -> None:
        """Take back what has ended: the user is there."""
        if self.is_in_front:
            self._tray.hide()
            self._take_back(key for key, item in self._told.items() if not item.waits)

    def _take_back(self, keys: Iterable[NotificationKey]) -> None:
        for key in list(keys):
            del self._told[key]
            self._try(self._desktop.withdraw(key))

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
