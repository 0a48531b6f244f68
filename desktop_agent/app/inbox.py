"""Keeps the inbox up to date: follows every open session, announces new items, and carries out the user's requests."""

from collections.abc import Iterable
from datetime import UTC, datetime

from PySide6.QtCore import Signal

from desktop_agent.app.controller import Controller, WindowContext
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.sessions.open_sessions import LiveSessions
from desktop_agent.app.sessions.session_list import LISTED_EVENTS, SessionListUpdater
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.events import ApprovalRequested, Event, Notice, TurnEnded
from desktop_agent.core.protocol.model import Allowed, Denied, SessionSummary
from desktop_agent.core.protocol.ops import AnswerApproval
from desktop_agent.ui.inbox import inbox_items
from desktop_agent.ui.inbox.inbox_items import InboxItem, InboxSession, items_of
from desktop_agent.ui.inbox.inbox_popup import InboxPopup
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.widgets.focus import announce
from desktop_agent.ui.window.session_handle import SessionHandle

_TELLING = LISTED_EVENTS | {"tool_call_started"}


class Inbox(Controller):
    """Everything that waits for the user. The end of a turn emits `came` even if the user is looking."""

    came = Signal(object)  # an `InboxItem`
    changed = Signal(object)  # all `InboxItem`s

    def __init__(
        self, context: WindowContext, live: LiveSessions, listed: SessionListUpdater, navigator: Navigator
    ) -> None:
        super().__init__(context)
        self._live = live
        self._listed = listed
        self._navigator = navigator
        self._handles: list[SessionHandle] = []
        self._asking: tuple[SessionSummary, ...] = ()
        self._seen: dict[SessionId, int] = {}
        self._popup: InboxPopup | None = None
        self.items: list[InboxItem] = []
        self.came.connect(self._announce)
        listed.listed.connect(self._on_listed)
        navigator.session_opened.connect(self._follow)
        self._panels.window.actions_.open_inbox.triggered.connect(self.toggle)

    def toggle(self) -> None:
        if self._popup is not None and self._popup.isVisible():
            self._popup.close_popup()
            return
        if self._popup is None:
            self._popup = self._build()
        self.refresh()
        self._popup.show_items(self.items)
        self._popup.open_popup()
        self._launch(self._listed.refresh())  # another process may have asked a question, or got an answer

    def has(self, session_id: SessionId) -> bool:
        return any(item.session_id == session_id for item in self.items)

    def refresh(self) -> None:
        opened = self._handles = [handle for handle in self._handles if self._is_there(handle)]
        for handle in opened:
            turns, session_id = handle.transcript.turns, handle.transcript.session.session_id
            if handle is self._panels.session.handle or session_id not in self._seen:
                self._seen[session_id] = turns.turn - turns.is_running
        sessions = [InboxSession(handle.transcript, bool(handle.read_only)) for handle in opened]
        self.items = items_of(sessions, self._asking, self._seen)
        self._panels.window.top_bar.inbox_button.show_count(len(self.items), sum(item.waits for item in self.items))
        if self._popup is not None and self._popup.isVisible():
            self._popup.show_items(self.items)
        self.changed.emit(self.items)

    def answer(self, item: InboxItem, *, is_yes: bool) -> None:
        handle = next((one for one in self._handles if _id(one) == item.session_id and self._is_there(one)), None)
        request = item.request
        if handle is None or request is None or (item.can_allow if is_yes else item.can_deny) is False:
            return
        decision = Allowed(scope="once") if is_yes else Denied()
        handle.submit(AnswerApproval(call_id=request.call_id, decision=decision))

    def show(self, item: InboxItem) -> None:
        self._launch(self._show(item))

    async def _show(self, item: InboxItem) -> None:
        if await self._navigator.show_session(item.session_id):
            self.refresh()
            if (request := item.request) is None:
                return
            if request.spending is not None or request.question is not None:  # they are shown below all calls
                self._panels.transcript.row_layout.scroll_to_bottom()
            else:
                self._panels.transcript.navigation.show_turn(item.turn, request.call_id)

    # --- what happens -----------------------------------------------------------------------------------------------

    def _on_listed(self, summaries: Iterable[SessionSummary]) -> None:
        self._asking = tuple(summary for summary in summaries if summary.asks)
        self.refresh()

    def _follow(self, handle: SessionHandle) -> None:
        if handle not in self._handles:
            self._handles.append(handle)
            handle.happened.connect(self._on_happened)
            handle.replaced.connect(self.refresh)
        # The session is shown only after this signal; then its ended turn counts as seen.
        self._seen[_id(handle)] = handle.transcript.turns.turn
        self.refresh()

    def _on_happened(self, event: Event) -> None:
        handle = self.sender()
        assert isinstance(handle, SessionHandle)
        if event.type in _TELLING:
            self.refresh()
        match event:
            case Notice(level="error", title=title, hint=hint) if handle is self._panels.session.handle:
                announce(self._panels.window, f"{core_words(title)} {core_words(hint)}".strip(), is_urgent=True)
            case ApprovalRequested(request=request) if not handle.read_only:
                key = (_id(handle), request.call_id)
                for item in [item for item in self.items if item.key == key]:
                    self.came.emit(item)
            case TurnEnded() if not handle.read_only:
                self.came.emit(_ended(handle))
            case _:
                pass

    def _announce(self, item: InboxItem) -> None:
        is_shown = self._panels.session.transcript.session.session_id == item.session_id
        parts = (inbox_items.kind(item), inbox_items.subject(item), "" if is_shown else inbox_items.title(item))
        announce(self._panels.window, ": ".join(part for part in parts if part), is_urgent=item.waits)

    def _is_there(self, handle: SessionHandle) -> bool:
        return handle in self._live.handles or handle is self._panels.session.handle

    # --- the rows ---------------------------------------------------------------------------------------------------

    def _build(self) -> InboxPopup:
        popup = InboxPopup(self._theme, self._panels.window, self._panels.window.top_bar.inbox_button, now=_now)
        popup.wished.connect(self._on_wished)
        popup.all_seen.connect(self._on_all_seen)
        return popup

    def _on_wished(self, wish: str, item: InboxItem) -> None:
        match wish:
            case "allow" | "deny":
                self.answer(item, is_yes=wish == "allow")
            case "seen":
                self._see([item])
            case _:
                self.show(item)

    def _on_all_seen(self) -> None:
        self._see(self.items)

    def _see(self, items: Iterable[InboxItem]) -> None:
        self._seen |= {item.session_id: item.turn for item in items if not item.waits}
        self.refresh()


def _id(handle: SessionHandle) -> SessionId:
    return handle.transcript.session.session_id


def _ended(handle: SessionHandle) -> InboxItem:
    """Return an item for the end of the last turn, even if the user is looking at it."""
    (item,) = items_of([InboxSession(handle.transcript)], (), {_id(handle): -1})
    return item


def _now() -> datetime:
    return datetime.now(UTC).astimezone()
