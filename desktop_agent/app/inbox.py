"""Keeps the inbox up to date: follows every open session, announces new items, and carries out the user's requests.

Users who are not looking at the window are told by a desktop notification or at the tray.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QDialog, QStyle, QSystemTrayIcon, QWidget
from shiboken6 import isValid

from desktop_agent.app.controller import Controller, WindowContext
from desktop_agent.app.desktop_bus import DesktopNotifications, Notification, NotificationKey
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.sessions.open_sessions import LiveSessions
from desktop_agent.app.sessions.window_sessions import LISTED_EVENTS, SessionListUpdater
from desktop_agent.core.base.errors import SessionBusyError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    CommandJudged,
    Event,
    Notice,
    TurnEnded,
)
from desktop_agent.core.protocol.model import Decision, Denied, SessionSummary
from desktop_agent.core.protocol.ops import AnswerApproval, JudgeCommand
from desktop_agent.ui.chat.cards.tool_body import CardLoader
from desktop_agent.ui.chat.entries.entry import EntryActions
from desktop_agent.ui.chat.entries.questions import CardPlace
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.inbox import (
    InboxItem,
    InboxPopup,
    InboxSession,
    ItemKey,
    RowCard,
    items_of,
    kind_of,
    subject_of,
    title_of,
    words_when_busy,
    words_when_gone,
)
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.focus import announce
from desktop_agent.ui.window.session_handle import SessionHandle
from desktop_agent.ui.wording import local_now

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
        self._card: InboxCard | None = None
        self._drafts: dict[ItemKey, dict[str, str]] = {}
        """What the user wrote on the cards of the inbox: edited commands, answers in forms, reasons for a denial."""
        self._outcome = ""
        """While a decision is processed: what it was, for the line that says that the question is gone."""
        self._answered: set[ItemKey] = set()
        """The questions that were answered in the inbox or from there, which need no word about it."""
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
            window = self._panels.window
            popup = InboxPopup(
                self._theme, window, window.top_bar.inbox_button, now=local_now, make_card=self._make_card
            )
            popup.wished.connect(self._on_wished)
            popup.all_seen.connect(self._on_all_seen)
            popup.shown_changed.connect(self._panels.transcript.keyboard.hold_answers)
            self._popup = popup
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
        before, self.items = self.items, items_of(sessions, self._asking, self._seen)
        self._panels.window.top_bar.inbox_button.show_count(len(self.items), sum(item.waits for item in self.items))
        if self._popup is not None and self._popup.isVisible():
            self._popup.show_items(self.items)
            self._tell_gone(before)
        now = {item.key for item in self.items}
        self._answered &= now
        self._drafts = {key: drafts for key, drafts in self._drafts.items() if key in now}
        self.changed.emit(self.items)

    def deny(self, item: InboxItem) -> None:
        if item.can_deny and item.request is not None:
            self._answer(item, item.request.call_id, Denied())

    def _answer(self, item: InboxItem, call_id: str, decision: Decision) -> None:
        if (handle := self._handle_of(item)) is not None:
            self._answered.add(item.key)
            handle.submit(AnswerApproval(call_id=call_id, decision=decision))

    def _handle_of(self, item: InboxItem) -> SessionHandle | None:
        return next((one for one in self._handles if _id(one) == item.session_id and self._is_there(one)), None)

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
        if isinstance(event, ApprovalResolved):
            self._outcome = event.decision.outcome
        if event.type in _TELLING:
            self.refresh()
        self._outcome = ""
        match event:
            case CommandJudged() if self._card is not None and isValid(self._card):
                self._card.show_judgement(_id(handle), event)
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
        parts = (kind_of(item), subject_of(item), "" if is_shown else title_of(item))
        announce(self._panels.window, ": ".join(part for part in parts if part), is_urgent=item.waits)

    def _is_there(self, handle: SessionHandle) -> bool:
        return handle in self._live.handles or handle is self._panels.session.handle

    def _make_card(self, item: InboxItem, parent: QWidget) -> "InboxCard":
        request = item.request
        assert request is not None
        actions = EntryActions(self)
        actions.approval_answered.connect(partial(self._answer, item))
        actions.approval_edited.connect(partial(self._judge, item))
        actions.approval_opened.connect(partial(self._review, item))
        actions.link_activated.connect(self._panels.transcript.entry_actions.link_activated)
        drafts = self._drafts.setdefault(item.key, {})
        loader = CardLoader(self._panels.diffs, self._panels.spawner.spawn)
        place = CardPlace(request, drafts, TextStyles(self._theme), actions, parent, loader)
        self._card = card = InboxCard(item, place)
        return card

    def _judge(self, item: InboxItem, call_id: str, command: str) -> None:
        if (handle := self._handle_of(item)) is not None:
            handle.submit(JudgeCommand(call_id=call_id, command=command))

    def _review(self, item: InboxItem, call_id: str) -> None:
        if (handle := self._handle_of(item)) is not None:
            self._answered.add(item.key)  # if it is answered, then in the dialog
            self._panels.session.approvals.open(call_id, handle)

    def _tell_gone(self, before: Iterable[InboxItem]) -> None:
        """Say in the open inbox which questions were answered elsewhere, or wait no longer."""
        keys, sessions = {item.key for item in self.items}, {item.session_id for item in self.items if item.waits}
        for item in before:
            is_opened = item.kind == "questions" and item.session_id in sessions
            if item.waits and item.key not in keys and item.key not in self._answered and not is_opened:
                assert self._popup is not None
                self._popup.say(words_when_gone(item, self._outcome))

    def _on_wished(self, wish: str, item: InboxItem) -> None:
        match wish:
            case "answer":
                self._launch(self._open(item))
            case "seen":
                self._see([item])
            case _:
                self.show(item)

    async def _open(self, item: InboxItem) -> None:
        """Open the item's session without showing it, so that its questions can be answered."""
        try:
            handle = await self._live.open(item.session_id)
            self._navigator.session_opened.emit(handle)
            self._seen[_id(handle)] -= 1  # the turn that waits has not ended
        except SessionBusyError:
            if self._popup is not None:
                self._popup.say(words_when_busy(item))

    def _on_all_seen(self) -> None:
        self._see(self.items)

    def _see(self, items: Iterable[InboxItem]) -> None:
        self._seen |= {item.session_id: item.turn for item in items if not item.waits}
        self.refresh()


class InboxCard(RowCard):
    """Gives the card of a question its place in a row of the inbox."""

    def __init__(self, item: InboxItem, place: CardPlace) -> None:
        super().__init__(place.parent)
        from desktop_agent.ui.chat.cards.approval import question_card  # with the first question

        self._item = item
        self._card = question_card(place._replace(parent=self))
        self._card.home = place.parent
        place.actions.setParent(self)
        self._card.yes.setObjectName("inboxAllowButton")
        self._card.no.setObjectName("inboxDenyButton")
        self._card.resized.connect(self.updateGeometry)

    def show_judgement(self, session_id: SessionId, judged: CommandJudged) -> None:
        if self._item.key == (session_id, judged.call_id):
            self._card.show_judgement(judged)

    def rearm(self) -> None:
        self._card.rearm()

    def height_in(self, width: int) -> int:
        self._card.set_width(width)
        return self._card.height()


def _id(handle: SessionHandle) -> SessionId:
    return handle.transcript.session.session_id


def _ended(handle: SessionHandle) -> InboxItem:
    """Return an item for the end of the last turn, even if the user is looking at it."""
    (item,) = items_of([InboxSession(handle.transcript)], (), {_id(handle): -1})
    return item


class TrayMessages(QObject):
    """Shows notifications at a tray icon. `acted` is called with the key of a notification and `show`."""

    def __init__(self, window: QWidget, acted: Callable[[NotificationKey, str], None]) -> None:
        super().__init__(window)
        self._acted = acted
        self._icon: QSystemTrayIcon | None = None
        self._key: NotificationKey | None = None
        """The key of the notification shown last, because Qt does not say which one is clicked."""

    def show(self, notification: Notification) -> bool:
        if not QSystemTrayIcon.isSystemTrayAvailable() or not QSystemTrayIcon.supportsMessages():
            return False
        icon = QApplication.windowIcon()
        if icon.isNull():
            icon = QApplication.style().standardIcon(QStyle.StandardPixmap.SP_MessageBoxInformation)
        if self._icon is None:
            self._icon = QSystemTrayIcon(icon, self)
            self._icon.messageClicked.connect(self._on_clicked)
            self._icon.activated.connect(self._on_clicked)
        self._key = notification.key
        self._icon.setToolTip(notification.title)
        self._icon.show()
        self._icon.showMessage(notification.title, notification.body, icon)
        return True

    def hide(self) -> None:
        if self._icon is not None:
            self._icon.hide()

    def _on_clicked(self) -> None:
        if self._key is not None:
            self._acted(self._key, "show")


_BACKGROUND: NotificationKey = ("", "background")


class InboxNotifier(Controller):
    """Announces items without contents, as others may see the screen: calls can be denied, but not allowed."""

    def __init__(self, context: WindowContext, inbox: Inbox) -> None:
        super().__init__(context)
        self._inbox = inbox
        self._window = self._panels.window
        self._desktop = DesktopNotifications(self._on_acted)
        self._tray = TrayMessages(self._window, self._on_acted)
        self._told: dict[NotificationKey, InboxItem] = {}
        self._hidden: list[tuple[QWidget, bool]] = []
        """What was hidden with the window, and whether it is a dialog that must be answered first."""
        inbox.came.connect(self._on_came)
        inbox.changed.connect(self._on_changed)
        app = QGuiApplication.instance()
        assert isinstance(app, QGuiApplication)
        app.applicationStateChanged.connect(self._on_state)

    @property
    def is_in_front(self) -> bool:
        is_active = QGuiApplication.applicationState() == Qt.ApplicationState.ApplicationActive
        return is_active and not self._window.isMinimized() and self._window.isVisible()

    async def aclose(self) -> None:
        self._inbox.came.disconnect(self._on_came)
        self._tray.hide()
        await self._desktop.aclose()

    def _on_came(self, item: InboxItem) -> None:
        # There is no other way to learn of a question while the window is hidden.
        is_wanted = self._bench.settings.ui.notifications or (item.waits and not self._window.isVisible())
        if self.is_in_front or not is_wanted:
            return
        QApplication.alert(self._window)
        self._told[item.key] = item
        self._launch(self._tell(item))

    def work_in_background(self) -> None:
        """Hide the window with those it has opened, and say how it comes back. If that fails, it is only minimized."""
        kinds = (Qt.WindowType.Window, Qt.WindowType.Dialog)
        opened = (one for one in QApplication.topLevelWidgets() if one.isVisible() and one.windowType() in kinds)
        self._hidden = [(one, one.isModal()) for one in opened if one is not self._window]
        for one, _ in self._hidden:
            one.hide()
        self._window.hide()
        self._launch(self._tell_of_background())

    def bring_back(self) -> None:
        """Bring the window to the front, with all that was hidden with it."""
        self._window.setWindowState(self._window.windowState() & ~Qt.WindowState.WindowMinimized)
        self._window.show()
        hidden, self._hidden = self._hidden, []
        for one, is_modal in hidden:
            if isValid(one):
                one.open() if is_modal and isinstance(one, QDialog) else one.show()
        self._window.raise_()
        self._window.activateWindow()

    async def _tell_of_background(self) -> None:
        words = self.tr("Show")
        body = self.tr("Click here, or start Desktop Agent again, to bring its window back.")
        title = self.tr("Desktop Agent goes on in the background.")
        notification = Notification(key=_BACKGROUND, title=title, body=body, show_words=words, deny_words="")
        if not await self._desktop.show(notification) and not self._tray.show(notification):
            self.bring_back()
            self._window.showMinimized()

    async def _tell(self, item: InboxItem) -> None:
        notification = Notification(
            key=item.key,
            title=kind_of(item),
            body=title_of(item),
            can_deny=item.can_deny,
            show_words=self.tr("Show"),
            deny_words=self.tr("Deny"),
            makes_sound=self._bench.settings.ui.notification_sound,
        )
        if not await self._desktop.show(notification):
            self._tray.show(notification)

    def _on_changed(self, items: Sequence[InboxItem]) -> None:
        waiting = {item.key for item in items}
        self._take_back(key for key, item in self._told.items() if item.waits and key not in waiting)

    def _on_state(self, _state: Qt.ApplicationState) -> None:
        if self.is_in_front:
            self._tray.hide()
            self._launch(self._desktop.withdraw(_BACKGROUND))
            self._take_back(key for key, item in self._told.items() if not item.waits)

    def _take_back(self, keys: Iterable[NotificationKey]) -> None:
        for key in list(keys):
            del self._told[key]
            self._launch(self._desktop.withdraw(key))

    def _on_acted(self, key: NotificationKey, action: str) -> None:
        item = self._told.get(key)
        if item is None and key != _BACKGROUND:
            return
        if item is not None and action == "deny":
            self._inbox.deny(item)
            return
        self.bring_back()
        if item is not None:
            self._inbox.show(item)
