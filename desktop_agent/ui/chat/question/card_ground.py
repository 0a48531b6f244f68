"""What every question in the conversation stands on."""

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.theme import Radius, Theme


def paint_card(card: QWidget, theme: Theme) -> None:
    """Paint the ground of a question that waits for the user."""
    painter = QPainter(card)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme.colour("warning_border"), 1))
    painter.setBrush(theme.colour("warning_bg"))
    painter.drawRoundedRect(QRectF(card.rect()).adjusted(0.5, 0.5, -0.5, -0.5), Radius.DIALOG, Radius.DIALOG)
    painter.end()
