"""What the user asks for in a window that shows sessions already, and has nothing yet that carries it out."""

from collections.abc import Callable
from functools import partial

from msgspec import Struct
from PySide6.QtCore import QObject, SignalInstance

from desktop_agent.app.startup.early_message import EarlyMessage
from desktop_agent.app.window_panels import WindowPanels


class _Wish(Struct, frozen=True):
    ask_again: Callable[[], None]
    is_choice: bool


class EarlyWishes(QObject):
    """Keeps every wish, and asks again in its order. Of several things to be shown only the last was meant.

    Messages wait at the session that they are for, not here; one that was sent before any was shown is `message`.
    """

    def __init__(self, panels: WindowPanels) -> None:
        super().__init__(panels.window)
        self.message = EarlyMessage(panels)
        """What was sent before anything was shown."""
        self._wishes: list[_Wish] = []
        self._ends: list[Callable[[], object]] = []
        self._choices: list[SignalInstance] = []
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

    def stop_listening(self) -> None:
        """Keep nothing any more: from now on the controller listens."""
        for end in self._ends:
            end()
        self._ends.clear()
        self.message.stop_listening()

    def watch_choices(self, bring_along: Callable[[str], None]) -> None:
        """See what is chosen while the controller shows the first thing: a message is not sent by itself then, either.

        `bring_along` lets a text at the end of the field follow to what is shown next.
        """
        self.message.bring_along_with(bring_along)
        for signal in self._choices:
            signal.connect(self._on_chosen)

    def ask_again(self, shown: SignalInstance) -> None:
        """Ask for all that was kept. The argument is that of `EarlyMessage.send`."""
        for signal in self._choices:
            signal.disconnect(self._on_chosen)
        wishes, self._wishes = self._wishes, []
        if any(wish.is_choice for wish in wishes):
            self.message.note_choice()
        self.message.send(shown)
        for wish in wishes:
            wish.ask_again()

    def _on_chosen(self, *_carried: object) -> None:
        self.message.note_choice()

    def _listen(self, signal: SignalInstance, *, is_choice: bool = False) -> None:
        def keep(*carried: object) -> None:
            self._keep(partial(signal.emit, *carried), is_choice=is_choice)

        signal.connect(keep)
        self._ends.append(partial(signal.disconnect, keep))
        if is_choice:
            self._choices.append(signal)

    def _keep(self, ask_again: Callable[[], None], *, is_choice: bool) -> None:
        if is_choice:
            self._wishes = [wish for wish in self._wishes if not wish.is_choice]
            self.message.note_choice()
        self._wishes.append(_Wish(ask_again, is_choice))
