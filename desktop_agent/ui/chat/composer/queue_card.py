"""A prompt that waits, with ways to take it back, to send it into the running turn, or to send it when no turn will."""

from collections.abc import Callable

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.ui.theme import Radius, Space, Theme, TypeSize
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.wording.tooltips import plain_tooltip

_HEIGHT = 30
_MOST_CHARS = 2_000
"""More than a line of it is never in sight, and Qt would measure all of it to cut it off."""


class QueueCard(QWidget):
    """One waiting prompt in one line; `remove`, `send` and `steer` get its id."""

    def __init__(
        self,
        prompt_id: str,
        text: str,
        theme: Theme,
        parent: QWidget,
        *,
        remove: Callable[[str], None],
        send: Callable[[str], None],
        steer: Callable[[str], None],
        is_steering: bool,
    ) -> None:
        """One that `is_steering` goes into the running turn by itself."""
        super().__init__(parent)
        self._prompt_id = prompt_id
        self._take_back = remove
        self._send_now = send
        self._send_into_turn = steer
        self._is_steering = is_steering
        self._theme = theme
        self._text = " ".join(text[:_MOST_CHARS].split()) + ("…" if len(text) > _MOST_CHARS else "")
        waits = self.tr("Reaches the agent at the next step: {text}") if is_steering else self.tr("Waits: {text}")
        self.setAccessibleName(waits.format(text=self._text))
        self.setToolTip(plain_tooltip(text[:_MOST_CHARS]))
        self._remove = make_button(
            self.tr("Remove"), clicked=self._on_remove, variant="flat", parent=self, is_compact=True
        )
        self._remove.setAccessibleName(self.tr("Remove the waiting message"))
        self._send = make_button(
            self.tr("Send now"), object_name="sendQueuedButton", clicked=self._on_send, parent=self, is_compact=True
        )
        self._send.setAccessibleName(self.tr("Send the waiting message now"))
        self._send.hide()
        self._steer = make_button(
            self.tr("Send into this turn"),
            object_name="steerQueuedButton",
            clicked=self._on_steer,
            variant="flat",
            parent=self,
            is_compact=True,
        )
        self._steer.setAccessibleName(self.tr("Send the waiting message now, into this turn"))
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

    def sizeHint(self) -> QSize:
        return QSize(200, _HEIGHT)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_buttons()

    def _place_buttons(self) -> None:
        right = self.width() - Space.XS
        for button in (self._remove, self._steer, self._send):
            if not button.isHidden():
                size = button.sizeHint()
                right -= size.width()
                button.setGeometry(right, (_HEIGHT - size.height()) // 2, size.width(), size.height())
                right -= Space.XS

    @property
    def _first_button(self) -> QPushButton:
        return next((button for button in (self._send, self._steer) if not button.isHidden()), self._remove)

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
        painter.setPen(QPen(theme.colour("border"), 1))
        painter.setBrush(theme.colour("sunken"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), Radius.CONTROL, Radius.CONTROL)
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

    def _on_remove(self) -> None:
        self._take_back(self._prompt_id)

    def _on_steer(self) -> None:
        self._send_into_turn(self._prompt_id)

    def _on_send(self) -> None:
        self._send_now(self._prompt_id)
