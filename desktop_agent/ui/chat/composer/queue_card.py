"""A prompt that waits: it can be taken back, edited, moved, sent into the running turn, or sent when no turn will."""

from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QApplication, QPushButton, QWidget

from desktop_agent.ui.theme import Radius, Space, Theme, TypeSize
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.wording.tooltips import plain_tooltip

_HEIGHT = 30
_MOST_CHARS = 2_000
"""More than a line of it is never in sight, and Qt would measure all of it to cut it off."""


class QueueOutlets(NamedTuple):
    """What is asked for of a waiting prompt, by its id."""

    remove: Callable[[str], None]
    send: Callable[[str], None]
    steer: Callable[[str], None]
    edit: Callable[[str], None]
    move: Callable[[str, int], None]
    """By so many places, down or, below 0, up."""
    drop: Callable[[str, int], None]
    """At this height in the parent."""


class QueueCard(QWidget):
    """One waiting prompt in one line.

    Dragged, or moved with Alt and the arrow keys, it changes its place. Enter edits it, Delete takes it back.
    """

    def __init__(
        self,
        prompt_id: str,
        text: str,
        theme: Theme,
        parent: QWidget,
        outlets: QueueOutlets,
        *,
        is_steering: bool,
    ) -> None:
        """One that `is_steering` goes into the running turn by itself."""
        super().__init__(parent)
        self.prompt_id = prompt_id
        self._outlets = outlets
        self._grip: QPointF | None = None
        """Where the mouse took hold of it."""
        self._home = 0
        """How high it stands when it is not dragged."""
        self._is_dragged = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._is_steering = is_steering
        self._theme = theme
        self._text = " ".join(text[:_MOST_CHARS].split()) + ("…" if len(text) > _MOST_CHARS else "")
        waits = self.tr("Reaches the agent at the next step: {text}") if is_steering else self.tr("Waits: {text}")
        self.setAccessibleName(waits.format(text=self._text))
        self.setAccessibleDescription(self.tr("Alt and the arrow keys move it, Enter edits it, Delete removes it."))
        self.setToolTip(plain_tooltip(text[:_MOST_CHARS]))
        self._add_buttons()

    def _add_buttons(self) -> None:
        self._editing = make_button(
            self.tr("Edit"),
            object_name="editQueuedButton",
            accessible_name=self.tr("Edit the waiting message"),
            clicked=self._on_edit,
            variant="flat",
            is_compact=True,
            parent=self,
        )
        self._remove = make_button(
            self.tr("Remove"),
            accessible_name=self.tr("Remove the waiting message"),
            clicked=self._on_remove,
            variant="flat",
            is_compact=True,
            parent=self,
        )
        self._send = make_button(
            self.tr("Send now"),
            object_name="sendQueuedButton",
            accessible_name=self.tr("Send the waiting message now"),
            clicked=lambda: self._outlets.send(self.prompt_id),
            is_compact=True,
            parent=self,
        )
        self._send.hide()
        self._steer = make_button(
            self.tr("Send into this turn"),
            object_name="steerQueuedButton",
            accessible_name=self.tr("Send the waiting message now, into this turn"),
            clicked=lambda: self._outlets.steer(self.prompt_id),
            variant="flat",
            is_compact=True,
            parent=self,
        )
        self._steer.setToolTip(self.tr("It reaches the agent at its next step."))
        self._steer.hide()

    def set_sendable(self, *, is_sendable: bool) -> None:
        """Say whether it can be sent now; otherwise it waits for the running turn."""
        self._send.setVisible(is_sendable)
        self._place_buttons()
        self.update()

    def set_steerable(self, *, is_steerable: bool) -> None:
        """Say whether a turn runs that it can be sent into."""
        self._steer.setVisible(is_steerable and not self._is_steering)
        self._place_buttons()
        self.update()

    def place(self, area: QRect) -> None:
        """Stand in this area; while the mouse has hold of it, only once it lets go."""
        self._home = area.y()
        self.setGeometry(area.x(), self.y() if self._is_dragged else self._home, area.width(), area.height())

    def tab_stops(self) -> tuple[QWidget, ...]:
        """Return itself and its buttons, from left to right."""
        return (self, self._send, self._steer, self._editing, self._remove)

    def sizeHint(self) -> QSize:
        return QSize(200, _HEIGHT)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_buttons()

    def _place_buttons(self) -> None:
        right = self.width() - Space.XS
        for button in (self._remove, self._editing, self._steer, self._send):
            if not button.isHidden():
                size = button.sizeHint()
                right -= size.width()
                button.setGeometry(right, (_HEIGHT - size.height()) // 2, size.width(), size.height())
                right -= Space.XS

    @property
    def _first_button(self) -> QPushButton:
        return next((button for button in (self._send, self._steer) if not button.isHidden()), self._editing)

    @property
    def _label(self) -> str:
        """What it waits for."""
        if not self._send.isHidden():
            return self.tr("Not sent")
        return self.tr("Reaches the agent at the next step") if self._is_steering else self.tr("Next")

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        is_marked = self.hasFocus() or self._is_dragged
        painter.setPen(QPen(theme.colour("accent" if is_marked else "border"), 2 if is_marked else 1))
        painter.setBrush(theme.colour("sunken"))
        inset = 1 if is_marked else 0.5
        ground = QRectF(self.rect()).adjusted(inset, inset, -inset, -inset)
        painter.drawRoundedRect(ground, Radius.CONTROL, Radius.CONTROL)
        painter.setFont(theme.text_font(TypeSize.SECONDARY))
        label = self._label
        label_width = painter.fontMetrics().horizontalAdvance(label)
        painter.setPen(theme.colour("muted"))
        area = QRectF(Space.M - 2, 0, label_width + 2, _HEIGHT)
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, label)
        left = area.right() + Space.S
        room = self._first_button.x() - Space.S - left
        painter.setPen(theme.colour("text"))
        text = painter.fontMetrics().elidedText(self._text, Qt.TextElideMode.ElideRight, int(room))
        painter.drawText(QRectF(left, 0, room, _HEIGHT), Qt.AlignmentFlag.AlignVCenter, text)
        painter.end()

    # --- the mouse and the keyboard -------------------------------------------------------------------------------

    @property
    def has_focus(self) -> bool:
        """Whether the user is in it, or in one of its buttons."""
        focused = QApplication.focusWidget()
        return focused is not None and (focused is self or self.isAncestorOf(focused))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._grip = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._grip is None:
            return
        way = (event.position() - self._grip).manhattanLength()
        if not self._is_dragged and way >= QApplication.startDragDistance():
            self._is_dragged = True
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.raise_()
        if self._is_dragged:
            self.move(self.x(), round(self.y() + event.position().y() - self._grip.y()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        was_dragged, self._is_dragged, self._grip = self._is_dragged, False, None
        self.unsetCursor()
        self.update()
        if was_dragged:
            dropped_at = self.geometry().center().y()
            self.move(self.x(), self._home)
            self._outlets.drop(self.prompt_id, dropped_at)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match Qt.Key(event.key()), event.modifiers():
            case (Qt.Key.Key_Up | Qt.Key.Key_Down as key, Qt.KeyboardModifier.AltModifier):
                self._outlets.move(self.prompt_id, 1 if key == Qt.Key.Key_Down else -1)
            case (Qt.Key.Key_Return | Qt.Key.Key_Enter | Qt.Key.Key_F2, _):
                self._on_edit()
            case (Qt.Key.Key_Delete, _):
                self._on_remove()
            case _:
                super().keyPressEvent(event)

    def _on_edit(self) -> None:
        self._outlets.edit(self.prompt_id)

    def _on_remove(self) -> None:
        self._outlets.remove(self.prompt_id)
