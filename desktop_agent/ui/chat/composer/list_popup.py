"""What the lists above the message field have in common. They never take the focus: the field hands them its keys."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QListView, QWidget

from desktop_agent.ui.theme import Space, Theme

MAX_ROWS = 8
FRAME = 5
"""Border and padding of one side."""


class ListPopup(QListView):
    """A raised list inside the window, as high as its rows and as there is room for."""

    def __init__(self, theme: Theme, parent: QWidget, name: str) -> None:
        """`name` is its object name."""
        super().__init__(parent)
        self.setObjectName(name)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMouseTracking(True)
        self._theme = theme
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()
        self.hide()

    def place_above(self, x: int, width: int, bottom: int, rows: int, row_height: int) -> None:
        """Stand above `bottom` with so many rows, fewer if there is no room for them."""
        height = min(rows, MAX_ROWS) * row_height + 2 * FRAME
        height = min(height, max(bottom - Space.S, row_height + 2 * FRAME))
        self.setGeometry(x, bottom - height, width, height)

    def _on_theme_changed(self) -> None:
        colours = self._theme.colours
        self.setStyleSheet(
            f"#{self.objectName()} {{ background: {colours.surface}; border: 1px solid {colours.border_strong};"
            f" border-radius: 8px; padding: {FRAME - 1}px; }}"
        )
        self.viewport().update()
