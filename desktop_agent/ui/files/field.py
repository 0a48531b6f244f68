"""The field above the tree."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QToolButton

from desktop_agent.ui.widgets.layouts import STRETCH, hbox

_CLEAR_WIDTH = 22


class FilterField(QLineEdit):
    """A line to type in, with a button in it that empties it."""

    def __init__(self) -> None:
        super().__init__()
        # Qt's own clear button comes with a picture that fits neither theme.
        clear = QToolButton(self)
        clear.setText("×")
        clear.setAccessibleName(self.tr("Clear the filter"))
        clear.setToolTip(self.tr("Clear the filter"))
        clear.setProperty("variant", "flat")
        clear.setProperty("compact", True)
        clear.setCursor(Qt.CursorShape.ArrowCursor)
        clear.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # Escape does the same by keyboard
        clear.setFixedWidth(_CLEAR_WIDTH)
        clear.hide()
        clear.clicked.connect(self.clear)
        hbox(STRETCH, clear, on=self, margins=(0, 0, 2, 0))
        self._clear = clear
        self.setTextMargins(0, 0, _CLEAR_WIDTH, 0)
        self.textChanged.connect(self._on_text_changed)

    def _on_text_changed(self, text: str) -> None:
        self._clear.setVisible(bool(text))
