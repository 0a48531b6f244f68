"""The inbox: its items, computed from the transcripts of open sessions, their texts, and the popup with their rows."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from operator import attrgetter
from pathlib import PurePath
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QEvent, QLocale, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QApplication, QPushButton, QScrollArea, QSizePolicy, QWidget
from shiboken6 import isValid

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.events import TurnEndReason
from desktop_agent.core.protocol.model import ApprovalRequest, SessionSummary
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.runtime.pacing import GradualWork
from desktop_agent.ui.theme import Radius, Space, Theme
from desktop_agent.ui.translation import core_words, plural
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.widgets.focus import announce, draw_focus_ring
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label
from desktop_agent.ui.widgets.layouts import STRETCH, discard, hairline, hbox, scroll_down, set_names, vbox
from desktop_agent.ui.widgets.popup import Popup
from desktop_agent.ui.wording import long_moment, one_line, plain_tooltip, short_moment

_tr = partial(QCoreApplication.translate, "Inbox")

ItemKind = Literal["question", "questions", "ended"]
"""What an item is: a question of an open session, all questions of a closed one, or a turn that ended unseen."""

ItemKey = tuple[SessionId, str]
"""A session, and the call that a question is about or else the kind of the item."""


class InboxItem(Struct, frozen=True, kw_only=True):
    kind: ItemKind
    session_id: SessionId
    title: str
    """The session's title; empty while it has none."""
    workspace: str
    since: datetime
    turn: int = 0
    request: ApprovalRequest | None = None
    asks: int = 1
    end: TurnEndReason = "completed"
    can_answer: bool = False
    """Whether the question can be answered here. It cannot while another process has the session open."""

    @property
    def key(self) -> ItemKey:
        return self.session_id, self.request.call_id if self.request is not None else self.kind

    @property
    def waits(self) -> bool:
        return self.kind != "ended"

    @property
    def can_deny(self) -> bool:
        request = self.request
        return self.can_answer and request is not None and request.question is None and request.spending is None


class InboxSession(Struct, frozen=True):
    transcript: Transcript
    is_read_only: bool = False


def items_of(
    opened: Iterable[InboxSession], listed: Iterable[SessionSummary], seen: Mapping[SessionId, int]
) -> list[InboxItem]:
    """Return questions, oldest first, then ended turns. `seen` maps a session to the last turn seen to end."""
    sessions = [session for session in opened if session.transcript.session.session_id]
    known = {session.transcript.session.session_id for session in sessions}
    questions = [item for session in sessions for item in _questions(session)]
    questions += [
        InboxItem(
            kind="questions",
            session_id=one.id,
            title=one.title,
            workspace=one.workspace,
            since=one.active_at,
            asks=one.asks,
        )
        for one in listed
        if one.asks and one.id not in known and not one.is_archived and one.task is None
    ]
    ended = [item for session in sessions if (item := _end(session, seen)) is not None]
    since = attrgetter("since")
    return sorted(questions, key=since) + sorted(ended, key=since, reverse=True)


def _about(transcript: Transcript, kind: ItemKind, since: datetime | None) -> InboxItem:
    info = transcript.session
    return InboxItem(
        kind=kind,
        session_id=info.session_id,
        title=info.title,
        workspace=info.workspace,
        since=since or info.updated_at,
        turn=transcript.turns.turn,
    )


def _questions(session: InboxSession) -> list[InboxItem]:
    transcript, can_answer = session.transcript, not session.is_read_only
    asked = [(request, transcript.turns.asked_at.get(request.call_id)) for request in transcript.pending_approvals]
    items = [(request, _about(transcript, "question", since)) for request, since in asked]
    return [replace(item, request=request, can_answer=can_answer) for request, item in items]


def _end(session: InboxSession, seen: Mapping[SessionId, int]) -> InboxItem | None:
    info, turns = session.transcript.session, session.transcript.turns
    if session.is_read_only or turns.is_running or turns.last_end is None:
        return None
    if turns.turn <= seen.get(info.session_id, turns.turn):
        return None
    return replace(_about(session.transcript, "ended", turns.ended_at), end=turns.last_end)


_MOST_TITLE_CHARS = 80
_MOST_CHARS = 300


def title_of(item: InboxItem) -> str:
    words = " ".join(named(item.title).split())
    cut = words if len(words) <= _MOST_TITLE_CHARS else f"{words[:_MOST_TITLE_CHARS]}…"
    return cut or _tr("New session")


def kind_of(item: InboxItem) -> str:
    """Return the kind of item, without text from the model, a server or a file."""
    if item.request is not None:
        if item.request.spending is not None:
            return _tr("A spending limit is reached")
        if (question := item.request.question) is not None:
            if question.sampling is not None:
                return _tr("A server wants to ask the model")
            return _tr("A server wants you to visit a page") if question.address else _tr("A server has a question")
        if item.request.is_escalation:
            return _tr("Wants to run a command outside the sandbox")
        if item.request.command is not None:
            return _tr("Wants to run a command")
        return _tr("Wants to change files") if item.request.changes else _tr("Wants to use a tool")
    if item.kind == "questions":
        return plural("Inbox", item.asks, "%n question waiting", "%n questions waiting")
    limit = _tr("The turn ended at a limit")
    words: dict[str, str] = {
        "completed": _tr("The agent has finished"),
        "interrupted": _tr("The turn was stopped"),
        "max_turns": limit,
        "limit": limit,
        "refused": _tr("The model refused"),
        "hook": _tr("A hook ended the turn"),
    }
    return words.get(item.end, _tr("The turn failed"))


def subject_of(item: InboxItem) -> str:
    """Return the exact subject of a question on one line, and whose it is; empty if `kind` says everything."""
    request = item.request
    if request is None or request.spending is not None:
        return ""
    asks = f"{cut(one_line(request.subagent))}: " if request.subagent else ""
    return f"{asks}{_subject(request)}"


def _subject(request: ApprovalRequest) -> str:
    if request.question is not None:
        return cut(one_line(request.question.message))
    if request.command is not None:
        return cut(one_line(request.command))
    called = json.dumps(request.arguments, ensure_ascii=False) if request.arguments else ""
    return cut(one_line(f"{core_words(request.title)} {called}".rstrip()))


def note_of(item: InboxItem) -> str:
    """Return why the question cannot be answered here; empty if it can, or if that is not known."""
    if item.kind != "question" or item.can_answer:
        return ""
    return _tr("The session is open in another window. Answer the question there")


def words_when_gone(item: InboxItem, outcome: str) -> str:
    """Return what happened to a question that was not answered here. `outcome` is that of its decision, if any."""
    words = {"allowed": _tr("Allowed elsewhere: {0}"), "denied": _tr("Denied elsewhere: {0}")}
    return words.get(outcome, _tr("No longer waiting: {0}")).format(title_of(item))


def words_when_busy(item: InboxItem) -> str:
    return _tr("Open in another window; answer it there: {0}").format(title_of(item))


def cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}…"


Wish = Literal["answer", "show", "seen"]
"""What the user wants with an item. `answer`: to open its session here, which makes rows of its questions."""

_MARK = 8.0


class RowCard(QWidget):
    """The card of a question, as far as its row needs it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def height_in(self, width: int) -> int:
        """Give the card this width; return its height."""
        raise NotImplementedError

    def rearm(self) -> None:
        """Ignore answers for a moment, because the card moved and a press may have been meant for something else."""
        raise NotImplementedError

    def heightForWidth(self, arg__1: int) -> int:
        height = self.height_in(arg__1)
        if arg__1 != self.width():  # it is only asked for
            self.height_in(self.width())
        return height

    def sizeHint(self) -> QSize:
        return QSize(0, self.height_in(self.width()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.width() != event.oldSize().width():
            self.updateGeometry()


class InboxRow(QWidget):
    """Shows one item; the question that waits is on a card in it while the row is `open`."""

    wished = Signal(str)  # a `Wish`
    stepped = Signal(int)  # 1: to the row below; -1: above
    focused = Signal()  # or clicked
    resized = Signal()  # its content needs another height

    def __init__(self, theme: Theme, item: InboxItem, now: datetime) -> None:
        super().__init__()
        self.setObjectName("inboxRow")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.item = item
        self._theme = theme
        self._card: RowCard | None = None
        buttons: list[QPushButton] = []
        if self.item.kind == "ended":
            buttons.append(self._button(self.tr("Mark as seen"), "inboxSeenButton", "seen"))
        if self.item.kind == "questions":
            buttons.append(self._button(self.tr("Answer here"), "inboxAnswerButton", "answer"))
        self.buttons = [*buttons, self._button(self.tr("Show"), "inboxShowButton", "show")]
        self._build(now)
        theme.changed.connect(self.update)

    def open(self, card: RowCard) -> None:
        self._card = card
        self._subject.hide()
        self._parts.insertWidget(self._parts.indexOf(self._subject), card)
        card.show()

    def close_card(self) -> None:
        if self._card is not None:
            self._parts.removeWidget(self._card)
            discard(self._card)
            self._card = None
            self._subject.setVisible(bool(self._subject.text()))

    def hold_off(self) -> None:
        if self._card is not None:
            self._card.rearm()

    @property
    def is_open(self) -> bool:
        return self._card is not None

    def height_in(self, width: int) -> int:
        self._layout.activate()
        wraps = self._layout.hasHeightForWidth()
        return self._layout.totalHeightForWidth(width) if wraps else self._layout.totalSizeHint().height()

    def tab_stops(self) -> list[QWidget]:
        window, inside = self.window(), self._card.findChildren(QWidget) if self._card is not None else []
        stops = (one for one in inside if one.focusPolicy() & Qt.FocusPolicy.TabFocus)
        return [self, *(one for one in stops if one.window() is window), *self.buttons]  # not the list of a picker

    def _build(self, now: datetime) -> None:
        item = self.item
        title = ElidedLabel(text=title_of(item), role="strong", takes_room=True)
        since = make_label(short_moment(item.since, now, QLocale()), role="secondary", is_plain=True)
        since.setToolTip(long_moment(item.since, now, QLocale()))
        kind = make_label(kind_of(item), role="warning" if item.waits else _end_role(item), is_plain=True)
        name = PurePath(item.workspace).name or item.workspace
        folder = ElidedLabel(text=name, role="secondary", takes_room=True)
        folder.setToolTip(plain_tooltip(item.workspace))
        folder.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        subject, note = subject_of(item), note_of(item)
        self._subject = ElidedLabel(text=subject, takes_room=True)
        if not subject:
            self._subject.hide()
        if item.request is not None and item.request.command is not None:
            self._subject.setFont(self._theme.code_font())
        head = hbox((title, 1), since, spacing=Space.M)
        below = hbox(kind, (folder, 1), spacing=Space.M)
        self._parts = vbox(head, below, self._subject, spacing=Space.XS)
        if note:
            self._parts.addWidget(make_label(note, role="secondary", wraps=True, is_plain=True))
        self._parts.addLayout(hbox(*self.buttons[:-1], STRETCH, self.buttons[-1], spacing=Space.S))
        margins = (Space.S, Space.S + 2, Space.M, Space.S + 2)
        self._layout = hbox(Space.XL, (self._parts, 1), on=self, margins=margins)
        since_when = long_moment(item.since, now, QLocale())
        spoken = (title_of(item), kind_of(item), subject, note, since_when)
        self.setAccessibleName(", ".join(filter(None, spoken)))

    def _button(self, text: str, name: str, wish: Wish) -> QPushButton:
        spoken = self.tr("{0}: {1}").format(text, title_of(self.item))
        return compact_button(text, name, accessible_name=spoken, clicked=partial(self.wished.emit, wish))

    def event(self, event: QEvent) -> bool:
        is_done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self.resized.emit()
        return is_done

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focused.emit()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        is_inside = self.rect().contains(event.position().toPoint())
        if event.button() != Qt.MouseButton.LeftButton or not is_inside:
            return
        if self.item.can_answer:
            self.focused.emit()
        else:
            self.wished.emit("show")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if self.hasFocus():
                self.wished.emit("show")
            case Qt.Key.Key_Down:
                self.stepped.emit(1)
            case Qt.Key.Key_Up:
                self.stepped.emit(-1)
            case _:
                super().keyPressEvent(event)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            if self.underMouse():
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(self._theme.colour("sunken"))
                painter.drawRoundedRect(QRectF(self.rect()), Radius.CONTROL, Radius.CONTROL)
            if self.hasFocus():
                draw_focus_ring(painter, QRectF(self.rect()), self._theme.colour("accent"))
            painter.setPen(Qt.PenStyle.NoPen)
            ended = {"good": "added_text", "error": "danger_text"}.get(_end_role(self.item), "muted")
            painter.setBrush(self._theme.colour("warning_text" if self.item.waits else ended))
            painter.drawEllipse(QPointF(Space.S + Space.S, Space.S + 10), _MARK / 2, _MARK / 2)


def _end_role(item: InboxItem) -> str:
    match item.end:
        case "completed":
            return "good"
        case "interrupted" | "max_turns" | "limit":
            return "secondary"
        case _:
            return "error"


_WIDTH = 620
_MARGIN = 8
_LEAST_HEIGHT = 150
_MOST_ROWS = 50
"""How many rows are shown at most. They are widgets, of which a hundred would take longer than a frame."""

MakeCard = Callable[[InboxItem, QWidget], RowCard]


class InboxPopup(Popup):
    """One row at a time shows the card of its question: the row that had the focus last."""

    wished = Signal(str, object)  # a `Wish`, and the `InboxItem`
    all_seen = Signal()
    shown_changed = Signal(bool)

    def __init__(
        self, theme: Theme, over: QWidget, anchor: QWidget, *, now: Callable[[], datetime], make_card: MakeCard
    ) -> None:
        super().__init__(theme, over, anchor)
        set_names(self, "inboxPopup", self.tr("Inbox"))
        self._theme = theme
        self._anchor = anchor
        self._now = now
        self._make_card = make_card
        self._rows: list[InboxRow] = []
        self._work = GradualWork(self)
        self._focus: tuple[QWidget, InboxRow | None, int] | None = None
        """The widget that had the focus before rows came and went, its row if it was in one, and where that was."""
        self._build()
        theme.changed.connect(self._on_theme)

    def _build(self) -> None:
        heading = make_label(self.tr("Inbox"), role="heading")
        self._seen = compact_button(
            self.tr("Mark all as seen"), "inboxAllSeenButton", clicked=self.all_seen, variant="flat"
        )
        self._empty = make_label(self.tr("Nothing is waiting for you"), role="strong")
        self._explained = make_label(
            self.tr(
                "Questions of all sessions appear here, and turns that ended while you were looking at something else."
            ),
            role="secondary",
            wraps=True,
        )
        for label in (self._empty, self._explained):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._nothing = QWidget()
        words, margins = (STRETCH, self._empty, self._explained, STRETCH), (Space.XXL, 0, Space.XXL, Space.L)
        vbox(*words, on=self._nothing, margins=margins, spacing=Space.XS)
        self._more = make_label(role="secondary", wraps=True)
        self._more.setContentsMargins(Space.XXL, Space.XS, Space.M, Space.S)
        self._news = make_label(role="secondary", wraps=True, is_plain=True)
        self._news.setObjectName("inboxNews")
        self._news.setContentsMargins(Space.L, Space.S, Space.L, Space.XS)
        self._news.hide()
        self._list = QWidget()
        self._list_layout = vbox(self._more, STRETCH, on=self._list, margins=(Space.S, Space.XS, Space.S, Space.S))
        self._scroll = QScrollArea()
        set_names(self._scroll, "inboxList", self.tr("Waiting for you"))
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll_down(self._scroll, self._list)
        self._head = hbox(heading, STRETCH, self._seen, margins=(Space.L, Space.S, Space.S, Space.XS))
        parts = (self._head, hairline(), self._news, (self._scroll, 1), (self._nothing, 1))
        vbox(*parts, on=self, margins=(1, 1, 1, 1))

    def show_items(self, items: Sequence[InboxItem]) -> None:
        self._note_focus()
        wanted = items[:_MOST_ROWS]
        for row in [row for row in self._rows if row.item not in wanted]:
            at = self._rows.index(row)
            self._rows.remove(row)
            self._list_layout.removeWidget(row)
            discard(row)
            self._hold_off_from(at)
        more = len(items) - len(wanted)
        self._more.setText(self.tr("And {0} more: answer some of these first.").format(more))
        self._more.setVisible(more > 0)
        self._seen.setVisible(any(not item.waits for item in items))
        self._scroll.setVisible(bool(items))
        self._nothing.setVisible(not items)
        self._work.begin(self._fill(wanted))

    def say(self, words: str) -> None:
        """Show above the list what happened to a question, until the inbox is opened again."""
        self._news.setText(words)
        self._news.setVisible(bool(words))
        announce(self, words)
        if self.isVisible():
            self._place()

    def open_popup(self) -> None:
        self.say("")
        super().open_popup()
        self._place()  # only visible widgets have their final height
        self._scroll.verticalScrollBar().setValue(0)
        self._hold_off_from(0)
        (self._rows[0] if self._rows else self).setFocus(Qt.FocusReason.PopupFocusReason)
        self._settle(is_last=self._work.is_done)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown_changed.emit(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.shown_changed.emit(False)

    def _fill(self, wanted: Sequence[InboxItem]) -> Iterator[None]:
        for at, item in enumerate(wanted):
            row = next((row for row in self._rows if row.item == item), None) or self._new_row(item)
            if at < len(self._rows) and self._rows[at] is row:
                continue
            if row in self._rows:
                self._rows.remove(row)
            self._rows.insert(at, row)
            self._list_layout.insertWidget(at, row)
            row.show()
            self._hold_off_from(at)
            self._settle(is_last=at == len(wanted) - 1)
            yield
        self._settle(is_last=True)

    def _settle(self, *, is_last: bool) -> None:
        if not self.isVisible():
            return
        self._place()
        self._give_focus(is_last=is_last)
        if is_last and not any(row.is_open for row in self._rows):
            for row in [row for row in self._rows if row.item.can_answer][:1]:
                self._open(row)

    def _new_row(self, item: InboxItem) -> InboxRow:
        row = InboxRow(self._theme, item, self._now())
        row.wished.connect(partial(self._on_wished, row))
        row.stepped.connect(partial(self._on_stepped, row))
        row.focused.connect(partial(self._open, row))
        row.resized.connect(partial(self._on_resized, row))
        return row

    def _open(self, row: InboxRow) -> None:
        """Show the card of this row's question, if it can be answered here, and no other card."""
        if not row.is_open and row.item.can_answer and row in self._rows:
            for other in self._rows:
                other.close_card()
            row.open(self._make_card(row.item, row))
            self._place()
            self._bring_up(row)

    def _bring_up(self, row: InboxRow) -> None:
        """Scroll so that the row is in sight, or its beginning if it is higher than the list."""
        self._list_layout.activate()
        bar, height = self._scroll.verticalScrollBar(), self._scroll.viewport().height()
        bar.setValue(min(row.y() - Space.XS, max(bar.value(), row.geometry().bottom() + Space.S - height)))

    def _hold_off_from(self, at: int) -> None:
        for row in self._rows[at:]:
            row.hold_off()

    def _on_resized(self, row: InboxRow) -> None:
        if self.isVisible():
            self._place()
            if row.hasFocus():
                self._bring_up(row)

    def _on_theme(self) -> None:
        self._note_focus()
        for row in [row for row in self._rows if row.is_open]:
            row.close_card()
            self._open(row)
        self._settle(is_last=True)

    def _on_wished(self, row: InboxRow, wish: str) -> None:
        if wish == "show":
            self.close_popup()
        self.wished.emit(wish, row.item)

    def _on_stepped(self, row: InboxRow, step: int) -> None:
        at = self._rows.index(row) + step
        if 0 <= at < len(self._rows):
            self._rows[at].setFocus(Qt.FocusReason.TabFocusReason)
            self._bring_up(self._rows[at])

    def _note_focus(self) -> None:
        """Store the focused widget before rows are removed, because the focus would go to the conversation."""
        now = QApplication.focusWidget()
        if now is None or not (now is self or self.isAncestorOf(now)) or (now is self and self._focus is not None):
            return
        row = next((row for row in self._rows if row is now or row.isAncestorOf(now)), None)
        self._focus = (now, row, self._rows.index(row) if row is not None else 0)
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _give_focus(self, *, is_last: bool) -> None:
        """Give the focus back to the widget that had it.

        If that is gone, give it to the row of the same item, of the same session, or in the same place.
        """
        if not self.hasFocus():
            return
        before, row, at = self._focus or (self, None, 0)
        if isValid(before) and before is not self and before.isVisible() and before.isEnabled():
            wanted: QWidget | None = before
        else:
            wanted = next((one for one in self._rows if row is not None and one.item.key == row.item.key), None)
        if wanted is None and is_last:
            same = [one for one in self._rows if row is not None and one.item.session_id == row.item.session_id]
            near = [one for one in same if one.item.waits] or self._rows[at : at + 1] or self._rows[-1:]
            wanted = near[0] if near else None
        if wanted is not None:
            self._focus = None
            wanted.setFocus(Qt.FocusReason.OtherFocusReason)

    def _place(self) -> None:
        width = min(_WIDTH, self._over.width() - 2 * _MARGIN)
        corner = self._anchor.mapTo(self._over, QPoint(self._anchor.width(), self._anchor.height()))
        top = corner.y() + Space.XS
        left = max(_MARGIN, min(corner.x() - width, self._over.width() - width - _MARGIN))
        head = self._head.sizeHint().height() + 1 + Space.XS  # the line below the head, and the frame
        head += 0 if self._news.isHidden() else self._news.heightForWidth(width - 2)
        wanted = head + (self._rows_height(width - 2) if self._rows else _LEAST_HEIGHT)
        self.setGeometry(QRect(left, top, width, min(wanted, self._over.height() - top - _MARGIN)))

    def _rows_height(self, width: int) -> int:
        margins = self._list_layout.contentsMargins()
        inner = width - margins.left() - margins.right()
        more = 0 if self._more.isHidden() else self._more.heightForWidth(inner)
        return margins.top() + sum(row.height_in(inner) for row in self._rows) + more + margins.bottom()

    def tab_stops(self) -> list[QWidget]:
        return [self._seen, *(place for row in self._rows for place in row.tab_stops())]

    def focusNextPrevChild(self, next: bool) -> bool:  # noqa: A002 - Qt's name
        is_done = super().focusNextPrevChild(next)
        self._scroll.ensureWidgetVisible(self.focusWidget(), 0, Space.S)
        return is_done
