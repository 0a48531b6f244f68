"""What the user asks for, or writes and sends, in a window that has nothing yet that carries it out."""

from collections.abc import Callable
from functools import partial

from msgspec import Struct
from PySide6.QtCore import QObject, Qt, SignalInstance

from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.core.base.errors import AgentError


class EarlyMessage(QObject):
    """Keeps a message in the field, says so in the banner, and sends it when a conversation is there.

    One that the user changes is a draft again. One is not sent either when something was chosen to be shown: it may be
    meant for that, or for what would have been shown without. It goes along to what was chosen, as drafts do.
    """

    def __init__(self, panels: WindowPanels) -> None:
        super().__init__(panels.window)
        self._banner = panels.conversation.banner
        self._composer = panels.composer
        self._session = panels.session
        self._message = ""
        """What is in the field as it was sent; empty when nothing waits."""
        self._written = ""
        """What was in the field before a conversation was there."""
        self._is_something_chosen = False
        self._bring_along: Callable[[str], None] | None = None
        """Lets a text at the end of the field follow to what is shown next, when something can be shown."""
        self._waits = AgentError(
            self.tr("Your message is not sent yet: the window is still loading."),
            hint=self.tr("It is sent by itself as soon as that is done, unless you change it."),
        )
        self._left = AgentError(
            self.tr("Your message is not sent: you chose something else meanwhile."),
            hint=self.tr("It stays in the field. Send it where it belongs."),
        )
        self._homeless = AgentError(
            self.tr("Your message is not sent: no folder is open."),
            hint=self.tr("It stays in the field. Choose a folder, then send it."),
        )
        self._said = self._waits
        self._session.prompts.folder_requested.connect(self._keep)
        self._composer.text_changed.connect(self._on_changed)

    def note_choice(self) -> None:
        """Something was chosen to be shown, which is done later: no message is sent by itself any more."""
        self._is_something_chosen = True
        if self._bring_along is not None:
            self._bring_along(self._written)
        if self._message:
            self._say(self._left)

    def stop_listening(self) -> None:
        """Keep no message any more. What happens to the field from now on may be the loading's doing."""
        self._session.prompts.folder_requested.disconnect(self._keep)
        self._composer.text_changed.disconnect(self._on_changed)
        self._written = self._composer.text() if self._message or self._session.handle is None else ""

    def bring_along_with(self, bring_along: Callable[[str], None]) -> None:
        """Let what is written follow to what is chosen from now on, by this, which does it with the next one shown."""
        self._bring_along = bring_along

    def send(self, shown: SignalInstance) -> None:
        """Send it to the conversation that is shown now, if the user chose nothing else. `shown` tells of the next."""
        if not self._message:
            return
        text = self._composer.text()
        if text != self._message and not text.endswith(f"\n\n{self._message}"):
            self._withdraw()  # the user went on writing
        elif self._is_something_chosen:
            self._say(self._left)
            shown.connect(self._on_shown, Qt.ConnectionType.SingleShotConnection)
            self._composer.text_changed.connect(self._on_left_changed)
        elif self._session.handle is None:
            if self._banner.shows(self._said):  # else it says already what went wrong
                self._say(self._homeless)
            self._composer.controls.send.click()  # which asks for a folder
        else:
            self._withdraw()
            self._send()

    def _send(self) -> None:
        """Send it alone: before it in the field may be what was written in this conversation earlier."""
        draft = self._composer.text().removesuffix(self._message).strip()
        if draft:
            self._composer.set_text(self._message)
        self._composer.controls.send.click()
        if draft:
            self._session.prompts.give_back([draft])

    def _keep(self, sent: str) -> None:
        if self._composer.text() == sent:  # else it is an example, above something that the user was writing
            self._message = sent
            self._say(self._left if self._is_something_chosen else self._waits)

    def _on_changed(self) -> None:
        if self._message and self._composer.text() != self._message:
            self._message = ""
            self._withdraw()

    def _on_shown(self) -> None:
        """Say it again: what is shown begins without what was said before."""
        if self._message:
            self._say(self._left)

    def _on_left_changed(self) -> None:
        if self._message not in self._composer.text():
            self._message = ""
            self._withdraw()
            self._composer.text_changed.disconnect(self._on_left_changed)

    def _say(self, what: AgentError) -> None:
        self._said = what
        self._banner.show_error(what)

    def _withdraw(self) -> None:
        self._banner.withdraw(self._said)


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
