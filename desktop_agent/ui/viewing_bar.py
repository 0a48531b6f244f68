"""A bar above a conversation that is written elsewhere: why nothing can be sent, and the way to take it over."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from desktop_agent.ui.theme import Space


class ViewingBar(QFrame):
    """Stays for as long as the session is only read. What it says changes when the session becomes free.

    Signals:
        take_over_requested: the person wants to go on with the session here.
    """

    take_over_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("viewingBar")
        self.setProperty("role", "banner")
        self._title = self._build_label("warning")
        self._hint = self._build_label("secondary")
        self._button = QPushButton(self.tr("Take over"), self)
        self._button.setObjectName("takeOverButton")
        self._button.setProperty("compact", True)
        self._button.clicked.connect(self.take_over_requested)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self._title)
        words.addWidget(self._hint)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(Space.L, Space.S, Space.S, Space.S)
        layout.addLayout(words, 1)
        layout.addWidget(self._button, 0, Qt.AlignmentFlag.AlignTop)
        self.show_state(is_free=False)
        self.hide()

    def show_state(self, *, is_free: bool) -> None:
        """Say whether it can be taken over now."""
        if is_free:
            title = self.tr("This session is no longer open in another window.")
            hint = self.tr("Take it over to go on with it here.")
        else:
            title = self.tr("This session is open in another window. You can read it here.")
            hint = self.tr("It can be taken over when it is closed there.")
        self._title.setText(title)
        self._hint.setText(hint)
        self._button.setEnabled(is_free)
        self._button.setToolTip("" if is_free else hint)
        self._button.setAccessibleDescription(hint)
        self.setAccessibleName(f"{title} {hint}")

    def _build_label(self, role: str) -> QLabel:
        label = QLabel(self)
        label.setProperty("role", role)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        return label
