"""The button that leads back to the end of a conversation."""

from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.ui.theme import Space


class JumpButton(QPushButton):
    """Floats above the lower edge of the view while the end is not followed."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setText(self.tr("Jump to latest ↓"))
        self.setObjectName("jumpToLatestButton")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.hide()

    def place(self, area: QRect, *, is_needed: bool) -> None:
        """Show it in `area`, or hide it."""
        if is_needed:
            size = self.sizeHint()
            left, top = area.center().x() - size.width() // 2, area.bottom() - size.height() - Space.M
            self.setGeometry(left, top, size.width(), size.height())
            self.raise_()
        self.setVisible(is_needed)
