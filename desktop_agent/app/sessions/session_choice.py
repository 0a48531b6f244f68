"""Which session the user wants to see: one of the list, one that a search found, a copy to go on in, or a new one."""

from PySide6.QtCore import QObject

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.ways_to_begin import WaysToBegin
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.model import SearchHit


class SessionChoice(QObject):
    """Shows it, wherever in the window it was chosen. What goes wrong is in the banner."""

    def __init__(self, panels: WindowPanels, navigator: Navigator, ways: WaysToBegin, try_: Try) -> None:
        super().__init__(panels.window)
        self._wiring = panels.wiring
        self._navigator = navigator
        self._ways = ways
        self._try = try_
        actions, entries = panels.window.actions_, panels.transcript.entry_actions
        actions.connect(actions.new_session, self.begin)
        panels.sessions.new_requested.connect(self.begin)
        panels.sessions.session_chosen.connect(self.show)
        entries.session_requested.connect(self.show)
        entries.resend_requested.connect(self._on_resend)
        panels.search.hit_chosen.connect(self._on_hit_chosen)
        panels.conversation.viewing_bar.take_over_requested.connect(self._on_take_over)

    def begin(self) -> None:
        """Show an empty conversation in the open folder; when none is open, the ways to begin."""
        if self._navigator.workspace is not None:
            self._try(self._navigator.show_folder(self._navigator.workspace))
        else:
            self._ways.welcome()

    def show(self, session_id: SessionId) -> None:
        """Show this session."""
        self._try(self._navigator.show_session(session_id))

    def _on_take_over(self) -> None:
        if (shown := self._wiring.bridge) is not None:
            self.show(shown.transcript.session.session_id)

    def _on_hit_chosen(self, hit: SearchHit) -> None:
        self._try(self._navigator.show_hit(hit))

    def _on_resend(self, turn: int, text: str, takes_files_back: bool) -> None:
        shown = self._wiring.bridge
        if shown is not None and shown.transcript.session.session_id:
            self._try(self._navigator.resend(shown, turn, text, takes_files_back=takes_files_back))
