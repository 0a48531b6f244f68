"""A scroll bar that is out of the way until it is needed."""

from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QScrollBar


class QuietScrollBar(QScrollBar):
    """Always has its room, so that text does not move when it comes, but shows nothing when there is no need."""

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.maximum() > self.minimum():
            super().paintEvent(event)
