"""A prompt that waits, with a way to take it back, and one to send it when no turn will."""

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
    """One waiting prompt in one line; `remove` and `send` get its id."""

    def __init__(
        self,
        prompt_id: str,
        text: str,
        theme: Theme,
        parent: QWidget,
        *,
        remove: Callable[[str], None],
        send: Callable[[str], None],
    ) -> None:
        super().__init__(parent)
        self._prompt_id = prompt_id
        self._take_back = remove
        self._send_now = send
        self._theme = theme
        self._text = " ".join(text[:_MOST_CHARS].split()) + ("…" if len(text) > _MOST_CHARS else "")
        self.setAccessibleName(self.tr("Waits: {text}").format(text=self._text))
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

    def set_sendable(self, *, is_sendable: bool) -> None:
        """Say whether it can be sent now; otherwise it waits for the running turn."""
        self._send.setVisible(is_sendable)
        self._place_buttons()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, _HEIGHT)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_buttons()

    def _place_buttons(self) -> None:
        right = self.width() - Space.XS
        for button in (self._remove, self._send):
            if not button.isHidden():
                size = button.sizeHint()
                right -= size.width()
                button.setGeometry(right, (_HEIGHT - size.height()) // 2, size.width(), size.height())
                right -= Space.XS

    @property
    def _first_button(self) -> QPushButton:
        return self._remove if self._send.isHidden() else self._send

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.colour("border"), 1))
        painter.setBrush(theme.colour("sunken"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), Radius.CONTROL, Radius.CONTROL)
        painter.setFont(theme.text_font(TypeSize.SECONDARY))
        label = self.tr("Next") if self._send.isHidden() else self.tr("Not sent")
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

    def _on_send(self) -> None:
        self._send_now(self._prompt_id)
