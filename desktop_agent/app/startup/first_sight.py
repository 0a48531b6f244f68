"""Before the core is loaded: shows the sessions and the end of the first one, and records what the user does."""

import os
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

from msgspec import Struct
from PySide6.QtCore import QCoreApplication, QObject, Qt, SignalInstance

from desktop_agent.app.startup.arguments import NEWEST, WindowArguments
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol.model import SessionSummary
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.records import Yielder, read_last_page
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.store.session_folder import is_locked
from desktop_agent.core.system.workspace import current_folder
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.chat.markdown.parser import parser
from desktop_agent.ui.runtime.eventloop import idle
from desktop_agent.ui.window.session_handle import OwnSession


def first_session(catalog: SessionCatalog, arguments: WindowArguments) -> SessionId | None:
    """Return the session named on the command line, else the last used one. Raises `AgentError` if it is missing."""
    if arguments.is_demo:
        return None
    if arguments.resume == NEWEST:
        return catalog.latest(arguments.workspace or current_folder())
    if arguments.resume is not None:
        return catalog.find(arguments.resume)
    if arguments.workspace is not None:
        return None
    found = (item for item in catalog.summaries() if item.workspace and item.is_listed)
    return next((item.id for item in found if os.path.isdir(item.workspace)), None)  # noqa: PTH112 - Path's raises


class FirstSight(Struct, frozen=True):
    summaries: list[SessionSummary]
    session_id: SessionId | None = None
    end: Transcript | None = None


async def show_first_sight(panels: WindowPanels, found: FirstSight | None) -> OwnSession | None:
    """Return the shown session, to which the user can already write. If there is none, the controller reports why."""
    if found is None:
        return None
    panels.sessions.set_sessions(
        one for one in found.summaries if one.is_listed or one.is_archived or one.id == found.session_id
    )
    if found.session_id is None or found.end is None:
        return None
    workspace = found.end.session.workspace
    panels.sessions.set_workspace(found.end.session.home)
    panels.sessions.set_current(found.session_id)
    panels.window.top_bar.set_workspace(Path(workspace))
    handle = OwnSession(found.session_id, found.end)
    panels.session.show(handle)
    while panels.transcript.row_layout.is_gentle:
        await idle()
    return handle


def read_first_sight(paths: AppPaths, arguments: WindowArguments) -> FirstSight | None:
    """Read the first content of the window; `None` on failure. Blocks: call this in a thread."""
    try:
        return _read(paths, arguments)
    except AgentError:
        return None


def _read(paths: AppPaths, arguments: WindowArguments) -> FirstSight:
    blobs = Blobs(paths.blobs)
    catalog = SessionCatalog(paths.sessions, blobs, paths.cache)
    summaries = catalog.summaries()
    session_id = first_session(catalog, arguments)
    if session_id is None:
        return FirstSight(summaries)
    journal = catalog.journal_path(session_id)
    end = None if is_locked(journal.parent) else read_last_page(journal, blobs, yield_gil=Yielder())
    # The markdown parser and the entry widgets: too slow to import in the window's thread.
    parser()
    import_module("desktop_agent.ui.chat.transcript.factory")
    is_whole = end is not None and Path(end.session.workspace).is_absolute()
    return FirstSight(summaries, session_id, end if is_whole else None)


_tr = partial(QCoreApplication.translate, "EarlyMessage")


class EarlyActions(QObject):
    """Records clicks until the core is loaded, and repeats them in order. Of several choices, only the last counts.

    A sent message waits until a conversation is shown. It becomes a draft if it was changed or the user chose
    something else.
    """

    def __init__(self, panels: WindowPanels) -> None:
        super().__init__(panels.window)
        self._banner = panels.conversation.banner
        self._composer = panels.composer
        self._session = panels.session
        self._kept: list[tuple[SignalInstance, tuple[object, ...], bool]] = []
        """The kept signals with their arguments, and whether each asks for something else to be shown."""
        self._listening: list[tuple[SignalInstance, Callable[..., None]]] = []
        self._message = ""
        self._written = ""
        self._is_something_chosen = False
        self._bring_along: Callable[[str], None] | None = None
        self._waits = AgentError(
            _tr("Your message is not sent yet: the window is still loading."),
            hint=_tr("It is sent automatically once loading is done, unless you change it."),
        )
        self._left = AgentError(
            _tr("Your message is not sent: you chose something else meanwhile."),
            hint=_tr("It stays in the message field. Open the right conversation, then send it."),
        )
        self._said = self._waits
        sessions, entries, actions = panels.sessions, panels.transcript.entry_actions, panels.window.actions_
        self._choices = (
            *(sessions.session_chosen, sessions.new_requested, panels.search.hit_chosen, entries.session_requested),
            *(actions.new_session.triggered, actions.open_folder.triggered, actions.demo.triggered),
        )
        others = (
            *(actions.settings.triggered, actions.new_window.triggered, actions.import_session.triggered),
            *(actions.export_session.triggered, actions.command_palette.triggered, actions.go_to_file.triggered),
            *(actions.shortcuts.triggered, actions.toggle_terminal.triggered, actions.whats_new.triggered),
            *(sessions.rename_requested, sessions.action_requested, panels.pasted_keys.found),
            *(entries.resend_requested, entries.output_requested, entries.picture_requested),
            *(entries.file_requested, entries.folder_requested, entries.settings_requested),
        )
        for signal in self._choices:
            self._keep(signal, is_choice=True)
        for signal in others:
            self._keep(signal, is_choice=False)
        self._listen(self._session.prompts.folder_requested, self._keep_message)
        self._listen(self._composer.text_changed, self._on_changed)

    def stop_listening(self) -> None:
        """Stop recording, because the controller takes over, and loading may change the field."""
        for signal, slot in self._listening:
            signal.disconnect(slot)
        self._listening.clear()
        self._written = self._composer.text() if self._message or self._session.handle is None else ""

    def watch_choices(self, bring_along: Callable[[str], None]) -> None:
        """`bring_along` moves a text at the end of the field to the next shown conversation."""
        self._bring_along = bring_along
        for signal in self._choices:
            signal.connect(self._note_choice)

    def repeat(self, shown: SignalInstance) -> None:
        """Emit all recorded signals again. `shown` is emitted when something else is shown."""
        for signal in self._choices:
            signal.disconnect(self._note_choice)
        kept, self._kept = self._kept, []
        if any(is_choice for _, _, is_choice in kept):
            self._note_choice()
        self._send(shown)
        for signal, arguments, _ in kept:
            signal.emit(*arguments)

    def _keep(self, signal: SignalInstance, *, is_choice: bool) -> None:
        def keep(*arguments: object) -> None:
            if is_choice:
                self._kept = [kept for kept in self._kept if not kept[2]]
                self._note_choice()
            self._kept.append((signal, arguments, is_choice))

        self._listen(signal, keep)

    def _listen(self, signal: SignalInstance, slot: Callable[..., None]) -> None:
        signal.connect(slot)
        self._listening.append((signal, slot))

    def _note_choice(self, *_arguments: object) -> None:
        self._is_something_chosen = True
        if self._bring_along is not None:
            self._bring_along(self._written)
        if self._message:
            self._say(self._left)

    def _send(self, shown: SignalInstance) -> None:
        """Send the message to the shown conversation, unless the user chose another. `shown` reports later changes."""
        if not self._message:
            return
        text = self._composer.text()
        if text != self._message and not text.endswith(f"\n\n{self._message}"):
            self._banner.withdraw(self._said)  # the user went on writing
        elif self._is_something_chosen:
            self._say(self._left)
            shown.connect(self._on_shown, Qt.ConnectionType.SingleShotConnection)
            self._composer.text_changed.connect(self._on_left_changed)
        elif self._session.handle is None:
            if self._banner.shows(self._said):  # otherwise the banner already shows an error
                hint = _tr("It stays in the field. Choose a folder, then send it.")
                self._say(AgentError(_tr("Your message is not sent: no folder is open."), hint=hint))
            self._composer.controls.send.click()  # asks for a folder
        else:
            self._banner.withdraw(self._said)
            # The field may begin with an earlier draft of this conversation.
            draft = text.removesuffix(self._message).strip()
            if draft:
                self._composer.set_text(self._message)
            self._composer.controls.send.click()
            if draft:
                self._session.prompts.give_back([draft])

    def _keep_message(self, sent: str) -> None:
        if self._composer.text() == sent:  # otherwise it is an example, put before the user's text
            self._message = sent
            self._say(self._left if self._is_something_chosen else self._waits)

    def _on_changed(self) -> None:
        if self._message and self._composer.text() != self._message:
            self._message = ""
            self._banner.withdraw(self._said)

    def _on_shown(self) -> None:
        """Show the note in the banner again, because showing the conversation cleared it."""
        if self._message:
            self._say(self._left)

    def _on_left_changed(self) -> None:
        if self._message not in self._composer.text():
            self._message = ""
            self._banner.withdraw(self._said)
            self._composer.text_changed.disconnect(self._on_left_changed)

    def _say(self, what: AgentError) -> None:
        self._said = what
        self._banner.show_error(what)
