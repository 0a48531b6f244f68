"""What the window does after something happened in one of its sessions, whether that is shown or not."""

from PySide6.QtCore import QObject, Qt

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.navigator import DEMO, Navigator
from desktop_agent.app.sessions.searching import Searching
from desktop_agent.app.sessions.session_choice import SessionChoice
from desktop_agent.app.sessions.session_list import LISTED_EVENTS, SessionListUpdater
from desktop_agent.app.sessions.viewing import Viewing
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.core.protocol.events import CommandRun, Event, TurnEnded
from desktop_agent.core.providers.demo import DEMO_FOLLOW_UP
from desktop_agent.core.slash.declarations import parse
from desktop_agent.ui.window.bridge import SessionBridge


class SessionFollowing(QObject):
    """Keeps list and search up to date, goes where a command leads, and says how a session that is only read stands."""

    def __init__(
        self,
        panels: WindowPanels,
        navigator: Navigator,
        viewing: Viewing,
        choice: SessionChoice,
        listed: SessionListUpdater,
        searching: Searching,
        try_: Try,
    ) -> None:
        super().__init__(panels.window)
        self._panels = panels
        self._viewing = viewing
        self._choice = choice
        self._listed = listed
        self._searching = searching
        self._try = try_
        navigator.session_opened.connect(self._follow)
        viewing.freed.connect(self._on_freed)
        viewing.refused.connect(panels.conversation.banner.show_error)
        viewing.lost.connect(choice.show)

    def _follow(self, bridge: SessionBridge) -> None:
        bridge.happened.connect(self._on_happened, Qt.ConnectionType.UniqueConnection)
        bridge.failed.connect(self._panels.conversation.banner.show_error, Qt.ConnectionType.UniqueConnection)
        # It may have been renamed or pinned after it was opened and before it was followed. A session that has just
        # been made is not known here yet: what it tells first is listed.
        if session_id := bridge.transcript.session.session_id:
            self._try(self._listed.refresh_session(session_id))

    def _on_happened(self, event: Event) -> None:
        bridge = self.sender()
        assert isinstance(bridge, SessionBridge)
        is_shown = bridge is self._panels.wiring.bridge
        if event.type in LISTED_EVENTS:
            self._try(self._listed.refresh_session(bridge.transcript.session.session_id))
        match event:
            case CommandRun(is_error=False) if is_shown:
                self._go_where_it_leads(event)
            case TurnEnded(turn=turn, reason=reason):
                self._searching.note_news()
                if turn == 1 and reason == "completed" and is_shown:
                    self._offer_follow_up(bridge)
            case _:
                pass

    def _go_where_it_leads(self, command: CommandRun) -> None:
        """Show the session that a command made, or the empty conversation that it asks for."""
        if command.opens:
            self._choice.show(command.opens)
        elif parse(command.text).name == "clear":
            self._choice.begin()

    def _offer_follow_up(self, shown: SessionBridge) -> None:
        """After the first turn of the demo, write down what to ask next, unless the user is writing."""
        if shown.transcript.session.model == DEMO and not self._panels.composer.text():
            self._panels.composer.set_text(DEMO_FOLLOW_UP)

    def _on_freed(self, is_free: bool) -> None:
        self._panels.conversation.viewing_bar.show_state(is_free=is_free)
        reason = self.tr("Take this session over to go on with it here.") if is_free else self._viewing.reason
        self._panels.composer.set_blocked(reason)
