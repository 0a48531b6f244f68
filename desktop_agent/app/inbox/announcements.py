"""Tells a screen reader what comes of the agents' work, wherever in the window the user is."""

from PySide6.QtCore import QObject, Qt

from desktop_agent.app.inbox.inbox import Inbox
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.core.protocol.events import Event, Notice
from desktop_agent.ui.inbox import inbox_items
from desktop_agent.ui.inbox.inbox_items import InboxItem
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.widgets.focus import announce
from desktop_agent.ui.window.bridge import SessionBridge


class Announcements(QObject):
    """Says that a question waits, that a turn has ended, and what went wrong. Banners say themselves what they show."""

    def __init__(self, panels: WindowPanels, inbox: Inbox, navigator: Navigator) -> None:
        super().__init__(panels.window)
        self._panels = panels
        inbox.came.connect(self._on_came)
        navigator.session_opened.connect(self._follow)

    def _on_came(self, item: InboxItem) -> None:
        """Say it with the title of its session, if that is not the one in sight."""
        bridge = self._panels.wiring.bridge
        is_shown = bridge is not None and bridge.transcript.session.session_id == item.session_id
        parts = (inbox_items.kind(item), inbox_items.subject(item), "" if is_shown else inbox_items.title(item))
        announce(self._panels.window, ": ".join(part for part in parts if part), is_urgent=item.waits)

    def _follow(self, bridge: SessionBridge) -> None:
        bridge.happened.connect(self._on_happened, Qt.ConnectionType.UniqueConnection)

    def _on_happened(self, event: Event) -> None:
        if isinstance(event, Notice) and event.level == "error" and self.sender() is self._panels.wiring.bridge:
            text = f"{core_words(event.title)} {core_words(event.hint)}"
            announce(self._panels.window, text.strip(), is_urgent=True)
