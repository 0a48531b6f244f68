"""A banner above the conversation: what went wrong outside of it, and what to do. Never a dialog in the way."""

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from desktop_agent.core.errors import WorkspaceError
from desktop_agent.ui.theme import Space
from desktop_agent.ui.tooltips import plain_tooltip

if TYPE_CHECKING:
    from desktop_agent.core.errors import AgentError


class Banner(QFrame):
    """Shows one problem until it is dismissed or replaced.

    Signals:
        folder_requested: let the person choose another folder.
    """

    folder_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("banner")
        self.setProperty("role", "banner")
        self._title = self._build_label("warning")
        self._hint = self._build_label("secondary")
        self._folder = self._build_button(self.tr("Open another folder…"))
        self._folder.setObjectName("bannerFolderButton")
        self._folder.clicked.connect(self.folder_requested)
        dismiss = self._build_button(self.tr("Dismiss"))
        dismiss.setProperty("variant", "flat")
        dismiss.clicked.connect(self.hide)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self._title)
        words.addWidget(self._hint)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(Space.L, Space.S, Space.S, Space.S)
        layout.addLayout(words, 1)
        layout.addWidget(self._folder, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(dismiss, 0, Qt.AlignmentFlag.AlignTop)
        self.hide()

    def show_error(self, error: "AgentError") -> None:
        """Show what happened and what to do; the details are the tool tip."""
        self._title.setText(error.title)
        self._hint.setText(error.hint)
        self._hint.setVisible(bool(error.hint))
        self._folder.setVisible(isinstance(error, WorkspaceError))
        self.setToolTip(plain_tooltip(error.detail))
        self.setAccessibleName(f"{error.title} {error.hint}".strip())
        self.show()

    def _build_button(self, text: str) -> QPushButton:
        button = QPushButton(text, self)
        button.setProperty("compact", True)
        return button

    def _build_label(self, role: str) -> QLabel:
        label = QLabel(self)
        label.setProperty("role", role)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        label.setWordWrap(True)
        return label
