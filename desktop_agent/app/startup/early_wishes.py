"""What the user asks for in a window that shows sessions already, and has nothing yet that carries it out."""

from collections.abc import Callable
from functools import partial

from msgspec import Struct
from PySide6.QtCore import QObject, SignalInstance

from desktop_agent.app.window_panels import WindowPanels


class _Wish(Struct, frozen=True):
    ask_again: Callable[[], None]
    is_choice: bool


class EarlyWishes(QObject):
    """Keeps every wish, and asks again in its order. Of several things to be shown only the last was meant.

    Messages wait at the session that they are for, not here; but one that was sent before any was shown, which is in
    the field again, is sent when there is a session, unless the user changed it or chose something else.
    """

    def __init__(self, panels: WindowPanels) -> None:
        super().__init__(panels.window)
        self._panels = panels
        self._wishes: list[_Wish] = []
        self._ends: list[Callable[[], object]] = []
        sessions, entries, actions = panels.sessions, panels.transcript.entry_actions, panels.window.actions_
        self._listen(sessions.session_chosen, is_choice=True)
        self._listen(sessions.new_requested, is_choice=True)
        self._listen(panels.search.hit_chosen, is_choice=True)
        self._listen(entries.session_requested, is_choice=True)
        for action in (actions.new_session, actions.open_folder, actions.demo):
            self._listen(action.triggered, is_choice=True)
        for action in (actions.settings, actions.new_window, actions.import_session, actions.export_session):
            self._listen(action.triggered)
        for action in (actions.command_palette, actions.go_to_file, actions.shortcuts, actions.toggle_terminal):
            self._listen(action.triggered)
        self._listen(actions.whats_new.triggered)
        for signal in (sessions.rename_requested, sessions.action_requested, panels.pasted_keys.found):
            self._listen(signal)
        for signal in (entries.resend_requested, entries.output_requested, entries.picture_requested):
            self._listen(signal)
        for signal in (entries.file_requested, entries.folder_requested, entries.settings_requested):
            self._listen(signal)
        panels.wiring.folder_requested.connect(self._keep_message)
        self._ends.append(partial(panels.wiring.folder_requested.disconnect, self._keep_message))

    def stop_listening(self) -> None:
        """Keep nothing any more: from now on the controller listens."""
        for end in self._ends:
            end()
        self._ends.clear()

    def ask_again(self) -> None:
        """Ask for all that was kept."""
        wishes, self._wishes = self._wishes, []
        for wish in wishes:
            wish.ask_again()

    def _listen(self, signal: SignalInstance, *, is_choice: bool = False) -> None:
        def keep(*carried: object) -> None:
            self._keep(partial(signal.emit, *carried), is_choice=is_choice)

        signal.connect(keep)
        self._ends.append(partial(signal.disconnect, keep))

    def _keep(self, ask_again: Callable[[], None], *, is_choice: bool) -> None:
        if is_choice:
            self._wishes = [wish for wish in self._wishes if not wish.is_choice]
        self._wishes.append(_Wish(ask_again, is_choice))

    def _keep_message(self) -> None:
        self._keep(partial(self._send, self._panels.composer.text()), is_choice=True)

    def _send(self, text: str) -> None:
        if self._panels.wiring.bridge is not None and self._panels.composer.text() == text:
            self._panels.composer.controls.send.click()
