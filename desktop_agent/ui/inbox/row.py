"""One row of the inbox: whose it is, what waits and since when, and the answers that can be given there."""

from collections.abc import Callable
from datetime import datetime
from pathlib import PurePath
from typing import Literal

from PySide6.QtCore import QEvent, QLocale, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QHideEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QPushButton, QSizePolicy, QWidget

from desktop_agent.ui.inbox import words
from desktop_agent.ui.inbox.items import InboxItem
from desktop_agent.ui.theme import Radius, Space, Theme
from desktop_agent.ui.widgets.arming import ARMING_DELAY_MS, Arming
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import CodeLabel, ElidedLabel, make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox
from desktop_agent.ui.wording.moments import long_moment, short_moment
from desktop_agent.ui.wording.tooltips import plain_tooltip

Wish = Literal["allow", "deny", "show", "seen"]
"""What the user wants of a row."""

_MARK = 8.0


class InboxRow(QWidget):
    """Shows one item. A yes or a no counts only after the row has stood in its place for a moment.

    Signals:
        wished: the user wants something of it: a `Wish`.
        stepped: the arrow keys go to the row below (1) or above (-1).
        half_seen: a yes came while not all of the row was in sight, and did not count.
    """

    wished = Signal(str)
    stepped = Signal(int)
    half_seen = Signal()

    def __init__(self, theme: Theme, item: InboxItem, now: datetime) -> None:
        super().__init__()
        self.setObjectName("inboxRow")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.item = item
        self._theme = theme
        self._is_answered = False
        self._arming = Arming(ARMING_DELAY_MS, self)
        self.buttons = self._build_buttons()
        """The answers, and the way to the session as the last."""
        self._build(now)
        theme.changed.connect(self.update)

    def hold_off(self) -> None:
        """The row has moved: what is pressed in the next moment may have been meant for another one."""
        self._arming.restart()
        self.update()

    def height_in(self, width: int) -> int:
        """Return how high it is when it is this wide."""
        wraps = self._layout.hasHeightForWidth()
        return self._layout.totalHeightForWidth(width) if wraps else self._layout.totalSizeHint().height()

    @property
    def is_listening(self) -> bool:
        """Whether an answer counts."""
        return self._arming.is_armed and not self._is_answered and self.isVisible()

    @property
    def _is_whole_in_sight(self) -> bool:
        """Whether nothing of it lies outside the list: what is asked may be above the buttons that are in sight."""
        return self.visibleRegion().boundingRect() == self.rect()

    # --- building -------------------------------------------------------------------------------------------------

    def _build(self, now: datetime) -> None:
        item = self.item
        title = ElidedLabel()
        title.setText(words.title(item))
        title.setProperty("role", "strong")
        title.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        since = make_label(short_moment(item.since, now, QLocale()), role="secondary", is_plain=True)
        since.setToolTip(long_moment(item.since, now, QLocale()))
        kind = make_label(words.kind(item), role="warning" if item.waits else _end_role(item), is_plain=True)
        folder = ElidedLabel()
        folder.setText(PurePath(item.workspace).name or item.workspace)
        folder.setToolTip(plain_tooltip(item.workspace))
        folder.setProperty("role", "secondary")
        folder.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        folder.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        head = hbox((title, 1), since, spacing=Space.M)
        below = hbox(kind, (folder, 1), spacing=Space.M)
        parts = vbox(head, below, spacing=2)
        subject, note = words.subject(item), words.note(item)
        if subject:
            parts.addSpacing(Space.XS)
            parts.addWidget(self._build_subject(subject))
        if note:
            parts.addWidget(make_label(note, role="secondary", wraps=True, is_plain=True))
        parts.addSpacing(Space.XS)
        parts.addLayout(hbox(*self.buttons[:-1], STRETCH, self.buttons[-1], spacing=Space.S))
        self._layout = hbox(Space.XL, (parts, 1), on=self, margins=(Space.S, Space.S + 2, Space.M, Space.S + 2))
        spoken = (words.title(item), words.kind(item), subject, note, long_moment(item.since, now, QLocale()))
        self.setAccessibleName(", ".join(filter(None, spoken)))

    def _build_subject(self, text: str) -> QWidget:
        """Return the text, whole where it can be allowed here, else its beginning."""
        if self.item.can_allow:
            label: QLabel = CodeLabel(text)
        else:
            label = ElidedLabel()
            label.setText(text)
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        request = self.item.request
        if request is not None and request.command is not None:
            label.setFont(self._theme.code_font())
        return label

    def _build_buttons(self) -> list[QPushButton]:
        """Return the ways to answer, and the way to the session as the last."""
        item = self.item
        buttons: list[QPushButton] = []
        if item.can_allow:
            buttons.append(self._button(self.tr("Allow once"), "inboxAllowButton", self._on_allow))
        if item.can_deny:
            buttons.append(self._button(self.tr("Deny"), "inboxDenyButton", self._on_deny, "destructive"))
        if item.kind == "ended":
            buttons.append(self._button(self.tr("Mark as seen"), "inboxSeenButton", self._on_seen))
        return [*buttons, self._button(self.tr("Show"), "inboxShowButton", self._on_show)]

    def _button(self, text: str, name: str, clicked: Callable[[], None], variant: str = "") -> QPushButton:
        spoken = self.tr("{0}: {1}").format(text, words.title(self.item))
        return make_button(
            text, object_name=name, accessible_name=spoken, clicked=clicked, variant=variant, is_compact=True
        )

    # --- what the user does ---------------------------------------------------------------------------------------

    def _on_allow(self) -> None:
        self._answer("allow")

    def _on_deny(self) -> None:
        self._answer("deny")

    def _answer(self, wish: Wish) -> None:
        if not self.is_listening:
            return
        if wish == "allow" and not self._is_whole_in_sight:
            self.hold_off()
            self.half_seen.emit()
        else:
            self._is_answered = True
            self.setFocus(Qt.FocusReason.OtherFocusReason)  # the keyboard would leave with the button
            for button in self.buttons:
                button.setEnabled(False)
            self.wished.emit(wish)

    def _on_show(self) -> None:
        self.wished.emit("show")

    def _on_seen(self) -> None:
        self.wished.emit("seen")

    # --- Qt -------------------------------------------------------------------------------------------------------

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self._on_show()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if self.hasFocus():
                self._on_show()
            case Qt.Key.Key_Down:
                self.stepped.emit(1)
            case Qt.Key.Key_Up:
                self.stepped.emit(-1)
            case _:
                super().keyPressEvent(event)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.underMouse():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.colour("sunken"))
            painter.drawRoundedRect(QRectF(self.rect()), Radius.CONTROL, Radius.CONTROL)
        if self.hasFocus():
            painter.setPen(QPen(self._theme.colour("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), Radius.CONTROL, Radius.CONTROL)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.colour(_mark_role(self.item)))
        painter.drawEllipse(QPointF(Space.S + Space.S, Space.S + 10), _MARK / 2, _MARK / 2)
        painter.end()
        if self.item.can_deny:
            self._arming.note_painted()

    def hideEvent(self, event: QHideEvent) -> None:
        self._arming.restart()
        super().hideEvent(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.update()


def _mark_role(item: InboxItem) -> str:
    if item.waits:
        return "warning_text"
    return {"good": "added_text", "error": "danger_text"}.get(_end_role(item), "muted")


def _end_role(item: InboxItem) -> str:
    match item.end:
        case "completed":
            return "good"
        case "interrupted" | "max_turns" | "limit":
            return "secondary"
        case _:
            return "error"
