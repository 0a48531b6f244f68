"""The inbox's popup: a row for each item. Imported when it is first opened."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import PurePath
from typing import Literal

from PySide6.QtCore import QLocale, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QPushButton, QScrollArea, QWidget

from desktop_agent.ui.inbox import inbox_items
from desktop_agent.ui.inbox.inbox_items import InboxItem
from desktop_agent.ui.runtime.pacing import GradualWork
from desktop_agent.ui.theme import Radius, Space, Theme
from desktop_agent.ui.widgets.answer_buttons import ARMING_DELAY_MS, Arming
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.widgets.labels import CodeLabel, ElidedLabel, make_label
from desktop_agent.ui.widgets.layouts import STRETCH, add_parts, discard, hairline, hbox, scroll_down, set_names, vbox
from desktop_agent.ui.widgets.popup import Popup
from desktop_agent.ui.widgets.rows import draw_focus_ring
from desktop_agent.ui.wording.phrases import long_moment, short_moment
from desktop_agent.ui.wording.visible_text import plain_tooltip

Wish = Literal["allow", "deny", "show", "seen"]

_MARK = 8.0


class InboxRow(QWidget):
    """Shows one item. A yes or no counts only after the row has stayed in place for a moment."""

    wished = Signal(str)  # a `Wish`
    stepped = Signal(int)  # 1: to the row below; -1: above
    half_seen = Signal()  # a yes while a part of the row was hidden, which does not count

    def __init__(self, theme: Theme, item: InboxItem, now: datetime) -> None:
        super().__init__()
        self.setObjectName("inboxRow")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.item = item
        self._theme = theme
        self._is_answered = False
        self._arming = Arming(ARMING_DELAY_MS, self)
        self.buttons = self._build_buttons()
        self._build(now)
        theme.changed.connect(self.update)

    def hold_off(self) -> None:
        """Ignore presses for a moment, because the row moved and a press may have been meant for another row."""
        self._arming.restart()
        self.update()

    def height_in(self, width: int) -> int:
        wraps = self._layout.hasHeightForWidth()
        return self._layout.totalHeightForWidth(width) if wraps else self._layout.totalSizeHint().height()

    @property
    def is_listening(self) -> bool:
        return self._arming.is_armed and not self._is_answered and self.isVisible()

    @property
    def _is_whole_in_sight(self) -> bool:
        """Whether the whole row is visible. Otherwise the question could be hidden above visible buttons."""
        return self.visibleRegion().boundingRect() == self.rect()

    def _build(self, now: datetime) -> None:
        item = self.item
        title = ElidedLabel(text=inbox_items.title(item), role="strong", takes_room=True)
        since = make_label(short_moment(item.since, now, QLocale()), role="secondary", is_plain=True)
        since.setToolTip(long_moment(item.since, now, QLocale()))
        kind = make_label(inbox_items.kind(item), role="warning" if item.waits else _end_role(item), is_plain=True)
        name = PurePath(item.workspace).name or item.workspace
        folder = ElidedLabel(text=name, role="secondary", takes_room=True)
        folder.setToolTip(plain_tooltip(item.workspace))
        folder.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        head = hbox((title, 1), since, spacing=Space.M)
        below = hbox(kind, (folder, 1), spacing=Space.M)
        parts = vbox(head, below, spacing=2)
        subject, note = inbox_items.subject(item), inbox_items.note(item)
        if subject:
            add_parts(parts, Space.XS, self._build_subject(subject))
        if note:
            parts.addWidget(make_label(note, role="secondary", wraps=True, is_plain=True))
        add_parts(parts, Space.XS, hbox(*self.buttons[:-1], STRETCH, self.buttons[-1], spacing=Space.S))
        self._layout = hbox(Space.XL, (parts, 1), on=self, margins=(Space.S, Space.S + 2, Space.M, Space.S + 2))
        spoken = (
            inbox_items.title(item),
            inbox_items.kind(item),
            subject,
            note,
            long_moment(item.since, now, QLocale()),
        )
        self.setAccessibleName(", ".join(filter(None, spoken)))

    def _build_subject(self, text: str) -> QWidget:
        label = CodeLabel(text) if self.item.can_allow else ElidedLabel(text=text, takes_room=True)
        request = self.item.request
        if request is not None and request.command is not None:
            label.setFont(self._theme.code_font())
        return label

    def _build_buttons(self) -> list[QPushButton]:
        item = self.item
        buttons: list[QPushButton] = []
        if item.can_allow:
            buttons.append(self._button(self.tr("Allow once"), "inboxAllowButton", partial(self._answer, "allow")))
        if item.can_deny:
            buttons.append(
                self._button(self.tr("Deny"), "inboxDenyButton", partial(self._answer, "deny"), "destructive")
            )
        if item.kind == "ended":
            buttons.append(self._button(self.tr("Mark as seen"), "inboxSeenButton", partial(self.wished.emit, "seen")))
        return [*buttons, self._button(self.tr("Show"), "inboxShowButton", partial(self.wished.emit, "show"))]

    def _button(self, text: str, name: str, clicked: Callable[[], None], variant: str = "") -> QPushButton:
        spoken = self.tr("{0}: {1}").format(text, inbox_items.title(self.item))
        return compact_button(text, name, accessible_name=spoken, clicked=clicked, variant=variant)

    def _answer(self, wish: Wish) -> None:
        if not self.is_listening:
            return
        if wish == "allow" and not self._is_whole_in_sight:
            self.hold_off()
            self.half_seen.emit()
        else:
            self._is_answered = True
            self.setFocus(Qt.FocusReason.OtherFocusReason)  # the focus would leave with the button
            for button in self.buttons:
                button.setEnabled(False)
            self.wished.emit(wish)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
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
        if self.item.can_deny:
            self._arming.note_painted()

    def hideEvent(self, event: QHideEvent) -> None:
        self._arming.restart()
        super().hideEvent(event)


def _end_role(item: InboxItem) -> str:
    match item.end:
        case "completed":
            return "good"
        case "interrupted" | "max_turns" | "limit":
            return "secondary"
        case _:
            return "error"


_WIDTH = 460
_MARGIN = 8
_LEAST_HEIGHT = 150
_MOST_ROWS = 50
"""How many rows are shown at most. They are widgets, of which a hundred would take longer than a frame."""


class InboxPopup(Popup):
    wished = Signal(str, object)  # a `Wish`, and the `InboxItem`
    all_seen = Signal()

    def __init__(self, theme: Theme, over: QWidget, anchor: QWidget, *, now: Callable[[], datetime]) -> None:
        super().__init__(theme, over, anchor)
        set_names(self, "inboxPopup", self.tr("Inbox"))
        self._theme = theme
        self._anchor = anchor
        self._now = now
        self._rows: list[InboxRow] = []
        self._work = GradualWork(self)
        self._focus: tuple[QWidget, tuple[str, str] | None] | None = None
        """The widget that had the focus before rows came and went, and the key of its row if it was in one."""
        self._build()

    def _build(self) -> None:
        heading = make_label(self.tr("Inbox"), role="heading")
        self._seen = compact_button(
            self.tr("Mark all as seen"), "inboxAllSeenButton", clicked=self.all_seen, variant="flat"
        )
        self._empty = make_label(self.tr("Nothing waits for you"), role="strong")
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
        self._list = QWidget()
        self._list_layout = vbox(self._more, STRETCH, on=self._list, margins=(Space.S, Space.XS, Space.S, Space.S))
        self._scroll = QScrollArea()
        set_names(self._scroll, "inboxList", self.tr("What waits for you"))
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll_down(self._scroll, self._list)
        self._head = hbox(heading, STRETCH, self._seen, margins=(Space.L, Space.S, Space.S, Space.XS))
        vbox(self._head, hairline(), (self._scroll, 1), (self._nothing, 1), on=self, margins=(1, 1, 1, 1))

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

    def open_popup(self) -> None:
        super().open_popup()
        self._place()  # only visible widgets have their final height
        self._scroll.verticalScrollBar().setValue(0)
        for row in self._rows:
            row.hold_off()
        (self._rows[0] if self._rows else self).setFocus(Qt.FocusReason.PopupFocusReason)

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
        if self.isVisible():
            self._place()
            self._give_focus(is_last=is_last)

    def _new_row(self, item: InboxItem) -> InboxRow:
        row = InboxRow(self._theme, item, self._now())
        row.wished.connect(partial(self._on_wished, row))
        row.stepped.connect(partial(self._on_stepped, row))
        row.half_seen.connect(partial(self._scroll.ensureWidgetVisible, row, 0, Space.S))
        return row

    def _hold_off_from(self, at: int) -> None:
        for row in self._rows[at:]:
            row.hold_off()

    def _on_wished(self, row: InboxRow, wish: str) -> None:
        if wish == "show":
            self.close_popup()
        self.wished.emit(wish, row.item)

    def _on_stepped(self, row: InboxRow, step: int) -> None:
        at = self._rows.index(row) + step
        if 0 <= at < len(self._rows):
            self._rows[at].setFocus(Qt.FocusReason.TabFocusReason)
            self._scroll.ensureWidgetVisible(self._rows[at], 0, Space.S)

    def _note_focus(self) -> None:
        """Store the focused widget before rows are removed, because the focus would go to the conversation."""
        now = QApplication.focusWidget()
        if now is None or not (now is self or self.isAncestorOf(now)) or (now is self and self._focus is not None):
            return
        row = next((row for row in self._rows if row is now or row.isAncestorOf(now)), None)
        self._focus = (now, row.item.key if row is not None else None)
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _give_focus(self, *, is_last: bool) -> None:
        """With `is_last`, fall back to the first row."""
        if self._focus is None or not self.hasFocus():
            return
        before, key = self._focus
        row = next((row for row in self._rows if row.item.key == key), None)
        if row is None:
            if not is_last:
                return
            row = self._rows[0] if self._rows else None
        places = (self._seen, *self._rows, *(button for row in self._rows for button in row.buttons))
        is_usable = before in places and before.isVisible() and before.isEnabled()
        if is_usable or row is not None:
            self._focus = None
            (before if is_usable or row is None else row).setFocus(Qt.FocusReason.OtherFocusReason)

    def _place(self) -> None:
        width = min(_WIDTH, self._over.width() - 2 * _MARGIN)
        corner = self._anchor.mapTo(self._over, QPoint(self._anchor.width(), self._anchor.height()))
        top = corner.y() + Space.XS
        left = max(_MARGIN, min(corner.x() - width, self._over.width() - width - _MARGIN))
        head = self._head.sizeHint().height() + 1 + Space.XS  # the line below the head, and the frame
        wanted = head + self._rows_height(width - 2) if self._rows else _LEAST_HEIGHT
        height = min(wanted, self._over.height() - top - _MARGIN)
        self.setGeometry(QRect(left, top, width, height))

    def _rows_height(self, width: int) -> int:
        margins = self._list_layout.contentsMargins()
        inner = width - margins.left() - margins.right()
        more = 0 if self._more.isHidden() else self._more.heightForWidth(inner)
        return margins.top() + sum(row.height_in(inner) for row in self._rows) + more + margins.bottom()

    def focusNextPrevChild(self, next: bool) -> bool:  # noqa: A002 - Qt's name
        places: list[QWidget] = [self._seen, *(place for row in self._rows for place in (row, *row.buttons))]
        usable = [place for place in places if place.isVisible() and place.isEnabled()]
        if not usable:
            return True
        now = self.focusWidget()
        at = usable.index(now) if now in usable else 0
        wanted = usable[(at + (1 if next else -1)) % len(usable)]
        wanted.setFocus(Qt.FocusReason.TabFocusReason if next else Qt.FocusReason.BacktabFocusReason)
        for shown in (wanted, *(row for row in self._rows if row.isAncestorOf(wanted))):  # the whole question
            self._scroll.ensureWidgetVisible(shown, 0, Space.S)
        return True
