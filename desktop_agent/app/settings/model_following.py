"""Applies a changed model or address in the settings to the conversation that is shown."""

from collections.abc import Callable
from weakref import WeakKeyDictionary

from msgspec.structs import replace
from PySide6.QtCore import QObject

from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.transcript import PageEntry, TextEntry, ToolEntry, Transcript
from desktop_agent.ui.window.session_controller import SessionController
from desktop_agent.ui.window.session_handle import SessionHandle


class ModelFollowing(QObject):
    """Follows the settings before a conversation begins, and on *Try again*.

    A conversation that has begun keeps its model, because a change could send it to another provider.
    """

    def __init__(self, session: SessionController, default: Callable[[], ModelRef]) -> None:
        super().__init__(session)
        self._session = session
        self._default = default
        self._known: WeakKeyDictionary[SessionHandle, ModelRef] = WeakKeyDictionary()
        """The model of the settings when the conversation last followed it."""
        session.prompts.retry_requested.connect(self.on_retry)

    def note_shown(self, handle: SessionHandle) -> None:
        self._known.setdefault(handle, self._default())

    def on_settings_changed(self) -> None:
        handle = self._session.handle
        if handle is not None and not has_begun(handle.transcript):
            self._bring_in_line(handle)

    def on_retry(self) -> None:
        if self._session.handle is not None:
            self._bring_in_line(self._session.handle)

    def _bring_in_line(self, handle: SessionHandle) -> None:
        model, now = handle.transcript.session.model, self._default()
        before = self._known.get(handle, now)
        self._known[handle] = now
        if model is not None and (wanted := followed(model, before, now)) != model:
            handle.submit(ops.SetMode(model=wanted))


def followed(model: ModelRef, before: ModelRef, now: ModelRef) -> ModelRef:
    """Return what `model` becomes when the settings change from `before` to `now`; the user's own choice stays."""
    if model == before:
        return now
    if model.provider == now.provider and (model.base_url, model.account) == (before.base_url, before.account):
        return replace(model, base_url=now.base_url, account=now.account)
    return model


def has_begun(transcript: Transcript) -> bool:
    return any(isinstance(entry, TextEntry | ToolEntry | PageEntry) for entry in transcript.entries)
