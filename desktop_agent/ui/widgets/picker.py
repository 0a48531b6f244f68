"""A combo box that looks like the other controls."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QComboBox, QSizePolicy, QWidget

from desktop_agent.ui.theme import Height, Space


class Picker(QComboBox):
    """Picks one of a few things. As wide as what it says, within limits, and 28 pixels high."""

    def __init__(self, parent: QWidget | None = None, *, min_chars: int = 8) -> None:
        super().__init__(parent)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(min_chars)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(Height.BUTTON)

    def fit(self, *, most_chars: int = 100) -> None:
        """Be wide enough for the widest of its things, up to so many characters: some scripts have wide ones."""
        metrics = self.fontMetrics()
        widest = max((metrics.horizontalAdvance(self.itemText(index)) for index in range(self.count())), default=0)
        needed = -(-widest // metrics.horizontalAdvance("X"))  # Qt takes as much for each character
        self.setMinimumContentsLength(min(max(self.minimumContentsLength(), needed), most_chars))

    def paintEvent(self, e: QPaintEvent) -> None:
        super().paintEvent(e)
        # The style sheet takes the native arrow away with the native frame.
        painter = QPainter(self)
        font = QFont(QApplication.font())  # the field's own may be one for code, with a smaller arrow
        font.setPixelSize(self.fontInfo().pixelSize())
        painter.setFont(font)
        painter.setPen(self.palette().text().color())
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(self.rect().adjusted(0, 0, -Space.S, 0), right, "▾")
        painter.end()
