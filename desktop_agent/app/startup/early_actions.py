"""What the user clicks, or writes and sends, before the core is loaded that carries it out."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Qt, SignalInstance

from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.core.base.errors import AgentError


class EarlyMessage(QObject):
    """Keeps a message in the field, says so in the banner, and sends it when a conversation is there.

    A message that the user changes is a draft again. It is not sent either if the user chose something else to be
    shown: then it is not known which conversation it is for. It goes along to what was chosen, as drafts do.
    """

    def __init__(self, panels: WindowPanels) -> None:
        super().__init__(panels.window)
        self._banner = panels.conversation.banner
        self._composer = panels.composer
        self._session = panels.session
        self._message = ""
        """The text in the field as it was sent; empty when nothing waits."""
        self._written = ""
        """The text in the field before a conversation was there."""
        self._is_something_chosen = False
        self._bring_along: Callable[[str], None] | None = None
        """Moves a text at the end of the field to the conversation shown next, once one can be shown."""
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
        """Note that something was chosen to be shown: no message is sent by itself any more."""
        self._is_something_chosen = True
        if self._bring_along is not None:
            self._bring_along(self._written)
        if self._message:
            self._say(self._left)

    def stop_listening(self) -> None:
        """Keep no more messages: the loading may change the field from now on."""
        self._session.prompts.folder_requested.disconnect(self._keep)
        self._composer.text_changed.disconnect(self._on_changed)
        self._written = self._composer.text() if self._message or self._session.handle is None else ""

    def bring_along_with(self, bring_along: Callable[[str], None]) -> None:
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
        """Send the message alone: an earlier draft of this conversation may stand before it in the field."""
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
        """Say it again in the banner, which the conversation shown now has cleared."""
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


class EarlyActions(QObject):
    """Keeps what the user clicks before the core is loaded, and repeats it in order once there is a controller.

    Of several things to be shown only the last was meant. A message that was sent before anything was shown is
    `message`; one to a session that is being opened waits there.
    """

    def __init__(self, panels: WindowPanels) -> None:
        super().__init__(panels.window)
        self.message = EarlyMessage(panels)
        self._kept: list[tuple[SignalInstance, tuple[object, ...], bool]] = []
        """Signals with their arguments, and whether they ask for something else to be shown."""
        self._ends: list[Callable[[], object]] = []
        sessions, entries, actions = panels.sessions, panels.transcript.entry_actions, panels.window.actions_
        self._choices = (
            *(sessions.session_chosen, sessions.new_requested, panels.search.hit_chosen, entries.session_requested),
            *(actions.new_session.triggered, actions.open_folder.triggered, actions.demo.triggered),
        )
        """The signals that ask for something else to be shown."""
        others = (
            *(actions.settings.triggered, actions.new_window.triggered, actions.import_session.triggered),
            *(actions.export_session.triggered, actions.command_palette.triggered, actions.go_to_file.triggered),
            *(actions.shortcuts.triggered, actions.toggle_terminal.triggered, actions.whats_new.triggered),
            *(sessions.rename_requested, sessions.action_requested, panels.pasted_keys.found),
            *(entries.resend_requested, entries.output_requested, entries.picture_requested),
            *(entries.file_requested, entries.folder_requested, entries.settings_requested),
        )
        for signal in self._choices:
            self._listen(signal, is_choice=True)
        for signal in others:
            self._listen(signal, is_choice=False)

    def stop_listening(self) -> None:
        """Keep no more: from now on the controller listens."""
        for end in self._ends:
            end()
        self._ends.clear()
        self.message.stop_listening()

    def watch_choices(self, bring_along: Callable[[str], None]) -> None:
        """Notice choices while the controller shows the first thing: they, too, keep a message from being sent.

        `bring_along` moves a text at the end of the field to the conversation shown next.
        """
        self.message.bring_along_with(bring_along)
        for signal in self._choices:
            signal.connect(self._on_chosen)

    def repeat(self, shown: SignalInstance) -> None:
        """Do again all that was kept. `shown` tells when something else is shown."""
        for signal in self._choices:
            signal.disconnect(self._on_chosen)
        kept, self._kept = self._kept, []
        if any(is_choice for _, _, is_choice in kept):
            self.message.note_choice()
        self.message.send(shown)
        for signal, arguments, _ in kept:
            signal.emit(*arguments)

    def _on_chosen(self, *_arguments: object) -> None:
        self.message.note_choice()

    def _listen(self, signal: SignalInstance, *, is_choice: bool) -> None:
        def keep(*arguments: object) -> None:
            if is_choice:
                self._kept = [kept for kept in self._kept if not kept[2]]
                self.message.note_choice()
            self._kept.append((signal, arguments, is_choice))

        signal.connect(keep)
        self._ends.append(partial(signal.disconnect, keep))
