"""What an empty conversation shows: what to do next, with examples to begin with."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from desktop_agent.ui.theme import Space

_MAX_WIDTH = 420


class EmptyState(QWidget):
    """A calm invitation.

    Signals:
        example_chosen: the text of an example.
    """

    example_chosen = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._title = QLabel(self.tr("What shall we work on?"), self)
        self._title.setProperty("role", "title")
        self._title.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._hint = QLabel(
            self.tr("Ask a question about this folder, or ask for a change. You see every step and can undo it."), self
        )
        self._hint.setProperty("role", "secondary")
        self._hint.setWordWrap(True)
        self._hint.setMaximumWidth(_MAX_WIDTH)
        self._hint.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._examples = QVBoxLayout()
        self._examples.setSpacing(Space.S)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(Space.XXL, Space.XL, Space.XXL, Space.XL)
        layout.addStretch(2)
        layout.addWidget(self._title)
        layout.addSpacing(Space.XS)
        layout.addWidget(self._hint, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addSpacing(Space.L)
        layout.addLayout(self._examples)
        layout.addStretch(3)
        self._buttons: list[QPushButton] = []
        self.set_examples(
            (
                self.tr("Explain how this project is put together"),
                self.tr("Find a bug and fix it, with a test"),
                self.tr("Write a README for this folder"),
            )
        )

    def set_examples(self, examples: Sequence[str]) -> None:
        """Offer these prompts."""
        for button in self._buttons:
            button.deleteLater()
        self._buttons = [QPushButton(example, self) for example in examples]
        for button in self._buttons:
            button.clicked.connect(self._on_clicked)
            self._examples.addWidget(button, 0, Qt.AlignmentFlag.AlignHCenter)

    def _on_clicked(self) -> None:
        button = self.sender()
        if isinstance(button, QPushButton):
            self.example_chosen.emit(button.text())
