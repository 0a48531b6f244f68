"""The inbox itself: all that waits, in rows, below its button. Imported when it is opened first."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget

from desktop_agent.ui.inbox.items import InboxItem
from desktop_agent.ui.inbox.row import InboxRow
from desktop_agent.ui.runtime.gradual import GradualWork
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, scroll_down, vbox
from desktop_agent.ui.widgets.overlay.press_beside import PressBeside
from desktop_agent.ui.widgets.overlay.raised_frame import RaisedFrame

_WIDTH = 460
_MARGIN = 8
_LEAST_HEIGHT = 150
_MOST_ROWS = 50
"""Rows are widgets: a hundred sessions that ask would take longer than a frame."""


class InboxPopup(RaisedFrame):
    """Lies over `over`, below the button that opens it. Says what the user wants; the sessions do it.

    Signals:
        wished: the user wants something of an item: a `Wish` of `row`, and the `InboxItem`.
        all_seen: they have seen all turns that ended.
    """

    wished = Signal(str, object)
    all_seen = Signal()

    def __init__(self, theme: Theme, over: QWidget, anchor: QWidget, *, now: Callable[[], datetime]) -> None:
        super().__init__(theme, over)
        self.setObjectName("inboxPopup")
        self.setAccessibleName(self.tr("Inbox"))
        self._theme = theme
        self._over = over
        self._anchor = anchor
        self._presses = PressBeside(self, anchor)
        self._presses.pressed.connect(self.close_popup)
        over.installEventFilter(self)
        self._now = now
        self._rows: list[InboxRow] = []
        self._work = GradualWork(self)
        self._focus: tuple[QWidget, tuple[str, str] | None] | None = None
        """Where the keyboard was before rows came and went, and in which row."""
        self._build()
        self.hide()

    def _build(self) -> None:
        heading = make_label(self.tr("Inbox"), role="heading")
        self._seen = make_button(
            self.tr("Mark all as seen"),
            object_name="inboxAllSeenButton",
            clicked=self.all_seen,
            variant="flat",
            is_compact=True,
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
        vbox(
            STRETCH,
            self._empty,
            self._explained,
            STRETCH,
            on=self._nothing,
            margins=(Space.XXL, 0, Space.XXL, Space.L),
            spacing=Space.XS,
        )
        self._more = make_label(role="secondary", wraps=True)
        self._more.setContentsMargins(Space.XXL, Space.XS, Space.M, Space.S)
        self._list = QWidget()
        self._list_layout = vbox(on=self._list, margins=(Space.S, Space.XS, Space.S, Space.S))
        self._list_layout.addWidget(self._more)
        self._list_layout.addStretch()
        self._scroll = QScrollArea()
        self._scroll.setObjectName("inboxList")
        self._scroll.setAccessibleName(self.tr("What waits for you"))
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll_down(self._scroll, self._list)
        self._head = hbox(heading, STRETCH, self._seen, margins=(Space.L, Space.S, Space.S, Space.XS))
        vbox(self._head, hairline(), (self._scroll, 1), (self._nothing, 1), on=self, margins=(1, 1, 1, 1))

    # --- what the window asks -------------------------------------------------------------------------------------

    def show_items(self, items: Sequence[InboxItem]) -> None:
        """Show these, in their order, a few in each turn of the loop. A row that stays as it was keeps the keyboard."""
        self._note_focus()
        wanted = items[:_MOST_ROWS]
        for row in [row for row in self._rows if row.item not in wanted]:
            self._remove(row)
        more = len(items) - len(wanted)
        self._more.setText(self.tr("And {0} more: answer some of these first.").format(more))
        self._more.setVisible(more > 0)
        self._seen.setVisible(any(not item.waits for item in items))
        self._scroll.setVisible(bool(items))
        self._nothing.setVisible(not items)
        self._work.begin(self._fill(wanted))

    def open_popup(self) -> None:
        """Show it, with the keyboard on the first row."""
        self._presses.start()
        self._place()
        self.show()
        self.raise_()
        self._place()  # only what is shown knows how high its words are
        self._scroll.verticalScrollBar().setValue(0)
        for row in self._rows:
            row.hold_off()
        (self._rows[0] if self._rows else self).setFocus(Qt.FocusReason.PopupFocusReason)

    def close_popup(self) -> None:
        """Go back to what lies below; `FocusKeeper` gives the keyboard back."""
        if self.isVisible():
            self._presses.stop()
            self.hide()

    # --- the rows -------------------------------------------------------------------------------------------------

    def _fill(self, wanted: Sequence[InboxItem]) -> Iterator[None]:
        """Make and place the rows, one a step."""
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
        """Fit what is there by now, and give the keyboard back to the row that had it."""
        if self.isVisible():
            self._place()
            self._give_focus(is_last=is_last)

    def _new_row(self, item: InboxItem) -> InboxRow:
        row = InboxRow(self._theme, item, self._now())
        row.wished.connect(partial(self._on_wished, row))
        row.stepped.connect(partial(self._on_stepped, row))
        row.half_seen.connect(partial(self._scroll.ensureWidgetVisible, row, 0, Space.S))
        return row

    def _remove(self, row: InboxRow) -> None:
        at = self._rows.index(row)
        self._rows.remove(row)
        self._list_layout.removeWidget(row)
        row.hide()
        row.deleteLater()
        self._hold_off_from(at)

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
        """Remember where the keyboard is, before rows go: what is lost goes back to the conversation."""
        now = QApplication.focusWidget()
        if now is None or not (now is self or self.isAncestorOf(now)) or (now is self and self._focus is not None):
            return
        row = next((row for row in self._rows if row is now or row.isAncestorOf(now)), None)
        self._focus = (now, row.item.key if row is not None else None)
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _give_focus(self, *, is_last: bool) -> None:
        """Let the keyboard go on where it was, else in the row of the same thing, else on the first one."""
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

    # --- Qt -------------------------------------------------------------------------------------------------------

    def _place(self) -> None:
        """Stand below the button, as high as the rows need and as there is room for."""
        width = min(_WIDTH, self._over.width() - 2 * _MARGIN)
        corner = self._anchor.mapTo(self._over, QPoint(self._anchor.width(), self._anchor.height()))
        top = corner.y() + Space.XS
        left = max(_MARGIN, min(corner.x() - width, self._over.width() - width - _MARGIN))
        head = self._head.sizeHint().height() + 1 + Space.XS  # the line below it, and the frame
        wanted = head + self._rows_height(width - 2) if self._rows else _LEAST_HEIGHT
        height = min(wanted, self._over.height() - top - _MARGIN)
        self.setGeometry(QRect(left, top, width, height))

    def _rows_height(self, width: int) -> int:
        margins = self._list_layout.contentsMargins()
        inner = width - margins.left() - margins.right()
        more = 0 if self._more.isHidden() else self._more.heightForWidth(inner)
        return margins.top() + sum(row.height_in(inner) for row in self._rows) + more + margins.bottom()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and watched is self._over and self.isVisible():
            self._place()
        return super().eventFilter(watched, event)

    def focusNextPrevChild(self, next: bool) -> bool:  # noqa: A002 - Qt's name
        """Keep Tab inside: what lies below is out of reach until this is closed."""
        places: list[QWidget] = [self._seen]
        for row in self._rows:
            places += [row, *row.buttons]
        usable = [place for place in places if place.isVisible() and place.isEnabled()]
        if not usable:
            return True
        now = self.focusWidget()
        at = usable.index(now) if now in usable else 0
        wanted = usable[(at + (1 if next else -1)) % len(usable)]
        wanted.setFocus(Qt.FocusReason.TabFocusReason if next else Qt.FocusReason.BacktabFocusReason)
        for shown in (wanted, *(row for row in self._rows if row.isAncestorOf(wanted))):  # all of what it answers
            self._scroll.ensureWidgetVisible(shown, 0, Space.S)
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_popup()
        else:
            super().keyPressEvent(event)
